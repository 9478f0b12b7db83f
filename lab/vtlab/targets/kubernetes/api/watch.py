"""Waits for pods, and says at once what is wrong with them.

Every function raises BlockFault for what another attempt may fix, PrerequisiteMissing for what waiting would not.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from vtlab.errors import BlockFault, GeneratorFailed, PrerequisiteMissing, VariantFailed
from vtlab.targets.kubernetes import job
from vtlab.targets.kubernetes.api import pods
from vtlab.targets.kubernetes.api.cluster import Cluster, Json, ReleaseRef

#: Seconds until a Deployment's new pod must be ready, and a Job's pod must run.
READY_WITHIN = 180.0
#: Seconds that the k6 of an attempt before may take to end.
IDLE_WITHIN = 45.0
#: Seconds after which a pod that no node takes is given up.
UNSCHEDULABLE = 30.0
JOB_NAME = "batch.kubernetes.io/job-name"
_COMPONENT = "app.kubernetes.io/component"


def wait_until_idle(cluster: Cluster) -> None:
    """Returns when no k6 loads the release any more: the k6 of an attempt before may still be ending. Where copies are
    measured, those of an earlier call must have ended, too."""
    ref = cluster.release
    end = time.monotonic() + IDLE_WITHIN
    while True:
        present = cluster.pods(job.of_vtlab(ref) if ref.copying else ref.selector("k6"))
        running = [pods.name(pod) for pod in present if _running(pod) and not _is_own_copy(pod, ref)]
        if not running:
            return
        if time.monotonic() > end:
            what = "an earlier vtlab's pods still run" if ref.copying else "another k6 loads the same variants"
            raise BlockFault(f"{what}: {', '.join(running)}")
        time.sleep(0.5)


def _is_own_copy(pod: Json, ref: ReleaseRef) -> bool:
    return pods.label(pod, job.INSTANCE) == ref.name and pods.label(pod, _COMPONENT) == "variant"


def wait_for_pods(
    cluster: Cluster, variants: Sequence[str], annotation: str, stamp: str
) -> tuple[dict[str, Json], dict[str, str]]:
    """The ready pods with that stamp, and why the others' service did not start; by variant."""
    begin = time.monotonic()
    failed: dict[str, str] = {}
    while True:
        fresh: dict[str, Json] = {}
        for pod in cluster.pods(cluster.release.selector("variant")):
            if pod["metadata"].get("annotations", {}).get(annotation) == stamp:
                fresh[pods.label(pod, "variant")] = pod
        for name, pod in fresh.items():
            trouble = pods.trouble(pod)
            if trouble and trouble.failure:
                failed.setdefault(name, trouble.failure)
            if name not in failed:
                _refuse_trouble(pod, name, time.monotonic() - begin)
        waiting = [name for name in variants if name not in failed]
        late = [name for name in waiting if name not in fresh or not pods.ready(fresh[name])]
        if not late:
            return {name: fresh[name] for name in waiting}, failed
        for name in late:
            _refuse_no_pod(cluster, name)
        if time.monotonic() - begin > READY_WITHIN:
            # A container that runs has its image and its node: the rest is for the service to do.
            slow = {name for name in late if name in fresh and pods.running(fresh[name])}
            if slow.issuperset(late):
                failed |= dict.fromkeys(late, f"it was not ready after {READY_WITHIN:.0f} s")
                continue
            reasons = [f"{name}: {_warning(cluster, fresh.get(name)) or 'no event says why'}" for name in late]
            raise BlockFault(f"not ready after {READY_WITHIN:.0f} s: {'; '.join(reasons)}")
        time.sleep(0.5)


