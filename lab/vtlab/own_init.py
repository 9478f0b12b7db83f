"""``vtlab init``: writes the small file of ``vtlab try`` for a service."""

from __future__ import annotations

import json
import os
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from rich.console import Console

from vtlab import own_experiment, services
from vtlab.errors import BadInput, BlockFault, PrerequisiteMissing
from vtlab.host import agent, operating_system, process_ledger, tools
from vtlab.host import server as http
from vtlab.model import documents
from vtlab.model.endpoints import Endpoint, file_text, from_mappings, from_openapi
from vtlab.model.inspection import Inspection
from vtlab.services import inspection, own, process
from vtlab.services.companions import CompanionServices

#: springdoc's default of ``springdoc.api-docs.path``.
OPENAPI = "/v3/api-docs"
#: Seconds for an answer: those of a measured request, if nothing else is said.
_ANSWERS_WITHIN = 30.0
#: How services answer a request without the login that it needs.
_WITHOUT_LOGIN = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
#: Exposed for the moment in which vtlab asks for it.
_EXPOSED = {"MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE": "health,mappings"}


def write(
    jar: Path, out: Path, openapi: str | None, environment: Mapping[str, Any], root: Path, console: Console
) -> None:
    """Writes the file. ``environment``: fields of ``own_experiment.Asked`` for the service.

    BadInput where the file is there already, where vtlab cannot measure the jar, and where ``openapi``, a URL or a
    file, is no OpenAPI document; PrerequisiteMissing where the service does not start.
    """
    seen = inspection.inspect(jar, tools.find_java())
    if out.exists():
        raise BadInput(f"{out} is there already", "name another one: --out other.yaml")
    if openapi is not None:
        endpoints, source = from_openapi(_openapi(openapi)), _beside(openapi, out.parent)
        if not endpoints:
            raise BadInput(f"{openapi} has no GET request", "name an OpenAPI 3 document, in JSON or YAML")
        try:
            with _started(jar, environment, root, console, "") as started:
                endpoints = [_tried(started, endpoint) for endpoint in endpoints]
        except (BadInput, PrerequisiteMissing) as error:
            fix = f" ({error.fix})" if error.fix else ""
            console.print(f"no request was tried: {error}{fix}", highlight=False, soft_wrap=True)
    else:
        with _started(jar, environment, root, console, "; or name its document: --openapi FILE") as started:
            endpoints, source = _asked(started, seen)
            endpoints = [_tried(started, endpoint) for endpoint in endpoints]
    relative = _beside(str(jar), out.parent)
    variables, with_database = environment.get("environment_from", ()), environment.get("database", False)
    out.write_text(file_text(relative, endpoints, source, variables, with_database), encoding="utf-8")
    count = sum(endpoint.is_ready for endpoint in endpoints)
    for endpoint in endpoints:
        if endpoint.refused:
            fate = "it may need a login" if endpoint.lacks_login else "left out, as a comment"
            console.print(f"{endpoint.line} {endpoint.refused}: {fate}", highlight=False, soft_wrap=True)
    console.print(f"{out}: {count} requests by {source}; edit it, then: vtlab try {out}", highlight=False)


def _beside(where: str, folder: Path) -> str:
    """A URL as it is, a file by its path from that folder: what is written holds on other machines, too."""
    return where if _is_url(where) else os.path.relpath(where, folder)


def _is_url(where: str) -> bool:
    return where.startswith(("http://", "https://"))


def _openapi(where: str) -> Any:
    if not _is_url(where):
        return documents.read(Path(where))
    try:
        with urllib.request.urlopen(where, timeout=30) as answer:
            return documents.parse(answer.read().decode(), where, is_yaml=not where.endswith(".json"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {where}: {error}", "name a URL that answers, or a file") from None


@contextmanager
def _started(
    jar: Path, environment: Mapping[str, Any], root: Path, console: Console, otherwise: str
) -> Iterator[process.VariantProcess]:
    """The service, ready, as one of its variants; it ends with the context. PrerequisiteMissing where it does not
    start: ``otherwise`` says what else could be done."""
    operating_system.refuse_other_than_linux()
    agent_jar = agent.find()
    asked = own_experiment.of_call(jar, ["GET /"], None, None, users=1, **environment)
    experiment = own_experiment.experiment_of(asked).model_copy(update={"settings": _EXPOSED})
    service = services.of(experiment)
    variant, java = experiment.variants[0], tools.find_java()
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


def _asked(started: process.VariantProcess, seen: Inspection) -> tuple[list[Endpoint], str]:
    """What the service itself says of its requests; and where it says it."""
    context = own.context_path(seen)
    openapi = context + own.path_setting(seen, "springdoc.api-docs.path", OPENAPI)
    if endpoints := from_openapi(_document(started, openapi)):
        return endpoints, openapi
    mappings = own.actuator_path(seen) + "/mappings"
    return from_mappings(_document(started, mappings), context), mappings


def _tried(started: process.VariantProcess, endpoint: Endpoint) -> Endpoint:
    """With how the service answers, where that is not by 200: what a workload expects, if it says nothing else."""
    if endpoint.unknown:
        return endpoint
    status = http.status(started.server.port, endpoint.path, started.is_tls, _ANSWERS_WITHIN)
    if status == HTTPStatus.OK:
        return endpoint
    refused = f"answered {status}" if status else f"gave no answer within {_ANSWERS_WITHIN:.0f} s"
    if status is not None and 300 <= status < 400:
        refused += ", a redirect, as without a login"
    return replace(endpoint, refused=refused, lacks_login=status in _WITHOUT_LOGIN)


def _document(started: process.VariantProcess, path: str) -> Any:
    """The JSON document that a service has at that path; None where it has none."""
    text = http.text(started.server.port, path, started.is_tls)
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
