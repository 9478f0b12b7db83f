"""An experiment: its suspended CronJob, and the scripts that it mounts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from e2e.chart.rendering import (
    CHART,
    REPOSITORY,
    Rendered,
    containers,
    env,
)
from tests.support.versions import VERSIONS

Render = Callable[..., Rendered]


EXPERIMENTS = {
    path.stem: json.loads(path.read_text())
    for path in (REPOSITORY / "k6/experiments").glob("*.json")
    if path.name != "experiment.schema.json"
}
MEBIBYTE = 1024 * 1024


def test_one_suspended_cronjob_for_each_experiment(default: Rendered) -> None:
    runnable = [
        name
        for name, experiment in EXPERIMENTS.items()
        if not experiment["needs"] and {*experiment["variants"]} <= {"platform", "virtual"}
    ]

    assert default.experiments() == sorted(f"lab-{name}" for name in runnable)
    for name in runnable:
        cronjob = default.one("CronJob", f"lab-{name}")["spec"]
        job = cronjob["jobTemplate"]["spec"]
        pod = job["template"]["spec"]
        (k6,) = pod["containers"]
        assert cronjob["suspend"] is True
        assert cronjob["successfulJobsHistoryLimit"] == cronjob["failedJobsHistoryLimit"] == 100
        assert job["backoffLimit"] == 0
        assert not {"activeDeadlineSeconds", "ttlSecondsAfterFinished"} & job.keys()
        assert pod["activeDeadlineSeconds"] == 3600
        assert pod["restartPolicy"] == "Never"
        assert pod["securityContext"]["runAsUser"] == 12345
        assert k6["name"] == "k6"
        assert k6["image"] == f"docker.io/grafana/k6:{VERSIONS['K6_VERSION']}"
        assert k6["command"] == [
            *("k6", "run", "--address=", "--no-color", "--quiet"),
            *("-o", "experimental-prometheus-rw", "/k6/block.ts"),
        ]
        assert {**env(k6), "TARGETS": json.loads(env(k6)["TARGETS"])} == {
            "EXPERIMENT": name,
            "TARGETS": {variant: f"http://lab-{variant}:8080" for variant in EXPERIMENTS[name]["variants"]},
            "ORDER": ",".join([*EXPERIMENTS[name]["variants"], *reversed(EXPERIMENTS[name]["variants"])]),
            "BLOCK": "1",
            "RUN_ID": {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}},
            "SINGLE": "5s",
            "NAMESPACE": "lab",
            "K6_PROMETHEUS_RW_PUSH_INTERVAL": "1s",
            "K6_PROMETHEUS_RW_SERVER_URL": "http://prometheus-operated.monitoring:9090/api/v1/write",
            "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM": "true",
            "K6_NO_USAGE_REPORT": "true",
            "K6_WEB_DASHBOARD": "false",
            "HOME": "/tmp",
        }


def test_targets_are_in_the_order_of_the_experiment(render: Render, chart_copy: Path) -> None:
    """The block's first and second variant."""
    experiment = {
        **EXPERIMENTS["blocking"],
        "name": "turned",
        "variants": ["virtual", "platform"],
    }
    (chart_copy / "k6/experiments/turned.json").write_text(json.dumps(experiment))

    turned = render(chart=chart_copy).one("CronJob", "lab-turned")
    (k6,) = containers(turned["spec"]["jobTemplate"]["spec"]["template"])
    assert list(json.loads(env(k6)["TARGETS"])) == ["virtual", "platform"]


def test_three_variants_of_any_name_take_turns_in_a_mirrored_order(render: Render, chart_copy: Path) -> None:
    variants = ["reactive", "virtual-jdk21", "platform-with-a-small-pool"]
    experiment = {**EXPERIMENTS["blocking"], "name": "three", "variants": variants, "needs": ["jdk21"]}
    (chart_copy / "k6/experiments/three.json").write_text(json.dumps(experiment))
    there = ("-f", CHART / "ci/reproductions-values.yaml")
    third = ("--set", "variants.platform-with-a-small-pool.env.SERVER_TOMCAT_THREADS_MAX=9")

    assert "lab-three" not in render(*there, chart=chart_copy).experiments(), "one of them is not there"
    cronjob = render(*there, *third, chart=chart_copy).one("CronJob", "lab-three")
    (k6,) = containers(cronjob["spec"]["jobTemplate"]["spec"]["template"])
    assert list(json.loads(env(k6)["TARGETS"]).items())[:3] == [
        (variant, f"http://lab-{variant}:8080") for variant in variants
    ]
    assert env(k6)["ORDER"].split(",") == [*variants, *reversed(variants)]