def wait_for_job(cluster: Cluster, name: str, run: str, loaded: Mapping[str, Json]) -> Json:
    """The pod of the Job ``name``, once its k6 has ended. Meanwhile looks after the pods that k6 loads, by variant.

    ``run`` begins the names of this run's Jobs: the k6 of any other Job is a stranger.
    """
    begin, seen = time.monotonic(), False
    while True:
        present = {pods.uid(pod): pod for pod in cluster.pods(cluster.release.selector())}
        for variant, pod in loaded.items():
            now = present.get(pods.uid(pod))
            what = f"{variant}: its pod {pods.name(pod)}"
            if now is None:
                raise BlockFault(f"{what} is gone while k6 loaded it")
            trouble = pods.trouble(now)
            if trouble and trouble.failure:
                raise VariantFailed(variant, trouble.failure)
            _raise(trouble, what, " while k6 loaded it")
        for pod in present.values():
            # The pods of the run's Jobs before this one may still be ending.
            stranger = not pods.label(pod, JOB_NAME).startswith(run)
            if pods.label(pod, _COMPONENT) == "k6" and stranger and _running(pod):
                raise BlockFault(f"another k6 loads the same variants: pod {pods.name(pod)}")
        k6 = next((pod for pod in present.values() if pods.label(pod, JOB_NAME) == name), None)
        waited = time.monotonic() - begin
        if k6:
            seen = True
            if pods.exit_code(k6, job.CONTAINER) is not None and pods.trouble(k6) is None:
                return k6
            if pods.oom_kills(k6):
                raise GeneratorFailed(f"k6: its pod {pods.name(k6)} was killed for lack of memory")
            _refuse_trouble(k6, "k6", waited)
            if k6["status"].get("phase") == "Pending" and waited > READY_WITHIN:
                reason = _warning(cluster, k6) or "no event says why"
                raise BlockFault(f"k6: its pod does not run after {READY_WITHIN:.0f} s: {reason}")
        elif seen:
            raise BlockFault(f"k6: the pod of the Job {name} is gone")
        elif waited > UNSCHEDULABLE:
            jobs = [other for other in cluster.jobs(cluster.release.selector()) if other["metadata"]["name"] == name]
            reason = cluster.last_warning(jobs[0]["metadata"]["uid"]) if jobs else "the Job is gone"
            raise BlockFault(f"k6: the Job {name} has no pod after {UNSCHEDULABLE:.0f} s: {reason}")
        time.sleep(1)


def _refuse_trouble(pod: Json, what: str, waited: float) -> None:
    """Raises what is wrong with a pod that was asked for ``waited`` seconds ago, if anything is."""
    _raise(pods.trouble(pod), f"{what}: its pod {pods.name(pod)}")
    _refuse_unschedulable(what, pod, waited)


def _refuse_unschedulable(name: str, pod: Json, waited: float) -> None:
    reason = pods.unschedulable(pod)
    if reason and waited > UNSCHEDULABLE:
        raise PrerequisiteMissing(
            f"{name}: no node takes its pod {pods.name(pod)}: {reason}",
            "make room in the cluster, or lower the requests: those of the chart, or of copies limits.memory",
        )


def _refuse_no_pod(cluster: Cluster, name: str) -> None:
    """PrerequisiteMissing when the Deployment is refused its pod (by Pod Security, a quota)."""
    conditions = cluster.deployment(cluster.release.deployment(name)).get("status", {}).get("conditions") or []
    for condition in conditions:
        if condition.get("type") == "ReplicaFailure" and condition.get("status") == "True":
            raise PrerequisiteMissing(
                f"{name}: the cluster refuses its pod: {condition.get('message')}", "correct what the message names"
            )


def _raise(trouble: pods.Trouble | None, what: str, when: str = "") -> None:
    if trouble and trouble.hopeless:
        # Never another image: a run is not resumed with it.
        fix = (
            "load the image into the cluster (docs/how-to/kubernetes.md)"
            if trouble.image
            else "correct what the reason names"
        )
        raise PrerequisiteMissing(f"{what} {trouble.text}", fix)
    if trouble:
        raise BlockFault(f"{what} {trouble.text}{when}")


def _warning(cluster: Cluster, pod: Json | None) -> str:
    return cluster.last_warning(pods.uid(pod)) if pod else "no pod"


def _running(pod: Json) -> bool:
    return bool(pod["status"].get("phase") == "Running")
