"""Idle cores while vtlab measures."""

from __future__ import annotations

from pathlib import Path

import pytest

from vtlab.host import idle_cores


def open_files() -> set[str]:
    """Returns what this process has open."""
    return {str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.exists()}


def test_they_are_kept_awake_while_the_file_is_open(tmp_path: Path) -> None:
    """The kernel forgets the number with the last file that is closed."""
    latency = tmp_path / "cpu_dma_latency"
    latency.touch()
    with idle_cores.kept_awake(latency) as idle:
        assert idle == "kept awake"
        assert latency.read_bytes() == b"\0\0\0\0", "0 µs, a 32-bit number"
        assert str(latency) in open_files()
    assert str(latency) not in open_files()


@pytest.mark.parametrize("name", ["missing", "."])
def test_they_may_sleep_where_nobody_can_keep_them_awake(tmp_path: Path, name: str) -> None:
    """In a container, or without root, a run measures as well."""
    before = open_files()
    with idle_cores.kept_awake(tmp_path / name) as idle:
        assert idle == idle_cores.state(tmp_path / name) == "may sleep"
        assert open_files() == before


def test_an_error_within_the_context_is_the_callers(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="disk full"), idle_cores.kept_awake(tmp_path / "missing"):
        raise OSError("disk full")
