"""The service that an experiment names."""

from __future__ import annotations

from pathlib import Path

from vtlab.errors import BadInput
from vtlab.model import service
from vtlab.model.experiment import Experiment
from vtlab.model.service import Service
from vtlab.services import sample


def resolve_service(experiment: Experiment) -> Service:
    """Returns the service that an experiment measures: the sample application unless it names another one.

    BadInput where there is none of that name.
    """
    if isinstance(experiment.service, Service):
        return experiment.service
    if experiment.service in (None, sample.NAME):
        return sample.service()
    if not experiment.service.endswith(".json"):
        raise BadInput(
            f"unknown service '{experiment.service}'",
            f"remove the key for '{sample.NAME}', or name a JSON file that describes another service",
        )
    return service.load(Path(experiment.service))
