"""The installed command as a process: its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.lab_call import vtlab


def test_doctor_finds_what_make_set_up(tmp_path: Path) -> None:
    """vtlab doctor ends with 0 where everything is set up, and shows each prerequisite."""
    done = vtlab("doctor", "--results", tmp_path)
    assert done.returncode == 0, done.stdout
    for name in ("JDK", "k6", "Prometheus", "the app", "CPU limits"):
        assert name in done.stdout


def test_doctor_says_what_is_missing_and_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """vtlab doctor ends with 3 where a prerequisite is missing, and names it."""
    monkeypatch.setenv("VTLAB_JAVA_HOME", str(tmp_path))
    done = vtlab("doctor", "--results", tmp_path)
    assert done.returncode == 3
    assert f"no working Java at {tmp_path}" in done.stdout


def test_bad_input_ends_with_2_and_says_so_on_stderr() -> None:
    """The process ends with 2 for bad input, its message and fix on stderr."""
    done = vtlab("dance")
    assert (done.returncode, done.stdout) == (2, "")
    message, fix = done.stderr.splitlines()
    assert message == "vtlab: there is no command 'dance'"
    assert fix.endswith(" -m vtlab --help lists the commands")
