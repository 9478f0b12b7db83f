"""Looks at each prerequisite of a run in a cluster: found or missing, and what mends it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from vtlab.doctor import Finding, asked
from vtlab.errors import BadInput, LabError, PrerequisiteMissing
from vtlab.model.experiment import Experiment
from vtlab.targets.kubernetes import forward, job, release
from vtlab.targets.kubernetes.cluster import MONITORING_RIGHTS, RIGHTS, Cluster, NotFound, Right, Where

_ROLE = "bind the Role {role} of the chart: helm upgrade --set-json 'rbac.subjects=…' (docs/operations.md)"


def findings(where: Where, experiments: Sequence[Experiment]) -> list[Finding]:
    """Every prerequisite, in the order in which a run needs them; without a cluster only what can be seen."""
    found = [asked("kubectl", forward.kubectl)]
    try:
        cluster = Cluster(where)
        server = Finding("cluster", f"{cluster.version()} at {cluster.server}")
    except LabError as error:
        return [*found, Finding("cluster", error.message, error.fix)]
    try:
        found.append(server)
        missing = _missing(cluster, RIGHTS, where.namespace)
        found.append(_rights("rights", where.namespace, missing, f"{where.release}-runner"))
        # What cannot be asked for lack of a right would only repeat that.
        if "get apps/deployments" not in missing:
            found.append(asked("the lab", lambda: _deployments(cluster)))
        if "list batch/cronjobs" in missing:
            said = "cannot be told without the right to list batch/cronjobs, which name where k6 pushes to"
            found.append(Finding("Prometheus", said, _ROLE.format(role=f"{where.release}-runner")))
            return found
        if "get apps/deployments" not in missing:
            found.append(_experiments(cluster, experiments))
        remote_write = _remote_write(cluster)
        if not remote_write:
            found.append(
                Finding("Prometheus", "no CronJob names where k6 pushes to", "helm upgrade, monitoring.enabled")
            )
            return found
        try:
            name, namespace, port = forward.service(remote_write)
        except LabError as error:
            return [*found, Finding("Prometheus", error.message, error.fix)]
        missing = _missing(cluster, MONITORING_RIGHTS, namespace)
        role = f"{where.release}-runner-{where.namespace}"
        found.append(_rights(f"Prometheus ({name}:{port})", namespace, missing, role))
    finally:
        cluster.close()
    return found


def _missing(cluster: Cluster, rights: tuple[Right, ...], namespace: str) -> list[str]:
    return [str(right) for right in rights if not cluster.allowed(right, namespace)]


def _rights(name: str, namespace: str, missing: list[str], role: str) -> Finding:
    if not missing:
        return Finding(name, f"every right that a run needs in namespace {namespace}")
    return Finding(name, f"missing in namespace {namespace}: {', '.join(missing)}", _ROLE.format(role=role))


def _deployments(cluster: Cluster) -> str:
    found = []
    for name in ("platform", "virtual"):
        try:
            status = cluster.deployment(cluster.where.deployment(name)).get("status", {})
        except NotFound:
            raise PrerequisiteMissing(
                f"no Deployment {cluster.where.deployment(name)} in namespace {cluster.where.namespace}",
                "install the lab: make up, or helm install",
            ) from None
        found.append(f"{name} {status.get('readyReplicas', 0)} ready")
    return ", ".join(found)


def _experiments(cluster: Cluster, experiments: Sequence[Experiment]) -> Finding:
    """Which of the experiments the release is set up for."""
    names = []
    for experiment in experiments:
        with contextlib.suppress(BadInput, PrerequisiteMissing):
            release.facts_of(cluster, experiment)
            names.append(experiment.name)
    others = len(names) < len(experiments)
    text = f"the release is set up for {', '.join(names) or 'none'}"
    return Finding("experiments", text + ("; for any other vtlab run says what to set" if others else ""))


def _remote_write(cluster: Cluster) -> str:
    return next((job.remote_write(each) for each in cluster.cron_jobs(cluster.where.selector("k6"))), "")
