"""What the chart has installed, and whether it is what an experiment asks for."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from vtlab import __version__
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import RunFacts
from vtlab.model.service import Service
from vtlab.targets import verification
from vtlab.targets.kubernetes import job
from vtlab.targets.kubernetes.api import pods
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.connection import NotFound
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.types import Json

_FLAGS = "JAVA_TOOL_OPTIONS"


def facts(ref: ReleaseRef, service: Service, experiment: Experiment) -> RunFacts:
    """What runs in the cluster; BadInput or PrerequisiteMissing where the release cannot run the experiment."""
    with contextlib.closing(Cluster(ref)) as cluster:
        return facts_of(cluster, service, experiment)


def facts_of(cluster: Cluster, service: Service, experiment: Experiment) -> RunFacts:
    """As ``facts``, of an open cluster."""
    ref = cluster.release
    deployments = {name: _deployment(cluster, name) for name in experiment.variants}
    first = deployments[experiment.variants[0]]
    for name, deployment in deployments.items():
        _refuse_other(ref, service, experiment, name, deployment)
    _refuse_different(experiment, deployments)
    _refuse_unmet_needs(ref, service, experiment, first)
    k6 = job.k6(template(cluster, experiment))
    app = _app(first)
    return RunFacts(
        versions={
            "vtlab": __version__,
            "app": str(app["image"]),
            "k6": str(k6["image"]),
            "chart": first["metadata"].get("labels", {}).get("helm.sh/chart", "unknown"),
        },
        jvm_flags=job.environment_of(app).get(_FLAGS, "").split(),
        machine={
            "kubernetes": cluster.version(),
            "namespace": ref.namespace,
            "release": ref.name,
            "context": ref.context or "the current one",
        },
    )


def template(cluster: Cluster, experiment: Experiment) -> Json:
    """The CronJob that the experiment's Jobs are made from. PrerequisiteMissing where there is none."""
    ref = cluster.release
    cron_job = job.template(cluster.cron_jobs(ref.selector("k6")), experiment.name)
    if cron_job is None:
        raise PrerequisiteMissing(
            f"the release {ref.name} has no CronJob of k6 in namespace {ref.namespace}",
            ref.helm_upgrade("--set experiments={blocking}"),
        )
    return cron_job


def _refuse_unmet_needs(ref: ReleaseRef, service: Service, experiment: Experiment, deployment: Json) -> None:
    """PrerequisiteMissing when the variants, which are alike, do not get what the experiment needs beside them. Which
    JDK runs, each JVM says itself once it has started."""
    variables = {variable["name"] for variable in _app(deployment).get("env", [])}
    for need in experiment.needs:
        if not service.companions.get(need, {}).keys() <= variables:
            raise PrerequisiteMissing(
                f"{experiment.name} needs {need}, which the release {ref.name} does not have",
                ref.helm_upgrade(f"--set {need}.enabled=true"),
            )


def _deployment(cluster: Cluster, name: str) -> Json:
    ref = cluster.release
    try:
        return cluster.deployment(ref.deployment(name))
    except NotFound:
        raise PrerequisiteMissing(
            f"there is no Deployment {ref.deployment(name)} in namespace {ref.namespace}",
            "install the lab (make up, or helm install), or say where it is: --namespace, --release, --context",
        ) from None


