"""The dashboards: a ConfigMap each, as the sidecar of Grafana takes them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml

from e2e.chart.rendering import CHART, REPOSITORY, Json, Rendered

Render = Callable[..., Rendered]

FILES = {path.stem: path.read_text() for path in (REPOSITORY / "grafana-dashboards").glob("*.json")}
MEBIBYTE = 1024 * 1024


def dashboards(rendered: Rendered) -> list[Json]:
    return [
        config_map
        for config_map in rendered.of("ConfigMap")
        if config_map["metadata"]["labels"].get("app.kubernetes.io/component") == "dashboard"
    ]


def test_one_config_map_for_each_dashboard(default: Rendered) -> None:
    assert FILES.keys() == {"verdict", "why"}
    assert len(dashboards(default)) == len(FILES)
    for name, text in FILES.items():
        config_map = default.one("ConfigMap", f"lab-dashboard-{name}")
        # The key is the file's name in Grafana, beside those of other people's dashboards.
        assert config_map["data"].keys() == {f"virtual-threads-lab-{name}.json"}
        (data,) = config_map["data"].values()
        assert data.strip() == text.strip()
        assert json.loads(data)["uid"]
        assert len(data.encode()) < MEBIBYTE


def test_no_two_dashboards_are_one_to_grafana(default: Rendered) -> None:
    drawn = [json.loads(data) for config_map in dashboards(default) for data in config_map["data"].values()]

    assert (
        len({dashboard["uid"] for dashboard in drawn}) == len({dashboard["title"] for dashboard in drawn}) == len(drawn)
    )


def test_they_are_what_the_grafana_of_our_monitoring_looks_for(default: Rendered) -> None:
    values = yaml.safe_load((CHART / "kube-prometheus-stack.values.yaml").read_text())
    sidecar = values["grafana"]["sidecar"]["dashboards"]

    assert sidecar["searchNamespace"] == "ALL"
    assert sidecar["provider"]["foldersFromFilesStructure"] is True
    for config_map in dashboards(default):
        assert config_map["metadata"]["namespace"] == "lab"
        assert config_map["metadata"]["labels"][sidecar["label"]] == sidecar["labelValue"]
        assert config_map["metadata"]["annotations"] == {sidecar["folderAnnotation"]: "Virtual Threads Lab"}


def test_another_sidecar(render: Render) -> None:
    values = {"label": "dashboards/load", "labelValue": "yes", "folderAnnotation": "to", "folder": 'A "lab": 1'}
    rendered = render("--set-json", f"monitoring.dashboards={json.dumps({**values, 'namespace': 'obs'})}")

    assert len(dashboards(rendered)) == len(FILES)
    for config_map in dashboards(rendered):
        assert config_map["metadata"]["namespace"] == "obs"
        assert config_map["metadata"]["labels"]["dashboards/load"] == "yes"
        assert "grafana_dashboard" not in config_map["metadata"]["labels"]
        assert config_map["metadata"]["annotations"] == {"to": 'A "lab": 1'}


def test_without_a_folder(render: Render) -> None:
    for config_map in dashboards(render("--set", "monitoring.dashboards.folderAnnotation=")):
        assert "annotations" not in config_map["metadata"]


@pytest.mark.parametrize("switch", ["monitoring.enabled", "monitoring.dashboards.enabled"])
def test_switched_off(render: Render, switch: str) -> None:
    assert dashboards(render("--set", f"{switch}=false")) == []
