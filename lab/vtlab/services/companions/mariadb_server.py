"""A MariaDB server beside the variants, and what a server of MySQL's protocol says of itself."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Sequence
from pathlib import Path

from vtlab.errors import PrerequisiteMissing
from vtlab.host import ports
from vtlab.host.tools import DATABASE_URL, OWN_DATABASE, Tool
from vtlab.services.companions.database import NAME, Access, Database

#: The version that the server tells MySQL's driver: by 8.0.11 or later the driver asks for a column of MySQL's that
#: MariaDB lacks, and Hibernate does not start.
FOR_MYSQL = "8.0.10-MariaDB"
#: By 5.7.20 or later the driver asks for transaction_isolation, which MariaDB has since 11.1.
_FOR_MYSQL_BEFORE_11_1 = "5.7.19-MariaDB"
#: Where below its prefix a server has its messages and its tables, and what the files of the tables begin with.
_SHARES = ("share", "share/mariadb", "share/mysql")
_TABLES = ("mariadb", "mysql")
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


class MariaDb(Database):
    """A MariaDB server of this run."""

    scheme = "jdbc:mysql:"
    _version: str | None = None

    @property
    def version_for_mysql(self) -> str:
        """The version that it must tell MySQL's driver."""
        major, minor = (int(number) for number in self._tool.version.split(".")[:2])
        return FOR_MYSQL if (major, minor) >= (11, 1) else _FOR_MYSQL_BEFORE_11_1

    def start(self, names: Sequence[str] = (), version: str | None = None) -> None:
        """Starts it as any database. ``version``: the version that it tells, in place of its own."""
        self._version = version
        super().start(names)

    def _create(self, names: Sequence[str]) -> None:
        """Makes the system tables, the databases and the one user, by the server itself, which then ends."""
        (self._folder / "data").mkdir()
        script = self._folder / "create.sql"
        script.write_text(self._creation(names), encoding="utf-8")
        self._execute([*self._server_words(), "--bootstrap"], script)
        script.unlink()

    def _creation(self, names: Sequence[str]) -> str:
        """Returns the SQL that makes the system tables, databases of these names, and the user who may use them."""
        system = _system_tables(self._tool)
        tables = [system, system.with_name(system.name.replace("system", "performance"))]
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

    def _words(self, port: int) -> list[str]:
        return [*self._server_words(), f"--port={port}"]

    def _answers(self, chosen: Sequence[int]) -> bool:
        try:
            return bool(version(ports.HOST, chosen[0]))
        except OSError:
            return False

    def _server_words(self) -> list[str]:
        share = _system_tables(self._tool).parent
        return [
            str(self._tool.path),
            # First: none of the machine's configuration files.
            "--no-defaults",
            f"--basedir={self._tool.path.parent.parent}",
            f"--lc-messages-dir={share}",
            f"--character-sets-dir={share / 'charsets'}",
            f"--datadir={self._folder / 'data'}",
            f"--tmpdir={self._folder}",
            *_OPTIONS,
            *([f"--version={self._version}"] if self._version else []),
            *(["--user=root"] if os.geteuid() == 0 else []),
        ]


def _system_tables(server: Tool) -> Path:
    """Finds the statements that make a server's system tables; its messages and character sets are beside them.
    PrerequisiteMissing where only a part of its package is installed."""
    prefixes = dict.fromkeys(path.parent.parent for path in (server.path, server.path.resolve()))
    folders = [prefix / share for prefix in prefixes for share in _SHARES]
    for folder in folders:
        for name in _TABLES:
            if (path := folder / f"{name}_system_tables.sql").is_file():
                return path
    raise PrerequisiteMissing(
        f"{server.path} has no file of its system tables in {', '.join(map(str, folders))}",
        f"install the whole of its package, or {OWN_DATABASE}",
    )


def _hash(password: str) -> str:
    """Hashes a password as the server stores it (mysql_native_password)."""
    return "*" + hashlib.sha1(hashlib.sha1(password.encode()).digest()).hexdigest().upper()
