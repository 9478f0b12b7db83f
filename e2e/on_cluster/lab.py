"""Calls kubectl, helm and Prometheus's API against the cluster that is up."""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx

REPOSITORY = Path(__file__).resolve().parents[2]
CHART = REPOSITORY / "helm"
NAMESPACE = "lab"
#: What e2e/up has brought up.
UP = REPOSITORY / ".tools" / "up"
CompletedProcess = subprocess.CompletedProcess[str]
PROMETHEUS = "/api/v1/namespaces/monitoring/services/prometheus-operated:9090/proxy/api/v1"
#: Seconds that a command may take: more than helm and kubectl wait.
PATIENCE = 600.0
WAIT = ("--wait", "--timeout", "5m")


def run(
    *command: str | Path,
    given: str | None = None,
    timeout: float = PATIENCE,
    env: dict[str, str] | None = None,
) -> str:
    """The command's output; fails the test, with all output, where the exit code is not 0."""
    done = attempt(*command, given=given, timeout=timeout, env=env)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def attempt(
    *command: str | Path,
    given: str | None = None,
    timeout: float = PATIENCE,
    env: dict[str, str] | None = None,
) -> CompletedProcess:
    """The command, with any exit code."""
    return subprocess.run(
        [str(word) for word in command],
        input=given if given is not None else "",
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, **(env or {})},
    )


def kubectl(*words: str, given: str | None = None, timeout: float = PATIENCE) -> str:
    """kubectl in the lab's namespace."""
    return run("kubectl", "-n", NAMESPACE, *words, given=given, timeout=timeout)


def get(*words: str) -> Any:
    """kubectl get, as JSON."""
    return json.loads(kubectl("get", *words, "-o", "json"))


def helm(*words: str | Path) -> str:
    """helm in the lab's namespace."""
    return run("helm", "-n", NAMESPACE, *words)


def helm_test() -> str:
    """The output of `helm test`; fails the test, with the log of its pod, where the exit code is not 0."""
    done = attempt("helm", "-n", NAMESPACE, "test", "lab")
    if done.returncode != 0:
        log = attempt("kubectl", "-n", NAMESPACE, "logs", "lab-test")
        raise AssertionError(f"{done.stdout}\n{done.stderr}\n{log.stdout}\n{log.stderr}")
    return done.stdout


def answer(variant: str, path: str) -> Any:
    """What a variant answers to a GET, as JSON; fails the test where that is an error. By a port-forward: network
    policies that are enforced may admit no other client."""
    words = ("kubectl", "-n", NAMESPACE, "port-forward", f"service/lab-{variant}", ":8080")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as forward:
        try:
            assert forward.stdout
            address = re.match(r"Forwarding from (127\.0\.0\.1:\d+) ", forward.stdout.readline())
            assert address, "kubectl port-forward did not start"
            response = httpx.get(f"http://{address[1]}{path}", timeout=30, trust_env=False)
        finally:
            forward.terminate()
    assert response.status_code == 200, response.text
    return response.json()


@cache
def api() -> httpx.Client:
    """The cluster's API by one kubectl proxy: a kubectl for each query takes longer than the query."""
    proxy = subprocess.Popen(["kubectl", "proxy", "--port=0"], stdout=subprocess.PIPE, text=True)
    atexit.register(proxy.terminate)
    assert proxy.stdout
    address = re.search(r"127\.0\.0\.1:\d+", proxy.stdout.readline())
    assert address, "kubectl proxy did not start"
    return httpx.Client(base_url=f"http://{address[0]}", timeout=60, trust_env=False)


def prometheus(path: str, **parameters: str | float) -> Any:
    """What Prometheus's API says."""
    response = api().get(f"{PROMETHEUS}/{path}?{urlencode(parameters, quote_via=quote)}")
    assert response.status_code == 200, response.text
    return response.json()["data"]


def query(expression: str) -> list[dict[str, Any]]:
    """The series of an expression, now."""
    series: list[dict[str, Any]] = prometheus("query", query=expression)["result"]
    return series


@cache
def query_range(expression: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
    """The series of an expression, from one time to another; both are past."""
    document = prometheus("query_range", query=expression, start=start, end=end, step=step)
    series: list[dict[str, Any]] = document["result"]
    return series


def value(expression: str) -> float | None:
    """The one value of an expression, now; None where there is none."""
    series = query(expression)
    assert len(series) <= 1, f"{expression}: {series}"
    return float(series[0]["value"][1]) if series else None


def until(what: str, holds: Callable[[], object], within: float = 300) -> None:
    """Waits until it holds."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, f"not within {within:.0f} s: {what}"
        time.sleep(0.5)


def install(*words: str, command: str = "install") -> None:
    """helm install of the chart with the image that e2e/up built; or helm upgrade, with these values alone."""
    name, _, tag = os.environ["LAB_IMAGE"].rpartition(":")
    image = ["--set", f"image.repository={name}", "--set-string", f"image.tag={tag}"]
    if os.environ.get("LAB_PULL"):
        image += ["--set", f"image.pullPolicy={os.environ['LAB_PULL']}"]
    helm(command, "lab", CHART, *image, *WAIT, *words)


def upgrade(*words: str, wait: bool = True) -> None:
    """helm upgrade of the release, with its values and what ``words`` change."""
    waiting = WAIT if wait else ()
    helm("upgrade", "lab", CHART, "--reset-then-reuse-values", *words, *waiting)


def rollback(revision: str = "") -> None:
    """Returns to the revision before, or to that one."""
    helm("rollback", "lab", *([revision] if revision else []), *WAIT)


def uninstall() -> None:
    """helm uninstall of the release."""
    helm("uninstall", "lab", *WAIT)


def enforces_policies() -> bool:
    """Tells whether the cluster that e2e/up brought up enforces NetworkPolicies, as far as is known."""
    targets = ("target kind\n", "target kind-from-source\n")
    return UP.exists() and UP.read_text(encoding="utf-8").startswith(targets)


def fresh_namespace() -> None:
    """An empty namespace in which Pod Security `restricted` is enforced. Fails where one is there that neither e2e/up
    nor a test made: it may be another user's."""
    made = f"made {NAMESPACE}\n"
    if made in UP.read_text(encoding="utf-8"):
        run("kubectl", "delete", "namespace", NAMESPACE, "--ignore-not-found")
    else:
        there = attempt("kubectl", "get", "namespace", NAMESPACE).returncode == 0
        assert not there, f"namespace {NAMESPACE} was here before: delete it, or test on another cluster"
        # So that e2e/up down removes it.
        with UP.open("a", encoding="utf-8") as state:
            state.write(made)
    run("kubectl", "create", "namespace", NAMESPACE)
    run("kubectl", "label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")


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


def runner_job(revision: int) -> str:
    """The name of the Job that runs vtlab for this revision of the release."""
    made = kubectl("get", "jobs", "-l", "app.kubernetes.io/component=runner", "-o", "name").split()
    (name,) = (job.partition("/")[2] for job in made if f"/{NAMESPACE}-runner-{revision}-" in job)
    return name


def show(figures: Iterable[str]) -> None:
    """Adds lines to the summary at the end of the tests."""
    FIGURES.extend(figures)


FIGURES: list[str] = []
#: What was measured again, as the machine stalled.
MEASURED_AGAIN: list[str] = []
