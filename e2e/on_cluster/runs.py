"""Calls the real ``vtlab`` on the cluster as a user does, and reads what it leaves there."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

from e2e.on_cluster import lab
from tests.support import lab_call

#: Seconds for which a line of vtlab's output is waited for, and for which its clean-up may take.
PATIENCE, PARTING = 5400.0, 300.0
#: A machine that is busy otherwise costs blocks, not a test.
MAX_REJECTED = 30

vtlab = partial(lab_call.vtlab, timeout=PATIENCE)
Running = partial(lab_call.Running, patience=PATIENCE, parting=PARTING)


def measure(experiment: str | Path, root: Path, blocks: int = 1, max_rejected: int = MAX_REJECTED) -> list[str | Path]:
    """The words after ``vtlab`` that measure an experiment here."""
    numbers = ["--blocks", str(blocks), "--max-rejected", str(max_rejected)]
    return ["run", experiment, "--target", "kubernetes", *numbers, "--results", root]


def limited(folder: Path) -> dict[str, str]:
    """The environment of a user who has no rights but what is bound to the service account `runner`, made here."""
    lab.kubectl("create", "serviceaccount", "runner")
    admin: Any = json.loads(lab.run("kubectl", "config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
    token = lab.kubectl("create", "token", "runner", "--duration", "12h").strip()
    user = admin["contexts"][0]["context"]["user"]
    admin["users"] = [{"name": user, "user": {"token": token}}]
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(admin), encoding="utf-8")
    kubeconfig.chmod(0o600)
    return {"KUBECONFIG": str(kubeconfig)}


def runner() -> list[str]:
    """The chart's values that switch vtlab's Job on, with the image that e2e/up built, for a quick look."""
    name, _, tag = os.environ["VTLAB_IMAGE"].rpartition(":")
    pull = os.environ.get("LAB_PULL", "IfNotPresent")
    image = f"runner.image.repository={name},runner.image.pullPolicy={pull}"
    options = f"runner.options={json.dumps(['--blocks=1', f'--max-rejected={MAX_REJECTED}'])}"
    return ["--set", f"runner.enabled=true,{image}", "--set-string", f"runner.image.tag={tag}", "--set-json", options]


def faults(results: Path) -> str:
    """Every fault of every block."""
    return "\n".join(fault for block in lab_call.blocks(results) for fault in block["faults"])


def verdict(results: Path) -> dict[str, Any]:
    """verdict.json."""
    document: dict[str, Any] = json.loads((results / "verdict.json").read_text(encoding="utf-8"))
    return document


def ratio(document: dict[str, Any], criterion: str) -> float:
    """Ratio of the only pair, of a criterion at one load of a ``verdict.json``."""
    (outcome,) = (outcome for outcome in document["outcomes"] if outcome["key"]["criterion"] == criterion)
    found: float = outcome["ratio"]
    return found


def bottlenecks(document: dict[str, Any]) -> dict[str, str]:
    """Variant -> the resource that limits it, of a ``verdict.json``."""
    return {name: variant["bottleneck"]["resource"] for name, variant in document["variants"].items()}


def left_by_vtlab() -> list[str]:
    """Jobs and ConfigMaps of vtlab's."""
    label = "app.kubernetes.io/managed-by=vtlab"
    return lab.kubectl("get", "jobs,configmaps", "-l", label, "-o", "name").split()
