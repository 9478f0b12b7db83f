"""Experiments in files: one JSON or YAML file each, as in ``k6/experiments/``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vtlab import shipped
from vtlab.errors import BadInput
from vtlab.model import documents, short_variants, validation, workload_files
from vtlab.model.draft import Draft, Option
from vtlab.model.experiment import HEAP, MEMORY, Experiment
from vtlab.model.load import DURATION, THINK_TIME, OpenLoad
from vtlab.model.service import DEPLOYMENT, NAME, PATH, Service, values_of_variables
from vtlab.model.workload import Workload

_FIX = f"{shipped.ROOT / documents.SCHEMA} has the keys and their ranges; vtlab init app.jar writes such a file"
_FIX_OPTION = "--help shows what each option takes"
#: Old keys, each with what has taken its place.
_MOVED = {
    "workload": "its keys (requests, data, login, k6, origin) at the top level",
    "request": "requests, a list,",
    "between": "reset",
    "with": "variants",
    "jvm": "service.jvm_flags",
    "service_needs": "service.started_before",
    "database": "needs: [database]",
    "think": "load.full.think_time",
    "load.model": "load.full for users, load.typical for a rate",
    "load.users": "load.full.users",
    "load.think": "load.full.think_time",
    "load.think_time": "load.full.think_time",
    "load.full.think": "load.full.think_time",
    "load.round": "load.full.round",
    "load.service_time": "load.full.service_time",
    "load.rate": "load.typical.rate",
    "load.gaps": "load.typical.gaps",
    "environment": "service.settings",
    "environment_from": "service.env",
    "environment_file": "service.env_file",
    "service.environment": "service.settings",
    "service.environment_from": "service.env",
    "service.environment_file": "service.env_file",
    "service.variants": "service.settings_by_threads",
    "ideal": "expected, for reports, and load.full.round, which paces the users",
    "windows.spread": "windows.ramp_up",
    "windows.measure_of": "windows.measure_by_variant",
    "windows.drain": "windows.wait_for_answers",
}
#: What a text is to be, by its pattern.
_FORMS = {
    DURATION: "not a duration: write it as 50ms, 5s or 1m",
    THINK_TIME: "not a duration: write it as 500ms, or exp(500ms) to draw it",
    DEPLOYMENT: "not the name of a Deployment (kubectl get deployments)",
    MEMORY: "not a memory size: write it as 512Mi or 1Gi",
    HEAP: "not a size of a heap: write it as 384m",
    NAME: "not a name: write lower case letters, digits and dashes, the first a letter",
    PATH: "not a path: it begins with /",
}
#: Keys of a service alone.
_OF_SERVICE = Service.model_fields.keys() - Experiment.model_fields.keys()
#: What pydantic adds to the place of a key: the kind of a union's value, and the key of a mapping.
_KINDS = re.compile(r"\(.*\)|\[key\]")


def load(name: str, folder: Path, options: Sequence[Option] = ()) -> Experiment:
    """Loads the experiment of that name from ``folder``, or at that path when it ends in ``.json``, ``.yaml`` or
    ``.yml``, overridden by the options of a call.

    Short forms of variants are expanded, and paths are absolute. In place of a login, or of values of variables, it has
    the name of the file. BadInput names every wrong key, never a value, which may be secret.
    """
    path = Path(name) if name.endswith(documents.SUFFIXES) else folder / f"{name}.json"
    if not documents.is_file(path):
        if path.parent == folder:
            raise BadInput(f"unknown experiment '{name}'", f"known are: {', '.join(names(folder))} (vtlab experiments)")
        raise BadInput(f"there is no file {name}", "write one for your service: vtlab init app.jar -o vtlab.yaml")
    with _naming(str(path)):
        return of_document(documents.read(path), path, options)


def of_call(service: Mapping[str, str], options: Sequence[Option]) -> Experiment:
    """Returns the experiment of a call that names no file but a service."""
    try:
        return of_document({"service": service}, Path.cwd() / "call", options)
    except BadInput as error:
        raise BadInput(error.message, _FIX_OPTION if error.fix == _FIX else error.fix) from None


def of_document(document: Any, source: Path, options: Sequence[Option] = ()) -> Experiment:
    """Returns the experiment of a document as ``load`` does. ``source``: the file at whose folder relative paths
    start."""
    if not isinstance(document, Mapping):
        wrong = "empty" if document is None else validation.NO_MAPPING
        raise BadInput(wrong, f"write service: app.jar into it; {_FIX}")
    draft = Draft(_without_values(document, source))
    for option in options:
        _refuse_two_files(draft, option, source)
        if option.key == "variants" and option.value:
            draft.document.setdefault("variants", Experiment.model_fields["variants"].default)
        draft.write(option)
    short_variants.expand(draft, source.parent)
    experiment = _validated(draft)
    changes: dict[str, Any] = {}
    if isinstance(experiment.service, Service):
        changes["service"] = experiment.service.with_absolute_paths(source.parent)
    workload = workload_files.with_absolute_paths(experiment.workload, source)
    return experiment.model_copy(update={**changes, **{key: getattr(workload, key) for key in Workload.model_fields}})


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Begins the message of a BadInput with the file, unless an option of the call is wrong."""
    try:
        yield
    except BadInput as error:
        message = error.message if error.message.startswith((where, "--")) else f"{where}: {error.message}"
        raise BadInput(message, error.fix) from None


