"""``docs/reference/experiment.md`` and ``service.md``: the keys of both files, from their schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from maintain.reference.pages import code, page, sentence, table
from vtlab.model import experiment_files, service

_Schema = Mapping[str, Any]

_EXPERIMENT = """An experiment is one JSON or YAML file. `vtlab list` shows those in `k6/experiments/`; `vtlab run`
also takes the path of a file. Unknown keys are errors. For completion in an editor set `$schema` to
`k6/experiments/experiment.schema.json`. [Your workload](../how-to/workload.md) has examples of `workload`.

A duration is a number with its unit: `50ms`, `5s`, `1m`. `expected` changes the report only, never the measurement."""
_SERVICE = """A service is one JSON file, which the key `service` of an [experiment](experiment.md) names. The
service listens on the port that `SERVER_PORT` names, and with `management_port` also on the port that
`MANAGEMENT_SERVER_PORT` names. A `jar` or a `command` runs on one machine; a `deployment` or an `image`
[in a cluster](../how-to/own-service-on-kubernetes.md). Without that key the service is the sample application of the
lab.

`lab/tests/support/stub.json` is an example."""
#: The pattern of a duration, where no description says what the text is.
_DURATION = r"^\d+(\.\d+)?(ms|s|m|h)$"
#: The definition of a key that may be anything.
_ANY = "JsonValue"
#: What a schema says of every duration.
_OF_ANY_DURATION = "50ms, 5s, 1m"


def experiment_page() -> str:
    """Renders the page of the experiment."""
    return page("The experiment", "lab/vtlab/model/experiment.py", _EXPERIMENT, *_sections(experiment_files.schema()))


def service_page() -> str:
    """Renders the page of the service."""
    return page("The service", "lab/vtlab/model/service.py", _SERVICE, *_sections(service.schema()))


def _sections(text: str) -> list[str]:
    schema = json.loads(text)
    parts = [f"## Keys\n\n{_table(schema)}"]
    for name, key in _keys(schema).items():
        part = schema["$defs"][name]
        description = sentence(part.get("description", ""))
        load = {"ClosedLoad": ", closed", "OpenLoad": ", open"}.get(name, "")
        parts.append(f"## `{key}`{load}\n\n{description}\n\n{_table(part)}")
    return parts


def _keys(schema: _Schema) -> dict[str, str]:
    """Maps the definitions that a schema uses to the key that has each first, from the outside to the inside."""
    keys: dict[str, str] = {}
    level = [schema]
    while level:
        inside = []
        for part in level:
            for key, described in part["properties"].items():
                for name in _referred(described):
                    if name not in keys:
                        keys[name] = key
                        inside.append(schema["$defs"][name])
        level = inside
    return keys


def _referred(part: _Schema) -> list[str]:
    """Lists the definitions to which a key refers."""
    nested = [part.get("additionalProperties"), part.get("items")]
    parts = [part, *part.get("oneOf", []), *part.get("anyOf", []), *(p for p in nested if isinstance(p, dict))]
    direct = [name for p in parts if "$ref" in p and (name := p["$ref"].rpartition("/")[2]) != _ANY]
    deeper = [name for p in parts[1:] for name in _referred(p)]
    return list(dict.fromkeys([*direct, *deeper]))


def _table(schema: _Schema) -> str:
    required = schema.get("required", [])
    rows = [
        (code(name), _type(part), _default(name, part, required), _description(part))
        for name, part in schema["properties"].items()
    ]
    return table(("key", "type", "default", "what it says"), rows)


def _description(part: _Schema) -> str:
    description = part.get("description", "")
    return "" if description == _OF_ANY_DURATION else sentence(description)


def _default(name: str, part: _Schema, required: list[str]) -> str:
    if name in required:
        return "required"
    default = part.get("default")
    if isinstance(default, dict) and default:
        return "as below"
    return (
        "–" if default in (None, {}, []) else code(str(default).lower() if default in (True, False) else str(default))
    )


def _type(part: _Schema) -> str:
    if "const" in part:
        return code(f'"{part["const"]}"')
    if "enum" in part:
        return " or ".join(code(str(value)) for value in part["enum"])
    if "anyOf" in part:
        kinds = [_type(p) for p in part["anyOf"] if p.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if part.get("type") == "array":
        return f"list of {_type(part['items'])}"
    if _referred(part):
        return "by name, see below" if part.get("type") == "object" else "see below"
    if "type" not in part:
        return "any JSON value"
    if part.get("type") == "object":
        values = part.get("additionalProperties")
        return f"{_type(values)} by name" if isinstance(values, dict) else "object"
    return _scalar(part)


def _scalar(part: _Schema) -> str:
    """Describes a number with its range, or a text with its form."""
    kind = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}[part["type"]]
    if part.get("pattern") == _DURATION:
        return "duration"
    bounds = [
        f"{word} {part[key]}"
        for key, word in (
            ("exclusiveMinimum", "above"),
            ("minimum", "at least"),
            ("exclusiveMaximum", "below"),
            ("maximum", "at most"),
        )
        if key in part
    ]
    return f"{kind}, {', '.join(bounds)}" if bounds else kind
