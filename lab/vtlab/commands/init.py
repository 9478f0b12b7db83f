"""``vtlab init``: the small file of ``vtlab try`` for a service."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.help_pages import SERVICE
from vtlab.commands.options import ROOT, EnvFile, Results, Variables
from vtlab.commands.output import console
from vtlab.errors import BadInput, BlockFault, PrerequisiteMissing
from vtlab.host import agent, operating_system, process_ledger, tools
from vtlab.measuring.progress import Progress
from vtlab.model.endpoints import Endpoint, file_text, from_openapi
from vtlab.model.inspection import Inspection
from vtlab.model.service_file import RequestLines, TryInput, TryOptions
from vtlab.planning.try_experiment import experiment_of
from vtlab.services import discovery, from_jar, inspection, process
from vtlab.services.companions import companion_services
from vtlab.services.companions.companion_services import CompanionServices
from vtlab.services.resolve import resolve_service

EXAMPLES = """\
vtlab init app.jar
vtlab init app.jar --openapi openapi.yaml --database -o vtlab.yaml
"""


def init(
    jar: Annotated[Path, typer.Argument(metavar="JAR", help="Executable Spring Boot jar.")],
    openapi: Annotated[
        str | None,
        typer.Option("--openapi", metavar="URL|FILE", help="OpenAPI document. [default: ask the started service]"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write. [default: the jar's name with .yaml]"),
    ] = None,
    env: Variables = None,
    env_file: EnvFile = None,
    database: Annotated[
        bool, typer.Option("--database", help="Start a throwaway MariaDB for it.", rich_help_panel=SERVICE)
    ] = False,
    root: Results = ROOT,
) -> None:
    """Write a vtlab.yaml with a service's GET requests.

    Finds them in its OpenAPI document or by its actuator, and sends each once.
    """
    settings = TryOptions(
        environment_from=options.variable_names(env or []), environment_file=env_file, database=database
    )
    out = out or Path(f"{from_jar.name_of(jar)}.yaml")
    inspected = inspection.inspect(jar, tools.find_java())
    if out.exists():
        raise BadInput(f"{out} is there already", "name another one: -o other.yaml")
    with Progress(console, f"starting {jar.name}") as progress:
        if openapi is None:
            endpoints, source = _from_service(jar, settings, root.resolve(), inspected, progress)
        else:
            endpoints = _from_document(jar, settings, root.resolve(), openapi, progress)
            source = _path_from(openapi, out.parent)
    _write(out, jar, settings, endpoints, source)


def _from_service(
    jar: Path, settings: TryOptions, root: Path, inspection: Inspection, progress: Progress
) -> tuple[list[Endpoint], str]:
    """Returns the requests that the started service tells, tried once, and where it tells them."""
    with _started(jar, settings, root, "; or name its document: --openapi FILE") as variant:
        endpoints, source = discovery.discover(variant, inspection)
        return _tried(variant, endpoints, progress), source


def _tried(variant: process.VariantProcess, endpoints: list[Endpoint], progress: Progress) -> list[Endpoint]:
    """Sends each request once, and adds how it was answered."""
    tried = []
    for number, endpoint in enumerate(endpoints, 1):
        progress.show(f"sending request {number} of {len(endpoints)}: {endpoint.line}")
        tried.append(discovery.try_once(variant, endpoint))
    return tried


def _from_document(jar: Path, settings: TryOptions, root: Path, openapi: str, progress: Progress) -> list[Endpoint]:
    """Returns the requests of a document, tried once where the service starts. BadInput where it has none."""
    endpoints = from_openapi(discovery.read_openapi(openapi))
    if not endpoints:
        raise BadInput(f"{openapi} has no GET request", "name an OpenAPI 3 document, in JSON or YAML")
    try:
        with _started(jar, settings, root, "") as variant:
            return _tried(variant, endpoints, progress)
    except (BadInput, PrerequisiteMissing) as error:
        fix = f" ({error.fix})" if error.fix else ""
        console.print(f"no request was tried: {error}{fix}", highlight=False, soft_wrap=True)
        return endpoints


def _write(out: Path, jar: Path, settings: TryOptions, endpoints: list[Endpoint], source: str) -> None:
    """Writes the file, and says which requests it lacks."""
    service = _path_from(str(jar), out.parent)
    text = file_text(service, endpoints, source, settings.environment_from, bool(settings.database))
    out.write_text(text, encoding="utf-8")
    for endpoint in endpoints:
        if endpoint.refused:
            fate = "it may need a login" if endpoint.lacks_login else "left out, as a comment"
            console.print(f"{endpoint.line} {endpoint.refused}: {fate}", highlight=False, soft_wrap=True)
    count = sum(endpoint.is_ready for endpoint in endpoints)
    console.print(f"{out}: {count} requests by {source}; edit it, then: vtlab try {out}", highlight=False)


def _path_from(where: str, folder: Path) -> str:
    """Returns a URL as it is, a file by its path from the folder, so that the text holds on other machines, too."""
    return where if discovery.is_url(where) else os.path.relpath(where, folder)


@contextmanager
def _started(jar: Path, settings: TryOptions, root: Path, otherwise: str) -> Iterator[process.VariantProcess]:
    """Starts the service as one of its variants, until the context ends. PrerequisiteMissing where it does not start:
    ``otherwise`` says what else could be done."""
    operating_system.refuse_other_than_linux()
    agent_jar = agent.find()
    call = TryInput(jar, RequestLines(["GET /"]), replace(settings, users=1))
    experiment = experiment_of(call).model_copy(update={"settings": discovery.EXPOSED})
    service = resolve_service(experiment)
    variant, java = experiment.variants[0], tools.find_java()
    # A database may have to be fetched first.
    companion_services.versions(experiment.needs)
    console.print(f"starting {jar.name}, which gets each of its requests once", highlight=False)
    with tempfile.TemporaryDirectory() as folder, process_ledger.open_exclusive(root) as ledger:
        companions = CompanionServices(Path(folder), java, ledger)
        launch = process.Launch(
            service,
            experiment,
            {variant: java},
            ledger,
            Path(folder, "logs"),
            "init",
            False,
            databases=companions.databases(experiment.needs, service, [variant]),
            agent=agent_jar,
        )
        started = process.VariantProcess(variant, launch, None)
        started.server.begin()
        try:
            while not started.server.ready():
                time.sleep(0.1)
        except BlockFault as fault:
            raise PrerequisiteMissing(
                str(fault), f"give it what it needs: --database, --env NAME=VALUE{otherwise}"
            ) from None
        yield started
