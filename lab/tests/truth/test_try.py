"""A whole call of ``vtlab try``, on a service that starts at once: it takes minutes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.contract.test_try import tried
from tests.support.lab_call import only, vtlab
from tests.support.privileges import needs_root

pytestmark = [pytest.mark.calls, pytest.mark.timeout(900), needs_root]


def test_a_call_searches_a_load_measures_and_writes_out_what_it_chose(tmp_path: Path) -> None:
    """One call searches users until no variant serves more, says where the variants part, and measures a block; what it
    chose is an experiment that vtlab run takes."""
    # Few answers: at 550 a second the stub waited for a core in 1.9 % of a window on a slow machine, and none counted.
    few = "GET /thread?duration=100ms"
    done = tried(tmp_path, "--blocks", "1", "--no-cpu-limit", request=few, STUB_THREADS="4", STUB_MOST="12")
    assert done.returncode == 0, done.stdout + done.stderr
    results = only(tmp_path / "results")
    manifest = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    users = [point["users"] for point in manifest["curve"]["points"]]
    assert users[:2] == [1, 1]
    assert manifest["experiment"]["load"]["full"]["users"] == manifest["curve"]["chosen"]
    assert (results / "search.jsonl").read_text(encoding="utf-8").count("\n") >= len(users)
    # Platform has four threads, virtual twelve.
    assert manifest["curve"]["ended"] == "levelled off", done.stdout
    assert "upward, virtual serves more" in done.stdout, done.stdout
    assert vtlab("lab", "k6-plan", results / "experiment.json").returncode == 0