def _without_values(document: Mapping[str, Any], source: Path) -> Mapping[str, Any]:
    """Returns the document without values of ``service.env``: the file that has them is read at each start. BadInput
    for what is no variable."""
    service = document.get("service")
    values = service.get("env") if isinstance(service, Mapping) else None
    if not isinstance(service, Mapping) or not isinstance(values, Mapping):
        return document
    values_of_variables(values)
    if service.get("env_file"):
        raise BadInput(
            "values in service.env and service.env_file",
            "write the values into one of them, and names into service.env",
        )
    return {**document, "service": {**service, "env": [], "env_file": str(source.absolute())}}


def _refuse_two_files(draft: Draft, option: Option, source: Path) -> None:
    service = draft.document.get("service")
    has_values = isinstance(service, Mapping) and service.get("env_file") == str(source.absolute())
    if option.key == "service.env_file" and option.value and has_values:
        raise BadInput(f"values in service.env, and {option.name}", "write the values into one of them")


def _validated(draft: Draft) -> Experiment:
    """Validates a draft. BadInput names every wrong key, or the option that wrote it."""
    try:
        experiment = Experiment.model_validate(draft.document)
    except ValidationError as e:
        authors = [draft.author_of(_place(error["loc"]), *validation.keys_at_fault(error)) for error in e.errors()]
        sentences = [_sentence(error, author) for error, author in zip(e.errors(), authors, strict=True)]
        raise BadInput("; ".join(dict.fromkeys(sentences)), _FIX_OPTION if all(authors) else _FIX) from None
    _refuse_few_users(experiment)
    return experiment


def _refuse_few_users(experiment: Experiment) -> None:
    """Refuses too few users for trials of an open load. The model does not: recorded runs of the tests have fewer."""
    load = experiment.load
    if isinstance(load, OpenLoad) and load.users < load.least_users(experiment.max_response):
        least = load.least_users(experiment.max_response)
        raise BadInput(
            f"load.typical.users must be at least {least}: rate x max_response + 4 x sqrt(rate x max_response)",
            "raise it, or leave it out; or lower max_response",
        )


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc if not _KINDS.fullmatch(str(part)))


def _sentence(error: Any, author: str | None) -> str:
    """Describes an error, with the option (``author``) or the key that is wrong."""
    place = _place(error["loc"])
    subject = author or place
    return f"{subject}: {_words(error, place)}" if subject else _words(error, place)


def _words(error: Any, place: str) -> str:
    if error["type"] == "extra_forbidden":
        if place == "publication":
            return "publications are in lab/publications/NNN.json now"
        if place == "primary":
            return "leave it out: vtlab judges every criterion that the loads of the file have"
        if new := _MOVED.get(place) or (f"service.{place}" if place in _OF_SERVICE else None):
            return f"write {new} instead"
    if error["type"] == "missing" and place == "service":
        return "missing: write the path of a jar, or sample"
    if place == "variants" and isinstance(error["input"], Mapping):
        return "not a list of names: write service.settings_by_threads for the environment by kind of threads"
    return _FORMS.get(error.get("ctx", {}).get("pattern", "")) or validation.plain_words(error)


def names(folder: Path) -> list[str]:
    """Returns the names of the experiments in ``folder``, sorted."""
    return sorted(path.stem for path in folder.glob("*.json"))


def schema() -> str:
    """Writes the JSON Schema of an experiment, as committed in ``lab/vtlab.schema.json``."""
    return json.dumps(Experiment.model_json_schema(by_alias=True), indent=2) + "\n"
