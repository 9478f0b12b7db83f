"""``docs/reference/vtlab-yaml.md``: the keys of the file of an experiment, from its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from maintain.reference.pages import code, page, sentence, table
from vtlab.model import experiment_files
from vtlab.model.load import DURATION

_Schema = Mapping[str, Any]

_INTRODUCTION = """One file, in YAML or JSON, describes an experiment: the service, what users ask of it, the load, the
limits and the variants. `vtlab try`, `run` and `check` take it, as does the chart for a run in a cluster. `vtlab init
app.jar` writes one. Every key but `service` has a default; unknown keys are errors; relative paths start at the folder
of the file. `vtlab experiments` shows the experiments that come with vtlab, in `k6/experiments/`.

For completion in an editor the first line of a YAML file names the schema, `lab/vtlab.schema.json`, as `vtlab init`
writes it: `# yaml-language-server: $schema=PATH`. In JSON it is the key `$schema`.

A duration is a number with its unit: `50ms`, `5s`, `1m`. A results directory has the complete experiment as
`experiment.json`, in this format: `vtlab run` and `vtlab try` repeat it. [Your workload](../how-to/workload.md) has
examples of requests."""
_SERVICE = """The service listens on the port that `SERVER_PORT` names, and with `management_port` also on the port
that `MANAGEMENT_SERVER_PORT` names. A `jar` or a `command` runs on one machine, a `deployment` or an `image`
[in a cluster](../how-to/own-service-on-kubernetes.md). `service: app.jar` is short for `service: {jar: app.jar}`."""
#: What a heading says of the definition besides its key, and what follows its description.
_FORMS = {"ClosedLoad": ", of users", "SearchedLoad": ", searched", "RateLoad": ", a rate", "ShareLoad": ", a share"}
_MORE = {"Service": _SERVICE}
#: The definition of a key that may be anything.
_ANY = "JsonValue"
#: What a schema says of every duration.
_OF_ANY_DURATION = "50ms, 5s, 1m"


def text() -> str:
    """Renders the page."""
    return page("vtlab.yaml", "lab/vtlab/model/experiment.py", _INTRODUCTION, *_sections(experiment_files.schema()))


def _sections(schema_text: str) -> list[str]:
    schema = json.loads(schema_text)
    parts = [f"## Keys\n\n{_table(schema)}"]
    for name, key in _keys(schema).items():
        part = schema["$defs"][name]
        paragraphs = [sentence(part.get("description", "")), _MORE.get(name, ""), _table(part)]
        parts.append(f"## `{key}`{_FORMS.get(name, '')}\n\n" + "\n\n".join(filter(None, paragraphs)))
    return parts


def _keys(schema: _Schema) -> dict[str, str]:
    """Maps the definitions that a schema uses to the place that has each first, from the outside to the inside."""
    keys: dict[str, str] = {}
    level = {"": schema}
    while level:
        inside = {}
        for place, part in level.items():
            for key, described in part["properties"].items():
                for name in _referred(described):
                    if name not in keys:
                        keys[name] = f"{place}{key}"
                        inside[f"{place}{key}.{name}"] = schema["$defs"][name]
        level = {f"{place.rpartition('.')[0]}.": part for place, part in inside.items()}
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
    if default in (None, {}, [], ""):
        return "–"
    return code(str(default).lower() if default in (True, False) else str(default))


def _type(part: _Schema) -> str:
    if "const" in part:
        return code(str(part["const"]))
    if "enum" in part:
        return " or ".join(code(str(value)) for value in part["enum"])
    if choices := part.get("anyOf") or part.get("oneOf"):
        kinds = [_type(choice) for choice in choices if choice.get("type") != "null"]
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
    if part.get("pattern") == DURATION:
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
