"""The companions of an experiment on this machine: their versions, and the running of them."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from vtlab.errors import PrerequisiteMissing
from vtlab.host import ports, tools, variables
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.processes import Process
from vtlab.host.tools import Java
from vtlab.host.wait import TimedOut, wait_until
from vtlab.model.service import Need, Service, ServiceDependency, database_among
from vtlab.services import sample
from vtlab.services.companions import database, downstream, mariadb, mariadb_server, postgres
from vtlab.services.companions.database import Access, Database
from vtlab.services.companions.downstream import Downstream
from vtlab.services.companions.mariadb_server import MariaDb
from vtlab.services.companions.own_server import OwnServer
from vtlab.services.companions.postgres_server import Postgres

#: Where below a run's folder its databases store.
DATABASE = "database"
#: Seconds for a command of the user's: to end at once, and to listen.
_ENDS_AT_ONCE, _UP_WITHIN = 0.5, 120.0
_DEPENDENCY_ROLE = "the dependency of the service"


def versions(needs: Sequence[str]) -> dict[str, str]:
    """Returns the versions of what an experiment needs, and fetches a database where that is missing.

    PrerequisiteMissing for the first that cannot be had, BadInput for one of the user's own that makes no sense.
    """
    versions = {}
    if need := database_among(needs):
        versions["database"] = _database_version(need)
    if "downstream" in needs:
        # vtlab's own one is the app.
        url = downstream.from_environment()
        if url:
            downstream.require(url)
            versions["downstream"] = f"of {downstream.URL}"
    if "jdk21" in needs:
        versions["jdk21"] = tools.find_java("21").named
    return versions


def _database_version(need: Need) -> str:
    """Returns the version of the user's own database, else of vtlab's."""
    access = database.from_environment(need)
    if need == "postgres":
        return f"PostgreSQL {OwnServer(access).version() if access else postgres.find_or_fetch().version}"
    return mariadb_server.version_of(access) if access else mariadb.find_or_fetch().version


def describe_database(need: Need) -> str:
    """Describes the database of experiments that need one, and fetches none. Errors as of ``versions``."""
    can_be_fetched = postgres.can_be_fetched if need == "postgres" else mariadb.can_be_fetched
    if database.from_environment(need) is None and can_be_fetched():
        return "fetched when it is first needed"
    return _database_version(need).removeprefix("PostgreSQL ")


class CompanionServices:
    """The companions beside the variants of a run: started by the first block that needs it, again where it ended."""

    def __init__(self, folder: Path, java: Java, ledger: Ledger) -> None:
        logs = folder / "logs"
        self._folder = folder
        self._ledger = ledger
        self._databases: dict[Need, Database] = {}
        self._own_server: OwnServer | None = None
        self._dependency: Process | None = None
        self._downstream = Downstream(sample.service(), java, ledger, logs / "downstream.log")

    def start(self, needs: Sequence[Need], service: Service) -> dict[str, str]:
        """Starts everything that is needed; returns the environment that tells a variant of ``service`` where it is.

        BlockFault when something does not start; PrerequisiteMissing and BadInput as of ``versions``.
        """
        environment: dict[str, str] = {}
        if service.started_before is not None:
            self._start_dependency(service, service.started_before)
        need = database_among(needs)
        if need and not service.has_own_databases:
            access = database.from_environment(need)
            if access is None:
                access = self._started_database(need).access
            environment |= service.companion_environment(
                need, url=access.url, user=access.user, password=access.password
            )
        if "downstream" in needs:
            url = downstream.from_environment()
            if url is None:
                self._downstream.start()
                url = self._downstream.url
            environment |= service.companion_environment("downstream", url=url)
        return environment

    def databases(self, needs: Sequence[Need], service: Service, variants: Sequence[str]) -> dict[str, dict[str, str]]:
        """Returns, by variant, the environment that says where its own database is, empty and new for each block; none
        where variants share one. Errors as of ``start``."""
        need = database_among(needs)
        if need is None or not service.has_own_databases:
            return {}
        access = database.from_environment(need)
        if access is not None:
            self._own_server = self._own_server or OwnServer(access)
            addresses = self._own_server.create(variants)
        else:
            access, addresses = self._made_databases(need, service, variants)
        return {
            variant: service.companion_environment(
                need, url=access.url, address=address, user=access.user, password=access.password
            )
            for variant, address in addresses.items()
        }

    def close(self) -> None:
        """Removes what it made on a server of the user's, and ends its own. All else ends with the ledger."""
        if self._own_server is not None:
            self._own_server.close()
        for server in self._databases.values():
            server.close()

    def _made_databases(self, need: Need, service: Service, variants: Sequence[str]) -> tuple[Access, dict[str, str]]:
        """Starts vtlab's server with an empty database for each variant; returns how to reach it, and each address."""
        names = {variant: f"{database.NAME}_{variant.replace('-', '_')}" for variant in variants}
        is_of_mysql = any(value.startswith("jdbc:mysql:") for value in service.companions.get(need, {}).values())
        server = self._started_database(need, list(names.values()), is_of_mysql)
        return server.access, {variant: server.address(name) for variant, name in names.items()}

    def _started_database(self, need: Need, names: Sequence[str] = (), is_of_mysql: bool = False) -> Database:
        if need not in self._databases:
            folder, log = self._folder / DATABASE / need, self._folder / "logs" / "database.log"
            self._databases[need] = (
                Postgres(postgres.find_or_fetch(), folder, self._ledger, log)
                if need == "postgres"
                else MariaDb(mariadb.find_or_fetch(), folder, self._ledger, log)
            )
        server = self._databases[need]
        if isinstance(server, MariaDb) and is_of_mysql:
            server.start(names, server.version_for_mysql)
        else:
            server.start(names)
        return server

    def _start_dependency(self, service: Service, dependency: ServiceDependency) -> None:
        """Starts what the service needs, once for a run, with the whole of vtlab's environment: it is the user's.
        PrerequisiteMissing where it ends with an error, or does not come up."""
        if self._dependency is not None:
            return
        if dependency.port is not None:
            ports.require_free(dependency.port, f"the dependency of {service.name}")
        self._dependency = process = self._ledger.start(
            Command(
                shlex.split(dependency.command),
                role=_DEPENDENCY_ROLE,
                log=self._folder / "logs" / "needs.log",
                environment=variables.known(),
                folder=Path(service.directory),
            )
        )

        def is_up() -> bool:
            if process.returncode():
                raise PrerequisiteMissing(
                    f"the dependency of {service.name} ended with {process.exit_description()}: {process.last_lines()}",
                    f"correct the command: {dependency.command}",
                )
            return dependency.port is None or ports.is_open(dependency.port)

        # Without a port one can only see whether it ends at once.
        time.sleep(_ENDS_AT_ONCE)
        try:
            wait_until(f"the dependency of {service.name} did not listen on port {dependency.port}", is_up, _UP_WITHIN)
        except TimedOut as error:
            raise PrerequisiteMissing(f"{error}: {process.last_lines()}", f"see its log: {process.log}") from None

    def exit_description(self) -> str | None:
        """Names the companion that ended, and how; None while all run."""
        if self._dependency is not None and self._dependency.returncode():
            return f"the dependency of the service ended with {self._dependency.exit_description()}"
        ended = next(filter(None, (server.exit_description() for server in self._databases.values())), None)
        return ended or self._downstream.exit_description()
