"""Results on a disk that is really full."""

from __future__ import annotations

import pytest

from tests.support import recorded
from tests.support.privileges import MakeDisk
from vtlab.errors import PrerequisiteMissing
from vtlab.runs import store

RUN = recorded.run(blocks=2)


def test_a_really_full_disk_keeps_what_was_there(make_disk: MakeDisk) -> None:
    """A disk that fills up keeps every finished block and the whole manifest."""
    folder = store.create(make_disk("64k") / "run", RUN.manifest)
    kept = 0
    store.append_block(folder, RUN.blocks[0])
    kept = 1
    with pytest.raises(PrerequisiteMissing, match="No space left"):  # noqa: PT012 (which one fails is open)
        while kept < 100:
            store.append_block(folder, RUN.blocks[0])
            kept += 1
    run = store.read(folder)
    assert (len(run.blocks), run.warnings) == (kept, [])
    with pytest.raises(PrerequisiteMissing, match="No space left"):
        store.write_atomic(folder / "manifest.json", "x" * 100_000)
    assert store.read(folder).manifest == RUN.manifest
    assert not [p.name for p in folder.iterdir() if p.name.endswith(".new")]
