"""GET requests of a service, by its OpenAPI document or by Spring's page of mappings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from vtlab import shipped
from vtlab.model import documents
from vtlab.model.service import Need

_NAME = re.compile(r"\{([^{}:]+)(:[^{}]*)?\}")
#: Paths of the framework, not of the service.
_NOT_OF_THE_SERVICE = re.compile(r"/(error|actuator|v3/api-docs|swagger-ui)\b")


@dataclass(frozen=True, order=True)
class Endpoint:
    """A GET request: its path with the query, and the names in it of which no example is known."""

    path: str
    unknown: tuple[str, ...] = ()
    #: How the service answered it, where that was not as a request of a workload is to be: ``answered 500``.
    refused: str = ""
    #: Whether a login may be all that it lacks.
    lacks_login: bool = False

    @property
    def is_ready(self) -> bool:
        """Tells whether it can be measured as it is, or with a login."""
        return not self.unknown and (not self.refused or self.lacks_login)

    @property
    def line(self) -> str:
        """The request as a line of a workload."""
        return f"GET {self.path}"


def from_openapi(document: Any) -> list[Endpoint]:
    """Lists the GET requests of an OpenAPI 3 document, sorted, with its examples filled in; none where it is no such
    document. Deprecated ones are left out."""
    if not isinstance(document, Mapping) or not isinstance(document.get("paths"), Mapping):
        return []
    servers = document.get("servers") or [{}]
    base = urlsplit(str(servers[0].get("url", ""))).path.rstrip("/")
    endpoints = []
    for path, item in document["paths"].items():
        if not isinstance(item, Mapping) or not isinstance(item.get("get"), Mapping) or item["get"].get("deprecated"):
            continue
        written = [*item.get("parameters", []), *item["get"].get("parameters", [])]
        endpoints.append(_endpoint(base + path, [_resolved(parameter, document) for parameter in written], document))
    return sorted(set(endpoints))


def _endpoint(path: str, parameters: list[Any], document: Any) -> Endpoint:
    examples = {p.get("name"): _example(p, document) for p in parameters if p.get("in") == "path"}
    path = _NAME.sub(lambda match: _filled(match, examples), path)
    query, unknown = {}, list(_NAME.findall(path))
    for parameter in parameters:
        if parameter.get("in") == "query" and parameter.get("required"):
            value = _example(parameter, document)
            query[parameter["name"]] = f"{{{parameter['name']}}}" if value is None else str(value)
            unknown += [(parameter["name"], "")] if value is None else []
    text = f"?{urlencode(query, safe='{}')}" if query else ""
    return Endpoint(path + text, tuple(name for name, _ in unknown))


def _filled(match: re.Match[str], examples: Mapping[Any, Any]) -> str:
    value = examples.get(match[1])
    return f"{{{match[1]}}}" if value is None else quote(str(value), safe="")


def _example(parameter: Mapping[str, Any], document: Any) -> Any:
    """Returns what the document gives as an example of a parameter; None where it gives none."""
    schema = _resolved(parameter.get("schema") or {}, document)
    several = parameter.get("examples")
    first: Any = next(iter(several.values()), {}) if isinstance(several, Mapping) else {}
    schema_examples = schema.get("examples")
    choices = (
        parameter.get("example"),
        _resolved(first, document).get("value"),
        schema.get("example"),
        schema_examples[0] if isinstance(schema_examples, list) and schema_examples else None,
        schema.get("default"),
        next(iter(schema.get("enum") or []), None),
    )
    return next((value for value in choices if isinstance(value, str | int | float)), None)


def _resolved(part: Any, document: Any) -> Mapping[str, Any]:
    """Follows a reference: returns what it within the document stands for."""
    reference = part.get("$ref") if isinstance(part, Mapping) else None
    if isinstance(reference, str) and reference.startswith("#/"):
        part = document
        for key in reference[2:].split("/"):
            part = part.get(key, {}) if isinstance(part, Mapping) else {}
    return part if isinstance(part, Mapping) else {}


def from_mappings(document: Any, context_path: str = "") -> list[Endpoint]:
    """Lists the GET requests in what ``/actuator/mappings`` answers, sorted; none where it is something else."""
    endpoints = set()
    for condition in _conditions(document):
        methods = condition.get("methods") or ["GET"]
        for pattern in condition.get("patterns") or []:
            if "GET" in methods and "*" not in pattern and not _NOT_OF_THE_SERVICE.match(pattern):
                path = context_path + _NAME.sub(lambda match: f"{{{match[1]}}}", pattern or "/")
                endpoints.add(Endpoint(path, tuple(name for name, _ in _NAME.findall(path))))
    return sorted(endpoints)


def _conditions(node: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(node, Mapping):
        if isinstance(conditions := node.get("requestMappingConditions"), Mapping):
            yield conditions
        for value in node.values():
            yield from _conditions(value)
    elif isinstance(node, list):
        for value in node:
            yield from _conditions(value)


@dataclass(frozen=True)
class FileService:
    """The service of a file that is to be written."""

    #: Path from the file's folder.
    jar: str
    #: Names of variables that it is given from vtlab's environment.
    variables: Sequence[str] = ()
    env_file: str | None = None
    #: The database that it needs.
    database: Need | None = None


def file_text(service: FileService, endpoints: list[Endpoint], source: str) -> str:
    """Writes the file of an experiment, with comments that say what else it may have. ``source`` listed the
    requests."""
    ready = [endpoint for endpoint in endpoints if endpoint.is_ready]
    lines = [
        f"# yaml-language-server: $schema={shipped.ROOT / documents.SCHEMA}",
        f"# vtlab try measures it. The requests are of {source}; keep those that matter, and give them weights.",
        *_service_lines(service),
        "requests:",
        *(f"  - {_noted(endpoint)}" for endpoint in ready or [Endpoint("/")]),
        *(f"  # - {_noted(endpoint)}" for endpoint in endpoints if endpoint.refused and not endpoint.is_ready),
    ]
    if others := [endpoint for endpoint in endpoints if endpoint.unknown]:
        names = sorted({name for endpoint in others for name in endpoint.unknown})
        lines.append(f"  # These need values: a CSV file in data, with the columns {', '.join(names)}.")
        lines += [f"  # - {_quoted(endpoint.line)}" for endpoint in others]
    rest = _REST.replace("# needs: [database]  ", f"needs: [{service.database}]    ") if service.database else _REST
    return "\n".join([*lines, rest])


def _service_lines(service: FileService) -> list[str]:
    env = f"  env: [{', '.join(service.variables)}]"
    env_file = f"  env_file: {_quoted(service.env_file or '')}"
    return [
        "service:",
        f"  jar: {_quoted(service.jar)}",
        "  # jvm_flags: [-Xmx512m]               # flags of production",
        "  # java: 21                            # a JDK, by its major version or its directory",
        env
        if service.variables
        else "  # env: [SPRING_PROFILES_ACTIVE]       # variables of this shell; or {NAME: value}",
        env_file if service.env_file else "  # env_file: prod.env                  # lines NAME=VALUE",
        "  # started_before: {command: docker compose up db, port: 5432}",
    ]


def _noted(endpoint: Endpoint) -> str:
    note = f"  # {endpoint.refused}" if endpoint.refused else ""
    return f"{_quoted(endpoint.line)}{note}{': it may need a login' if endpoint.lacks_login else ''}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_REST = """\
  # - POST /visits: {body: {pet: "{id}"}, headers: {X-Key: "{key}"}, expect: {status: 201}, weight: 0.2}
# data: owners.csv                        # its columns are {names} in requests; rows are dealt to users in turn
# login: {POST: /login, body: {user: "{user}", password: "{env.PASSWORD}"}, capture: {token: $.token}}
load: {full: auto}                        # or {full: {users: 200, think_time: 500ms}}, or {typical: {rate: 300/s}}
limits: {cpu: 1, memory: 1Gi}
# variants: [platform, virtual, platform-1000]  # or java=21, pool=50, env:NAME=VALUE, jar=other.jar
# needs: [database]                       # MariaDB, or [postgres]: vtlab starts it, a database for each variant
# reset: POST /test/reset                 # before each trial, where requests write
"""
