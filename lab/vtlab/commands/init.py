"""``vtlab init``: the file of an experiment with a service of the user's."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.help_pages import SERVICE
from vtlab.commands.options import ROOT, EnvFile, Results, Variables
from vtlab.commands.output import console
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.measuring.progress import Progress
from vtlab.model.draft import Option
from vtlab.model.endpoints import Endpoint, FileService, file_text, from_openapi
from vtlab.model.experiment import Experiment
from vtlab.model.service import name_of
from vtlab.planning.shipped_experiments import of_service
from vtlab.services import discovery, inspection
from vtlab.services.process import VariantProcess
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
    database: Annotated[
        bool, typer.Option("--database", help="Start a throwaway MariaDB for it.", rich_help_panel=SERVICE)
    ] = False,
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
        Option("--database", "needs", ["database"] if database else []),
    ]
    experiment = of_service(jar, given)
    with Progress(console, f"starting {jar.name}") as progress:
        console.print(f"starting {jar.name}, which gets each of its requests once", highlight=False)
        if openapi is None:
            endpoints, source = _from_service(experiment, jar, root.resolve(), progress)
        else:
            endpoints = _from_document(experiment, root.resolve(), openapi, progress)
            source = _path_from(openapi, out.parent)
    file_of_env = _path_from(str(env_file), out.parent) if env_file else None
    described = FileService(_path_from(str(jar), out.parent), variables, file_of_env, database)
    _write(out, described, endpoints, source)


def _from_service(experiment: Experiment, jar: Path, root: Path, progress: Progress) -> tuple[list[Endpoint], str]:
    """Returns the requests that the started service tells, tried once, and where it tells them."""
    with _started(experiment, root, "; or name its document: --openapi FILE") as variant:
        endpoints, source = discovery.discover(variant, inspection.inspect(jar))
        return discovery.try_each(variant, endpoints, progress.show), source


def _from_document(experiment: Experiment, root: Path, openapi: str, progress: Progress) -> list[Endpoint]:
    """Returns the requests of a document, tried once where the service starts. BadInput where it has none."""
    endpoints = from_openapi(discovery.read_openapi(openapi))
    if not endpoints:
        raise BadInput(f"{openapi} has no GET request", "name an OpenAPI 3 document, in JSON or YAML")
    try:
        with _started(experiment, root, "") as variant:
            return discovery.try_each(variant, endpoints, progress.show)
    except (BadInput, PrerequisiteMissing) as error:
        fix = f" ({error.fix})" if error.fix else ""
        console.print(f"no request was tried: {error}{fix}", highlight=False, soft_wrap=True)
        return endpoints


def _started(experiment: Experiment, root: Path, otherwise: str) -> AbstractContextManager[VariantProcess]:
    """Starts the service, with its actuator's mappings exposed."""
    exposed = experiment.model_copy(update={"settings": {**experiment.settings, **discovery.EXPOSED}})
    return started(exposed, root, otherwise)


def _write(out: Path, service: FileService, endpoints: list[Endpoint], source: str) -> None:
    """Writes the file, and says which requests it lacks."""
    out.write_text(file_text(service, endpoints, source), encoding="utf-8")
    for endpoint in endpoints:
        if endpoint.refused:
            fate = "it may need a login" if endpoint.lacks_login else "left out, as a comment"
            console.print(f"{endpoint.line} {endpoint.refused}: {fate}", highlight=False, soft_wrap=True)
    count = sum(endpoint.is_ready for endpoint in endpoints)
    console.print(f"{out}: {count} requests by {source}; edit it, then: vtlab try {out}", highlight=False)


def _path_from(where: str, folder: Path) -> str:
    """Returns a URL as it is, a file by its path from the folder, so that the text holds on other machines, too."""
    return where if discovery.is_url(where) else os.path.relpath(where, folder)
