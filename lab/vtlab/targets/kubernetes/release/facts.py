"""RunFacts about an installed release of the chart, and the CronJob for k6's Jobs."""

from __future__ import annotations

import contextlib

from vtlab import __version__, shipped
from vtlab.errors import PrerequisiteMissing
from vtlab.host.tools import in_checkout
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import RunFacts
from vtlab.model.service import Service
from vtlab.targets.kubernetes import job
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.connection import NotFound
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.release import deployment_checks


def collect(ref: ReleaseRef, service: Service, experiment: Experiment) -> RunFacts:
    """Describes the release. BadInput or PrerequisiteMissing where it cannot run the experiment."""
    with contextlib.closing(Cluster(ref)) as cluster:
        return collect_from(cluster, service, experiment)


def collect_from(cluster: Cluster, service: Service, experiment: Experiment) -> RunFacts:
    """Describes what runs in a cluster that is open already. Errors as in ``collect``."""
    ref = cluster.release
    deployments = {name: _deployment(cluster, name) for name in experiment.variants}
    first = deployments[experiment.variants[0]]
    for name, deployment in deployments.items():
        deployment_checks.refuse_other(ref, service, experiment, name, deployment)
    deployment_checks.refuse_different(experiment, deployments)
    deployment_checks.refuse_unmet_needs(ref, service, experiment, first)
    k6 = job.k6(template(cluster, experiment))
    return RunFacts(
        versions={
            "vtlab": __version__,
            "app": str(deployment_checks.app(first)["image"]),
            "k6": str(k6["image"]),
            "chart": first["metadata"].get("labels", {}).get("helm.sh/chart", "unknown"),
        },
        jvm_flags=deployment_checks.jvm_flags(first),
        machine={
            "kubernetes": cluster.version(),
            "namespace": ref.namespace,
            "release": ref.name,
            "context": ref.context or "the current one",
        },
    )


def template(cluster: Cluster, experiment: Experiment) -> Json:
    """Returns the CronJob from which the experiment's Jobs are created. PrerequisiteMissing where there is none."""
    ref = cluster.release
    cron_job = job.template(cluster.cron_jobs(ref.selector("k6")), experiment.name)
    if cron_job is None:
        raise PrerequisiteMissing(
            f"the release {ref.name} has no CronJob of k6 in namespace {ref.namespace}",
            ref.helm_upgrade("--set experiments={blocking}"),
        )
    return cron_job


def installation() -> str:
    """Returns the command that installs the lab: from the checkout, or the chart in the wheel."""
    return in_checkout("make up, or helm install") or f"helm install lab {shipped.ROOT / 'helm'}"


def _deployment(cluster: Cluster, name: str) -> Json:
    ref = cluster.release
    try:
        return cluster.deployment(ref.deployment(name))
    except NotFound:
        raise PrerequisiteMissing(
            f"there is no Deployment {ref.deployment(name)} in namespace {ref.namespace}",
            f"install the lab ({installation()}), or name its place: --namespace, --release, --context",
        ) from None
