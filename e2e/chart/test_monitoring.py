"""What Prometheus scrapes, and where k6 pushes to."""

from __future__ import annotations

from collections.abc import Callable

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
    selector = monitor["spec"]["selector"]["matchLabels"]
    for service in default.of("Service"):
        assert selector.items() <= service["metadata"]["labels"].items()
        assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    for template in default.of("Deployment"):
        assert template["spec"]["template"]["metadata"]["labels"]["variant"] in template["metadata"]["name"]


def test_without_monitoring_nothing_of_the_operator(render: Render) -> None:
    rendered = render("-f", CHART / "ci/no-monitoring-values.yaml")

    assert not [each for each in rendered.objects if "monitoring.coreos.com" in each["apiVersion"]]
    assert {each["metadata"]["namespace"] for each in rendered.objects} == {"lab"}
    (k6,) = containers(rendered.one("CronJob", "lab-blocking")["spec"]["jobTemplate"]["spec"]["template"])
    assert "-o" not in k6["command"]
    assert not [name for name in env(k6) if "PROMETHEUS" in name]


def test_another_prometheus(render: Render) -> None:
    rendered = render(
        "--set",
        "monitoring.namespace=obs,monitoring.prometheusUrl=https://prom.obs/,monitoring.interval=5s",
    )

    (k6,) = containers(rendered.one("CronJob", "lab-blocking")["spec"]["jobTemplate"]["spec"]["template"])
    assert env(k6)["K6_PROMETHEUS_RW_SERVER_URL"] == "https://prom.obs/api/v1/write"
    assert rendered.one("Role", "lab-runner-lab", "obs")
    assert rendered.of("ServiceMonitor")[0]["spec"]["endpoints"][0]["interval"] == "5s"


def test_the_service_monitor_takes_the_labels_that_a_prometheus_selects(render: Render) -> None:
    monitor = render("--set", "monitoring.labels.release=stack").one("ServiceMonitor", "lab-variants")

    assert monitor["metadata"]["labels"]["release"] == "stack"
