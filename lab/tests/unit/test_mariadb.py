"""A MariaDB is fetched when an experiment needs it first, and only where the set-up has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from vtlab import shipped
from vtlab.errors import PrerequisiteMissing
from vtlab.host import tools
from vtlab.services.companions import companion_services, database, mariadb

#: Leaves a server that tells its version.
FETCHES = """
mkdir -p .tools/mariadb/bin
printf '#!/bin/sh\necho "mariadbd  Ver 11.4.5-MariaDB for Linux on x86_64"' >.tools/mariadb/bin/mariadbd
chmod +x .tools/mariadb/bin/mariadbd
"""
FAILS = """
for line in 1 2 3 4 5 6; do echo "line $line"; done
echo "setup: no Maven (mvn) on PATH" >&2
exit 3
"""


@pytest.fixture(autouse=True)
def _checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    monkeypatch.setattr(shipped, "IS_CHECKOUT", True)
    monkeypatch.setattr(tools, "has_mariadb_for_machine", lambda: True)


def set_up(checkout: Path, script: str) -> None:
    """Writes a ``lab/setup`` that notes the steps it is called for."""
    path = checkout / "lab" / "setup"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\ncd "$(dirname "$0")/.."\necho "$*" >>steps\n{script}', encoding="utf-8")
    path.chmod(0o755)


def steps(checkout: Path) -> list[str]:
    file = checkout / "steps"
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []


def test_the_first_experiment_that_needs_it_fetches_it_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(tmp_path, FETCHES)
    for _ in range(2):
        assert companion_services.versions(["database"]) == {"database": "11.4.5-MariaDB"}
    assert steps(tmp_path) == ["mariadb"]
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("vtlab: fetching MariaDB, ")
    assert written.err.count("\n") == 1


def test_an_experiment_that_needs_no_database_fetches_none(tmp_path: Path) -> None:
    set_up(tmp_path, FETCHES)
    assert companion_services.versions([]) == {}
    assert steps(tmp_path) == []


def test_a_failed_set_up_is_named_with_the_end_of_its_log(tmp_path: Path) -> None:
    set_up(tmp_path, FAILS)
    with pytest.raises(PrerequisiteMissing, match=r"not fetched: line 2\n.*") as error:
        mariadb.find_or_fetch()
    assert error.value.message.endswith("line 6\nsetup: no Maven (mvn) on PATH")
    assert error.value.fix.startswith("lab/setup mariadb, or ")


def test_a_set_up_that_cannot_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing, match=r"not fetched: .*lab/setup"):
        mariadb.find_or_fetch()


def test_none_is_fetched_by_an_installed_vtlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, FETCHES)
    monkeypatch.setattr(shipped, "IS_CHECKOUT", False)
    with pytest.raises(PrerequisiteMissing, match="does not exist"):
        mariadb.find_or_fetch()
    assert steps(tmp_path) == []


def test_none_is_fetched_for_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, FETCHES)
    monkeypatch.setattr(tools, "has_mariadb_for_machine", lambda: False)
    with pytest.raises(PrerequisiteMissing, match="for Linux x86_64 only"):
        mariadb.find_or_fetch()
    assert steps(tmp_path) == []


def test_none_is_fetched_beside_a_database_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, FETCHES)
    for name, value in (("URL", "jdbc:mysql://db.example/lab"), ("USER", "me"), ("PASSWORD", "secret-word")):
        monkeypatch.setenv(f"VTLAB_DATABASE_{name}", value)
    monkeypatch.setattr(database, "version", lambda host, port: f"8.4.3 of {host}:{port}")
    assert companion_services.versions(["database"]) == {"database": "8.4.3 of db.example:3306"}
    assert steps(tmp_path) == []
