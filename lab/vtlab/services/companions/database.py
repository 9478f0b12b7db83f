"""The database of the experiments that need one: a MariaDB of this run, or one that the user names."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from vtlab.errors import BadInput, BlockFault, PrerequisiteMissing
from vtlab.host import ports, server
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.processes import Process
from vtlab.host.server import Server
from vtlab.host.tools import DATABASE_PASSWORD, DATABASE_URL, DATABASE_USER, OWN_DATABASE, Tool
from vtlab.host.wait import wait_until

#: The user, and the database that is all it may see.
NAME = "lab"
#: The version that the server tells MySQL's driver: by 8.0.11 or later the driver asks for a column of MySQL's that
#: MariaDB lacks, and Hibernate does not start.
FOR_MYSQL = "8.0.10-MariaDB"
#: Seconds until it must answer; about one on an idle machine.
READY_WITHIN = 60.0

#: Small, and with nothing that the lab does not use: it shares the machine with what is measured.
_OPTIONS = [
    f"--bind-address={ports.HOST}",
    # No socket in the file system, whose path would be too long.
    "--socket=",
    "--skip-name-resolve",
    "--skip-log-bin",
    # Connector/J would encrypt where the server can, and be measured doing it.
    "--skip-ssl",
    "--max-connections=600",
    "--table-open-cache=600",
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=16M",
    # The data are not worth a write to the disk for each transaction.
    "--innodb-flush-log-at-trx-commit=0",
    "--character-set-server=utf8mb4",
    # Not the server's default: older drivers do not know that.
    "--collation-server=utf8mb4_general_ci",
    # Without a line for every connection that a JVM did not close.
    "--log-warnings=1",
    "--silent-startup",
]


@dataclass(frozen=True)
class Access:
    """Address and credentials of a database."""

    url: str
    user: str
    password: str = field(repr=False)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        parts = urlsplit(self.url.removeprefix("jdbc:"))
        return parts.hostname or "", parts.port or 3306


def from_environment() -> Access | None:
    """Reads the address of the user's own database; None where VTLAB_DATABASE_URL is not set. BadInput where it makes
    no sense."""
    url = os.environ.get(DATABASE_URL)
    if not url:
        return None
    # The URL may hold a password: no message shows it.
    try:
        parts = urlsplit(url.removeprefix("jdbc:"))
        fine = url.startswith("jdbc:mysql://") and parts.hostname and "," not in parts.netloc and len(parts.path) > 1
        fine = fine and parts.port != 0
    except ValueError:
        fine = False
    if not fine:
        raise BadInput(f"{DATABASE_URL} is not of the form jdbc:mysql://HOST:PORT/NAME", OWN_DATABASE)
    if "@" in parts.netloc or {"user", "password"} & {name.lower() for name, _ in parse_qsl(parts.query)}:
        raise BadInput(
            f"{DATABASE_URL} names a user or a password", f"name them in {DATABASE_USER} and {DATABASE_PASSWORD}"
        )
    for name in (DATABASE_USER, DATABASE_PASSWORD):
        if name not in os.environ:
            raise BadInput(f"{DATABASE_URL} is set, {name} is not", OWN_DATABASE)
    return Access(url, os.environ[DATABASE_USER], os.environ[DATABASE_PASSWORD])


def version(host: str, port: int) -> str:
    """Asks a server for its version, before any login; an OSError where none of this protocol answers."""
    with socket.create_connection((host, port), timeout=5) as connection, connection.makefile("rb") as stream:
        head = stream.read(4)
        packet = stream.read(int.from_bytes(head[:3], "little"))
    # Version 10 of the protocol; the server's version up to a zero byte.
    if packet[:1] == b"\x0a":
        return packet[1:].partition(b"\0")[0].decode(errors="replace")
    if packet[:1] == b"\xff":
        raise OSError(f"it refuses connections: {packet[3:].decode(errors='replace')}")
    raise OSError("the server there is not MySQL or MariaDB")


def version_of(access: Access) -> str:
    """Returns the version of the user's own database; PrerequisiteMissing when it does not answer."""
    host, port = access.address
    try:
        return version(host, port)
    except OSError as error:
        raise PrerequisiteMissing(
            f"the database of {DATABASE_URL} does not answer at {host}:{port}: {error}",
            f"start it, or unset {DATABASE_URL} so that vtlab starts one",
        ) from None


