"""The Prometheus of a run of copies that names no other: it scrapes the copies as that of a run on one machine, takes
k6's samples, and ends with the run. Pure functions of the API's JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtlab import shipped
from vtlab.catalogue import rules
from vtlab.host import agent
from vtlab.prometheus import run_server
from vtlab.targets.kubernetes.api.release_ref import PROMETHEUS_PORT, ReleaseRef
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.copies import manifests, pods_beside
from vtlab.targets.kubernetes.copies.reference import copying_of

#: Keys of the run's ConfigMap.
CONFIGURATION, RULES = "prometheus.yml", "rules.json"
#: User id of the image.
_USER = 65534
#: Folders in the pod.
_FOLDER, _STORAGE = "/etc/prometheus", "/prometheus"
#: What it may store: a run of hours has some ten megabytes.
_ROOM = "2Gi"
#: Seconds that it may take to end: what counts is in the results by then.
_GRACE = 5


@dataclass(frozen=True)
class PrometheusParts:
    """Parts of a run's own Prometheus."""

    ref: ReleaseRef
    #: Metadata of its Service and its Deployment: name, labels, owner.
    metadata: Json
    #: Name of the run's ConfigMap, with ``files``.
    config_map: str
    #: Spec of the original's pod, whose registry and tainted nodes this pod may use, too.
    original: Json


def files(ref: ReleaseRef, variants: Sequence[str], agent_port: int) -> dict[str, str]:
    """Returns its configuration and rules, by key of the run's ConfigMap. A Service leads to the one pod of a variant,
    so that Prometheus needs no right to look for pods."""
    targets = {variant: f"{ref.deployment(variant)}:{agent_port}" for variant in variants}
    return {
        CONFIGURATION: run_server.configuration(targets, agent.PAGE, [f"{_FOLDER}/{RULES}"]),
        RULES: (shipped.ROOT / rules.FILE).read_text(encoding="utf-8"),
    }


def objects(parts: PrometheusParts) -> list[Json]:
    """Returns its Service and its Deployment."""
    selector = manifests.selector(parts.metadata["labels"])
    port = {"name": "http", "port": PROMETHEUS_PORT, "targetPort": PROMETHEUS_PORT}
    service = {"selector": selector, "ports": [port]}
    deployment = {
        "replicas": 1,
        "revisionHistoryLimit": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": selector},
        "template": {"metadata": pods_beside.metadata(parts.metadata["labels"]), "spec": _pod(parts)},
    }
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": parts.metadata, "spec": service},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": parts.metadata, "spec": deployment},
    ]


def _pod(parts: PrometheusParts) -> Json:
    items = [{"key": key, "path": key} for key in (CONFIGURATION, RULES)]
    return {
        **pods_beside.spec(_USER, parts.ref, parts.metadata["labels"], parts.original),
        "terminationGracePeriodSeconds": _GRACE,
        "containers": [_container(copying_of(parts.ref).prometheus_image)],
        "volumes": [
            {"name": "configuration", "configMap": {"name": parts.config_map, "items": items}},
            {"name": "storage", "emptyDir": {"sizeLimit": _ROOM}},
        ],
    }


def _container(image: str) -> Json:
    return {
        "name": "prometheus",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": pods_beside.CONTAINER_SECURITY,
        "args": [
            f"--config.file={_FOLDER}/{CONFIGURATION}",
            f"--storage.tsdb.path={_STORAGE}",
            f"--web.listen-address=:{PROMETHEUS_PORT}",
            *run_server.OPTIONS,
        ],
        "ports": [{"name": "http", "containerPort": PROMETHEUS_PORT}],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
        "readinessProbe": {"httpGet": {"path": "/-/ready", "port": "http"}, "periodSeconds": 1, "timeoutSeconds": 5},
        # A restart loses samples: only of a process that hangs.
        "livenessProbe": {
            "httpGet": {"path": "/-/healthy", "port": "http"},
            "periodSeconds": 10,
            "timeoutSeconds": 10,
            "failureThreshold": 6,
        },
        "volumeMounts": [
            {"name": "configuration", "mountPath": _FOLDER, "readOnly": True},
            {"name": "storage", "mountPath": _STORAGE},
        ],
    }
