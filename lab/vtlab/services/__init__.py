"""The services that vtlab knows, how one starts, and the companions beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.model import service
from vtlab.model.experiment import Experiment
from vtlab.model.inspection import Inspection
from vtlab.model.service import Service
from vtlab.services import inspection, sample


def of(experiment: Experiment) -> Service:
    """The service that an experiment measures: the sample application unless it names another one.

    BadInput where there is none of that name.
    """
    if isinstance(experiment.service, Service):
        return experiment.service
    if experiment.service in (None, sample.NAME):
        return sample.service()
    if not experiment.service.endswith(".json"):
        raise BadInput(
            f"unknown service '{experiment.service}'",
            f"leave the key out for '{sample.NAME}', or name a JSON file that describes another one",
        )
    return service.load(Path(experiment.service))


def environment(of: Service, experiment: Experiment, variant: str) -> dict[str, str]:
    """What makes a service a variant, on every target: where it listens and what is beside it come on top. It may hold
    secrets."""
    threads = experiment.properties_of(variant).threads
    return {
        **of.environment,
        **of.private_environment(),
        **of.variants.get(threads, {}),
        **experiment.settings,
        **experiment.environment_of(variant),
    }


def version(of: Service) -> str:
    """Which build of a service this machine would start. PrerequisiteMissing where it is not there."""
    if of.jar_path is not None:
        name = sample.find().version if of.name == sample.NAME else of.name
        files = [of.jar_path]
    elif of.command is not None:
        name, files = of.name, [Path(of.directory, word) for word in of.command]
        files = [path for path in files if path.is_file()]
    else:
        raise BadInput(
            f"the service {of.name} is {'a Deployment' if of.deployment else 'an image'}, which runs in a cluster only",
            "name its jar or command, or measure it with --target kubernetes",
        )
    return f"{name} ({_digest(of, files)})"


def other_builds(experiment: Experiment, of: Service) -> dict[str, str]:
    """By variant, which build runs where that is not the service's own. BadInput where the service has no jar,
    PrerequisiteMissing where a build is not there."""
    builds = {name: properties.jar for name, properties in experiment.properties.items() if properties.jar}
    if builds and not of.jar:
        raise BadInput(
            f"the service {of.name} is no jar, so that {' and '.join(builds)} cannot run another",
            "remove the jar from properties (--with), or describe the service by its jar",
        )
    return {name: f"{Path(jar).name} ({_digest(of, [Path(of.directory, jar)])})" for name, jar in builds.items()}


def _digest(of: Service, files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        try:
            digest.update(path.read_bytes())
        except OSError as error:
            raise PrerequisiteMissing(f"the service {of.name} cannot be read: {error}", "build it first") from None
    return digest.hexdigest()[:12]


def look(of: Service) -> Inspection | None:
    """What the service's jar is made of; None for one without a jar, or whose jar is no Spring Boot service that vtlab
    could tell something of."""
    if of.jar_path is None:
        return None
    try:
        return inspection.inspect(of.jar_path)
    except BadInput:
        return None
