"""One variant of a service, started outside a run: to ask it what it has."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.host import agent, operating_system, process_ledger, tools
from vtlab.model.experiment import Experiment
from vtlab.services import process
from vtlab.services.companions import companion_services
from vtlab.services.companions.companion_services import CompanionServices
from vtlab.services.resolve import resolve_service


@contextmanager
def started(experiment: Experiment, root: Path, otherwise: str = "") -> Iterator[process.VariantProcess]:
    """Starts the first variant of an experiment on this machine, without limits, until the context ends.
    PrerequisiteMissing where it does not start: ``otherwise`` says what else could be done."""
    operating_system.refuse_other_than_linux()
    service = resolve_service(experiment)
    agent_jar = agent.find() if service.agent else None
    name, java = experiment.variants[0], tools.find_java(experiment.java_home)
    # A database may have to be fetched first.
    companion_services.versions(experiment.needs)
    with (
        tempfile.TemporaryDirectory() as folder,
        process_ledger.open_exclusive(root) as ledger,
        closing(CompanionServices(Path(folder), java, ledger)) as companions,
    ):
        launch = process.Launch(
            service=service,
            experiment=experiment,
            javas={name: process.java_of(experiment, name, java)} if service.jar else {},
            ledger=ledger,
            logs=Path(folder, "logs"),
            label="first",
            cpu_limited=False,
            companions=companions.start(experiment.needs, service),
            databases=companions.databases(experiment.needs, service, [name]),
            agent=agent_jar,
        )
        variant = process.VariantProcess(name, launch, None)
        variant.server.begin()
        try:
            while not variant.server.ready():
                time.sleep(0.1)
        except BlockFault as fault:
            raise PrerequisiteMissing(
                str(fault), f"give it what it needs: --database, --env NAME=VALUE{otherwise}"
            ) from None
        yield variant
