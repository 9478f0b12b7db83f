"""vtlab itself in the cluster: the chart's runner, from the image of vtlab, measures the release that it belongs to."""

from __future__ import annotations

import json
import os
import re
import time
from typing import Any

import pytest

from e2e.on_cluster import lab, runs

pytestmark = pytest.mark.cluster_all

VARIANTS = ("platform", "virtual")
ACCOUNT = f"system:serviceaccount:{lab.NAMESPACE}:lab-runner"


def pod() -> Any:
    (made,) = lab.get("pods", "-l", "app.kubernetes.io/component=runner")["items"]
    return made


def may(verb: str, resource: str, namespace: str) -> bool:
    words = ("kubectl", "auth", "can-i", verb, resource, "-n", namespace, "--as", ACCOUNT)
    return lab.attempt(*words).stdout.strip() == "yes"


def test_one_command_ends_with_a_verdict_in_a_config_map() -> None:
    """`helm install --set runner.enabled=true`, where `restricted` is enforced, makes a Job whose log ends with the
    verdict, which the ConfigMap holds with its reports; no object of vtlab's is left."""
    lab.fresh_namespace()
    begun = time.monotonic()
    lab.install("--set", "experiments={blocking}", *runs.runner())
    log = lab.job_log(lab.runner_job(1), timeout=runs.PATIENCE)
    verdict = log[log.index("blocking · 1 CPU") :]
    assert re.search(r"(?m)^WHY +platform is limited by its 200 Tomcat threads", verdict), log
    assert verdict.index("report: /results/") < verdict.index("dashboards: run "), "Prometheus has the verdict, too"
    held = lab.get("configmap", "lab-verdict")["data"]
    assert held.keys() == {"report.md", "verdict.json", "junit.xml", "report.html"}
    document = json.loads(held["verdict.json"])
    assert (document["valid"], document["n"]) == (True, 1)
    assert document["environment"]["target"] == "kubernetes"
    assert runs.bottlenecks(document)["platform"] == "tomcat-threads"
    assert {name: instance["cpu_limit"] for name, instance in document["environment"]["instances"].items()} == (
        dict.fromkeys(VARIANTS, 1)
    )
    assert runs.left_by_vtlab() == []
    lab.show([f"from helm install to the verdict of the runner, one block: {time.monotonic() - begun:.0f} s"])


def test_it_runs_as_a_user_without_rights_on_a_read_only_root() -> None:
    """vtlab's image runs as a user by number, without capabilities, and writes to its volumes alone."""
    spec = pod()["spec"]
    (container,) = spec["containers"]
    assert container["image"] == os.environ["VTLAB_IMAGE"]
    assert spec["securityContext"]["runAsUser"] == 10001
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    (status,) = pod()["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 0


def test_its_service_account_may_do_what_a_run_needs() -> None:
    """The runner's service account may measure its release and write its verdict, reaches no other ConfigMap, and has
    no right in the namespace of the monitoring or beyond."""
    assert may("patch", "deployments.apps", lab.NAMESPACE)
    assert may("patch", "configmaps/lab-verdict", lab.NAMESPACE)
    for verb, resource, namespace in (
        ("patch", "configmaps/lab-k6", lab.NAMESPACE),
        ("get", "secrets", lab.NAMESPACE),
        ("create", "pods/exec", lab.NAMESPACE),
        ("create", "pods/portforward", "monitoring"),
        ("get", "services", "monitoring"),
        ("list", "nodes", lab.NAMESPACE),
    ):
        assert not may(verb, resource, namespace), (verb, resource, namespace)


def test_an_upgrade_measures_anew_and_a_rejected_experiment_is_no_verdict() -> None:
    """An upgrade makes another Job: one that asks for another CPU limit than the release has is refused at once, with
    what to set, and leaves no earlier verdict behind."""
    lab.upgrade("--set", "runner.experiments={blocking-100ms}")
    second = lab.runner_job(2)
    lab.until("the second Job has failed", lambda: lab.get("job", second).get("status", {}).get("failed"))
    log = lab.kubectl("logs", f"job/{second}")
    assert re.search(r"its CPU limit is 1, not 0\.7", log)
    assert "--set-string limits.cpu=0.7" in log
    assert lab.get("job", second)["status"]["failed"] == 1, "not tried again"
    assert not lab.get("configmap", "lab-verdict").get("data")


def test_without_the_runner_nothing_of_it_is_left() -> None:
    """Switched off, the runner leaves neither Job nor ConfigMap nor service account, and the release stays."""
    lab.upgrade("--set", "runner.enabled=false")
    kinds = "jobs,configmaps,serviceaccounts,roles,rolebindings"
    assert lab.kubectl("get", kinds, "-l", "app.kubernetes.io/component=runner", "-o", "name").split() == []
    assert lab.get("deployment/lab-virtual")["status"]["readyReplicas"] == 1
    lab.uninstall()
