"""``vtlab init``: writes the small file of ``vtlab try`` for a service."""

from __future__ import annotations

import json
import os
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from vtlab import own_experiment, services, session
from vtlab.errors import BadInput, BlockFault, PrerequisiteMissing
from vtlab.host import agent, processes, tools
from vtlab.host import server as http
from vtlab.model import documents
from vtlab.model.endpoints import Endpoint, file_text, of_mappings, of_openapi
from vtlab.services import inspection, process
from vtlab.services.companions import CompanionServices

OPENAPI = "/v3/api-docs"
#: Exposed for the moment in which vtlab asks for it.
_EXPOSED = {"MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE": "health,mappings"}


def write(
    jar: Path, out: Path, openapi: str | None, environment: Mapping[str, Any], root: Path, console: Console
) -> None:
    """Writes the file. ``environment``: fields of ``own_experiment.Asked`` for the service.

    BadInput where the file is there already, where vtlab cannot measure the jar, and where ``openapi``, a URL or a
    file, is no OpenAPI document; PrerequisiteMissing where the service does not start.
    """
    inspection.inspect(jar, tools.find_java())
    if out.exists():
        raise BadInput(f"{out} is there already", "name another one: --out other.yaml")
    if openapi is not None:
        endpoints, source = of_openapi(_openapi(openapi)), openapi
        if not endpoints:
            raise BadInput(f"{openapi} has no GET request", "name an OpenAPI 3 document, in JSON or YAML")
    else:
        endpoints, source = _asked(jar, environment, root, console)
    relative = os.path.relpath(jar, out.parent)
    variables, with_database = environment.get("environment_from", ()), environment.get("database", False)
    out.write_text(file_text(relative, endpoints, source, variables, with_database), encoding="utf-8")
    count = sum(not endpoint.unknown for endpoint in endpoints)
    console.print(f"{out}: {count} requests by {source}; edit it, then: vtlab try {out}", highlight=False)


def _openapi(where: str) -> Any:
    if not where.startswith(("http://", "https://")):
        return documents.read(Path(where))
    try:
        with urllib.request.urlopen(where, timeout=30) as answer:
            return documents.parse(answer.read().decode(), where, is_yaml=not where.endswith(".json"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {where}: {error}", "name a URL that answers, or a file") from None


def _asked(jar: Path, environment: Mapping[str, Any], root: Path, console: Console) -> tuple[list[Endpoint], str]:
    """What the service itself says, which is started for that; and where it says it."""
    session.refuse_other_systems()
    agent_jar = agent.find(session.REPOSITORY)
    asked = own_experiment.of_call(jar, ["GET /"], None, None, users=1, **environment)
    experiment = own_experiment.experiment_of(asked).model_copy(update={"settings": _EXPOSED})
    service = services.of(experiment, session.REPOSITORY)
    variant, java = experiment.variants[0], tools.find_java()
    console.print(f"starting {jar.name} to ask for its requests", highlight=False)
    with tempfile.TemporaryDirectory() as folder, processes.open_exclusive_ledger(root) as ledger:
        companions = CompanionServices(session.REPOSITORY, Path(folder), java, ledger)
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
                str(fault), "give it what it needs: --database, --env NAME=VALUE; or name its document: --openapi FILE"
            ) from None
        health = service.readiness.removesuffix("/liveness").removesuffix("/health")
        context = health.removesuffix("/actuator").rstrip("/")
        if endpoints := of_openapi(_document(started, context + OPENAPI)):
            return endpoints, context + OPENAPI
        mappings = health.rstrip("/") + "/mappings" if service.readiness != "/" else "/actuator/mappings"
        return of_mappings(_document(started, mappings), context), mappings


def _document(started: process.VariantProcess, path: str) -> Any:
    """The JSON document that a service has at that path; None where it has none."""
    text = http.text(started.server.port, path, started.is_tls)
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
