"""``vtlab init``: the file of an experiment with a service of the user's."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.options import ROOT, Database, EnvFile, Results, Variables
from vtlab.commands.output import console
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.measuring.progress import Progress
from vtlab.model.draft import Option
from vtlab.model.endpoints import Endpoint, FileService, file_text, from_openapi
from vtlab.model.experiment import Experiment
from vtlab.model.service import database_among, name_of
from vtlab.planning.shipped_experiments import of_service
from vtlab.runs.found_requests import find_requests
from vtlab.services import discovery, inspection
from vtlab.services.single_start import started

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
    database: Database = None,
    root: Results = ROOT,
) -> None:
    """Write a vtlab.yaml with a service's GET requests.

    Finds them in its OpenAPI document or by its actuator, and sends each once.
    """
    out = out or Path(f"{name_of(jar)}.yaml")
    if out.exists():
        raise BadInput(f"{out} is there already", "name another file: -o other.yaml")
    variables = options.variable_names(env or [])
    given = [
        Option("--env", "service.env", variables),
        Option("--env-file", "service.env_file", options.absolute(env_file)),
        options.database_option(database),
    ]
    with Progress(console, f"starting {jar.name}") as progress:
        experiment = of_service(jar, given)
        console.print(f"starting {jar.name}, which gets each of its requests once", highlight=False)
        if openapi is None:
            otherwise = "; or name its document: --openapi FILE"
            endpoints, source = find_requests(experiment, inspection.inspect(jar), root.resolve(), otherwise, progress)
        else:
            endpoints = _from_document(experiment, root.resolve(), openapi, progress)
            source = _path_from(openapi, out.parent)
    file_of_env = _path_from(str(env_file), out.parent) if env_file else None
    described = FileService(_path_from(str(jar), out.parent), variables, file_of_env, database_among(experiment.needs))
    _write(out, described, endpoints, source)


def _from_document(experiment: Experiment, root: Path, openapi: str, progress: Progress) -> list[Endpoint]:
    """Returns the requests of a document, tried once where the service starts. BadInput where it has none."""
    endpoints = from_openapi(discovery.read_openapi(openapi))
    if not endpoints:
        raise BadInput(f"{openapi} has no GET request", "name an OpenAPI 3 document, in JSON or YAML")
    try:
        with started(experiment, root) as variant:
            return discovery.try_each(variant, endpoints, progress.show)
    except (BadInput, PrerequisiteMissing) as error:
        fix = f" ({error.fix})" if error.fix else ""
        console.print(f"no request was tried: {error}{fix}", highlight=False)
        return endpoints


def _write(out: Path, service: FileService, endpoints: list[Endpoint], source: str) -> None:
    """Writes the file, and says which requests it lacks."""
    out.write_text(file_text(service, endpoints, source), encoding="utf-8")
    for endpoint in endpoints:
        if endpoint.refused:
            fate = "it may need a login" if endpoint.lacks_login else "left out, as a comment"
            console.print(f"{endpoint.line} {endpoint.refused}: {fate}", highlight=False)
    count = sum(endpoint.is_ready for endpoint in endpoints)
    command = f"vtlab try {shlex.quote(str(out))}"
    console.print(f"{out}: {count} requests by {source}; edit it, then: {command}", highlight=False)


def _path_from(where: str, folder: Path) -> str:
    """Returns a URL as it is, a file by its path from the folder, so that the text holds on other machines, too."""
    return where if discovery.is_url(where) else os.path.relpath(where, folder)
