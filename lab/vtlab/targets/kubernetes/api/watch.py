"""Waiting for pods, with an error as soon as one of them has a fault.

Every function raises BlockFault for what another attempt may fix, PrerequisiteMissing for what it cannot fix.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from vtlab.errors import BlockFault, GeneratorFailed, PrerequisiteMissing, VariantFailed
from vtlab.targets.kubernetes.api import labels, pods
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.types import Json

#: Seconds until a Deployment's new pod must be ready, and a Job's pod must run.
READY_WITHIN = 180.0
#: Seconds that the k6 of an earlier attempt may take to end.
IDLE_WITHIN = 45.0
#: Seconds to wait for a node that takes a pod.
UNSCHEDULABLE = 30.0


def wait_until_idle(cluster: Cluster) -> None:
    """Waits until no k6 loads the release any more: the k6 of an earlier attempt may still be ending. The copies of an
    earlier call must have ended, too."""
    ref = cluster.release
    end = time.monotonic() + IDLE_WITHIN
    while True:
        present = cluster.pods(labels.vtlab_selector(ref) if ref.copying else ref.selector("k6"))
        running = [pods.name(pod) for pod in present if _running(pod) and not _stays(pod, ref)]
        if not running:
            return
        if time.monotonic() > end:
            reason = "pods of an earlier vtlab still run" if ref.copying else "another k6 loads the same variants"
            raise BlockFault(f"{reason}: {', '.join(running)}")
        time.sleep(0.5)


def _stays(pod: Json, ref: ReleaseRef) -> bool:
    """Tells whether a pod is one of this call's that run from block to block."""
    is_own = pods.label(pod, labels.INSTANCE) == ref.name
    return is_own and pods.label(pod, labels.COMPONENT) in ("variant", "prometheus")


def wait_for_prometheus(cluster: Cluster) -> Json:
    """Waits until the Prometheus of a run of copies is ready; returns its pod."""
    subject, begin = "Prometheus", time.monotonic()
    while True:
        waited = time.monotonic() - begin
        present = cluster.pods(cluster.release.selector("prometheus"))
        pod = next((pod for pod in present if not pod["metadata"].get("deletionTimestamp")), None)
        if pod and pods.ready(pod):
            return pod
        trouble = pods.trouble(pod) if pod else None
        if pod and trouble and trouble.image:
            raise PrerequisiteMissing(
                f"{subject}: its pod {pods.name(pod)} {trouble.text}",
                "load the image into the cluster, or begin a run with one of your registry: --prometheus-image",
            )
        if pod:
            _refuse_trouble(pod, subject, waited)
        else:
            _refuse_no_pod(cluster, subject, cluster.release.own_prometheus)
        if waited > READY_WITHIN:
            raise BlockFault(f"{subject}: not ready after {READY_WITHIN:.0f} s: {_warning(cluster, pod)}")
        time.sleep(0.5)


def wait_for_pods(
    cluster: Cluster, variants: Sequence[str], annotation: str, stamp: str
) -> tuple[dict[str, Json], dict[str, str]]:
    """Waits until the pods with that stamp are ready. Returns them, and why the other services did not start; both by
    variant."""
    begin = time.monotonic()
    failed: dict[str, str] = {}
    while True:
        waited = time.monotonic() - begin
        fresh = _stamped_pods(cluster, annotation, stamp)
        for name, pod in fresh.items():
            trouble = pods.trouble(pod)
            if trouble and trouble.failure:
                failed.setdefault(name, trouble.failure)
            if name not in failed:
                _refuse_trouble(pod, name, waited)
        waiting = [name for name in variants if name not in failed]
        late = [name for name in waiting if name not in fresh or not pods.ready(fresh[name])]
        if not late:
            return {name: fresh[name] for name in waiting}, failed
        for name in late:
            _refuse_no_pod(cluster, name, cluster.release.deployment(name))
        if waited > READY_WITHIN:
            # A running container has its image and its node: the rest is up to the service.
            slow = {name for name in late if name in fresh and pods.running(fresh[name])}
            if not slow.issuperset(late):
                reasons = [f"{name}: {_warning(cluster, fresh.get(name))}" for name in late]
                raise BlockFault(f"not ready after {READY_WITHIN:.0f} s: {'; '.join(reasons)}")
            failed |= dict.fromkeys(late, f"it was not ready after {READY_WITHIN:.0f} s")
            continue
        time.sleep(0.5)


def _stamped_pods(cluster: Cluster, annotation: str, stamp: str) -> dict[str, Json]:
    variant_pods = cluster.pods(cluster.release.selector("variant"))
    stamped = (pod for pod in variant_pods if pod["metadata"].get("annotations", {}).get(annotation) == stamp)
    return {pods.label(pod, labels.VARIANT): pod for pod in stamped}


