"""The build of a service, by a digest of its files: a run that is resumed must have the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.model.experiment import Experiment
from vtlab.model.service import Service
from vtlab.services import sample


def version(service: Service, is_sample: bool = False) -> str:
    """Returns the build of a service that this machine would start. PrerequisiteMissing where it is not there.
    ``is_sample``: whether it is the lab's sample application."""
    if service.jar_path is not None:
        name = sample.find().version if is_sample else service.name
        files = [service.jar_path]
    elif service.command is not None:
        name, files = service.name, [Path(service.directory, word) for word in service.command]
        files = [path for path in files if path.is_file()]
    else:
        form = "a Deployment" if service.deployment else "an image"
        raise BadInput(
            f"the service {service.name} is {form}, which runs in a cluster only",
            "name its jar or command, or measure it with --target kubernetes",
        )
    return f"{name} ({_digest(service, files)})"


def other_builds(experiment: Experiment, service: Service) -> dict[str, str]:
    """Returns by variant the build that runs in place of the service's jar. BadInput where the service has no jar,
    PrerequisiteMissing where a build does not exist."""
    jars = {name: properties.jar for name, properties in experiment.properties.items() if properties.jar}
    if jars and not service.jar:
        raise BadInput(
            f"the service {service.name} does not run from a jar, so {' and '.join(jars)} cannot run another",
            "remove jar from properties (--variant), or describe the service by its jar",
        )
    return {
        name: f"{Path(jar).name} ({_digest(service, [Path(service.directory, jar)])})" for name, jar in jars.items()
    }


def _digest(service: Service, files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        try:
            digest.update(path.read_bytes())
        except OSError as error:
            raise PrerequisiteMissing(f"the service {service.name} cannot be read: {error}", "build it first") from None
    return digest.hexdigest()[:12]
