"""``docs/reference/experiment.md`` and ``service.md``: the keys of both files, from their schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vtlab.model import experiment, service
from vtlab.reference.pages import code, page, sentence, table

_Schema = Mapping[str, Any]

_EXPERIMENT = """An experiment is one JSON file. `vtlab list` shows those in `k6/experiments/`; `vtlab run` also
takes the path of a file. Unknown keys are errors. For completion in an editor set `$schema` to
`k6/experiments/experiment.schema.json`.

A duration is a number with its unit: `50ms`, `5s`, `1m`. `expected` changes the report only, never the measurement."""
_SERVICE = """A service is one JSON file, which the key `service` of an [experiment](experiment.md) names. The
service listens on the port that `SERVER_PORT` names, and with `management_port` also on the port that
`MANAGEMENT_SERVER_PORT` names. This works on one machine, not in a cluster. Without that key the service is the
sample application of the lab.

`lab/tests/support/stub.json` is an example."""
#: The pattern of a duration, where no description says what the text is.
_DURATION = r"^\d+(\.\d+)?(ms|s|m|h)$"
#: What a schema says of every duration.
_OF_ANY_DURATION = "50ms, 5s, 1m"


def experiment_page() -> str:
    """The page of the experiment."""
    return page("The experiment", "lab/vtlab/model/experiment.py", _EXPERIMENT, *_sections(experiment.schema()))


def service_page() -> str:
    """The page of the service."""
    return page("The service", "lab/vtlab/model/service.py", _SERVICE, *_sections(service.schema()))


def _sections(text: str) -> list[str]:
    schema = json.loads(text)
    parts = [f"## Keys\n\n{_table(schema)}"]
    referred = [name for key in schema["properties"].values() for name in _referred(key)]
    for name in dict.fromkeys(referred):
        part = schema["$defs"][name]
        title, description = _key(name, schema), sentence(part.get("description", ""))
        parts.append(f"## {title}\n\n{description}\n\n{_table(part)}")
    return parts


def _key(definition: str, schema: _Schema) -> str:
    """The heading of a part: the key that has it, and the model of a load."""
    names = {name: key for key, part in schema["properties"].items() for name in _referred(part)}
    load = {"ClosedLoad": ", closed", "OpenLoad": ", open"}.get(definition, "")
    return f"`{names[definition]}`{load}"


def _referred(part: _Schema) -> list[str]:
    """The definitions that a key refers to."""
    parts = [part, part.get("additionalProperties"), *part.get("oneOf", [])]
    return [p["$ref"].rpartition("/")[2] for p in parts if isinstance(p, dict) and "$ref" in p]


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
        (kind,) = [p for p in part["anyOf"] if p.get("type") != "null"]
        return _type(kind)
    if _referred(part):
        return "by name, see below" if part.get("type") == "object" else "see below"
    if part.get("type") == "array":
        return f"list of {_type(part['items'])}"
    if part.get("type") == "object":
        of = part.get("additionalProperties")
        return f"{_type(of)} by name" if isinstance(of, dict) else "object"
    return _scalar(part)


def _scalar(part: _Schema) -> str:
    """A number with its range, or a text with its form."""
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
