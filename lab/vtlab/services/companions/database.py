"""The database of the experiments that need one: a server of this run, or one that the user names."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from vtlab.errors import BadInput, BlockFault
from vtlab.host import ports, server
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.processes import Process
from vtlab.host.server import Server
from vtlab.host.tools import DATABASE_PASSWORD, DATABASE_URL, DATABASE_USER, OWN_DATABASE, OWN_POSTGRES, Tool
from vtlab.host.wait import wait_until
from vtlab.model.service import Need

#: The user, and the database that is all it may see.
NAME = "lab"
#: Seconds until it must answer; about one on an idle machine.
READY_WITHIN = 60.0
#: Seconds for a server to end by itself.
_ENDS_WITHIN = 5.0
#: By database, the beginning of the addresses that its drivers take, and the advice about the user's own.
_SCHEMES: Mapping[Need, str] = {"database": "jdbc:mysql:", "postgres": "jdbc:postgresql:"}
_ADVICE: Mapping[Need, str] = {"database": OWN_DATABASE, "postgres": OWN_POSTGRES}
_POSTGRES_PORT, _MYSQL_PORT = 5432, 3306


@dataclass(frozen=True)
class Access:
    """Address and credentials of a database."""

    url: str
    user: str
    password: str = field(repr=False)

    @property
    def is_postgres(self) -> bool:
        """Tells whether it is a PostgreSQL."""
        return self.url.startswith(_SCHEMES["postgres"])

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        parts = urlsplit(self.url.removeprefix("jdbc:"))
        return parts.hostname or "", parts.port or (_POSTGRES_PORT if self.is_postgres else _MYSQL_PORT)


def from_environment(need: Need = "database") -> Access | None:
    """Reads the address of the user's own database; None where VTLAB_DATABASE_URL is not set. BadInput where it makes
    no sense, or is that of another database than the experiment needs."""
    url = os.environ.get(DATABASE_URL)
    if not url:
        return None
    scheme, advice = _SCHEMES[need], _ADVICE[need]
    # The URL may hold a password: no message shows it.
    try:
        parts = urlsplit(url.removeprefix("jdbc:"))
        fine = url.startswith(f"{scheme}//") and parts.hostname and "," not in parts.netloc and len(parts.path) > 1
        fine = fine and parts.port != 0
    except ValueError:
        fine = False
    if not fine:
        is_of_postgres = need != "postgres" and url.startswith(_SCHEMES["postgres"])
        other = "; for PostgreSQL: --database postgres" if is_of_postgres else ""
        raise BadInput(f"{DATABASE_URL} is not of the form {scheme}//HOST:PORT/NAME", advice + other)
    if "@" in parts.netloc or {"user", "password"} & {name.lower() for name, _ in parse_qsl(parts.query)}:
        raise BadInput(
            f"{DATABASE_URL} names a user or a password", f"name them in {DATABASE_USER} and {DATABASE_PASSWORD}"
        )
    for name in (DATABASE_USER, DATABASE_PASSWORD):
        if name not in os.environ:
            raise BadInput(f"{DATABASE_URL} is set, {name} is not", advice)
    return Access(url, os.environ[DATABASE_USER], os.environ[DATABASE_PASSWORD])


class Database(ABC):
    """One server, its data below ``folder``, which only its user can read; ``close`` or the ledger stops it at last.

    Its password is made anew with its data. Nothing but the variants' environment holds it.
    """

    #: The beginning of the addresses that its drivers take.
    scheme: str
    #: The user that it runs as; None is vtlab's own.
    _user: str | None = None

    def __init__(self, tool: Tool, folder: Path, ledger: Ledger, log: Path) -> None:
        self._tool = tool
        self._folder = folder
        self._ledger = ledger
        self._log = log
        self._password = ""
        self._server: Server | None = None

    @property
    def access(self) -> Access:
        """Returns how to reach it; RuntimeError before ``start``."""
        return Access(f"{self.scheme}{self.address(NAME)}", NAME, self._password)

    def address(self, name: str) -> str:
        """Returns the place of a database in a driver's address; RuntimeError before ``start``."""
        if self._server is None:
            raise RuntimeError("start comes first")
        return f"//{ports.HOST}:{self._server.port}/{name}"

    def start(self, names: Sequence[str] = ()) -> None:
        """Makes an empty database and serves it, unless it is being served; with ``names`` anew each time, and so many
        more. BlockFault when that does not work, OSError when the disk is full."""
        if self._server is not None and self._server.process.exit_description() is None:
            if not names:
                return
            self._end(self._server.process)
        self._server = None
        try:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True, mode=0o700)
            self._password = secrets.token_urlsafe(24)
            self._create([NAME, *names])
            self._server = server.start(Server("the database", self._spawn, self._answers, READY_WITHIN))
        except BlockFault as fault:
            if any(words in str(fault) for words in ("No space left", "error 28", "Errcode: 28")):
                raise OSError(errno.ENOSPC, str(fault)) from fault
            raise

    def exit_description(self) -> str | None:
        """Describes how it ended; None while it runs, or before ``start``."""
        return self._server.exit_description() if self._server else None

    def close(self) -> None:
        """Ends it, and removes its data."""
        if self._server is not None:
            self._end(self._server.process)
        shutil.rmtree(self._folder, ignore_errors=True)

    @abstractmethod
    def _create(self, names: Sequence[str]) -> None:
        """Makes the data in the empty folder: the databases of these names, and the one user, who may use them."""

    @abstractmethod
    def _words(self, port: int) -> list[str]:
        """Returns the command that serves the data on a port."""

    @abstractmethod
    def _answers(self, chosen: Sequence[int]) -> bool:
        """Tells whether it serves the last of these ports."""

    def _end(self, process: Process) -> None:
        process.stop(_ENDS_WITHIN)

    def _spawn(self, chosen: Sequence[int]) -> Process:
        return self._ledger.start(self._command(self._words(chosen[0]), "database"))

    def _execute(self, words: Sequence[str], script: Path) -> None:
        """Runs a program that makes the data, with a file as its input, to its end. BlockFault where it fails."""
        words = ["/bin/sh", "-c", 'exec "$@" <"$0"', str(script), *words]
        process = self._ledger.start(self._command(words, "database, being created"))
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

    def _command(self, words: Sequence[str], role: str) -> Command:
        return Command(words, role=role, log=self._log, folder=self._folder, user=self._user)
