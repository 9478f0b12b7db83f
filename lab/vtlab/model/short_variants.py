"""Short forms of variants, in a file's ``variants`` and in ``--variant``: expanded into a name and properties.

jar=PATH         the first variant of the file, from another build's jar
platform-1000    platform threads, that many of them
java=21          virtual threads on another JDK
pool=50          virtual threads with so many database connections
env:NAME=VALUE   virtual threads with that setting
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vtlab.errors import BadInput
from vtlab.model import documents, validation, variant
from vtlab.model.draft import Draft

#: Characters of a variant's name.
_LONGEST = 31
#: How many threads, by server. What the other server's property says is ignored.
_THREADS = ("SERVER_TOMCAT_THREADS_MAX", "SERVER_JETTY_THREADS_MAX")
_POOL = "SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE"
KINDS = "jar=PATH, platform-1000, java=21, pool=50 or env:NAME=VALUE"


@dataclass(frozen=True)
class _Form:
    """A short form: the variant that it is based on, its name, and what its properties have besides."""

    base: str
    name: str
    changes: Mapping[str, Any]


def expand(draft: Draft, folder: Path) -> None:
    """Expands the short forms among the variants of a document; ``folder``: where its relative paths start. BadInput
    for a form that means nothing, for a jar that is not there, and where no name can be had for the variant."""
    written = draft.document.get("variants")
    if not isinstance(written, list):
        return
    for position, text in enumerate(written):
        if _is_short(text, draft.document):
            first = str(draft.document["variants"][0])
            if position == 0 and first.startswith("jar="):
                raise BadInput(
                    f"variant {text}: it is the first variant from another jar, and stands first itself",
                    "write another variant before it: platform",
                )
            form = _parsed(text, first, folder)
            others = [name for place, name in enumerate(draft.document["variants"]) if place != position]
            if form.name in others or variant.kind(form.name) != form.name:
                raise BadInput(
                    f"variant {text}: the name '{form.name}' is taken or reserved",
                    "add each variant once; rename a jar whose name says nothing",
                )
            _replace(draft, position, form)
            draft.attribute(f"properties.{form.name}", f"variant {text}")


def _is_short(name: Any, document: Mapping[str, Any]) -> bool:
    if not isinstance(name, str):
        return False
    return "=" in name or (bool(re.fullmatch(r"platform-\d+", name)) and name not in _keys(document, "properties"))


def absolute(text: str, folder: Path) -> str:
    """Returns a short form whose path, if it has one, no longer depends on ``folder``."""
    key, _, value = text.partition("=")
    return f"jar={(folder / value).resolve()}" if key == "jar" and value else text


def _parsed(text: str, first: str, folder: Path) -> _Form:
    key, _, value = text.partition("=")
    if match := re.fullmatch(r"platform-(\d+)", text):
        return _Form("platform", text, {"settings": dict.fromkeys(_THREADS, str(_count(text, match[1])))})
    if value and key == "jar":
        jar = folder / value
        if not documents.is_file(jar):
            raise BadInput(f"variant {text}: there is no file {jar}", "name the jar of the other build")
        return _Form(first, _name(first, jar.stem), {"jar": str(jar.resolve())})
    if value and key == "java":
        return _Form("virtual", f"virtual-jdk{_count(text, value)}", {"java": _count(text, value)})
    if value and key == "pool":
        return _Form("virtual", f"virtual-pool{_count(text, value)}", {"settings": {_POOL: value}})
    if value and re.fullmatch(r"env:[A-Za-z_][A-Za-z0-9_]*", key):
        setting = key.removeprefix("env:")
        return _Form("virtual", _name("virtual", f"{setting}-{value}"), {"settings": {setting: value}})
    raise BadInput(f"variant {text}: no such variant", f"write {KINDS}")


def _count(text: str, number: str) -> int:
    if not number.isdigit() or int(number) == 0:
        raise BadInput(f"variant {text}: '{number}' is not a number above 0", f"write {KINDS}")
    return int(number)


def _name(base: str, text: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    # Of a long name its end, which has the version or the value.
    slug = slug[-(_LONGEST - len(base) - 1) :].strip("-")
    return f"{base}-{slug}" if slug else base


def _replace(draft: Draft, position: int, form: _Form) -> None:
    """Writes the variant in place of its short form."""
    document = draft.document
    names = [*document["variants"]]
    names[position] = form.name
    properties = _keys(document, "properties")
    base = _keys(properties, form.base, "properties.") or {"threads": form.base}
    settings = {**_keys(base, "settings", f"properties.{form.base}."), **form.changes.get("settings", {})}
    document = {
        **document,
        "variants": names,
        "properties": {**properties, form.name: {**base, **form.changes, "settings": settings}},
    }
    # Paced and measured as the variant that it is based on. Other limits may give it another round.
    if "jar" in form.changes:
        for place in (("load", "full", "round"), ("load", "full", "service_time"), ("windows", "measure_by_variant")):
            document = _also(document, place, form)
    draft.document = document


def _keys(node: Mapping[str, Any], key: str, place: str = "") -> Mapping[str, Any]:
    """Returns the keys and values at a key of a document, none where it is not there. BadInput for anything else."""
    value = node.get(key) or {}
    if not isinstance(value, Mapping):
        raise BadInput(f"{place}{key}: {validation.NO_MAPPING}", "write them as key: value")
    return value


def _also(node: Any, place: tuple[str, ...], form: _Form) -> Any:
    """Returns a document in which the variant has, at that place, the value of the one that it is based on."""
    if not isinstance(node, Mapping):
        return node
    if not place:
        return {**node, form.name: node[form.base]} if form.base in node else node
    key, *inside = place
    return {**node, key: _also(node[key], tuple(inside), form)} if key in node else node