def test_a_third_variant_is_a_target_after_those_of_the_experiment(render: Render, chart_copy: Path) -> None:
    """By default the Job takes the experiment's; ORDER may name any."""
    experiment = {**EXPERIMENTS["blocking"], "name": "turned", "variants": ["virtual", "platform"]}
    (chart_copy / "k6/experiments/turned.json").write_text(json.dumps(experiment))
    more = ("--set", "variants.other.jvmFlags={-Xss1m},variants.another.jvmFlags={-Xss1m}")

    turned = render(*more, chart=chart_copy).one("CronJob", "lab-turned")
    (k6,) = containers(turned["spec"]["jobTemplate"]["spec"]["template"])
    assert list(json.loads(env(k6)["TARGETS"]).items()) == [
        ("virtual", "http://lab-virtual:8080"),
        ("platform", "http://lab-platform:8080"),
        ("another", "http://lab-another:8080"),
        ("other", "http://lab-other:8080"),
    ]
    assert env(k6)["ORDER"] == "virtual,platform,platform,virtual"


def test_scripts_are_mounted_as_they_are_in_the_repository(default: Rendered) -> None:
    data = default.one("ConfigMap", "lab-k6")["data"]
    job = default.one("CronJob", "lab-blocking")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (volume,) = job["volumes"]

    mounted = {item["path"]: data[item["key"]] for item in volume["configMap"]["items"]}

    k6 = REPOSITORY / "k6"
    paths = [
        k6 / "block.ts",
        *(k6 / "lib").rglob("*"),
        *(k6 / "experiments" / f"{name}.json" for name in EXPERIMENTS),
    ]
    expected = {str(path.relative_to(k6)): path.read_text().strip() for path in paths if path.is_file()}
    assert {path: text.strip() for path, text in mounted.items()} == expected
    assert job["containers"][0]["volumeMounts"][0]["mountPath"] == "/k6"
    assert volume["configMap"]["name"] == "lab-k6"
    assert len(json.dumps(data).encode()) < MEBIBYTE


def test_named_experiments_only(render: Render) -> None:
    assert render("--set", "experiments={cpu,blocking}").experiments() == [
        "lab-blocking",
        "lab-cpu",
    ]


@pytest.mark.parametrize("need", ["database", "downstream", "jdk21"])
def test_an_experiment_waits_for_what_it_needs(render: Render, refusal: Any, chart_copy: Path, need: str) -> None:
    experiment = {**EXPERIMENTS["blocking"], "name": "needy", "needs": [need]}
    (chart_copy / "k6/experiments/needy.json").write_text(json.dumps(experiment))

    assert "lab-needy" not in render(chart=chart_copy).experiments()
    assert "lab-needy" in render("--set", f"{need}.enabled=true", chart=chart_copy).experiments()
    assert f"experiments: needy needs {need}, which is off: set {need}.enabled" in refusal(
        "--set", "experiments={needy}", chart=chart_copy
    )


def test_an_experiment_waits_for_its_variants(render: Render, refusal: Any, chart_copy: Path) -> None:
    experiment = {
        **EXPERIMENTS["blocking"],
        "name": "other",
        "variants": ["virtual", "reactive"],
    }
    (chart_copy / "k6/experiments/other.json").write_text(json.dumps(experiment))

    assert "lab-other" not in render(chart=chart_copy).experiments()
    there = render(
        "--set",
        "variants.reactive.env.SPRING_MAIN_WEB_APPLICATION_TYPE=reactive",
        chart=chart_copy,
    )
    assert "lab-other" in there.experiments()
    assert "other compares the variant reactive, which is not there: add variants.reactive" in refusal(
        "--set", "experiments={other}", chart=chart_copy
    )
