"""Who reaches whom in the cluster, by trying: one connection of TCP from inside a pod."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from e2e.on_cluster import lab, pods

#: A namespace without policies.
ELSEWHERE = "default"
#: As the chart labels the pods of k6 of its release.
K6 = {
    "app.kubernetes.io/name": "virtual-threads-lab",
    "app.kubernetes.io/instance": "lab",
    "app.kubernetes.io/component": "k6",
}
#: Seconds for a connection: a policy may drop its packets.
PATIENCE = 3


class Pod(NamedTuple):
    """A pod, as kubectl exec names it."""

    namespace: str
    name: str


#: From a pod to a host and a port of TCP.
Flow = tuple[Pod, str, int]


def reaches(pod: Pod, host: str, port: int) -> bool | None:
    """Tells whether a connection from inside the pod is accepted. The name is looked up first, which every pod may.
    None where that, or kubectl, failed: on a slow machine the name server may be late."""
    look_up = f"getent hosts {host} >/dev/null || exit 2"
    connect = f"timeout {PATIENCE} bash -c ': </dev/tcp/{host}/{port}' 2>/dev/null || exit 3"
    done = lab.attempt("kubectl", "-n", pod.namespace, "exec", pod.name, "--", "bash", "-c", f"{look_up}; {connect}")
    if done.returncode not in (0, 3):
        print(f"{pod}: kubectl exec, or the look-up of {host}: {done.stderr}")
        return None
    return done.returncode == 0


@contextmanager
def waiting(pod: Pod, labels: dict[str, str]) -> Iterator[Pod]:
    """A pod that does nothing, from the image of the variants."""
    spec = pods.pod_of_chart(pod.name, 25)["spec"]
    (container,) = spec["containers"]
    container = {key: container[key] for key in ("name", "image", "securityContext")}
    container["command"] = ["sleep", "7200"]
    spec = {
        "securityContext": spec["securityContext"],
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
    }
    metadata = {"name": pod.name, "namespace": pod.namespace, "labels": labels}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    lab.run("kubectl", "create", "-f", "-", given=json.dumps(document))
    try:
        words = ("wait", "pod", pod.name, "--for=condition=Ready", "--timeout=5m")
        lab.run("kubectl", "-n", pod.namespace, *words)
        yield pod
    finally:
        lab.run("kubectl", "-n", pod.namespace, "delete", "pod", pod.name)


def hold() -> None:
    """Fails unless the chart's policies are enforced, in both directions."""
    variant = f"lab-virtual.{lab.NAMESPACE}"
    prometheus = "prometheus-operated.monitoring"
    requests, management, scraped = (variant, 8080), (variant, 8081), (prometheus, 9090)
    with (
        waiting(Pod(lab.NAMESPACE, "as-k6"), K6) as k6,
        waiting(Pod(lab.NAMESPACE, "stranger"), {"app": "stranger"}) as stranger,
        waiting(Pod(ELSEWHERE, "as-k6"), K6) as elsewhere,
    ):
        other = Pod(lab.NAMESPACE, "deployment/lab-platform")
        allowed: dict[Flow, bool] = {
            (k6, *requests): True,
            (k6, *management): True,
            (k6, *scraped): True,
            # Its own policy does not name it.
            (k6, "kubernetes.default", 443): False,
            # No policy holds a stranger back, but that of the variants.
            (stranger, *scraped): True,
            (stranger, *requests): False,
            (stranger, *management): False,
            (elsewhere, *scraped): True,
            (elsewhere, *requests): False,
            (elsewhere, *management): False,
            (other, *requests): False,
            (other, *scraped): False,
        }
        hold_flows(allowed)


def hold_of_database() -> None:
    """Fails unless the chart's database is reached by the variants alone."""
    database = ("lab-database", 3306)
    with (
        waiting(Pod(lab.NAMESPACE, "as-k6"), K6) as k6,
        waiting(Pod(lab.NAMESPACE, "stranger"), {"app": "stranger"}) as stranger,
    ):
        variant = Pod(lab.NAMESPACE, "deployment/lab-platform")
        hold_flows({(variant, *database): True, (k6, *database): False, (stranger, *database): False})


def hold_flows(allowed: dict[Flow, bool]) -> None:
    """Fails unless each flow is accepted, or refused, as it is to be."""
    for flow, reached in allowed.items():
        # A policy holds for a new pod only after a moment.
        lab.until(f"{flow}: {reached}", partial(holds, flow, reached), within=180)


def holds(flow: Flow, reached: bool) -> bool:
    return reaches(*flow) is reached
