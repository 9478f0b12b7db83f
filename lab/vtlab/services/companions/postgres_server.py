"""A PostgreSQL server beside the variants."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import pwd
import secrets
import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from vtlab.errors import PrerequisiteMissing
from vtlab.host import ports
from vtlab.host.process_ledger import Ledger
from vtlab.host.processes import Process
from vtlab.host.tools import Tool
from vtlab.services.companions import postgres
from vtlab.services.companions.database import NAME, Database

#: The user that serves where vtlab is root, which PostgreSQL refuses to be.
_NOBODY = "nobody"
#: The account that makes the rest. Nobody can log in as it.
_SUPERUSER = "postgres"
_ROUNDS = 4096
#: Options of a new server. What decides who may log in is written afterwards.
_INITDB = [f"--username={_SUPERUSER}", "--auth=reject", "--encoding=UTF8", "--no-locale", "--no-sync"]
#: Small, and with nothing that the lab does not use: it shares the machine with what is measured.
_SETTINGS = [
    f"listen_addresses={ports.HOST}",
    # No socket in the file system, whose path would be too long.
    "unix_socket_directories=",
    "max_connections=600",
    "shared_buffers=64MB",
    "max_wal_size=256MB",
    # The data are not worth a write to the disk for each transaction.
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    # In the folder of the data, which goes with a killed server.
    "dynamic_shared_memory_type=mmap",
]


class Postgres(Database):
    """A PostgreSQL server of this run. Where vtlab is root it runs as another user, in a temporary folder that this
    user can reach."""

    scheme = "jdbc:postgresql:"

    def __init__(self, tool: Tool, folder: Path, ledger: Ledger, log: Path) -> None:
        self._temporary: Path | None = None
        if os.geteuid() == 0:
            _require_nobody()
            self._user = _NOBODY
            self._temporary = Path(tempfile.mkdtemp(prefix="vtlab-database-"))
            self._temporary.chmod(0o711)
            folder = self._temporary / folder.name
        super().__init__(tool, folder, ledger, log)
        #: The programs of an archive, unpacked.
        self._unpacked = folder.with_name("programs")

    def close(self) -> None:
        """Ends it, and removes its data."""
        super().close()
        shutil.rmtree(self._temporary or self._unpacked, ignore_errors=True)

    def _create(self, names: Sequence[str]) -> None:
        """Makes the system tables by initdb, the databases and the one user by the server itself, which then ends."""
        self._give(self._folder)
        data, script = self._folder / "data", self._folder / "create.sql"
        self._execute([self._program("initdb"), f"--pgdata={data}", *_INITDB], Path(os.devnull))
        (data / "pg_hba.conf").write_text(
            f"host {','.join(names)} {NAME} {ports.HOST}/32 scram-sha-256\n", encoding="utf-8"
        )
        script.write_text(self._creation(names), encoding="utf-8")
        self._give(script)
        alone = ["--single", "-F", "-D", str(data), "-c", "exit_on_error=true", _SUPERUSER]
        self._execute([self._program("postgres"), *alone], script)
        script.unlink()

    def _creation(self, names: Sequence[str]) -> str:
        """Returns the SQL, a line for each statement, that makes the user and databases of these names."""
        lines = [
            f"CREATE ROLE {NAME} LOGIN PASSWORD '{_verifier(self._password)}'",
            *(f"CREATE DATABASE {name} OWNER {NAME}" for name in names),
        ]
        return "\n".join(lines) + "\n"

    def _words(self, port: int) -> list[str]:
        settings = [word for setting in (*_SETTINGS, f"port={port}") for word in ("-c", setting)]
        return [self._program("postgres"), "-D", str(self._folder / "data"), *settings]

    def _answers(self, chosen: Sequence[int]) -> bool:
        """Tells whether it asks for the password of the user: while it starts it answers with an error."""
        names = f"user\0{NAME}\0database\0{NAME}\0\0".encode()
        # Version 3.0 of the protocol.
        packet = (8 + len(names)).to_bytes(4, "big") + (3 << 16).to_bytes(4, "big") + names
        try:
            with socket.create_connection((ports.HOST, chosen[0]), timeout=5) as connection:
                connection.sendall(packet)
                return connection.recv(1) == b"R"
        except OSError:
            return False

    def _end(self, process: Process) -> None:
        """Ends it at once: by SIGTERM alone it would wait until each service disconnects."""
        process.interrupt()
        super()._end(process)

    def _program(self, name: str) -> str:
        """Returns the path of one of its programs, which are unpacked first where they are in an archive."""
        if self._tool.path.suffix != postgres.JAR:
            return str(self._tool.path.with_name(name))
        if not self._unpacked.is_dir():
            postgres.unpack(self._tool.path, self._unpacked)
            self._give(self._unpacked)
        return str(self._unpacked / "bin" / name)

    def _give(self, path: Path) -> None:
        """Gives a file, or a folder with all in it, to the user that serves."""
        if self._user is None:
            return
        account = pwd.getpwnam(self._user)
        for each in (path, *path.rglob("*")):
            os.chown(each, account.pw_uid, account.pw_gid, follow_symlinks=False)


def _require_nobody() -> None:
    try:
        pwd.getpwnam(_NOBODY)
    except KeyError:
        raise PrerequisiteMissing(
            f"PostgreSQL does not run as root, and this machine has no user {_NOBODY}", "start vtlab as another user"
        ) from None


def _verifier(password: str) -> str:
    """Hashes a password as the server stores it (SCRAM-SHA-256, RFC 5803)."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ROUNDS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    written = [base64.b64encode(value).decode() for value in (salt, stored, server)]
    return f"SCRAM-SHA-256${_ROUNDS}:{written[0]}${written[1]}:{written[2]}"
