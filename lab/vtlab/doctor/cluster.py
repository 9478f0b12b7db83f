"""Prerequisites of a run in a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from vtlab.doctor.prerequisite import Prerequisite, check
from vtlab.errors import BadInput, LabError, PrerequisiteMissing
from vtlab.model.experiment import Experiment
from vtlab.model.service import Service
from vtlab.targets.kubernetes import cluster_prometheus
from vtlab.targets.kubernetes.api import port_forward
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.connection import NotFound
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.rights import (
    COPY_RIGHTS,
    FORWARD_RIGHTS,
    MONITOR_RIGHTS,
    POLICY_RIGHTS,
    RIGHTS,
    Right,
)
from vtlab.targets.kubernetes.copies import facts
from vtlab.targets.kubernetes.release import facts as release

_ROLE = "bind the Role {role} of the chart: helm upgrade --set-json 'rbac.subjects=…' (docs/how-to/kubernetes.md)"
_COPY_ROLE = "bind the Roles of docs/how-to/own-service-on-kubernetes.md to your user"


def prerequisites(ref: ReleaseRef, service: Service, experiments: Sequence[Experiment]) -> list[Prerequisite]:
    """Checks every prerequisite, in the order in which a run needs them; without a cluster nothing but that."""
    return _reached(ref, lambda cluster: _check_release(cluster, service, experiments))


def prerequisites_of_copies(ref: ReleaseRef, deployment: str) -> list[Prerequisite]:
    """Checks every prerequisite of a run that measures copies of a Deployment; without a cluster nothing but that."""
    return _reached(ref, lambda cluster: _check_copies(cluster, deployment))


def _reached(ref: ReleaseRef, check_all: Callable[[Cluster], list[Prerequisite]]) -> list[Prerequisite]:
    try:
        cluster = Cluster(ref)
        reached = Prerequisite("cluster", f"{cluster.version()} at {cluster.server}")
    except LabError as error:
        return [Prerequisite("cluster", error.message, error.fix)]
    with contextlib.closing(cluster):
        return [reached, *check_all(cluster)]


def _check_release(cluster: Cluster, service: Service, experiments: Sequence[Experiment]) -> list[Prerequisite]:
    ref = cluster.release
    runner = _ROLE.format(role=f"{ref.name}-runner")
    missing = _missing(cluster, RIGHTS, ref.namespace)
    checks = [_rights("rights", ref.namespace, missing, runner)]
    # What cannot be asked for lack of a right would only repeat that.
    if "get apps/deployments" not in missing:
        checks.append(check("the lab", lambda: _deployments(cluster)))
    if "list batch/cronjobs" in missing:
        unknown = "unknown without the right to list batch/cronjobs, which name the Prometheus that k6 pushes to"
        return [*checks, Prerequisite("Prometheus", unknown, runner)]
    if "get apps/deployments" not in missing:
        checks.append(_experiments(cluster, service, experiments))
    remote_write = cluster_prometheus.remote_write(cluster)
    if not remote_write:
        pushes_nowhere = "no CronJob names the Prometheus that k6 pushes to"
        return [*checks, Prerequisite("Prometheus", pushes_nowhere, "helm upgrade, monitoring.enabled")]
    return [*checks, _prometheus(cluster, remote_write, _ROLE.format(role=f"{ref.name}-runner-{ref.namespace}"))]


def _check_copies(cluster: Cluster, deployment: str) -> list[Prerequisite]:
    ref, namespace = cluster.release, cluster.release.namespace
    of_prometheus = FORWARD_RIGHTS if ref.has_own_prometheus else MONITOR_RIGHTS
    missing = _missing(cluster, tuple(dict.fromkeys((*COPY_RIGHTS, *of_prometheus, *POLICY_RIGHTS))), namespace)
    checks = [_rights("rights", namespace, missing, _COPY_ROLE)]
    if "get apps/deployments" not in missing:
        checks.append(check(f"Deployment {deployment}", lambda: facts.describe_copied(cluster, deployment)))
    if ref.has_own_prometheus:
        return [*checks, Prerequisite("Prometheus", "a run brings its own Prometheus")]
    return [*checks, _prometheus(cluster, cluster_prometheus.remote_write(cluster), _COPY_ROLE)]


def _prometheus(cluster: Cluster, remote_write: str, fix: str) -> Prerequisite:
    """Checks whether vtlab may go to the Prometheus to which k6 pushes, and whether that is new enough."""
    try:
        name, namespace, port = port_forward.service(remote_write)
    except LabError as error:
        return Prerequisite("Prometheus", error.message, error.fix)
    missing = [] if cluster.inside else _missing(cluster, FORWARD_RIGHTS, namespace)
    rights = _rights(f"Prometheus ({name}:{port})", namespace, missing, fix)
    return rights if missing else check(rights.name, lambda: _is_new(cluster, remote_write, rights.state))


def _is_new(cluster: Cluster, remote_write: str, state: str) -> str:
    """Returns the state of a Prometheus; raises where vtlab cannot use it."""
    with cluster_prometheus.client(cluster, remote_write) as client:
        client.refuse_old()
    return f"new enough; {state}"


def _missing(cluster: Cluster, rights: tuple[Right, ...], namespace: str) -> list[str]:
    return [str(right) for right in rights if not cluster.allowed(right, namespace)]


def _rights(name: str, namespace: str, missing: list[str], fix: str) -> Prerequisite:
    if not missing:
        return Prerequisite(name, f"every right that a run needs in namespace {namespace}")
    return Prerequisite(name, f"missing in namespace {namespace}: {', '.join(missing)}", fix)


def _deployments(cluster: Cluster) -> str:
    ready = []
    for name in ("platform", "virtual"):
        try:
            status = cluster.deployment(cluster.release.deployment(name)).get("status", {})
        except NotFound:
            raise PrerequisiteMissing(
                f"no Deployment {cluster.release.deployment(name)} in namespace {cluster.release.namespace}",
                f"install the lab: {release.installation()}",
            ) from None
        ready.append(f"{name} {status.get('readyReplicas', 0)} ready")
    return ", ".join(ready)


def _experiments(cluster: Cluster, service: Service, experiments: Sequence[Experiment]) -> Prerequisite:
    """Names the experiments for which the release is set up."""
    names = []
    for experiment in experiments:
        with contextlib.suppress(BadInput, PrerequisiteMissing):
            release.collect_from(cluster, service, experiment)
            names.append(experiment.name)
    others = len(names) < len(experiments)
    text = f"the release is set up for {', '.join(names) or 'none'}"
    return Prerequisite("experiments", text + ("; for others, vtlab run says what to set" if others else ""))
