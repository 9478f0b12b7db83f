"""``--with jar=old.jar``: another build of the service as one more variant, in the same blocks, so that the two are
compared in pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from vtlab.errors import BadInput
from vtlab.model import variant
from vtlab.model.experiment import Experiment

_Value = TypeVar("_Value")
#: Of a variant's name.
_LONGEST = 31


def with_builds(experiment: Experiment, additions: Sequence[str]) -> Experiment:
    """The experiment with one more variant for each ``jar=PATH``: its first variant, but run from that jar.

    The first, since every other variant is compared with it. Its name is that of the first and of the jar, such as
    ``platform-old``. BadInput for anything else than a jar that is there, and where no such name can be had.
    """
    for addition in additions:
        key, _, value = addition.partition("=")
        if key != "jar" or not value:
            raise BadInput(f"--with {addition}: no such variant", "write --with jar=PATH, another build of the service")
        if not Path(value).is_file():
            raise BadInput(f"--with {addition}: there is no such file", "name the jar of the other build")
        experiment = _with_jar(experiment, Path(value).resolve())
    return experiment


def _with_jar(experiment: Experiment, jar: Path) -> Experiment:
    first = experiment.variants[0]
    name = _name(first, jar)
    if name in experiment.variants or variant.kind(name) != name or name == first:
        raise BadInput(
            f"--with jar={jar}: '{name}' is no name for a further variant of {experiment.name}", "rename the jar"
        )
    load, windows = experiment.load, experiment.windows
    by_variant = {key: value for key in type(load).model_fields if isinstance(value := getattr(load, key), dict)}
    changes = {
        "variants": [*experiment.variants, name],
        "properties": {
            **experiment.properties,
            name: experiment.properties_of(first).model_copy(update={"jar": str(jar)}),
        },
        # It is paced and measured as the variant that it is compared with.
        "load": load.model_copy(update={key: _also(values, first, name) for key, values in by_variant.items()}),
        "windows": windows.model_copy(update={"measure_by_variant": _also(windows.measure_by_variant, first, name)}),
    }
    document = experiment.model_copy(update=changes).document()
    try:
        return Experiment.model_validate(document)
    except ValueError as error:
        raise BadInput(f"--with jar={jar}: {error}", "rename the jar, or add fewer variants") from None


def _name(first: str, jar: Path) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", jar.stem.lower()).strip("-")
    # Of a long name its end, which has the version.
    slug = slug[-(_LONGEST - len(first) - 1) :].strip("-")
    return f"{first}-{slug}" if slug else first


def _also(values: dict[str, _Value], first: str, name: str) -> dict[str, _Value]:
    return {**values, name: values[first]} if first in values else values
