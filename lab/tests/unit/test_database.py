"""A database of the user's own: what is taken, what is refused, what its version is."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import ports
from vtlab.host.process_ledger import Ledger
from vtlab.host.tools import Tool
from vtlab.services.companions import database, mariadb_server
from vtlab.services.companions.database import Access
from vtlab.services.companions.mariadb_server import MariaDb


class TestOneOfTheUsersOwn:
    @pytest.fixture(autouse=True)
    def _named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VTLAB_DATABASE_URL", "jdbc:mysql://db.example:3307/shop?useCompression=true")
        monkeypatch.setenv("VTLAB_DATABASE_USER", "me")
        monkeypatch.setenv("VTLAB_DATABASE_PASSWORD", "hush")

    def test_it_is_told_to_the_variants_as_named(self) -> None:
        access = database.from_environment()
        assert access is not None
        assert access.address == ("db.example", 3307)
        assert access.url == "jdbc:mysql://db.example:3307/shop?useCompression=true"
        assert (access.user, access.password) == ("me", "hush")

    def test_without_a_url_there_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("VTLAB_DATABASE_URL")
        assert database.from_environment() is None

    @pytest.mark.parametrize("url", ["jdbc:mysql://h/lab", "jdbc:mysql://h:3306/lab?a=b", "jdbc:mysql://[::1]/lab"])
    def test_a_url_of_connector_j_is_taken(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VTLAB_DATABASE_URL", url)
        access = database.from_environment()
        assert access is not None
        assert access.address[1] == 3306

    @pytest.mark.parametrize(
        "url",
        [
            "h:3306",
            "mysql://h/lab",
            "jdbc:mariadb://h/lab",
            "jdbc:mysql:loadbalance://h/lab",
            "jdbc:mysql://h",
            "jdbc:mysql://h/",
            "jdbc:mysql:///lab",
            "jdbc:mysql://h:port/lab",
            "jdbc:mysql://h:70000/lab",
            "jdbc:mysql://one,two/lab",
            "jdbc:mysql://me:secret-word@h/lab",
            "jdbc:mysql://h/lab?password=secret-word",
            "jdbc:mysql://h:x/lab?password=secret-word",
        ],
    )
    def test_another_url_is_bad_input_and_never_shown(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VTLAB_DATABASE_URL", url)
        with pytest.raises(BadInput, match="VTLAB_DATABASE_URL") as error:
            database.from_environment()
        assert "secret-word" not in error.value.message + error.value.fix

    @pytest.mark.parametrize(
        ("url", "port"), [("jdbc:postgresql://h/shop", 5432), ("jdbc:postgresql://h:5433/shop?sslmode=require", 5433)]
    )
    def test_a_postgresql_is_taken_where_one_is_needed(
        self, url: str, port: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("VTLAB_DATABASE_URL", url)
        access = database.from_environment("postgres")
        assert access is not None
        assert (access.is_postgres, access.address) == (True, ("h", port))
        with pytest.raises(BadInput, match="VTLAB_DATABASE_URL is not of the form jdbc:mysql://HOST") as error:
            database.from_environment("database")
        assert error.value.fix.endswith("; for PostgreSQL: --database postgres")

    def test_a_mysql_is_refused_where_a_postgresql_is_needed(self) -> None:
        with pytest.raises(BadInput, match="VTLAB_DATABASE_URL is not of the form jdbc:postgresql://HOST") as error:
            database.from_environment("postgres")
        assert error.value.fix.startswith("use your database: VTLAB_DATABASE_URL=jdbc:postgresql://HOST:PORT/NAME")

    @pytest.mark.parametrize("name", ["VTLAB_DATABASE_USER", "VTLAB_DATABASE_PASSWORD"])
    def test_user_and_password_are_asked_for(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(name)
        with pytest.raises(BadInput, match=f"{name} is not"):
            database.from_environment()

    def test_its_version_is_what_it_says_of_itself(self) -> None:
        greeting = b"\x0a8.4.3\0" + bytes(60)
        with _said(len(greeting).to_bytes(3, "little") + b"\0" + greeting) as port:
            assert mariadb_server.version_of(Access(f"jdbc:mysql://127.0.0.1:{port}/lab", "me", "")) == "8.4.3"

    @pytest.mark.parametrize(
        ("packet", "why"),
        [
            (b"\x15\0\0\0\xff\x10\x04Too many clients yet", "it refuses connections: Too many clients"),
            (b"SSH-2.0-OpenSSH_9.2\r\n", "the server there is not MySQL or MariaDB"),
            (b"", "the server there is not MySQL or MariaDB"),
        ],
    )
    def test_one_that_does_not_answer_is_missing(self, packet: bytes, why: str) -> None:
        with _said(packet) as port, pytest.raises(PrerequisiteMissing, match=why) as error:
            mariadb_server.version_of(Access(f"jdbc:mysql://127.0.0.1:{port}/lab", "me", ""))
        assert "VTLAB_DATABASE_URL" in error.value.fix

    def test_one_that_is_not_there_is_missing(self) -> None:
        (port,) = ports.free(1)
        with pytest.raises(PrerequisiteMissing, match=f"does not answer at 127.0.0.1:{port}"):
            mariadb_server.version_of(Access(f"jdbc:mysql://127.0.0.1:{port}/lab", "me", ""))


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("10.11.19-MariaDB-0+deb12u1", "5.7.19-MariaDB"),
        ("11.0.6-MariaDB", "5.7.19-MariaDB"),
        ("11.1.2-MariaDB", "8.0.10-MariaDB"),
        ("12.0.2-MariaDB", "8.0.10-MariaDB"),
    ],
)
def test_mysqls_driver_is_told_a_version_whose_variables_the_server_has(
    tmp_path: Path, version: str, told: str
) -> None:
    with Ledger(tmp_path) as ledger:
        made = MariaDb(Tool(tmp_path / "mariadbd", version), tmp_path, ledger, tmp_path / "log")
        assert made.version_for_mysql == told


@pytest.mark.parametrize(
    ("share", "table"), [("share", "mariadb"), ("share/mariadb", "mariadb"), ("share/mysql", "mysql")]
)
def test_the_tables_of_a_server_are_where_its_distribution_has_them(tmp_path: Path, share: str, table: str) -> None:
    folder = tmp_path / "usr" / share
    folder.mkdir(parents=True)
    (tmp_path / "usr" / "sbin").mkdir()
    (tmp_path / "usr" / "sbin" / "mariadbd").touch()
    # As where /sbin is a link to /usr/sbin.
    (tmp_path / "sbin").symlink_to(tmp_path / "usr" / "sbin")
    server = Tool(tmp_path / "sbin" / "mariadbd", "11.4.5-MariaDB")
    with pytest.raises(PrerequisiteMissing, match="has no file of its system tables"):
        mariadb_server._system_tables(server)
    (folder / f"{table}_system_tables.sql").touch()
    assert mariadb_server._system_tables(server) == folder / f"{table}_system_tables.sql"


class _said:
    """A server that says this to whoever connects first."""

    def __init__(self, packet: bytes) -> None:
        self._packet = packet
        self._socket = socket.create_server((ports.HOST, 0))
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            connection.sendall(self._packet)

    def __enter__(self) -> int:
        self._thread.start()
        return int(self._socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._thread.join(10)
        self._socket.close()
