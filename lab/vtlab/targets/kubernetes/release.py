"""What the chart has installed, and whether it is what an experiment asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping

from vtlab import __version__
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.records import Facts
from vtlab.targets.kubernetes import job
from vtlab.targets.kubernetes.cluster import Cluster, Json, NotFound, Where

_FLAGS = "JAVA_TOOL_OPTIONS"
#: What the chart tells every variant of the database and the downstream service beside it: no setting of an experiment.
GIVEN = frozenset(
    {"SPRING_DATASOURCE_URL", "SPRING_DATASOURCE_USERNAME", "SPRING_DATASOURCE_PASSWORD", "LAB_DOWNSTREAM_URL"}
)
#: need -> the variable by which the chart tells a variant where it is.
TOLD_BY = {"database": "SPRING_DATASOURCE_URL", "downstream": "LAB_DOWNSTREAM_URL"}
#: Of limits, relative: the chart may write 500m where the experiment says 0.5.
TOLERANCE = 0.01


def facts(where: Where, experiment: Experiment) -> Facts:
    """What the lab in the cluster is; BadInput or PrerequisiteMissing where it cannot run the experiment."""
    cluster = Cluster(where)
    try:
        return facts_of(cluster, experiment)
    finally:
        cluster.close()


def facts_of(cluster: Cluster, experiment: Experiment) -> Facts:
    """As ``facts``, of an open cluster."""
    where = cluster.where
    found = {name: _deployment(cluster, name) for name in experiment.variants}
    for name, each in found.items():
        _refuse_other(where, experiment, name, each)
    _refuse_different(experiment, found)
    _refuse_unmet_needs(where, experiment, found[experiment.variants[0]])
    k6 = job.k6(template(cluster, experiment))
    app = _app(found[experiment.variants[0]])
    chart = found[experiment.variants[0]]["metadata"].get("labels", {}).get("helm.sh/chart", "unknown")
    return Facts(
        versions={"vtlab": __version__, "app": str(app["image"]), "k6": str(k6["image"]), "chart": chart},
        jvm_flags=job.environment_of(app).get(_FLAGS, "").split(),
        machine={
            "kubernetes": cluster.version(),
            "namespace": where.namespace,
            "release": where.release,
            "context": where.context or "the current one",
        },
    )


def template(cluster: Cluster, experiment: Experiment) -> Json:
    """The CronJob that the experiment's Jobs are made from. PrerequisiteMissing where there is none."""
    where = cluster.where
    cron_job = job.template(cluster.cron_jobs(where.selector("k6")), experiment.name)
    if cron_job is None:
        raise PrerequisiteMissing(
            f"the release {where.release} has no CronJob of k6 in namespace {where.namespace}",
            where.helm_upgrade("--set experiments={blocking}"),
        )
    return cron_job


def _refuse_unmet_needs(where: Where, experiment: Experiment, deployment: Json) -> None:
    """PrerequisiteMissing when the variants, which are alike, do not get what the experiment needs beside them. Which
    JDK runs, each JVM says itself once it has started."""
    variables = {each["name"] for each in _app(deployment).get("env", [])}
    for need in experiment.needs:
        if need in TOLD_BY and TOLD_BY[need] not in variables:
            raise PrerequisiteMissing(
                f"{experiment.name} needs {need}, which the release {where.release} does not have",
                where.helm_upgrade(f"--set {need}.enabled=true"),
            )


def _deployment(cluster: Cluster, name: str) -> Json:
    where = cluster.where
    try:
        return cluster.deployment(where.deployment(name))
    except NotFound:
        raise PrerequisiteMissing(
            f"there is no Deployment {where.deployment(name)} in namespace {where.namespace}",
            "install the lab (make up, or helm install), or say where it is: --namespace, --release, --context",
        ) from None


def _refuse_other(where: Where, experiment: Experiment, name: str, deployment: Json) -> None:
    """BadInput when the Deployment is not the variant under the limits of the experiment."""
    app = _app(deployment)
    limits, wanted = app.get("resources", {}).get("limits", {}), experiment.limits
    env = job.environment_of(app)
    wrong = []
    if not limits.get("cpu") or not math.isclose(units.cores(str(limits["cpu"])), wanted.cpu, rel_tol=TOLERANCE):
        wrong.append(
            (f"its CPU limit is {limits.get('cpu', 'absent')}, not {wanted.cpu:g}", f"limits.cpu={wanted.cpu:g}")
        )
    if not limits.get("memory") or units.size(str(limits["memory"])) != units.size(wanted.memory):
        text = f"its memory limit is {limits.get('memory', 'absent')}, not {wanted.memory}"
        wrong.append((text, f"limits.memory={wanted.memory}"))
    if f"-Xmx{wanted.heap}" not in env.get(_FLAGS, "").split():
        wrong.append((f"its heap is not -Xmx{wanted.heap}", f"limits.heap={wanted.heap}"))
    own = experiment.environment_of(name)
    for key, value in {**experiment.settings, **own}.items():
        if env.get(key) != value:
            setting = f"variants.{name}.env.{key}" if key in own else f"settings.{key}"
            wrong.append((f"its {key} is {env.get(key, 'absent')}, not {value}", f"{setting}={value}"))
    unknown = sorted(env.keys() - {_FLAGS, *GIVEN, *experiment.settings, *own})
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
            f"Deployment {where.deployment(name)} is not what {experiment.name} asks for: "
            + "; ".join(text for text, _ in wrong),
            where.helm_upgrade(settings)
            + (f" (where the chart says 'got null', {name} alone sets it: {removed} in its place)" if removed else ""),
        )


def _refuse_different(experiment: Experiment, deployments: Mapping[str, Json]) -> None:
    """BadInput when the variants differ in more than what makes them variants: image, JVM flags, environment."""
    made_by = {key for name in deployments for key in experiment.environment_of(name)}
    same_java = len({experiment.properties_of(name).java for name in deployments}) == 1
    seen: dict[str, Json] = {}
    for name, deployment in deployments.items():
        app = _app(deployment)
        env = {key: value for key, value in job.environment_of(app).items() if key not in made_by}
        if _FLAGS in env:
            own = experiment.properties_of(name).jvm_flags
            env[_FLAGS] = " ".join(flag for flag in env[_FLAGS].split() if flag not in own)
        # Another JDK is another image.
        seen[name] = {**({"image": app.get("image")} if same_java else {}), **env}
    (first, one), *others = seen.items()
    for name, other in others:
        differing = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        if differing:
            said = "; ".join(f"{key} is {one.get(key, 'absent')} and {other.get(key, 'absent')}" for key in differing)
            raise BadInput(
                f"{first} and {name} differ in more than their threads: {said}",
                "it would not show which difference makes the difference: give both the same in the chart's values",
            )


def _app(deployment: Json) -> Json:
    containers: list[Json] = deployment["spec"]["template"]["spec"]["containers"]
    return next((each for each in containers if each["name"] == "app"), containers[0])
