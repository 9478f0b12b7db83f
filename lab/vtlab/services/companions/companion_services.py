"""The companions of an experiment on this machine: their versions, and the running of them."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import ports, tools, variables
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.processes import Process
from vtlab.host.tools import Java
from vtlab.host.wait import TimedOut, wait_until
from vtlab.model.service import Need, Service, ServiceDependency
from vtlab.services import sample
from vtlab.services.companions import database, downstream, mariadb
from vtlab.services.companions.database import Database
from vtlab.services.companions.downstream import Downstream

#: Where below a run's folder its database stores.
DATABASE = "database"
#: Seconds for a command of the user's: to end at once, and to listen.
_ENDS_AT_ONCE, _UP_WITHIN = 0.5, 120.0
_DEPENDENCY_ROLE = "the dependency of the service"


def versions(needs: Sequence[str]) -> dict[str, str]:
    """Returns the versions of what an experiment needs, and fetches a MariaDB where that is missing.

    PrerequisiteMissing for the first that cannot be had, BadInput for one of the user's own that makes no sense.
    """
    versions = {}
    if "database" in needs:
        versions["database"] = _database_version()
    if "downstream" in needs:
        # vtlab's own one is the app.
        url = downstream.from_environment()
        if url:
            downstream.require(url)
            versions["downstream"] = f"of {downstream.URL}"
    if "jdk21" in needs:
        versions["jdk21"] = tools.find_java("21").named
    return versions


def _database_version() -> str:
    """Returns the version of the user's own database, else of vtlab's."""
    access = database.from_environment()
    return database.version_of(access) if access else mariadb.find_or_fetch().version


def describe_database() -> str:
    """Describes the database of experiments that need one, and fetches none. Errors as of ``versions``."""
    if database.from_environment() is None and mariadb.can_be_fetched():
        return "MariaDB: fetched when an experiment first needs it"
    return _database_version()


class CompanionServices:
    """The companions beside the variants of a run: started by the first block that needs it, again where it ended."""

    def __init__(self, folder: Path, java: Java, ledger: Ledger) -> None:
        logs = folder / "logs"
        self._folder = folder
        self._ledger = ledger
        self._database: Database | None = None
        self._dependency: Process | None = None
        self._downstream = Downstream(sample.service(), java, ledger, logs / "downstream.log")

    def start(self, needs: Sequence[Need], service: Service) -> dict[str, str]:
        """Starts everything that is needed; returns the environment that tells a variant of ``service`` where it is.

        BlockFault when something does not start; PrerequisiteMissing and BadInput as of ``versions``.
        """
        environment: dict[str, str] = {}
        if service.started_before is not None:
            self._start_dependency(service, service.started_before)
        if "database" in needs and not service.has_own_databases:
            access = database.from_environment()
            if access is None:
                access = self._started_database().access
            environment |= service.companion_environment(
                "database", url=access.url, user=access.user, password=access.password
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
        if "database" not in needs or not service.has_own_databases:
            return {}
        if database.from_environment() is not None:
            raise BadInput(
                f"{tools.DATABASE_URL} names one database, but each variant of {service.name} needs a separate one",
                f"unset {tools.DATABASE_URL}: vtlab starts a MariaDB",
            )
        names = {variant: f"{database.NAME}_{variant.replace('-', '_')}" for variant in variants}
        is_of_mysql = any(value.startswith("jdbc:mysql:") for value in service.companions["database"].values())
        server = self._started_database(list(names.values()), database.FOR_MYSQL if is_of_mysql else None)
        access = server.access
        return {
            variant: service.companion_environment(
                "database", url=access.url, address=server.address(name), user=access.user, password=access.password
            )
            for variant, name in names.items()
        }

    def _started_database(self, names: Sequence[str] = (), version: str | None = None) -> Database:
        if self._database is None:
            tool, log = tools.find_mariadb(), self._folder / "logs" / "database.log"
            self._database = Database(tool, self._folder / DATABASE, self._ledger, log)
        self._database.start(names, version)
        return self._database

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
        return (self._database.exit_description() if self._database else None) or self._downstream.exit_description()
