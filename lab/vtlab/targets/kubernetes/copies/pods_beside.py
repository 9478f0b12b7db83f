"""Common parts of the pods beside the copies: of k6, and of the run's own Prometheus. Pure functions of the API's
JSON."""

from __future__ import annotations

from collections.abc import Mapping

from vtlab.targets.kubernetes.api import labels
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.copies import images, manifests
from vtlab.targets.kubernetes.copies.reference import copying_of

#: The security context of each container.
CONTAINER_SECURITY: Json = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def metadata(of_vtlab: Mapping[str, str]) -> Json:
    """Returns the metadata of a pod with those labels: no mesh and no autoscaler touches it."""
    values = images.chart_values()
    return {"labels": {**values["podLabels"], **of_vtlab}, "annotations": dict(values["podAnnotations"])}


def spec(user: int, ref: ReleaseRef, of_vtlab: Mapping[str, str], original: Json) -> Json:
    """Returns the spec of a pod without its containers.

    It runs as that user, unless the cluster chooses one. It may pull from the registry and use the tainted nodes of the
    ``original``'s pod, and prefers a node without copies.
    """
    variants = {**manifests.selector(of_vtlab), labels.COMPONENT: "variant"}
    copying = copying_of(ref)
    nodes = labels.pairs(copying.k6_node_selector)
    ids = {"runAsUser": user, "runAsGroup": user} if copying.fixed_user_ids else {}
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, **ids, "seccompProfile": {"type": "RuntimeDefault"}},
        **{key: original[key] for key in ("imagePullSecrets", "tolerations") if original.get(key)},
        **({"nodeSelector": nodes} if nodes else {}),
        "affinity": {"podAntiAffinity": {manifests.PREFERRED: [manifests.same_node(variants)]}},
    }
