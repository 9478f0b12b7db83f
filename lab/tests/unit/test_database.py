"""A database of the user's own: what is taken, what is refused, what its version is."""

from __future__ import annotations

import socket
import threading

import pytest

from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import ports
from vtlab.services.companions import database
from vtlab.services.companions.database import Access


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

    @pytest.mark.parametrize("name", ["VTLAB_DATABASE_USER", "VTLAB_DATABASE_PASSWORD"])
    def test_user_and_password_are_asked_for(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(name)
        with pytest.raises(BadInput, match=f"{name} is not"):
            database.from_environment()

    def test_its_version_is_what_it_says_of_itself(self) -> None:
        greeting = b"\x0a8.4.3\0" + bytes(60)
        with _said(len(greeting).to_bytes(3, "little") + b"\0" + greeting) as port:
            assert database.version_of(Access(f"jdbc:mysql://127.0.0.1:{port}/lab", "me", "")) == "8.4.3"

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
            database.version_of(Access(f"jdbc:mysql://127.0.0.1:{port}/lab", "me", ""))
        assert "VTLAB_DATABASE_URL" in error.value.fix

    def test_one_that_is_not_there_is_missing(self) -> None:
        (port,) = ports.free(1)
        with pytest.raises(PrerequisiteMissing, match=f"does not answer at 127.0.0.1:{port}"):
            database.version_of(Access(f"jdbc:mysql://127.0.0.1:{port}/lab", "me", ""))


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
