"""The Job of k6 where no chart has one: for copies of a service."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from vtlab import shipped
from vtlab.k6 import call as k6
from vtlab.targets.kubernetes import job
from vtlab.targets.kubernetes.api import watch
from vtlab.targets.kubernetes.copies.workload_secret import Files

Json = dict[str, Any]

#: Of the image of k6.
_USER = 12345
FOLDER = "/k6"
#: Seconds for a Job of k6.
_WITHIN = 3600.0


def images() -> tuple[str, str]:
    """The images that the chart names: of the sample application, which has the agent, and of k6."""
    helm = shipped.ROOT / "helm"
    values = yaml.safe_load((helm / "values.yaml").read_text(encoding="utf-8"))
    version = yaml.safe_load((helm / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"]
    of_app, of_k6 = values["image"], values["k6"]["image"]
    return f"{of_app['repository']}:{of_app['tag'] or version}", f"{of_k6['repository']}:{of_k6['tag']}"


def limits() -> Json:
    """What k6 may use, and reserves, as in the chart."""
    of_k6 = yaml.safe_load((shipped.ROOT / "helm" / "values.yaml").read_text(encoding="utf-8"))["k6"]
    return {"requests": of_k6["requests"], "limits": of_k6["limits"]}


def scripts() -> dict[str, str]:
    """k6's script as keys of a ConfigMap, which may hold no slash, and its text."""
    folder = shipped.ROOT / "k6"
    files = [folder / "block.ts", *sorted((folder / "lib").glob("*.ts"))]
    return {_key(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in files}


def template(
    owner: Json,
    labels: Mapping[str, str],
    image: str,
    resources: Json,
    namespace: str,
    remote_write: str,
    files: Files,
    preflight_within: float | None = None,
) -> Json:
    """Has what ``job.manifest`` takes of a CronJob. ``owner``: the ConfigMap of the run, with k6's script; a Secret of
    its name has the workload's ``files``. ``preflight_within``: seconds of a Job that makes the pre-flight, which sends
    no samples to Prometheus, once its pod has its image."""
    push = k6.PUSH_OPTIONS if preflight_within is None else ()
    within = _WITHIN if preflight_within is None else watch.READY_WITHIN + preflight_within
    name = owner["metadata"]["name"]
    environment = {
        **k6.ENVIRONMENT,
        **k6.PUSH_ENVIRONMENT,
        "NAMESPACE": namespace,
        "K6_PROMETHEUS_RW_SERVER_URL": remote_write,
        "HOME": "/tmp",
        **files.variables,
    }
    container: Json = {
        "name": job.CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "command": ["k6", "run", *k6.OPTIONS, *push, files.start(f"{FOLDER}/block.ts")],
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "resources": resources,
        "volumeMounts": [{"name": "scripts", "mountPath": FOLDER, "readOnly": True}],
    }
    items = [{"key": key, "path": key.replace("__", "/")} for key in owner["data"] if key != job.PLAN]
    pod: Json = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "restartPolicy": "Never",
        "activeDeadlineSeconds": math.ceil(within),
        "containers": [container],
        "volumes": [{"name": "scripts", "configMap": {"name": name, "items": items}}],
    }
    if files.contents:
        volume, mount = files.mounted(name)
        pod["volumes"].append(volume)
        container["volumeMounts"].append(mount)
    spec = {"backoffLimit": 0, "template": {"metadata": {"labels": dict(labels)}, "spec": pod}}
    return {**owner, "spec": {"jobTemplate": {"spec": spec}}}


def _key(path: Path) -> str:
    return path.as_posix().replace("/", "__")