class Database:
    """One MariaDB server, its data below ``folder``, which only this user can read; the ledger stops it at last.

    Its password is made anew with its data. Nothing but the variants' environment holds it.
    """

    def __init__(self, tool: Tool, folder: Path, ledger: Ledger, log: Path) -> None:
        self._tool = tool
        self._folder = folder
        self._ledger = ledger
        self._log = log
        self._password = ""
        self._version: str | None = None
        self._server: Server | None = None

    @property
    def access(self) -> Access:
        """How to reach it; RuntimeError before ``start``."""
        return Access(f"jdbc:mysql://{ports.HOST}:{self._running().port}/{NAME}", NAME, self._password)

    def address(self, name: str) -> str:
        """Returns the place of a database in a driver's address; RuntimeError before ``start``."""
        return f"//{ports.HOST}:{self._running().port}/{name}"

    def start(self, names: Sequence[str] = (), version: str | None = None) -> None:
        """Makes an empty database and serves it, unless it is being served; with ``names`` anew each time, and so many
        more. ``version``: the version that it tells, in place of its own. BlockFault when that does not work, OSError
        when the disk is full."""
        if self._server is not None and self._server.process.exit_description() is None:
            if not names:
                return
            self._server.process.stop(5)
        self._server = None
        self._version = version
        try:
            self._create(names)
            self._server = server.start(Server("the database", self._spawn, _answers, READY_WITHIN))
        except BlockFault as fault:
            if any(words in str(fault) for words in ("No space left", "error 28", "Errcode: 28")):
                raise OSError(errno.ENOSPC, str(fault)) from fault
            raise

    def exit_description(self) -> str | None:
        """Describes how it ended; None while it runs, or before ``start``."""
        return self._server.exit_description() if self._server else None

    def _running(self) -> Server:
        if self._server is None:
            raise RuntimeError("start comes first")
        return self._server

    def _create(self, names: Sequence[str]) -> None:
        """Makes the system tables, the databases and the one user, by the server itself, which then ends."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True, mode=0o700)
        (self._folder / "data").mkdir()
        self._password = secrets.token_urlsafe(24)
        script = self._folder / "create.sql"
        script.write_text(self._creation([NAME, *names]), encoding="utf-8")
        process = self._ledger.start(
            Command(
                ["/bin/sh", "-c", 'exec "$@" <"$0"', str(script), *self._command(), "--bootstrap"],
                role="database, being created",
                log=self._log,
                folder=self._folder,
            )
        )
        try:
            wait_until(
                "the database was not created", lambda: process.returncode() is not None, READY_WITHIN, every=0.02
            )
        finally:
            process.stop(0)
        if process.returncode() != 0:
            raise BlockFault(
                f"the database could not be created ({process.exit_description()}): "
                f"{process.last_lines() or 'its log is empty'}"
            )
        script.unlink()

    def _creation(self, names: Sequence[str]) -> str:
        """Returns the SQL that makes the system tables, databases of these names, and the user who may use them."""
        tables = [self._share / f"mariadb_{name}_tables.sql" for name in ("system", "performance")]
        user = f"{NAME}@'{ports.HOST}'"
        lines = [
            "CREATE DATABASE mysql;",
            "USE mysql;",
            *(table.read_text(encoding="utf-8") for table in tables),
            *(f"CREATE DATABASE {name};" for name in names),
            "FLUSH PRIVILEGES;",
            f"CREATE USER {user} IDENTIFIED BY PASSWORD '{_hash(self._password)}';",
            *(f"GRANT ALL ON {name}.* TO {user};" for name in names),
        ]
        return "\n".join(lines) + "\n"

    @property
    def _share(self) -> Path:
        return self._tool.path.parent.parent / "share"

    def _spawn(self, chosen: Sequence[int]) -> Process:
        return self._ledger.start(
            Command([*self._command(), f"--port={chosen[0]}"], role="database", log=self._log, folder=self._folder)
        )

    def _command(self) -> list[str]:
        share = self._share
        return [
            str(self._tool.path),
            # First: none of the machine's configuration files.
            "--no-defaults",
            f"--basedir={share.parent}",
            f"--lc-messages-dir={share}",
            f"--character-sets-dir={share / 'charsets'}",
            f"--datadir={self._folder / 'data'}",
            f"--tmpdir={self._folder}",
            *_OPTIONS,
            *([f"--version={self._version}"] if self._version else []),
            *(["--user=root"] if os.geteuid() == 0 else []),
        ]


def _answers(chosen: Sequence[int]) -> bool:
    try:
        return bool(version(ports.HOST, chosen[0]))
    except OSError:
        return False


def _hash(password: str) -> str:
    """Hashes a password as the server stores it (mysql_native_password)."""
    return "*" + hashlib.sha1(hashlib.sha1(password.encode()).digest()).hexdigest().upper()