def wait_for_job(cluster: Cluster, name: str, run: str, loaded: Mapping[str, Json]) -> Json:
    """Waits until the k6 of the Job ``name`` has ended; returns its pod. Meanwhile watches the pods that k6 loads, by
    variant.

    ``run``: the beginning of the names of this run's Jobs. The k6 of any other Job is a stranger.
    """
    begin, exists = time.monotonic(), False
    while True:
        present = {pods.uid(pod): pod for pod in cluster.pods(cluster.release.selector())}
        for variant, pod in loaded.items():
            _refuse_broken(variant, pod, present.get(pods.uid(pod)))
        _refuse_strangers(present.values(), run)
        k6 = next((pod for pod in present.values() if pods.label(pod, labels.JOB_NAME) == name), None)
        waited = time.monotonic() - begin
        if k6:
            exists = True
            if pods.exit_code(k6, labels.K6_CONTAINER) is not None and pods.trouble(k6) is None:
                return k6
            _refuse_k6_trouble(cluster, k6, waited)
        elif exists:
            raise BlockFault(f"k6: the pod of the Job {name} is gone")
        elif waited > UNSCHEDULABLE:
            raise BlockFault(
                f"k6: the Job {name} has no pod after {UNSCHEDULABLE:.0f} s: {_job_warning(cluster, name)}"
            )
        time.sleep(1)


def _refuse_broken(variant: str, pod: Json, now: Json | None) -> None:
    """Raises what has happened to a variant's pod under load. ``now``: the pod as it is now; None where it is gone."""
    subject = f"{variant}: its pod {pods.name(pod)}"
    if now is None:
        raise BlockFault(f"{subject} is gone while k6 loaded it")
    trouble = pods.trouble(now)
    if trouble and trouble.failure:
        raise VariantFailed(variant, trouble.failure)
    _raise(trouble, subject, " while k6 loaded it")


def _refuse_strangers(present: Iterable[Json], run: str) -> None:
    """Raises BlockFault where the k6 of another run loads the variants."""
    for pod in present:
        # The pods of earlier Jobs of this run may still be ending.
        stranger = not pods.label(pod, labels.JOB_NAME).startswith(run)
        if pods.label(pod, labels.COMPONENT) == "k6" and stranger and _running(pod):
            raise BlockFault(f"another k6 loads the same variants: pod {pods.name(pod)}")


def _refuse_k6_trouble(cluster: Cluster, pod: Json, waited: float) -> None:
    """Raises what is wrong with the pod of a Job that began ``waited`` seconds ago."""
    if pods.oom_kills(pod):
        raise GeneratorFailed(f"k6: its pod {pods.name(pod)} was killed for lack of memory")
    _refuse_trouble(pod, "k6", waited)
    if pod["status"].get("phase") == "Pending" and waited > READY_WITHIN:
        raise BlockFault(f"k6: its pod does not run after {READY_WITHIN:.0f} s: {_warning(cluster, pod)}")


def _job_warning(cluster: Cluster, name: str) -> str:
    jobs = [job for job in cluster.jobs(cluster.release.selector()) if job["metadata"]["name"] == name]
    return cluster.last_warning(jobs[0]["metadata"]["uid"]) if jobs else "the Job is gone"


def _refuse_trouble(pod: Json, subject: str, waited: float) -> None:
    """Raises what is wrong with a pod that was requested ``waited`` seconds ago."""
    _raise(pods.trouble(pod), f"{subject}: its pod {pods.name(pod)}")
    _refuse_unschedulable(subject, pod, waited)


def _refuse_unschedulable(name: str, pod: Json, waited: float) -> None:
    reason = pods.unschedulable(pod)
    if reason and waited > UNSCHEDULABLE:
        raise PrerequisiteMissing(
            f"{name}: no node takes its pod {pods.name(pod)}: {reason}",
            "free resources in the cluster, or lower the requests (of copies: limits.memory)",
        )


def _refuse_no_pod(cluster: Cluster, name: str, deployment: str) -> None:
    """Raises PrerequisiteMissing when the cluster refuses the Deployment its pod (Pod Security, a quota)."""
    conditions = cluster.deployment(deployment).get("status", {}).get("conditions") or []
    for condition in conditions:
        if condition.get("type") == "ReplicaFailure" and condition.get("status") == "True":
            raise PrerequisiteMissing(
                f"{name}: the cluster refuses its pod: {condition.get('message')}", "fix the cause in the message"
            )


def _raise(trouble: pods.Trouble | None, subject: str, when: str = "") -> None:
    if trouble and trouble.hopeless:
        # Never another image: a run is not resumed with it.
        fix = (
            "load the image into the cluster (docs/how-to/kubernetes.md)"
            if trouble.image
            else "fix the cause in the message"
        )
        raise PrerequisiteMissing(f"{subject} {trouble.text}", fix)
    if trouble:
        raise BlockFault(f"{subject} {trouble.text}{when}")


def _warning(cluster: Cluster, pod: Json | None) -> str:
    """Returns the newest warning event of a pod, in words for the end of a message."""
    return (cluster.last_warning(pods.uid(pod)) or "no event gives a reason") if pod else "no pod"


def _running(pod: Json) -> bool:
    return bool(pod["status"].get("phase") == "Running")
