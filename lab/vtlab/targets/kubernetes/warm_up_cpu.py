"""More CPU for the first part of the warm-up in a cluster: the CPU limit of each pod is raised in place, and set back.

Kubernetes does that from 1.33 on, by the subresource ``resize`` of a pod. What a pod's own control group allows is read
from inside, by the service's meters: a pod's status says what was asked for, or what the kubelet means to do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.host.wait import wait_until
from vtlab.prometheus.queries import Prometheus
from vtlab.services import processors
from vtlab.targets import verification
from vtlab.targets.kubernetes.api import pods
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.rights import RESIZE
from vtlab.targets.kubernetes.api.types import Json

#: So many times its limit a variant may use. Nothing says how many cores a node has left: k6 and Prometheus have theirs
#: by the weights of their requests, and only requests are counted in that part of the warm-up.
TIMES = 2
#: Seconds until a control group must have the limit that was set, and between two looks.
_WITHIN, _LOOK = 30.0, 0.5


def raised(cluster: Cluster, client: Prometheus, loaded: Mapping[str, Json], limit: float) -> float | None:
    """Gives the variants' pods more CPU; how many cores each. None where they keep their limit, in cores: the cluster
    cannot or may not do it, or the shape of a JVM is not fixed.

    ``loaded``: the pods by variant. BlockFault where a limit that was raised cannot be set back.
    """
    if not loaded or not all(map(_has_fixed_shape, loaded.values())):
        return None
    if not cluster.allowed(RESIZE, cluster.release.namespace):
        return None
    cpu = TIMES * limit
    try:
        allow(cluster, client, loaded, cpu)
    except (BlockFault, PrerequisiteMissing):
        # Before Kubernetes 1.33, or a quota of the namespace, or a kubelet that defers it.
        with contextlib.suppress(BlockFault, PrerequisiteMissing):
            _ask(cluster, loaded, limit)
        _read_back(client, loaded, limit)
        return None
    return cpu


def allow(cluster: Cluster, client: Prometheus, loaded: Mapping[str, Json], cpu: float) -> None:
    """Sets the CPU limit of the variants' pods, in cores. BlockFault where their control groups do not have it soon;
    PrerequisiteMissing where the API server refuses it."""
    _ask(cluster, loaded, cpu)
    _read_back(client, loaded, cpu)


def _ask(cluster: Cluster, loaded: Mapping[str, Json], cpu: float) -> None:
    for pod in loaded.values():
        cluster.resize(pods.name(pod), str(pods.app(pod)["name"]), cpu)


def _read_back(client: Prometheus, loaded: Mapping[str, Json], cpu: float) -> None:
    for name in loaded:

        def holds(variant: str = name) -> bool:
            enforced = client.measured(variant, "max(cgroup_cpu_limit_cores{$server})", client.now())
            return verification.close(enforced, cpu)

        wait_until(f"{name}: its control group does not allow {cpu:g} cores", holds, _WITHIN, _LOOK)


def _has_fixed_shape(pod: Json) -> bool:
    """A JVM that starts without the flag counts its processors anew under another limit."""
    return processors.said(pods.jvm_flags(pod)) is not None
