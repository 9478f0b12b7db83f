"""The service that an experiment names, and what its jar says of it."""

from __future__ import annotations

from vtlab.errors import PrerequisiteMissing
from vtlab.host import tools
from vtlab.host.tools import Java
from vtlab.model.experiment import Experiment
from vtlab.model.service import Service
from vtlab.services import from_jar, sample


def resolve_service(experiment: Experiment) -> Service:
    """Returns the service that an experiment measures: its own, or the sample application."""
    return sample.service() if isinstance(experiment.service, str) else experiment.service


def complete(experiment: Experiment) -> Experiment:
    """Returns the experiment with everything that its service's jar says. BadInput where vtlab cannot measure a jar;
    PrerequisiteMissing where the JDK that is named for it is not here."""
    service = resolve_service(experiment)
    if experiment.is_sample or not from_jar.is_looked_into(service):
        return experiment
    java = find_java(None if service.java is None else str(service.java))
    return experiment.model_copy(update={"service": from_jar.completed(service, experiment.needs, java)})


def find_java(wanted: str | None) -> Java | None:
    """Finds the JDK that would run a service; None where no JDK is named and none is here: a look needs none."""
    try:
        return tools.find_java(wanted)
    except PrerequisiteMissing:
        if wanted:
            raise
        return None
