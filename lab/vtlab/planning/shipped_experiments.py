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


def load(names: Sequence[str], options: Sequence[Option] = ()) -> list[Experiment]:
    """Loads the experiments of these names, or of paths of files, overridden by the options of a call. Looks into no
    jar: in a cluster it says nothing of the service."""
    return [experiment_files.load(name, EXPERIMENTS, options) for name in names]


def resolve(names: Sequence[str], options: Sequence[Option] = ()) -> list[Experiment]:
    """Loads experiments as ``load`` does, completed by their jars."""
    return [services.complete(experiment) for experiment in load(names, options)]


def load_service(service: Path, options: Sequence[Option]) -> Experiment:
    """Returns the experiment of a jar, or of a file, overridden by the options of a call. Looks into no jar."""
    if service.suffix in documents.SUFFIXES:
        return load([str(service)], options)[0]
    keys = {"jar": service.name, "directory": str(service.parent.absolute())}
    return experiment_files.of_call(keys, options)


def of_service(service: Path, options: Sequence[Option]) -> Experiment:
    """Returns the experiment of a jar, or of a file, as ``load_service`` does, completed by the jar."""
    return services.complete(load_service(service, options))


def load_deployment(options: Sequence[Option]) -> Experiment:
    """Returns the experiment of a call whose service is a Deployment in a cluster, which its options name."""
    return experiment_files.of_call({}, options)
