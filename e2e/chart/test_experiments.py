"""An experiment: its suspended CronJob, and the scripts that it mounts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from e2e.chart.rendering import (
    REPOSITORY,
    Json,
    Rendered,
    containers,
    env,
)
from tests.support.versions import VERSIONS
from vtlab.k6 import call as vtlab_k6

Render = Callable[..., Rendered]


EXPERIMENTS = {path.stem: json.loads(path.read_text()) for path in (REPOSITORY / "k6/experiments").glob("*.json")}
MEBIBYTE = 1024 * 1024


def test_one_suspended_cronjob_for_each_experiment_of_the_values(default: Rendered) -> None:
    """The default has those that 0.1 had, and none that needs more than the two variants of the default."""
    runnable = [
        name
        for name, experiment in EXPERIMENTS.items()
        if not experiment.get("needs") and {*experiment.get("variants", [])} <= {"platform", "virtual"}
    ]

    names = [name.removeprefix("lab-") for name in default.experiments()]
    assert {"blocking", "blocking-100ms", "blocking-5s", "blocking-open", "cpu", "mixed"} <= set(names) <= set(runnable)
    for name in names:
        cronjob = default.one("CronJob", f"lab-{name}")["spec"]
        assert cronjob["suspend"] is True
        assert cronjob["successfulJobsHistoryLimit"] == cronjob["failedJobsHistoryLimit"] == 100
        check_job(cronjob["jobTemplate"]["spec"])
        (k6,) = cronjob["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        check_k6(k6, name)


def check_job(job: Json) -> None:
    """Asserts that a Job runs for an hour at most, never again, and stays with its log."""
    pod = job["template"]["spec"]
    assert job["backoffLimit"] == 0
    assert not {"activeDeadlineSeconds", "ttlSecondsAfterFinished"} & job.keys()
    assert pod["activeDeadlineSeconds"] == 3600
    assert pod["restartPolicy"] == "Never"
    assert pod["securityContext"]["runAsUser"] == 12345


def check_k6(k6: Json, experiment: str) -> None:
    """Asserts that a container runs a block of the experiment against the variants of the default."""
    variants = ("platform", "virtual")
    assert k6["name"] == "k6"
    assert k6["image"] == f"docker.io/grafana/k6:{VERSIONS['K6_VERSION']}"
    assert k6["command"] == [
        *("k6", "run", "--address=", "--no-color", "--quiet"),
        *("-o", "experimental-prometheus-rw", "/k6/block.ts"),
    ]
    assert env(k6) | {urls: json.loads(env(k6)[urls]) for urls in ("TARGETS", "PROBES")} == {
        "EXPERIMENT": experiment,
        "TARGETS": {variant: f"http://lab-{variant}:8080" for variant in variants},
        "PROBES": {variant: f"http://lab-{variant}:8081/actuator/health/liveness" for variant in variants},
        "RUN_ID": {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}},
        "NAMESPACE": "lab",
        "K6_PROMETHEUS_RW_PUSH_INTERVAL": "1s",
        "K6_PROMETHEUS_RW_SERVER_URL": "http://prometheus-operated.monitoring:9090/api/v1/write",
        "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM": "true",
        "K6_NO_USAGE_REPORT": "true",
        "K6_WEB_DASHBOARD": "false",
        "HOME": "/tmp",
    }


def test_every_variant_of_the_release_is_a_target(render: Render) -> None:
    """The block is the experiment's; ORDER may name any of them."""
    cronjob = render("--set", "variants.other.jvmFlags={-Xss1m}").one("CronJob", "lab-blocking")
    (k6,) = containers(cronjob["spec"]["jobTemplate"]["spec"]["template"])
    assert json.loads(env(k6)["TARGETS"]) == {
        "other": "http://lab-other:8080",
        "platform": "http://lab-platform:8080",
        "virtual": "http://lab-virtual:8080",
    }
    assert json.loads(env(k6)["PROBES"])["other"] == "http://lab-other:8081/actuator/health/liveness"
    assert not {"ORDER", "SINGLE", "TYPICAL", "RATE", "WAIT_FOR_ANSWERS"} & env(k6).keys()


def test_a_probe_asks_what_the_kubelet_asks(default: Rendered) -> None:
    (k6,) = containers(default.one("CronJob", "lab-blocking")["spec"]["jobTemplate"]["spec"]["template"])
    (app,) = containers(default.one("Deployment", "lab-virtual")["spec"]["template"])
    ports = {port["name"]: port["port"] for port in default.one("Service", "lab-virtual")["spec"]["ports"]}
    get = app["livenessProbe"]["httpGet"]
    assert json.loads(env(k6)["PROBES"])["virtual"] == f"http://lab-virtual:{ports[get['port']]}{get['path']}"


def test_the_call_of_k6_is_that_of_vtlab(default: Rendered) -> None:
    (k6,) = containers(default.one("CronJob", "lab-cpu")["spec"]["jobTemplate"]["spec"]["template"])
    call = vtlab_k6.Call(Path("/k6/block.ts"), Path("plan.json"), {}, {}, "r", 1, Path("document.json"))
    words = vtlab_k6.command(Path("k6"), call)
    options = words[: words.index("-e")]
    assert k6["command"] == [*options, "/k6/block.ts"]
    wanted = vtlab_k6.environment("http://prometheus-operated.monitoring:9090/api/v1/write", Path("/tmp"))
    assert wanted.items() <= env(k6).items()


def test_scripts_are_mounted_as_they_are_in_the_repository(default: Rendered) -> None:
    data = default.one("ConfigMap", "lab-k6")["data"]
    job = default.one("CronJob", "lab-blocking")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (volume,) = job["volumes"]

    mounted = {item["path"]: data[item["key"]] for item in volume["configMap"]["items"]}

    k6 = REPOSITORY / "k6"
    paths = [*k6.glob("*.ts"), *(k6 / "lib").glob("*.ts"), *(k6 / "plans").glob("*.json")]
    expected = {str(path.relative_to(k6)): path.read_text().strip() for path in paths}
    assert {path: text.strip() for path, text in mounted.items()} == expected
    assert job["containers"][0]["volumeMounts"][0]["mountPath"] == "/k6"
    assert volume["configMap"]["name"] == "lab-k6"
    assert len(json.dumps(data).encode()) < MEBIBYTE


def test_named_experiments_only(render: Render) -> None:
    assert render("--set", "experiments={cpu,blocking}").experiments() == [
        "lab-blocking",
        "lab-cpu",
    ]
