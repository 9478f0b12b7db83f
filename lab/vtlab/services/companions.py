"""What an experiment needs beside its variants on this machine: whether it can be had, and the running of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vtlab.host import tools
from vtlab.host.processes import Ledger
from vtlab.host.tools import Java
from vtlab.model.service import Need, Service
from vtlab.services import database, downstream, sample
from vtlab.services.database import Database
from vtlab.services.downstream import Downstream

#: Where below a run's folder its database stores.
DATABASE = "database"


def versions(needs: Sequence[str], repository: Path) -> dict[str, str]:
    """The versions of what an experiment needs; PrerequisiteMissing for the first that cannot be had, BadInput for one
    of the user's own that makes no sense."""
    versions = {}
    if "database" in needs:
        versions["database"] = database_version(repository)
    if "downstream" in needs:
        # vtlab's own one is the app.
        url = downstream.from_environment()
        if url:
            downstream.require(url)
            versions["downstream"] = f"of {downstream.URL}"
    if "jdk21" in needs:
        versions["jdk21"] = tools.find_java("21").named
    return versions


def database_version(repository: Path) -> str:
    """The version of the user's own database, else of vtlab's. Errors as of ``versions``."""
    access = database.from_environment()
    return database.version_of(access) if access else tools.find_mariadb(repository).version


class CompanionServices:
    """What runs beside the variants of a run: started by the first block that needs it, again where it ended."""

    def __init__(self, repository: Path, folder: Path, java: Java, ledger: Ledger) -> None:
        logs = folder / "logs"
        self._repository = repository
        self._folder = folder
        self._ledger = ledger
        self._database: Database | None = None
        self._downstream = Downstream(sample.service(repository), java, ledger, logs / "downstream.log")

    def start(self, needs: Sequence[Need], service: Service) -> dict[str, str]:
        """Has everything run that is needed; returns the environment that tells a variant of ``service`` where it is.

        BlockFault when something does not start; PrerequisiteMissing and BadInput as of ``versions``.
        """
        environment: dict[str, str] = {}
        if "database" in needs:
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

    def _started_database(self) -> Database:
        if self._database is None:
            tool, log = tools.find_mariadb(self._repository), self._folder / "logs" / "database.log"
            self._database = Database(tool, self._folder / DATABASE, self._ledger, log)
        self._database.start()
        return self._database

    def exit_description(self) -> str | None:
        """What of it ended, and how; None while all runs."""
        return (self._database.exit_description() if self._database else None) or self._downstream.exit_description()
