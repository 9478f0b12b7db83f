"""``--variant``: one more variant in the same blocks, compared in pairs with the first one.

jar=PATH         the first variant, from another build's jar
platform-1000    platform threads, that many of them
java=21          virtual threads on another JDK
pool=50          virtual threads with so many database connections
env:NAME=VALUE   virtual threads with that setting
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from vtlab.errors import BadInput
from vtlab.model import variant
from vtlab.model.experiment import Experiment

_Value = TypeVar("_Value")
#: Of a variant's name.
_LONGEST = 31
#: How many threads, by server. What the other server's property says is ignored.
_THREADS = ("SERVER_TOMCAT_THREADS_MAX", "SERVER_JETTY_THREADS_MAX")
_POOL = "SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE"
KINDS = "jar=PATH, platform-1000, java=21, pool=50 or env:NAME=VALUE"


def with_extra_variants(experiment: Experiment, additions: Sequence[str]) -> Experiment:
    """Adds one more variant to the experiment for each addition. BadInput for what is no addition, for a jar that is
    not there, and where no name can be had for the variant."""
    for addition in additions:
        base, name, changes = _parsed(experiment, addition)
        experiment = _with(experiment, addition, base, name, changes)
    return experiment


def _parsed(experiment: Experiment, addition: str) -> tuple[str, str, dict[str, Any]]:
    """Parses an addition: the variant that an addition is based on, its name, and what its properties have besides."""
    first, virtual = experiment.variants[0], "virtual"
    if match := re.fullmatch(r"platform-(\d+)", addition):
        return "platform", addition, {"settings": dict.fromkeys(_THREADS, str(_count(addition, match[1])))}
    key, _, value = addition.partition("=")
    if value and key == "jar":
        if not Path(value).is_file():
            raise BadInput(f"--variant {addition}: there is no such file", "name the jar of the other build")
        jar = Path(value).resolve()
        return first, _name(first, jar.stem), {"jar": str(jar)}
    if value and key == "java":
        return virtual, f"{virtual}-jdk{_count(addition, value)}", {"java": _count(addition, value)}
    if value and key == "pool":
        return virtual, f"{virtual}-pool{_count(addition, value)}", {"settings": {_POOL: value}}
    if value and re.fullmatch(r"env:[A-Za-z_][A-Za-z0-9_]*", key):
        setting = key.removeprefix("env:")
        return virtual, _name(virtual, f"{setting}-{value}"), {"settings": {setting: value}}
    raise BadInput(f"--variant {addition}: no such variant", f"write {KINDS}")


def _count(addition: str, text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise BadInput(f"--variant {addition}: '{text}' is no number above 0", f"write {KINDS}")
    return int(text)


def _with(experiment: Experiment, addition: str, base: str, name: str, changes: dict[str, Any]) -> Experiment:
    if name in experiment.variants or variant.kind(name) != name or name == base:
        raise BadInput(
            f"--variant {addition}: '{name}' is no name for a further variant of {experiment.name}",
            "add each variant once, and rename a jar that has no name of its own",
        )
    is_known = base in experiment.variants or base in experiment.properties
    base_properties = experiment.properties_of(base) if is_known else None
    properties = {
        "threads": base_properties.threads if base_properties else base,
        **(base_properties.model_dump() if base_properties else {}),
    }
    settings = {**properties.get("settings", {}), **changes.get("settings", {})}
    load, windows = experiment.load, experiment.windows
    by_variant = {key: value for key in type(load).model_fields if isinstance(value := getattr(load, key), dict)}
    # Paced and measured as the variant that it is based on. Other limits may give it another round.
    paced = base if "jar" in changes else None
    document = experiment.model_copy(
        update={
            "variants": [*experiment.variants, name],
            "load": load.model_copy(update={key: _also(values, paced, name) for key, values in by_variant.items()}),
            "windows": windows.model_copy(
                update={"measure_by_variant": _also(windows.measure_by_variant, paced, name)}
            ),
        }
    ).document()
    document.setdefault("properties", {})[name] = {**properties, **changes, "settings": settings}
    try:
        return Experiment.model_validate(document)
    except ValueError as error:
        wrong = str(error).partition("\n")[2].strip() or str(error)
        raise BadInput(f"--variant {addition}: {wrong}", f"write {KINDS}") from None


def _name(base: str, text: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    # Of a long name its end, which has the version or the value.
    slug = slug[-(_LONGEST - len(base) - 1) :].strip("-")
    return f"{base}-{slug}" if slug else base


def _also(values: dict[str, _Value], base: str | None, name: str) -> dict[str, _Value]:
    return {**values, name: values[base]} if base in values else values
