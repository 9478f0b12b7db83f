"""Databases of the variants on the user's own server, by the client of MariaDB, MySQL or PostgreSQL."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from vtlab.errors import PrerequisiteMissing
from vtlab.host import tools
from vtlab.host.tools import DATABASE_URL
from vtlab.services.companions.database import Access

#: Begins the name of each database, so that an account can have rights on these alone.
PREFIX = "vtlab_"
#: Seconds for a statement, and of these for a connection, and for the wait for a service that still uses a table.
_WITHIN, _CONNECTED, _LOCKED = 60, 10, 10
_UNSET = f"or unset {DATABASE_URL}: vtlab starts one"


@dataclass(frozen=True)
class _Dialect:
    """Differences between the servers. In a statement ``{name}`` is a database."""

    clients: Sequence[str]
    #: Says that there is no client.
    absent: str
    #: Debian's package of the first client.
    package: str
    create: str
    drop: str
    #: Lets an account create databases.
    grant: str
    #: Precedes the statements.
    first: str = ""


_MYSQL = _Dialect(
    ("mariadb", "mysql"),
    "neither mariadb nor mysql is on PATH",
    "mariadb-client",
    "CREATE DATABASE {name};",
    "DROP DATABASE IF EXISTS {name};",
    r"GRANT ALL ON `vtlab\_%`.* TO its user",
    f"SET SESSION lock_wait_timeout={_LOCKED};",
)
_POSTGRES = _Dialect(
    ("psql",),
    "psql is not on PATH",
    "postgresql-client",
    # A template that nobody is connected to: else there would be no copy.
    "CREATE DATABASE {name} TEMPLATE template0;",
    "DROP DATABASE IF EXISTS {name} WITH (FORCE);",
    "ALTER ROLE its user CREATEDB",
)


class OwnServer:
    """The server of VTLAB_DATABASE_URL, and the databases that vtlab made there. Those of others it never touches."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._dialect = _POSTGRES if access.is_postgres else _MYSQL
        self._names: list[str] = []

    def create(self, variants: Sequence[str]) -> dict[str, str]:
        """Makes an empty database for each variant, and drops those before; returns, by variant, the address for its
        driver. PrerequisiteMissing without a client, and where the account lacks the right."""
        self.drop()
        # In the way of nothing that the server has.
        run = secrets.token_hex(4)
        names = {variant: f"{PREFIX}{run}_{variant.replace('-', '_')}" for variant in variants}
        self._names = list(names.values())
        self._execute(self._dialect.create, self._names)
        host_and_port = urlsplit(self._access.url.removeprefix("jdbc:")).netloc
        return {variant: f"//{host_and_port}/{name}" for variant, name in names.items()}

    def drop(self) -> None:
        """Drops the databases that it made. Errors as of ``create``."""
        if self._names:
            self._execute(self._dialect.drop, self._names)
            self._names = []

    def close(self) -> None:
        """Drops the databases, where the server still does that."""
        with contextlib.suppress(PrerequisiteMissing):
            self.drop()

    def version(self) -> str:
        """Asks a PostgreSQL for its version. PrerequisiteMissing without a client, and where it does not answer."""
        try:
            return self._ask("SHOW server_version;").strip()
        except _Failed as failed:
            raise PrerequisiteMissing(
                f"the database of {DATABASE_URL} does not answer: {failed}",
                f"start it, correct its address or account, {_UNSET}",
            ) from None

    def _execute(self, statement: str, names: Sequence[str]) -> None:
        """Executes a statement for each database."""
        try:
            self._ask("\n".join([self._dialect.first, *(statement.format(name=name) for name in names)]))
        except _Failed as failed:
            raise PrerequisiteMissing(
                f"the server of VTLAB_DATABASE_URL has no database for each variant: {failed}",
                f"let the account create databases: {self._dialect.grant}; {_UNSET}",
            ) from None

    def _ask(self, script: str) -> str:
        """Returns what the client prints for a script. PrerequisiteMissing without a client, _Failed where the server
        refuses."""
        client = next(filter(None, map(shutil.which, self._dialect.clients)), None)
        if client is None:
            raise PrerequisiteMissing(
                f"a database for each variant on the server of {DATABASE_URL} needs a client, and"
                f" {self._dialect.absent}",
                f"install one (Debian: apt-get install {self._dialect.package}), {_UNSET}",
            )
        password = self._access.password
        try:
            done = subprocess.run(
                [client, *self._options()],
                input=script,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_WITHIN,
                env=tools.clean_environment(MYSQL_PWD=password, PGPASSWORD=password, PGCONNECT_TIMEOUT=str(_CONNECTED)),
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _Failed(f"no answer within {_WITHIN} s") from None
        if done.returncode:
            raise _Failed(" ".join(done.stderr.split()) or f"{client} gave no reason")
        return done.stdout

    def _options(self) -> list[str]:
        """Returns the options of the client: all but the password, as everybody sees a process's arguments."""
        host, port = self._access.address
        server, user = [f"--host={host}", f"--port={port}"], self._access.user
        if not self._access.is_postgres:
            # By default a new client of MariaDB refuses a server without TLS.
            options = ["--no-defaults", "--loose-ssl-verify-server-cert=0", "--protocol=TCP", "--batch"]
            return [*options, *server, f"--user={user}"]
        options = ["--no-psqlrc", "--no-password", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"]
        database = unquote(urlsplit(self._access.url.removeprefix("jdbc:")).path[1:])
        return [*options, *server, f"--username={user}", f"--dbname={database}"]


class _Failed(Exception):
    """A script that failed, with the words of the client or the server."""
