"""Privileges that a test needs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="sets limits by control groups: root only")

#: Mounts an empty disk of that size ("400m") and returns its directory.
MakeDisk = Callable[[str], Path]


@pytest.fixture
def make_disk(tmp_path: Path) -> Iterator[MakeDisk]:
    """Mounts small disks, until the end of the test."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    mounted: list[Path] = []

    def make(size: str) -> Path:
        directory = tmp_path / f"disk{len(mounted)}"
        directory.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "vtlab-test", directory], check=True)
        mounted.append(directory)
        return directory

    yield make
    for directory in mounted:
        # Lazily: what a failed test left running may still hold it.
        subprocess.run(["umount", "--lazy", directory], check=True)
