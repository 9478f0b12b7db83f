"""The rights that a run needs in a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Right:
    """A verb on a resource (``group/resource``, the core group is empty) that a run needs."""

    verb: str
    resource: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource.removeprefix('/')}"


def _rights(verbs_of: Mapping[str, str]) -> tuple[Right, ...]:
    return tuple(Right(verb, resource) for resource, verbs in verbs_of.items() for verb in verbs.split())


_EVERY_RUN = {
    "batch/jobs": "create list delete",
    "/configmaps": "create list delete",
    "/events": "list",
    "/pods": "list",
    "/pods/log": "get",
}
#: In the lab's namespace: the same as in the chart's Role (a test of the chart compares them).
RIGHTS = _rights({"apps/deployments": "get patch", "batch/cronjobs": "list", **_EVERY_RUN})
#: In the namespace of a service that vtlab copies; without ``POLICY_RIGHTS`` vtlab copies no NetworkPolicy. There a run
#: with a Prometheus of its own needs ``FORWARD_RIGHTS``, too, and one with another ``MONITOR_RIGHTS``.
COPY_RIGHTS = _rights(
    {
        "apps/deployments": "get create patch",
        "apps/replicasets": "list",
        "/services": "list create",
        # For the parts of a workload that k6 alone reads.
        "/secrets": "create",
        "policy/poddisruptionbudgets": "list",
        **_EVERY_RUN,
    }
)
POLICY_RIGHTS = _rights({"networking.k8s.io/networkpolicies": "list create"})
MONITOR_RIGHTS = _rights({"monitoring.coreos.com/servicemonitors": "create"})
#: For more CPU in the warm-up, which is optional. The chart's Role has it, too.
RESIZE = Right("patch", "/pods/resize")
#: In the namespace of Prometheus, to forward its port. From Kubernetes 1.35 on a websocket needs both verbs.
FORWARD_RIGHTS = _rights({"/services": "get", "/pods": "list", "/pods/portforward": "get create"})
