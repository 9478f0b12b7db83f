"""The environment of a variant, and the values in it that no record may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import variables
from vtlab.model import documents
from vtlab.model.experiment import Experiment
from vtlab.model.service import VARIABLE, Service, values_of_variables


def variant_environment(service: Service, experiment: Experiment, variant: str) -> dict[str, str]:
    """Returns what makes a service a variant, on every target: where it listens and what is beside it come on top. It
    may hold secrets."""
    threads = experiment.properties_of(variant).threads
    return {
        **service.settings,
        **private_environment(service),
        **service.settings_by_threads.get(threads, {}),
        **experiment.settings,
        **experiment.environment_of(variant),
    }


def private_environment(service: Service) -> dict[str, str]:
    """Returns what the service gets of vtlab's environment and of its file: values that no record may hold.

    PrerequisiteMissing for a variable that is not set, and for a file that cannot be read; BadInput for a file that
    gives none, or with a line that is not NAME=VALUE.
    """
    values = variables.known()
    missing = [name for name in service.env if name not in values]
    if missing:
        raise PrerequisiteMissing(
            f"the service {service.name} needs {', '.join(missing)}, which vtlab's environment lacks",
            f"set it before the call: export {missing[0]}=VALUE, or write it into service.env_file",
        )
    given = _read_file(Path(service.directory, service.env_file)) if service.env_file else {}
    return given | {name: values[name] for name in service.env}


def _read_file(file: Path) -> dict[str, str]:
    """Reads the variables of a file: lines, or ``service.env`` in an experiment's own file. No message repeats a
    value."""
    values = _values_of_experiment(file) if file.suffix in documents.SUFFIXES else None
    environment = _read_lines(file) if values is None else values_of_variables(values)
    if not environment:
        raise BadInput(f"{file}: no variables", "write NAME=VALUE lines, or leave env_file out")
    return environment


def _values_of_experiment(file: Path) -> Mapping[str, Any] | None:
    """Returns what ``service.env`` has in the file of an experiment; None for any other file."""
    try:
        document = documents.read(file)
    except BadInput:
        return None
    service = document.get("service") if isinstance(document, dict) else None
    values = service.get("env") if isinstance(service, dict) else None
    return values if isinstance(values, dict) else None


def _read_lines(file: Path) -> dict[str, str]:
    """Reads NAME=VALUE from each line that is neither empty nor a comment. A message names the line, never its
    text."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not valid UTF-8"
        raise PrerequisiteMissing(f"cannot read the environment file {file}: {why}", "name another file") from None
    environment = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if not equals or not re.fullmatch(VARIABLE, name):
            raise BadInput(f"{file}, line {number}: not NAME=VALUE", "write one variable a line, comments after #")
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        environment[name] = value[1:-1] if quoted else value
    return environment
