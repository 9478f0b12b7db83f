"""The GET requests that a service on this machine has, and the experiment that takes them where it names none."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from vtlab.errors import BadInput
from vtlab.measuring.progress import Progress
from vtlab.model.endpoints import Endpoint
from vtlab.model.experiment import Experiment
from vtlab.model.inspection import Inspection
from vtlab.runs.options import Options
from vtlab.services import discovery, inspection
from vtlab.services.resolve import resolve_service
from vtlab.services.single_start import started


def with_found_requests(experiment: Experiment, options: Options, progress: Progress) -> Experiment:
    """Returns the experiment with each GET request that its service answers with 200 and that needs no value. BadInput
    where there is none, and for a service that vtlab cannot ask."""
    service = resolve_service(experiment)
    is_jar_here = not options.cluster and not experiment.is_sample and service.jar_path is not None
    inspected = inspection.inspect_if_possible(service) if is_jar_here else None
    if inspected is None or service.jar_path is None:
        raise BadInput(
            f"{experiment.name}: no request given",
            "vtlab discovers requests only for a Spring Boot jar on this machine; name one: 'GET /orders/17'",
        )
    progress.say(f"no request given: starting {inspected.jar} to find its GET requests")
    tried, source = find_requests(
        experiment, inspected, options.root, ", or name a request: 'GET /orders/17'", progress
    )
    lines = [endpoint.line for endpoint in tried if not endpoint.unknown and not endpoint.refused]
    command = f"{_init(service.jar_path)} writes all of them into a file to edit"
    if not lines:
        raise BadInput(f"no request given, and none was found: {_why(tried, source)}", command)
    for line in lines:
        progress.say(f"request: {line}")
    if left_out := len(tried) - len(lines):
        progress.say(f"left out: {left_out} more of {source}; {command}")
    return Experiment.model_validate({**experiment.document(), "requests": lines})


def find_requests(
    experiment: Experiment, inspected: Inspection, root: Path, otherwise: str, progress: Progress
) -> tuple[list[Endpoint], str]:
    """Starts the service, and returns the GET requests that it tells, each sent once, and where it tells them.
    ``otherwise``: what to do where it does not start."""
    exposed = experiment.model_copy(update={"settings": {**experiment.settings, **discovery.EXPOSED}})
    with started(exposed, root, otherwise) as variant:
        endpoints, source = discovery.discover(variant, inspected)
        return discovery.try_each(variant, endpoints, progress.show), source


def _why(endpoints: Sequence[Endpoint], source: str) -> str:
    if not endpoints:
        return f"{source} lists no GET request"
    return f"no GET request of {source} answers 200 without values"


def _init(jar: Path) -> str:
    """Writes the command that makes a file of the jar, by the path that is the shortest from here."""
    here = Path.cwd()
    return f"vtlab init {shlex.quote(str(jar.relative_to(here) if jar.is_relative_to(here) else jar))}"
