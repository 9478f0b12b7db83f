"""More CPU for the first part of the warm-up in a cluster: the CPU limit of each running pod is raised, then restored.

Kubernetes does that from 1.33 on, by the subresource ``resize`` of a pod. The limit that a pod's control group enforces
is read from inside, by the service's meters: a pod's status shows the request, or what the kubelet intends to do.
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

#: The raised limit, as a multiple of the limit. Nothing tells how many cores a node has left: k6 and Prometheus get
#: theirs by the weights of their requests, and that part of the warm-up only counts requests.
TIMES = 2
#: Seconds until a control group must enforce the limit, and between two readings.
_WITHIN, _LOOK = 60.0, 0.5


def raised(cluster: Cluster, client: Prometheus, loaded: Mapping[str, Json], limit: float) -> float | None:
    """Gives the variants' pods more CPU than their ``limit``, in cores. Returns the cores of each; None where they keep
    their limit: the cluster cannot or may not change it, or a JVM would count its processors anew.

    ``loaded``: the pods by variant. BlockFault where a raised limit cannot be restored.
    """
    if not loaded or not all(map(_has_fixed_processors, loaded.values())):
        return None
    if not cluster.allowed(RESIZE, cluster.release.namespace):
        return None
    cpu = TIMES * limit
    try:
        allow(cluster, client, loaded, cpu)
    except (BlockFault, PrerequisiteMissing):
        # Kubernetes before 1.33, a quota of the namespace, or a kubelet that defers the change.
        with contextlib.suppress(BlockFault, PrerequisiteMissing):
            _request(cluster, loaded, limit)
        _read_back(client, loaded, limit)
        return None
    return cpu


def allow(cluster: Cluster, client: Prometheus, loaded: Mapping[str, Json], cpu: float) -> None:
    """Sets the CPU limit of the variants' pods, in cores. BlockFault where their control groups do not enforce it soon;
    PrerequisiteMissing where the API server refuses it."""
    _request(cluster, loaded, cpu)
    _read_back(client, loaded, cpu)


def _request(cluster: Cluster, loaded: Mapping[str, Json], cpu: float) -> None:
    for pod in loaded.values():
        cluster.resize(pods.name(pod), str(pods.app(pod)["name"]), cpu)


def _read_back(client: Prometheus, loaded: Mapping[str, Json], cpu: float) -> None:
    for name in loaded:

        def holds(variant: str = name) -> bool:
            enforced = client.measured(variant, "max(cgroup_cpu_limit_cores{$server})", client.now())
            return verification.close(enforced, cpu)

        wait_until(f"{name}: its control group does not allow {cpu:g} cores", holds, _WITHIN, _LOOK)


def _has_fixed_processors(pod: Json) -> bool:
    """Tells whether a JVM was started with a number of processors: without one it counts anew under another limit."""
    return processors.last_count(pods.jvm_flags(pod)) is not None
