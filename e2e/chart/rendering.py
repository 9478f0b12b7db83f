"""The chart, rendered by the real helm."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

Json = dict[str, Any]

REPOSITORY = Path(__file__).resolve().parents[2]
CHART = REPOSITORY / "helm"
CI_VALUES = sorted((CHART / "ci").glob("*-values.yaml"))
RELEASE = NAMESPACE = "lab"
KUBERNETES = "1.37.2"


@cache
def helm_program() -> str:
    places = [
        os.environ.get("HELM"),
        # Where lab/setup found an older one on PATH.
        REPOSITORY / ".tools/bin/helm",
        shutil.which("helm"),
        Path.home() / ".cache/lab-kind/bin/helm",
    ]
    for path in places:
        if path and os.access(path, os.X_OK):
            return str(path)
    pytest.fail(
        "helm is missing: put it on PATH (https://helm.sh/docs/intro/install/), set HELM, or: make setup-test",
        pytrace=False,
    )


def helm(*arguments: str | Path, program: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program or helm_program(), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@dataclass(frozen=True)
class Rendered:
    """What the chart makes of some values."""

    objects: tuple[Json, ...]

    def of(self, kind: str) -> list[Json]:
        return [item for item in self.objects if item["kind"] == kind]

    def one(self, kind: str, name: str, namespace: str = NAMESPACE) -> Json:
        (match,) = (
            item
            for item in self.of(kind)
            if item["metadata"]["name"] == name and item["metadata"]["namespace"] == namespace
        )
        return match

    def names(self, kind: str) -> list[str]:
        return sorted(item["metadata"]["name"] for item in self.of(kind))

    def runner(self) -> Json:
        """The Job that runs vtlab."""
        (job,) = self.of("Job")
        return job

    def experiments(self) -> list[str]:
        """The names of the CronJobs that are experiments."""
        return sorted(
            item["metadata"]["name"] for item in self.of("CronJob") if "experiment" in item["metadata"]["labels"]
        )

    def variants(self) -> list[str]:
        """The names of the Deployments and Services that are variants."""
        return [item["metadata"]["name"] for item in self.of("Deployment") if "variant" in item["metadata"]["labels"]]

    def pods(self) -> dict[str, Json]:
        """The pod, or template of one, of everything that makes pods: labels and spec."""
        makers = (*self.of("Deployment"), *self.of("StatefulSet"))
        templates = {item["metadata"]["name"]: item["spec"]["template"] for item in makers}
        for item in self.of("Job"):
            templates[item["metadata"]["name"]] = item["spec"]["template"]
        for item in self.of("CronJob"):
            templates[f"cronjob {item['metadata']['name']}"] = item["spec"]["jobTemplate"]["spec"]["template"]
        for item in self.of("Pod"):
            templates[f"pod {item['metadata']['name']}"] = item
        return templates


@cache
def template(chart: Path, arguments: tuple[str, ...], program: str = "") -> subprocess.CompletedProcess[str]:
    return helm(
        "template",
        RELEASE,
        chart,
        "--namespace",
        NAMESPACE,
        "--kube-version",
        KUBERNETES,
        *arguments,
        program=program,
    )


def parsed(done: subprocess.CompletedProcess[str]) -> Rendered:
    """The objects that helm printed; the test fails where helm did."""
    assert done.returncode == 0, done.stderr
    # By libyaml, as there are thousands of objects: in Python alone this takes longer than Helm.
    return Rendered(tuple(document for document in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if document))


def env(container: Json) -> dict[str, Any]:
    return {variable["name"]: variable.get("value", variable.get("valueFrom")) for variable in container["env"]}


def containers(template: Json) -> list[Json]:
    return [
        *template["spec"].get("initContainers", []),
        *template["spec"]["containers"],
    ]
