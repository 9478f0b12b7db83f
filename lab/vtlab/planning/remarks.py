"""Warnings, in sentences, of what may disturb the measurement of an experiment."""

from __future__ import annotations

from vtlab.model.experiment import Experiment
from vtlab.model.workload import READING
from vtlab.services import from_jar
from vtlab.services.environment import variant_environment
from vtlab.services.resolve import resolve_service


def remarks(experiment: Experiment) -> list[str]:
    """Lists the warnings."""
    service = resolve_service(experiment)
    variables = {name for variant in experiment.variants for name in variant_environment(service, experiment, variant)}
    return [*writing_remarks(experiment), *from_jar.environment_remarks(sorted(variables))]


def writing_remarks(experiment: Experiment) -> list[str]:
    """Warns of requests that change what the service stores."""
    if not experiment.workload.is_writing or experiment.k6 or experiment.reset:
        return []
    writing = next(request.line for request in experiment.requests if request.method not in READING)
    return [
        f"{writing} may change the data of the service, so that later trials find more data than earlier trials."
        " vtlab rejects a block whose trials differ for that reason (check: trend). To prevent that, name a request or"
        " a command that restores the data: reset: POST /test/reset"
    ]
