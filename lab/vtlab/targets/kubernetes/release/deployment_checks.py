"""Checks that the Deployments of a release are the variants of an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host.agent import OPTIONS
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.service import Service
from vtlab.targets import verification
from vtlab.targets.kubernetes import job
from vtlab.targets.kubernetes.api import pods
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.types import Json


@dataclass(frozen=True)
class _Mismatch:
    """A difference between a Deployment and the variant that an experiment describes."""

    text: str
    #: The chart's value that corrects it (``limits.cpu=1``); empty where there is none.
    setting: str = ""


def app(deployment: Json) -> Json:
    """Returns the container of the service."""
    return pods.app(deployment["spec"]["template"])


def jvm_flags(deployment: Json) -> list[str]:
    """Returns the flags of the service's JVM."""
    return job.environment_of(app(deployment)).get(OPTIONS, "").split()


def companion_environment(service: Service) -> set[str]:
    """Returns the variables by which the chart tells every variant its companions: no setting of an experiment."""
    return {name for variables in service.companions.values() for name in variables}


def refuse_unmet_needs(ref: ReleaseRef, service: Service, experiment: Experiment, deployment: Json) -> None:
    """Raises PrerequisiteMissing when the variants, which are alike, lack what the experiment needs beside them. Which
    JDK runs, each JVM says itself once it has started. BadInput where the chart does not have it."""
    if "postgres" in experiment.needs:
        raise BadInput(
            f"{experiment.name} needs postgres, and the chart has MariaDB alone",
            "measure it on this machine (--target local), or copies of a Deployment that names its database",
        )
    variables = {variable["name"] for variable in app(deployment).get("env", [])}
    for need in experiment.needs:
        if not service.companions.get(need, {}).keys() <= variables:
            raise PrerequisiteMissing(
                f"{experiment.name} needs {need}, which the release {ref.name} does not have",
                ref.helm_upgrade(f"--set {need}.enabled=true"),
            )


def refuse_other(ref: ReleaseRef, service: Service, experiment: Experiment, name: str, deployment: Json) -> None:
    """Raises BadInput when the Deployment is not the variant ``name`` under the limits of the experiment."""
    unknown = _unknown_variables(service, experiment, name, deployment)
    mismatches = [
        *_limit_mismatches(experiment, deployment),
        *_environment_mismatches(experiment, name, deployment),
        *unknown.values(),
        *_flag_mismatches(experiment, name, deployment),
    ]
    if (replicas := deployment["spec"].get("replicas")) != 1:
        mismatches.append(_Mismatch(f"it has {replicas} replicas, not 1"))
    if not mismatches:
        return
    settings = [mismatch.setting for mismatch in mismatches if mismatch.setting]
    options = [f"{'--set' if setting.endswith('=null') else '--set-string'} {setting}" for setting in settings]
    # The Deployment does not tell where a variable comes from, and the chart's schema refuses a null for nothing.
    removed = " ".join(f"--set variants.{name}.env.{key}=null" for key in unknown)
    hint = f" (if the chart says 'got null', only {name} sets it: use {removed} instead)" if removed else ""
    raise BadInput(
        f"Deployment {ref.deployment(name)} does not match {experiment.name}: "
        + "; ".join(mismatch.text for mismatch in mismatches),
        ref.helm_upgrade(" ".join(options)) + hint,
    )


def _limit_mismatches(experiment: Experiment, deployment: Json) -> Iterator[_Mismatch]:
    limits, expected = app(deployment).get("resources", {}).get("limits", {}), experiment.limits
    # The chart may write 500m where the experiment says 0.5.
    if not limits.get("cpu") or not verification.close(units.cores(str(limits["cpu"])), expected.cpu):
        text = f"its CPU limit is {limits.get('cpu', 'absent')}, not {expected.cpu:g}"
        yield _Mismatch(text, f"limits.cpu={expected.cpu:g}")
    if not limits.get("memory") or units.size(str(limits["memory"])) != units.size(expected.memory):
        text = f"its memory limit is {limits.get('memory', 'absent')}, not {expected.memory}"
        yield _Mismatch(text, f"limits.memory={expected.memory}")
    if expected.heap and f"-Xmx{expected.heap}" not in jvm_flags(deployment):
        yield _Mismatch(f"its heap is not -Xmx{expected.heap}", f"limits.heap={expected.heap}")


def _environment_mismatches(experiment: Experiment, name: str, deployment: Json) -> Iterator[_Mismatch]:
    environment = job.environment_of(app(deployment))
    variant_environment = experiment.environment_of(name)
    for key, value in {**experiment.settings, **variant_environment}.items():
        if environment.get(key) != value:
            setting = f"variants.{name}.env.{key}" if key in variant_environment else f"settings.{key}"
            yield _Mismatch(f"its {key} is {environment.get(key, 'absent')}, not {value}", f"{setting}={value}")


def _unknown_variables(service: Service, experiment: Experiment, name: str, deployment: Json) -> dict[str, _Mismatch]:
    """Returns the variables that the experiment does not set, by name."""
    environment = job.environment_of(app(deployment))
    known_names = {OPTIONS, *companion_environment(service), *experiment.settings, *experiment.environment_of(name)}
    return {
        key: _Mismatch(f"it sets {key}={environment[key]}, which the experiment does not", f"settings.{key}=null")
        for key in sorted(environment.keys() - known_names)
    }


def _flag_mismatches(experiment: Experiment, name: str, deployment: Json) -> Iterator[_Mismatch]:
    for flag in experiment.properties_of(name).jvm_flags:
        if flag not in jvm_flags(deployment):
            yield _Mismatch(f"it lacks the JVM flag {flag}", f"variants.{name}.jvmFlags={{{flag}}}")


def refuse_different(experiment: Experiment, deployments: Mapping[str, Json]) -> None:
    """Raises BadInput when the variants differ in more than their definitions: in image, JVM flags, environment."""
    compared = _common_parts(experiment, deployments)
    (first, reference), *others = compared.items()
    for name, other in others:
        differing = [key for key in {**reference, **other} if reference.get(key) != other.get(key)]
        if differing:
            differences = "; ".join(
                f"{key} is {reference.get(key, 'absent')} and {other.get(key, 'absent')}" for key in differing
            )
            raise BadInput(
                f"{first} and {name} differ in more than their threads: {differences}",
                "set the same values for both in the chart; otherwise the cause of a difference is unknown",
            )


def _common_parts(experiment: Experiment, deployments: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the parts of each Deployment that must be equal, by variant."""
    defining = {key for name in deployments for key in experiment.environment_of(name)}
    same_java = len({experiment.properties_of(name).java for name in deployments}) == 1
    parts: dict[str, Json] = {}
    for name, deployment in deployments.items():
        environment = {key: value for key, value in job.environment_of(app(deployment)).items() if key not in defining}
        if OPTIONS in environment:
            variant_flags = experiment.properties_of(name).jvm_flags
            environment[OPTIONS] = " ".join(flag for flag in environment[OPTIONS].split() if flag not in variant_flags)
        # Another JDK is another image.
        image = {"image": app(deployment).get("image")} if same_java else {}
        parts[name] = {**image, **environment}
    return parts
