"""What Prometheus scrapes and computes, and where k6 pushes to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from e2e.chart.rendering import (
    CHART,
    Rendered,
    containers,
    env,
)

Render = Callable[..., Rendered]


def test_servicemonitor(default: Rendered) -> None:
    (monitor,) = default.of("ServiceMonitor")
    (endpoint,) = monitor["spec"]["endpoints"]

    assert endpoint["path"] == "/actuator/prometheus"
    assert endpoint["interval"] == endpoint["scrapeTimeout"] == "1s"
    assert endpoint["relabelings"] == [
        {
            "sourceLabels": ["__meta_kubernetes_pod_label_variant"],
            "targetLabel": "variant",
        }
    ]
    for service in default.of("Service"):
        assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]


def test_every_variant_is_scraped_and_nothing_else(render: Render, any_values: Path) -> None:
    rendered = render("-f", any_values)
    for monitor in rendered.of("ServiceMonitor"):
        selector = monitor["spec"]["selector"]["matchLabels"]
        scraped = [
            service for service in rendered.of("Service") if selector.items() <= service["metadata"]["labels"].items()
        ]

        assert [service["metadata"]["name"] for service in scraped] == rendered.variants()
        pods = rendered.pods()
        for name in rendered.variants():
            assert f"lab-{pods[name]['metadata']['labels']['variant']}" == name


def test_without_monitoring_nothing_of_the_operator(render: Render) -> None:
    rendered = render("-f", CHART / "ci/no-monitoring-values.yaml")

    assert not [item for item in rendered.objects if "monitoring.coreos.com" in item["apiVersion"]]
    assert {item["metadata"]["namespace"] for item in rendered.objects} == {"lab"}
    (k6,) = containers(rendered.one("CronJob", "lab-blocking")["spec"]["jobTemplate"]["spec"]["template"])
    assert "-o" not in k6["command"]
    assert not [name for name in env(k6) if "PROMETHEUS" in name]


def test_another_prometheus(render: Render) -> None:
    rendered = render(
        "--set",
        "monitoring.namespace=obs,monitoring.prometheusUrl=https://prom.obs/,monitoring.interval=5s,"
        "rbac.subjects[0].kind=User,rbac.subjects[0].name=jane",
    )

    (k6,) = containers(rendered.one("CronJob", "lab-blocking")["spec"]["jobTemplate"]["spec"]["template"])
    assert env(k6)["K6_PROMETHEUS_RW_SERVER_URL"] == "https://prom.obs/api/v1/write"
    assert rendered.one("Role", "lab-runner-lab", "obs")["metadata"]["labels"]
    assert rendered.of("ServiceMonitor")[0]["spec"]["endpoints"][0]["interval"] == "5s"


def test_the_rules_are_those_of_the_lab(default: Rendered) -> None:
    (rules,) = default.of("PrometheusRule")

    assert rules["metadata"]["name"] == "lab-rules"
    # Braces in an alert are for Prometheus, and come through the chart as they are.
    assert rules["spec"] == json.loads((CHART / "files/rules.json").read_text())
    assert "{{ $labels.variant }}" in json.dumps(rules["spec"])


def test_the_rules_alone_can_be_left_out(render: Render, default: Rendered) -> None:
    rendered = render("--set", "monitoring.rules.enabled=false")

    assert [item for item in default.objects if item["kind"] != "PrometheusRule"] == list(rendered.objects)


@pytest.mark.parametrize("content", [None, "", "{}", '{"groups": []}'])
def test_rules_that_were_lost(refusal: Any, chart_copy: Path, content: str | None) -> None:
    file = chart_copy / "files/rules.json"
    file.unlink()
    if content is not None:
        file.write_text(content)

    assert "no rules in files/rules.json of the chart: make generate" in refusal(chart=chart_copy)


def test_monitor_and_rules_take_the_labels_that_a_prometheus_selects(render: Render) -> None:
    rendered = render("--set", "monitoring.labels.release=stack")

    for kind, name in (("ServiceMonitor", "lab-variants"), ("PrometheusRule", "lab-rules")):
        assert rendered.one(kind, name)["metadata"]["labels"]["release"] == "stack"
