"""The requests that a service has, by its OpenAPI document or its actuator, and how it answers each."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from vtlab.errors import BadInput
from vtlab.host import server as http
from vtlab.model import documents
from vtlab.model.endpoints import Endpoint, from_mappings, from_openapi
from vtlab.model.inspection import Inspection
from vtlab.services import from_jar
from vtlab.services.process import VariantProcess

#: springdoc's default of ``springdoc.api-docs.path``.
OPENAPI = "/v3/api-docs"
#: The environment that exposes the actuator's mappings, for the moment in which vtlab asks for them.
EXPOSED = {"MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE": "health,mappings"}
#: Seconds for an answer: those of a measured request, if nothing else is said.
_ANSWERS_WITHIN = 30.0
#: Statuses of a request without the login that it needs.
_WITHOUT_LOGIN = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


def read_openapi(where: str) -> Any:
    """Reads an OpenAPI document at a URL or in a file. BadInput where it cannot be read."""
    if not is_url(where):
        return documents.read(Path(where))
    try:
        with urllib.request.urlopen(where, timeout=30) as answer:
            return documents.parse(answer.read().decode(), where, is_yaml=not where.endswith(".json"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {where}: {error}", "name a URL that answers, or a file") from None


def is_url(where: str) -> bool:
    """Tells a URL from a file."""
    return where.startswith(("http://", "https://"))


def discover(variant: VariantProcess, inspection: Inspection) -> tuple[list[Endpoint], str]:
    """Asks the service for its requests; returns them, and the path that listed them."""
    context = from_jar.context_path(inspection)
    openapi = context + from_jar.path_setting(inspection, "springdoc.api-docs.path", OPENAPI)
    if endpoints := from_openapi(_document(variant, openapi)):
        return endpoints, openapi
    mappings = from_jar.actuator_path(inspection) + "/mappings"
    return from_mappings(_document(variant, mappings), context), mappings


def try_once(variant: VariantProcess, endpoint: Endpoint) -> Endpoint:
    """Sends the request once and records a status other than 200, which a workload expects if it says nothing else."""
    if endpoint.unknown:
        return endpoint
    status = http.status(variant.server.port, endpoint.path, variant.is_tls, _ANSWERS_WITHIN)
    if status == HTTPStatus.OK:
        return endpoint
    refused = f"answered {status}" if status else f"gave no answer within {_ANSWERS_WITHIN:.0f} s"
    if status is not None and 300 <= status < 400:
        refused += ", a redirect, as a missing login causes"
    return replace(endpoint, refused=refused, lacks_login=status in _WITHOUT_LOGIN)


def try_each(variant: VariantProcess, endpoints: Sequence[Endpoint], show: Callable[[str], None]) -> list[Endpoint]:
    """Sends each request once, as ``try_once`` does. ``show``: tells the user which."""
    tried = []
    for number, endpoint in enumerate(endpoints, 1):
        show(f"sending request {number} of {len(endpoints)}: {endpoint.line}")
        tried.append(try_once(variant, endpoint))
    return tried


def _document(variant: VariantProcess, path: str) -> Any:
    """Reads the JSON document of a service at that path; None where it has none."""
    text = http.text(variant.server.port, path, variant.is_tls)
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
