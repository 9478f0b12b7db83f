"""The experiments that come with vtlab, and those in files of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vtlab import shipped
from vtlab.model import documents, experiment_files
from vtlab.model.draft import Option
from vtlab.model.experiment import Experiment
from vtlab.services import resolve as services

#: The folder with a ``.json`` file of each.
EXPERIMENTS = shipped.ROOT / "k6" / "experiments"


def resolve(names: Sequence[str], options: Sequence[Option] = ()) -> list[Experiment]:
    """Loads the experiments of these names, or of paths of files, overridden by the options of a call and completed by
    their jars."""
    return [services.complete(experiment_files.load(name, EXPERIMENTS, options)) for name in names]


def of_service(service: Path, options: Sequence[Option]) -> Experiment:
    """Returns the experiment of a jar, or of a file, overridden by the options of a call and completed by the jar."""
    if service.suffix in documents.SUFFIXES:
        return resolve([str(service)], options)[0]
    keys = {"jar": service.name, "directory": str(service.parent.absolute())}
    return services.complete(experiment_files.of_call(keys, options))


def of_deployment(name: str, options: Sequence[Option]) -> Experiment:
    """Returns the experiment of a Deployment in a cluster (``--deployment``), with the options of the call."""
    return experiment_files.of_call({}, [Option("--deployment", "service.deployment", name), *options])
