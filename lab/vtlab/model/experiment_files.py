"""Experiments in files: one JSON or YAML file each, as in ``k6/experiments/``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from vtlab.errors import BadInput
from vtlab.model import documents, workload_files
from vtlab.model.experiment import Experiment
from vtlab.model.load import OpenLoad
from vtlab.model.service import Service

if TYPE_CHECKING:
    pass

#: Old keys, each with what has taken its place.
_RENAMED = {
    "ideal": "expected, for reports; load.round, which paces the users",
    "windows.spread": "windows.ramp_up",
    "windows.measure_of": "windows.measure_by_variant",
    "windows.drain": "windows.wait_for_answers",
}


def parse(text: str, where: str) -> Experiment:
    """Parses the experiment in ``text``: JSON, or YAML where the file's name (``where``) says so. BadInput names every
    wrong key and the file."""
    data = documents.parse(text, where, is_yaml=where.endswith((".yaml", ".yml")))
    try:
        experiment = Experiment.model_validate(data)
    except ValidationError as e:
        wrong = "; ".join(f"{_place(error['loc'])}: {_words(error)}" for error in e.errors())
        raise BadInput(
            f"{where}: {wrong}", "k6/experiments/experiment.schema.json has the keys and their ranges"
        ) from e
    _refuse_few_users(experiment, where)
    return experiment


def _refuse_few_users(experiment: Experiment, where: str) -> None:
    """Refuses too few users for an open load. The model does not: recorded runs of earlier versions had fewer."""
    load = experiment.load
    if isinstance(load, OpenLoad) and load.users < load.least_users(experiment.max_response):
        least = load.least_users(experiment.max_response)
        raise BadInput(
            f"{where}: load.users must be at least {least}: rate x max_response + 4 x sqrt(rate x max_response)",
            "raise load.users, or lower max_response",
        )


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc if part not in ("closed", "open")) or "the file"


def _words(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        names = [str(part) for part in error["loc"]]
        if names == ["publication"]:
            return "publications are in lab/publications/NNN.json now"
        new = _RENAMED.get(".".join(names[-2:])) or _RENAMED.get(".".join(names))
        return f"its new name is {new}" if new else "unknown key"
    if error["type"] == "missing":
        return "missing"
    return str(error["msg"]).removeprefix("Value error, ")


def load(name: str, folder: Path) -> Experiment:
    """Loads the experiment of that name from ``folder``, or at that path when it ends in ``.json``, ``.yaml`` or
    ``.yml``. The paths in it are absolute, and it has the name of the file in place of a login."""
    path = Path(name) if name.endswith(documents.SUFFIXES) else folder / f"{name}.json"
    if not path.is_file():
        raise BadInput(f"unknown experiment '{name}'", f"known are: {', '.join(names(folder))} (vtlab list)")
    experiment = parse(documents.read_text(path), str(path))
    # A results directory has its experiment under a name of its own.
    if path.stem not in (experiment.name, "experiment"):
        raise BadInput(f"{path}: name is '{experiment.name}', the file's is '{path.stem}'", "let them agree")
    changes: dict[str, Any] = {}
    if experiment.workload_:
        changes["workload_"] = workload_files.with_absolute_paths(experiment.workload_, path)
    if isinstance(experiment.service, Service):
        changes["service"] = experiment.service.with_absolute_directory(path)
    elif experiment.service and experiment.service.endswith(".json"):
        changes["service"] = str((path.parent / experiment.service).resolve())
    return experiment.model_copy(update=changes)


def names(folder: Path) -> list[str]:
    """Returns the names of the experiments in ``folder``, sorted."""
    return sorted(p.stem for p in folder.glob("*.json") if p.name != "experiment.schema.json")


def schema() -> str:
    """Writes the JSON Schema of an experiment, as committed in ``k6/experiments/experiment.schema.json``."""
    return json.dumps(Experiment.model_json_schema(by_alias=True), indent=2) + "\n"
