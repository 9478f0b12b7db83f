"""The Jobs of k6 for copies of a service, where no chart has one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vtlab import shipped
from vtlab.k6.call import ENVIRONMENT, OPTIONS, PUSH_ENVIRONMENT, PUSH_OPTIONS
from vtlab.targets.kubernetes.api import watch
from vtlab.targets.kubernetes.api.labels import K6_CONTAINER
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.copies import images, pods_beside
from vtlab.targets.kubernetes.copies.reference import copying_of
from vtlab.targets.kubernetes.copies.workload_secret import Files

#: User id of k6's image.
_USER = 12345
FOLDER = "/k6"
_SCRIPTS = ".ts"
#: Seconds for a Job of k6.
_WITHIN = 3600.0


def scripts() -> dict[str, str]:
    """Returns the files of k6's script, by key of a ConfigMap (which contains no slash)."""
    folder = shipped.ROOT / "k6"
    files = [folder / "block.ts", *sorted((folder / "lib").glob(f"*{_SCRIPTS}"))]
    return {_key(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in files}


@dataclass(frozen=True)
class K6JobParts:
    """Parts of k6's Jobs for one run of copies."""

    #: The ConfigMap of the run, with k6's script. A Secret of its name contains ``files``.
    config_map: Json
    #: Labels of the pods.
    labels: Mapping[str, str]
    ref: ReleaseRef
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
    spec = {"backoffLimit": 0, "template": {"metadata": pods_beside.metadata(parts.labels), "spec": pod}}
    return {**parts.config_map, "spec": {"jobTemplate": {"spec": spec}}}


def _container(parts: K6JobParts, push: Sequence[str]) -> Json:
    k6 = images.chart_values()["k6"]
    environment = {
        **ENVIRONMENT,
        **PUSH_ENVIRONMENT,
        "NAMESPACE": parts.ref.namespace,
        "K6_PROMETHEUS_RW_SERVER_URL": parts.ref.remote_write,
        "HOME": "/tmp",
        **parts.files.variables,
    }
    return {
        "name": K6_CONTAINER,
        "image": copying_of(parts.ref).k6_image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": pods_beside.CONTAINER_SECURITY,
        "command": ["k6", "run", *OPTIONS, *push, parts.files.start(f"{FOLDER}/block.ts")],
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "resources": {"requests": k6["requests"], "limits": k6["limits"]},
        "volumeMounts": [{"name": "scripts", "mountPath": FOLDER, "readOnly": True}],
    }


def _pod(parts: K6JobParts, container: Json, within: int) -> Json:
    """Returns the spec of k6's pod, which may run for ``within`` seconds, with the volumes of its container."""
    name = parts.config_map["metadata"]["name"]
    items = [{"key": key, "path": key.replace("__", "/")} for key in parts.config_map["data"] if key.endswith(_SCRIPTS)]
    volumes = [{"name": "scripts", "configMap": {"name": name, "items": items}}]
    if parts.files.contents:
        volume, mount = parts.files.mounted(name)
        volumes.append(volume)
        container["volumeMounts"].append(mount)
    return {
        **pods_beside.spec(_USER, parts.ref, parts.labels, parts.original),
        "restartPolicy": "Never",
        "activeDeadlineSeconds": within,
        "containers": [container],
        "volumes": volumes,
    }


def _key(path: Path) -> str:
    return path.as_posix().replace("/", "__")
