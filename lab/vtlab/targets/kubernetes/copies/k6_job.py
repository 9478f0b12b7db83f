"""The Jobs of k6 for copies of a service, where no chart has one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from vtlab import shipped
from vtlab.k6.call import ENVIRONMENT, OPTIONS, PUSH_ENVIRONMENT, PUSH_OPTIONS
from vtlab.targets.kubernetes.api import labels, watch
from vtlab.targets.kubernetes.api.labels import K6_CONTAINER
from vtlab.targets.kubernetes.api.release_ref import Copying
from vtlab.targets.kubernetes.api.run_objects import PLAN
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.copies import manifests
from vtlab.targets.kubernetes.copies.workload_secret import Files

#: User id of k6's image.
_USER = 12345
FOLDER = "/k6"
#: Seconds for a Job of k6.
_WITHIN = 3600.0


def images() -> tuple[str, str]:
    """Returns the images that the chart names: the sample application's, which contains the agent, and k6's."""
    helm = shipped.ROOT / "helm"
    values = _chart_values()
    version = yaml.safe_load((helm / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"]
    app, k6_image = values["image"], values["k6"]["image"]
    return _reference(app, version), _reference(k6_image, version)


def _reference(image: Json, version: str) -> str:
    """Returns an image of the chart's values, as the chart does."""
    by_digest = f"@{image['digest']}" if image["digest"] else ""
    return str(image["repository"]) + (by_digest or f":{image['tag'] or version}")


def _chart_values() -> Json:
    values: Json = yaml.safe_load((shipped.ROOT / "helm" / "values.yaml").read_text(encoding="utf-8"))
    return values


def scripts() -> dict[str, str]:
    """Returns the files of k6's script, by key of a ConfigMap (which contains no slash)."""
    folder = shipped.ROOT / "k6"
    files = [folder / "block.ts", *sorted((folder / "lib").glob("*.ts"))]
    return {_key(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in files}


@dataclass(frozen=True)
class K6JobParts:
    """Parts of k6's Jobs for one run of copies."""

    #: The ConfigMap of the run, with k6's script. A Secret of its name contains ``files``.
    config_map: Json
    #: Labels of the pods.
    labels: Mapping[str, str]
    namespace: str
    copying: Copying
    #: Files of the workload.
    files: Files
    #: Spec of the original's pod, whose registry and tainted nodes k6's pod may use, too.
    original: Json


def template(parts: K6JobParts, preflight_within: float | None = None) -> Json:
    """Returns what ``job.manifest`` reads of a CronJob. ``preflight_within``: seconds of a Job for the pre-flight, once
    its pod has its image; it sends no samples to Prometheus."""
    within = _WITHIN if preflight_within is None else watch.READY_WITHIN + preflight_within
    container = _container(parts, PUSH_OPTIONS if preflight_within is None else ())
    pod = _pod(parts, container, math.ceil(within))
    values = _chart_values()
    metadata = {"labels": {**values["podLabels"], **parts.labels}, "annotations": values["podAnnotations"]}
    spec = {"backoffLimit": 0, "template": {"metadata": metadata, "spec": pod}}
    return {**parts.config_map, "spec": {"jobTemplate": {"spec": spec}}}


def _container(parts: K6JobParts, push: Sequence[str]) -> Json:
    k6 = _chart_values()["k6"]
    environment = {
        **ENVIRONMENT,
        **PUSH_ENVIRONMENT,
        "NAMESPACE": parts.namespace,
        "K6_PROMETHEUS_RW_SERVER_URL": parts.copying.remote_write,
        "HOME": "/tmp",
        **parts.files.variables,
    }
    return {
        "name": K6_CONTAINER,
        "image": parts.copying.k6_image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "command": ["k6", "run", *OPTIONS, *push, parts.files.start(f"{FOLDER}/block.ts")],
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "resources": {"requests": k6["requests"], "limits": k6["limits"]},
        "volumeMounts": [{"name": "scripts", "mountPath": FOLDER, "readOnly": True}],
    }


def _pod(parts: K6JobParts, container: Json, within: int) -> Json:
    """Returns the spec of k6's pod, which may run for ``within`` seconds, with the volumes of its container."""
    name = parts.config_map["metadata"]["name"]
    items = [{"key": key, "path": key.replace("__", "/")} for key in parts.config_map["data"] if key != PLAN]
    volumes = [{"name": "scripts", "configMap": {"name": name, "items": items}}]
    if parts.files.contents:
        volume, mount = parts.files.mounted(name)
        volumes.append(volume)
        container["volumeMounts"].append(mount)
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **_scheduling(parts),
        "restartPolicy": "Never",
        "activeDeadlineSeconds": within,
        "containers": [container],
        "volumes": volumes,
    }


def _scheduling(parts: K6JobParts) -> Json:
    """Returns where k6's pod may run, and what may pull its image."""
    variants = {labels.INSTANCE: parts.labels[labels.INSTANCE], labels.COMPONENT: "variant"}
    nodes = labels.pairs(parts.copying.k6_node_selector)
    return {
        **{key: parts.original[key] for key in ("imagePullSecrets", "tolerations") if parts.original.get(key)},
        **({"nodeSelector": nodes} if nodes else {}),
        "affinity": {"podAntiAffinity": {manifests.PREFERRED: [manifests.same_node(variants)]}},
    }


def _key(path: Path) -> str:
    return path.as_posix().replace("/", "__")
