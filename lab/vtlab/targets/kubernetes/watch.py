"""Waits for pods, and says what is wrong with them as soon as it is.

Everything raises BlockFault for what another attempt may mend, PrerequisiteMissing for what waiting would not.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.targets.kubernetes import job, pods
from vtlab.targets.kubernetes.cluster import Cluster, Json

#: Seconds until a Deployment's new pod must be ready, and a Job's pod must run.
READY_WITHIN = 180.0
#: Seconds that the k6 of an attempt before may take to end.
QUIET_WITHIN = 45.0
#: Seconds after which a pod that no node takes is given up.
UNSCHEDULABLE = 30.0
JOB_NAME = "batch.kubernetes.io/job-name"
_COMPONENT = "app.kubernetes.io/component"


def quiet(cluster: Cluster) -> None:
    """Returns when no k6 loads the release any more: that of an attempt before may still be ending."""
    end = time.monotonic() + QUIET_WITHIN
    while True:
        running = [pods.name(pod) for pod in cluster.pods(cluster.where.selector("k6")) if _running(pod)]
        if not running:
            return
        if time.monotonic() > end:
            raise BlockFault(f"another k6 loads the same variants: {', '.join(running)}")
        time.sleep(0.5)


def fresh(cluster: Cluster, variants: Sequence[str], annotation: str, stamp: str) -> dict[str, Json]:
    """The ready pods with that stamp, by variant."""
    begun = time.monotonic()
    while True:
        found: dict[str, Json] = {}
        for pod in cluster.pods(cluster.where.selector("variant")):
            if pod["metadata"].get("annotations", {}).get(annotation) == stamp:
                found[pods.label(pod, "variant")] = pod
        for name, pod in found.items():
            refuse_trouble(pod, name, time.monotonic() - begun)
        late = [name for name in variants if name not in found or not pods.ready(found[name])]
        if not late:
            return {name: found[name] for name in variants}
        for name in late:
            _refuse_no_pod(cluster, name)
        if time.monotonic() - begun > READY_WITHIN:
            said = [f"{name}: {_warning(cluster, found.get(name)) or 'no event says why'}" for name in late]
            raise BlockFault(f"not ready after {READY_WITHIN:.0f} s: {'; '.join(said)}")
        time.sleep(0.5)


def ended(cluster: Cluster, name: str, own: str, loaded: Mapping[str, Json]) -> Json:
    """The pod of the Job ``name``, once its k6 has ended. Meanwhile looks after the pods that it loads, by variant.

    ``own`` begins the names of this run's Jobs: any other k6 is a stranger.
    """
    begun, seen = time.monotonic(), False
    while True:
        now = {pods.uid(pod): pod for pod in cluster.pods(cluster.where.selector())}
        for kind, pod in loaded.items():
            found = now.get(pods.uid(pod))
            what = f"{kind}: its pod {pods.name(pod)}"
            if found is None:
                raise BlockFault(f"{what} is gone while k6 loaded it")
            _raise(pods.trouble(found), what, " while k6 loaded it")
        for pod in now.values():
            # The pods of its own Jobs before this one may be on their way out.
            strange = not pods.label(pod, JOB_NAME).startswith(own)
            if pods.label(pod, _COMPONENT) == "k6" and strange and _running(pod):
                raise BlockFault(f"another k6 loads the same variants: pod {pods.name(pod)}")
        k6 = next((pod for pod in now.values() if pods.label(pod, JOB_NAME) == name), None)
        waited = time.monotonic() - begun
        if k6:
            seen = True
            if pods.exit_code(k6, job.CONTAINER) is not None and pods.trouble(k6) is None:
                return k6
            refuse_trouble(k6, "k6", waited)
            if k6["status"].get("phase") == "Pending" and waited > READY_WITHIN:
                said = _warning(cluster, k6) or "no event says why"
                raise BlockFault(f"k6: its pod does not run after {READY_WITHIN:.0f} s: {said}")
        elif seen:
            raise BlockFault(f"k6: the pod of the Job {name} is gone")
        elif waited > UNSCHEDULABLE:
            jobs = [each for each in cluster.jobs(cluster.where.selector()) if each["metadata"]["name"] == name]
            said = cluster.last_warning(jobs[0]["metadata"]["uid"]) if jobs else "the Job is gone"
            raise BlockFault(f"k6: the Job {name} has no pod after {UNSCHEDULABLE:.0f} s: {said}")
        time.sleep(1)


def refuse_trouble(pod: Json, what: str, waited: float) -> None:
    """Raises what is wrong with a pod that was asked for ``waited`` seconds ago, if anything is."""
    _raise(pods.trouble(pod), f"{what}: its pod {pods.name(pod)}")
    _refuse_unschedulable(what, pod, waited)


def _refuse_unschedulable(name: str, pod: Json, waited: float) -> None:
    said = pods.unschedulable(pod)
    if said and waited > UNSCHEDULABLE:
        raise PrerequisiteMissing(
            f"{name}: no node takes its pod {pods.name(pod)}: {said}",
            "make room in the cluster, or lower the chart's requests",
        )


def _refuse_no_pod(cluster: Cluster, name: str) -> None:
    """PrerequisiteMissing when the Deployment is refused its pod (by Pod Security, a quota)."""
    conditions = cluster.deployment(cluster.where.deployment(name)).get("status", {}).get("conditions") or []
    for each in conditions:
        if each.get("type") == "ReplicaFailure" and each.get("status") == "True":
            raise PrerequisiteMissing(
                f"{name}: the cluster refuses its pod: {each.get('message')}", "mend that, then go on"
            )


def _raise(found: pods.Trouble | None, what: str, when: str = "") -> None:
    if found and found.hopeless:
        # Never another image: a run is not resumed with it.
        fix = "load the image into the cluster (docs/operations.md)" if found.image else "mend what the reason names"
        raise PrerequisiteMissing(f"{what} {found.text}", fix)
    if found:
        raise BlockFault(f"{what} {found.text}{when}")


def _warning(cluster: Cluster, pod: Json | None) -> str:
    return cluster.last_warning(pods.uid(pod)) if pod else "no pod"


def _running(pod: Json) -> bool:
    return bool(pod["status"].get("phase") == "Running")
