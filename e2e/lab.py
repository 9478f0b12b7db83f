"""Calls kubectl, helm and vtlab as a user does, against the cluster that is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

REPOSITORY = Path(__file__).resolve().parents[1]
CHART = REPOSITORY / "helm"
VTLAB = Path(sys.executable).parent / "vtlab"
NAMESPACE = "lab"
PROMETHEUS = "/api/v1/namespaces/monitoring/services/prometheus-operated:9090/proxy/api/v1"


def run(
    *command: str | Path,
    given: str | None = None,
    timeout: float = 300,
    env: dict[str, str] | None = None,
) -> str:
    """The command's output; fails the test with everything it said when it fails."""
    done = attempt(*command, given=given, timeout=timeout, env=env)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def attempt(
    *command: str | Path,
    given: str | None = None,
    timeout: float = 300,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """The command, however it ends."""
    return subprocess.run(
        [str(word) for word in command],
        input=given if given is not None else "",
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, **(env or {})},
    )


def kubectl(*words: str, given: str | None = None, timeout: float = 300) -> str:
    """kubectl in the lab's namespace."""
    return run("kubectl", "-n", NAMESPACE, *words, given=given, timeout=timeout)


def get(*words: str) -> Any:
    """kubectl get, as JSON."""
    return json.loads(kubectl("get", *words, "-o", "json"))


def helm(*words: str | Path, timeout: float = 400) -> str:
    """helm in the lab's namespace."""
    return run("helm", "-n", NAMESPACE, *words, timeout=timeout)


def query(expression: str) -> list[dict[str, Any]]:
    """The series of an expression, now."""
    answer = json.loads(run("kubectl", "get", "--raw", f"{PROMETHEUS}/query?query={quote(expression)}"))
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def value(expression: str) -> float | None:
    """The one value of an expression, now; None where there is none."""
    found = query(expression)
    assert len(found) <= 1, f"{expression}: {found}"
    return float(found[0]["value"][1]) if found else None


def until(what: str, holds: Callable[[], object], within: float = 60) -> None:
    """Waits until it holds."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, f"not within {within:.0f} s: {what}"
        time.sleep(0.5)


def install(*words: str) -> None:
    """helm install of the chart with the image that e2e/up built."""
    name, _, tag = os.environ["LAB_IMAGE"].rpartition(":")
    image = ("--set", f"image.repository={name}", "--set-string", f"image.tag={tag}")
    helm("install", "lab", CHART, *image, "--wait", "--timeout", "4m", *words)


def fresh_namespace() -> None:
    """An empty namespace in which Pod Security `restricted` is enforced."""
    run("kubectl", "delete", "namespace", NAMESPACE, "--ignore-not-found", timeout=200)
    run("kubectl", "create", "namespace", NAMESPACE)
    run(
        "kubectl",
        "label",
        "namespace",
        NAMESPACE,
        "pod-security.kubernetes.io/enforce=restricted",
    )


def job_log(name: str, timeout: float) -> str:
    """The log of a Job, once it has completed; fails the test, with the log, when it does not."""
    end = time.monotonic() + timeout
    while True:
        status = get("job", name).get("status", {})
        if status.get("succeeded"):
            return kubectl("logs", f"job/{name}")
        over = status.get("failed") or time.monotonic() > end
        assert not over, f"job {name}: {status}\n{attempt('kubectl', '-n', NAMESPACE, 'logs', f'job/{name}').stdout}"
        time.sleep(1)


def blocks(results: Path) -> list[dict[str, Any]]:
    """The lines of trials.jsonl."""
    return [json.loads(line) for line in (results / "trials.jsonl").read_text(encoding="utf-8").splitlines()]


def faults(results: Path) -> str:
    """Every fault of every block."""
    return "\n".join(fault for block in blocks(results) for fault in block["faults"])


def verdict(results: Path) -> dict[str, Any]:
    """verdict.json."""
    found: dict[str, Any] = json.loads((results / "verdict.json").read_text(encoding="utf-8"))
    return found


def only(root: Path) -> Path:
    """The one results directory in root."""
    (found,) = [place for place in root.iterdir() if not place.name.startswith(".")]
    return found


def left_by_vtlab() -> list[str]:
    """Jobs and ConfigMaps of vtlab's."""
    return kubectl(
        "get",
        "jobs,configmaps",
        "-l",
        "app.kubernetes.io/managed-by=vtlab",
        "-o",
        "name",
    ).split()


def show(figures: Iterable[str]) -> None:
    """Adds lines to the summary at the end of the tests."""
    FIGURES.extend(figures)


FIGURES: list[str] = []
