"""Databases of the variants on a server of the user's, with a fake client."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vtlab.errors import PrerequisiteMissing
from vtlab.host.process_ledger import Ledger
from vtlab.host.tools import Java
from vtlab.model.service import Service
from vtlab.services.companions.companion_services import CompanionServices
from vtlab.services.companions.database import Access
from vtlab.services.companions.own_server import OwnServer

ACCESS = Access("jdbc:mysql://[::1]:3307/shop?useCompression=true", "me", "secret-word")
POSTGRES = Access("jdbc:postgresql://h/my%20shop?sslmode=prefer", "me", "secret-word")
VARIANTS = ["platform", "platform-1000"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All of PATH, with the programs that the fake client calls."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cat").symlink_to("/bin/cat")
    return tmp_path


def client(folder: Path, ends: str = "exit 0", name: str = "mysql") -> None:
    path, password = folder / "bin" / name, "$PGPASSWORD" if name == "psql" else "$MYSQL_PWD"
    script = f'#!/bin/sh\necho "$* by {password}" >>{folder}/calls\ncat >>{folder}/sql\n{ends}\n'
    path.write_text(script, encoding="utf-8")
    path.chmod(0o755)


def statements(folder: Path) -> list[str]:
    return re.findall(r"(?:CREATE|DROP)[^;]+", (folder / "sql").read_text(encoding="utf-8"))


def test_each_variant_gets_a_database_with_a_name_that_nobody_has(folder: Path) -> None:
    client(folder)
    addresses = OwnServer(ACCESS).create(VARIANTS)
    names = [address.removeprefix("//[::1]:3307/") for address in addresses.values()]
    assert [bool(re.fullmatch(r"vtlab_[0-9a-f]{8}_platform(_1000)?", name)) for name in names] == [True, True]
    assert statements(folder) == [f"CREATE DATABASE {name}" for name in names]
    call = (folder / "calls").read_text(encoding="utf-8")
    # A process list shows the arguments to everybody.
    assert call.endswith(" --host=::1 --port=3307 --user=me by secret-word\n")
    assert call.count("secret-word") == 1


def test_the_next_block_gets_empty_ones_and_none_stays(folder: Path) -> None:
    client(folder)
    server = OwnServer(ACCESS)
    for _ in range(2):
        server.create(["virtual"])
    for _ in range(2):
        server.close()
    first, dropped, second, last = statements(folder)
    assert dropped == first.replace("CREATE DATABASE", "DROP DATABASE IF EXISTS")
    assert last == second.replace("CREATE DATABASE", "DROP DATABASE IF EXISTS")
    assert first != second


def test_without_a_client_it_says_what_to_install(folder: Path) -> None:
    with pytest.raises(PrerequisiteMissing, match="neither mariadb nor mysql is on PATH") as error:
        OwnServer(ACCESS).create(VARIANTS)
    assert "apt-get install mariadb-client" in error.value.fix


def test_an_account_without_the_right_is_told_which_one(folder: Path) -> None:
    client(folder, "echo \"ERROR 1044 (42000): Access denied for user 'me'@'%'\" >&2; exit 1", "mariadb")
    server = OwnServer(ACCESS)
    with pytest.raises(PrerequisiteMissing, match=r"ERROR 1044 .* Access denied") as error:
        server.create(VARIANTS)
    assert r"GRANT ALL ON `vtlab\_%`.*" in error.value.fix
    assert "secret-word" not in error.value.message + error.value.fix
    # The end of a run is not the place for it.
    server.close()


def test_on_postgresql_psql_makes_and_drops_them(folder: Path) -> None:
    client(folder, name="psql")
    server = OwnServer(POSTGRES)
    (address,) = server.create(["platform-1000"]).values()
    name = address.removeprefix("//h/")
    assert re.fullmatch(r"vtlab_[0-9a-f]{8}_platform_1000", name)
    server.close()
    assert statements(folder) == [
        f"CREATE DATABASE {name} TEMPLATE template0",
        f"DROP DATABASE IF EXISTS {name} WITH (FORCE)",
    ]
    call = (folder / "calls").read_text(encoding="utf-8").splitlines()[0]
    assert call.startswith("--no-psqlrc --no-password ")
    assert call.endswith(" --host=h --port=5432 --username=me --dbname=my shop by secret-word")
    assert call.count("secret-word") == 1


def test_on_postgresql_the_words_are_those_of_postgresql(folder: Path) -> None:
    server = OwnServer(POSTGRES)
    with pytest.raises(PrerequisiteMissing, match="psql is not on PATH") as error:
        server.create(VARIANTS)
    assert "apt-get install postgresql-client" in error.value.fix
    client(folder, "echo 'ERROR:  permission denied to create database' >&2; exit 3", "psql")
    with pytest.raises(PrerequisiteMissing, match="no database for each variant: ERROR: permission denied") as error:
        server.create(VARIANTS)
    assert "CREATEDB" in error.value.fix
    with pytest.raises(PrerequisiteMissing, match="the database of VTLAB_DATABASE_URL does not answer: ERROR"):
        server.version()
    client(folder, "echo 16.4", "psql")
    assert server.version() == "16.4"


def test_a_service_whose_variants_have_their_own_gets_them_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client(folder)
    for name, value in (("URL", ACCESS.url), ("USER", ACCESS.user), ("PASSWORD", ACCESS.password)):
        monkeypatch.setenv(f"VTLAB_DATABASE_{name}", value)
    variables = {"URL": "jdbc:mariadb:{address}", "USER": "{user}", "PASSWORD": "{password}"}
    apart = Service.model_validate(
        {"name": "shop", "jar": "a.jar", "readiness": "/", "companions": {"database": variables}}
    )
    with Ledger(folder) as ledger:
        companions = CompanionServices(folder, Java(folder / "java", "25", "any"), ledger)
        (environment,) = companions.databases(["database"], apart, ["virtual"]).values()
        companions.close()
    assert re.fullmatch(r"jdbc:mariadb://\[::1\]:3307/vtlab_\w+_virtual", environment["URL"])
    assert (environment["USER"], environment["PASSWORD"]) == ("me", "secret-word")
    assert [statement.split()[0] for statement in statements(folder)] == ["CREATE", "DROP"]
    shared = apart.model_copy(update={"companions": {"database": {"URL": "{url}"}}})
    with Ledger(folder) as ledger:
        companions = CompanionServices(folder, Java(folder / "java", "25", "any"), ledger)
        assert companions.databases(["database"], shared, ["platform"]) == {}
