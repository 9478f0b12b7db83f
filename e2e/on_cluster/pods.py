"""A pod of the chart's alone: how the image behaves there, without a release."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

import yaml

from e2e.on_cluster import lab

#: JDK -> what the image's tag ends with.
SUFFIXES = {25: "", 21: "-jdk21"}


def image(java: int) -> str:
    """The image that e2e/up built for that JDK."""
    return os.environ["LAB_IMAGE"] + SUFFIXES[java]


def pod_of_chart(name: str, java: int, options: Iterable[str] = (), environment: dict[str, str] | None = None) -> Any:
    """A pod as the chart's Deployment `lab-platform` has it, with JVM ``options`` and ``environment`` on top; it is not
    started again, and no Service finds it."""
    # --validate asks the cluster for its version.
    text = lab.helm("template", "lab", lab.CHART, "--validate", "-s", "templates/variants/deployment.yaml")
    deployments = {document["metadata"]["name"]: document for document in yaml.safe_load_all(text) if document}
    template = deployments["lab-platform"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    container["image"] = image(java)
    variables = {pair["name"]: pair for pair in container["env"]}
    variables["JAVA_TOOL_OPTIONS"]["value"] += "".join(f" {option}" for option in options)
    container["env"] += [{"name": key, "value": value} for key, value in (environment or {}).items()]
    spec = {**template["spec"], "restartPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def start(pod: Any) -> None:
    """Creates the pod and waits until it is ready."""
    lab.kubectl("create", "-f", "-", given=json.dumps(pod))
    lab.kubectl("wait", "pod", pod["metadata"]["name"], "--for=condition=Ready", "--timeout=5m")