def _refuse_other(ref: ReleaseRef, service: Service, experiment: Experiment, name: str, deployment: Json) -> None:
    """BadInput when the Deployment is not the variant under the limits of the experiment."""
    app = _app(deployment)
    limits, wanted = app.get("resources", {}).get("limits", {}), experiment.limits
    env = job.environment_of(app)
    #: What is wrong, with the chart's value that mends it.
    wrong: list[tuple[str, str]] = []
    # The chart may write 500m where the experiment says 0.5.
    if not limits.get("cpu") or not verification.close(units.cores(str(limits["cpu"])), wanted.cpu):
        text = f"its CPU limit is {limits.get('cpu', 'absent')}, not {wanted.cpu:g}"
        wrong.append((text, f"limits.cpu={wanted.cpu:g}"))
    if not limits.get("memory") or units.size(str(limits["memory"])) != units.size(wanted.memory):
        text = f"its memory limit is {limits.get('memory', 'absent')}, not {wanted.memory}"
        wrong.append((text, f"limits.memory={wanted.memory}"))
    if wanted.heap and f"-Xmx{wanted.heap}" not in env.get(_FLAGS, "").split():
        wrong.append((f"its heap is not -Xmx{wanted.heap}", f"limits.heap={wanted.heap}"))
    of_variant = experiment.environment_of(name)
    for key, value in {**experiment.settings, **of_variant}.items():
        if env.get(key) != value:
            setting = f"variants.{name}.env.{key}" if key in of_variant else f"settings.{key}"
            wrong.append((f"its {key} is {env.get(key, 'absent')}, not {value}", f"{setting}={value}"))
    unknown = sorted(env.keys() - {_FLAGS, *companion_environment(service), *experiment.settings, *of_variant})
    for key in unknown:
        wrong.append((f"it sets {key}={env[key]}, which the experiment does not", f"settings.{key}=null"))
    for flag in experiment.properties_of(name).jvm_flags:
        if flag not in env.get(_FLAGS, "").split():
            wrong.append((f"it lacks the JVM flag {flag}", f"variants.{name}.jvmFlags={{{flag}}}"))
    if deployment["spec"].get("replicas") != 1:
        wrong.append((f"it has {deployment['spec'].get('replicas')} replicas, not 1", ""))
    if wrong:
        settings = " ".join(
            ("--set" if setting.endswith("=null") else "--set-string") + f" {setting}"
            for _, setting in wrong
            if setting
        )
        # Where a variable comes from the Deployment does not tell, and the chart's schema refuses a null for nothing.
        removed = " ".join(f"--set variants.{name}.env.{key}=null" for key in unknown)
        raise BadInput(
            f"Deployment {ref.deployment(name)} is not what {experiment.name} asks for: "
            + "; ".join(text for text, _ in wrong),
            ref.helm_upgrade(settings)
            + (f" (where the chart says 'got null', {name} alone sets it: {removed} in its place)" if removed else ""),
        )


def companion_environment(service: Service) -> set[str]:
    """What the chart tells every variant of the companions beside it: no setting of an experiment."""
    return {name for variables in service.companions.values() for name in variables}


def _refuse_different(experiment: Experiment, deployments: Mapping[str, Json]) -> None:
    """BadInput when the variants differ in more than what makes them variants: image, JVM flags, environment."""
    made_by = {key for name in deployments for key in experiment.environment_of(name)}
    same_java = len({experiment.properties_of(name).java for name in deployments}) == 1
    compared: dict[str, Json] = {}
    for name, deployment in deployments.items():
        app = _app(deployment)
        env = {key: value for key, value in job.environment_of(app).items() if key not in made_by}
        if _FLAGS in env:
            of_variant = experiment.properties_of(name).jvm_flags
            env[_FLAGS] = " ".join(flag for flag in env[_FLAGS].split() if flag not in of_variant)
        # Another JDK is another image.
        compared[name] = {**({"image": app.get("image")} if same_java else {}), **env}
    (first, reference), *others = compared.items()
    for name, other in others:
        differing = [key for key in {**reference, **other} if reference.get(key) != other.get(key)]
        if differing:
            differences = "; ".join(
                f"{key} is {reference.get(key, 'absent')} and {other.get(key, 'absent')}" for key in differing
            )
            raise BadInput(
                f"{first} and {name} differ in more than their threads: {differences}",
                "it would not show which difference makes the difference: give both the same in the chart's values",
            )


def _app(deployment: Json) -> Json:
    return pods.app(deployment["spec"]["template"])
