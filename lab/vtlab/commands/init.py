"""``vtlab init``: the file of an experiment with a service of the user's."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.options import ROOT, EnvFile, Results
from vtlab.commands.output import console
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.model.draft import Option
from vtlab.model.endpoints import Endpoint, FileService, file_text, from_openapi
from vtlab.model.experiment import Experiment
from vtlab.model.service import name_of
from vtlab.planning.shipped_experiments import of_service
from vtlab.services import discovery, inspection
from vtlab.services.process import VariantProcess
from vtlab.services.single_start import started


def init(
    jar: Annotated[Path, typer.Argument(metavar="JAR", help="An executable Spring Boot jar.")],
    openapi: Annotated[
        str | None,
        typer.Option("--openapi", metavar="URL|FILE", help="Its OpenAPI document; the started service if not given."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The file; the jar's name with .yaml if not given.")] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="NAME[=VALUE]", help="A variable for the service.")
    ] = None,
    env_file: EnvFile = None,
    database: Annotated[bool, typer.Option("--database", help="vtlab starts a MariaDB for it.")] = False,
    root: Results = ROOT,
) -> None:
    """Write the file of vtlab try: the GET requests that a service has, by OpenAPI or its actuator."""
    out = out or Path(f"{name_of(jar)}.yaml")
    if out.exists():
        raise BadInput(f"{out} is there already", "name another one: --out other.yaml")
    given = [
        Option("--env", "service.env", options.variable_names(env or [])),
        Option("--env-file", "service.env_file", options.absolute(env_file)),
        Option("--database", "needs", ["database"] if database else []),
    ]
    experiment = of_service(jar, given)
    if openapi is None:
        endpoints, source = _from_service(experiment, jar, root.resolve())
    else:
        endpoints, source = _from_document(experiment, root.resolve(), openapi), _path_from(openapi, out.parent)
    described = FileService(
        _path_from(str(jar), out.parent),
        options.variable_names(env or []),
        _path_from(str(env_file), out.parent) if env_file else None,
        database,
    )
    _write(out, described, endpoints, source)


def _from_service(experiment: Experiment, jar: Path, root: Path) -> tuple[list[Endpoint], str]:
    """Returns the requests that the started service tells, tried once, and where it tells them."""
    with _started(experiment, root, "; or name its document: --openapi FILE") as variant:
        endpoints, source = discovery.discover(variant, inspection.inspect(jar))
        return [discovery.try_once(variant, endpoint) for endpoint in endpoints], source


def _from_document(experiment: Experiment, root: Path, openapi: str) -> list[Endpoint]:
    """Returns the requests of a document, tried once where the service starts. BadInput where it has none."""
    endpoints = from_openapi(discovery.read_openapi(openapi))
    if not endpoints:
        raise BadInput(f"{openapi} has no GET request", "name an OpenAPI 3 document, in JSON or YAML")
    try:
        with _started(experiment, root, "") as variant:
            return [discovery.try_once(variant, endpoint) for endpoint in endpoints]
    except (BadInput, PrerequisiteMissing) as error:
        fix = f" ({error.fix})" if error.fix else ""
        console.print(f"no request was tried: {error}{fix}", highlight=False, soft_wrap=True)
        return endpoints


def _started(experiment: Experiment, root: Path, otherwise: str) -> AbstractContextManager[VariantProcess]:
    """Starts the service, with its actuator's mappings exposed."""
    console.print(f"starting {experiment.name}, which gets each of its requests once", highlight=False)
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
