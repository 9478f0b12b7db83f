"""The requests of an experiment that names none: the GET requests that its service answers."""

from __future__ import annotations

from pathlib import Path

from vtlab.errors import BadInput
from vtlab.measuring.progress import Progress
from vtlab.model.endpoints import Endpoint
from vtlab.model.experiment import Experiment
from vtlab.services import discovery, inspection
from vtlab.services.resolve import resolve_service
from vtlab.services.single_start import started


def with_found_requests(experiment: Experiment, root: Path, progress: Progress) -> Experiment:
    """Returns the experiment with each GET request that its service answers with 200 and that needs no value. BadInput
    where there is none, and for a service that vtlab cannot ask."""
    service = resolve_service(experiment)
    inspected = None if experiment.is_sample else inspection.inspect_if_possible(service)
    if inspected is None:
        raise BadInput(f"{experiment.name}: no request given", "name one, such as 'GET /orders/17', or --k6 load.ts")
    progress.say(f"no request given: starting {inspected.jar} to find its GET requests")
    exposed = experiment.model_copy(update={"settings": {**experiment.settings, **discovery.EXPOSED}})
    with started(exposed, root, ", or name a request: 'GET /orders/17'") as variant:
        endpoints, source = discovery.discover(variant, inspected)
        tried = discovery.try_each(variant, endpoints, progress.show)
    lines = [endpoint.line for endpoint in tried if not endpoint.unknown and not endpoint.refused]
    if not lines:
        raise BadInput(f"no request given, and none was found: {_why(endpoints, source)}", _fix(service.jar or ""))
    for line in lines:
        progress.say(f"request: {line}")
    if left_out := len(endpoints) - len(lines):
        progress.say(f"left out: {left_out} more of {source}; {_fix(service.jar or '')}")
    return Experiment.model_validate({**experiment.document(), "requests": lines})


def _why(endpoints: list[Endpoint], source: str) -> str:
    if not endpoints:
        return f"{source} lists no GET request"
    return f"no GET request of {source} answers 200 without values"


def _fix(jar: str) -> str:
    return f"vtlab init {jar} writes all of them into a file to edit"
