"""helm/kube-prometheus-stack.values.yaml: that chart has no schema and ignores what it does not know, so every key of
ours must be in its defaults or in those of its sub-charts. Asked of a small chart of the same shape, always, and of the
real one where KUBE_PROMETHEUS_STACK_CHART names its folder (docs/maintainers/cluster.md)."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.chart.rendering import CHART, Json, helm

VALUES: Json = yaml.safe_load((CHART / "kube-prometheus-stack.values.yaml").read_text())
VERSION = (CHART / "kube-prometheus-stack.version").read_text().strip()
REAL = "KUBE_PROMETHEUS_STACK_CHART"
SUBCHARTS = ("grafana", "kube-state-metrics", "prometheus-node-exporter")
#: What an empty `resources` in the defaults may hold.
RESOURCES = {kind: {"cpu": None, "memory": None} for kind in ("requests", "limits")}


def defaults(chart: Path) -> Json:
    """The chart's defaults, with those of each sub-chart below its name."""
    values = shown(chart)
    for dependency in yaml.safe_load((chart / "Chart.yaml").read_text()).get("dependencies", []):
        name = dependency["name"]
        (subchart,) = {*(chart / "charts").glob(name), *(chart / "charts").glob(f"{name}-[0-9]*.tgz")}
        key = dependency.get("alias", name)
        values[key] = merged(shown(subchart), values.get(key) or {})
    return values


def shown(chart: Path) -> Json:
    done = helm("show", "values", chart)
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout) or {}


def merged(below: Any, above: Any) -> Any:
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return {**below, **{key: merged(below[key], value) if key in below else value for key, value in above.items()}}


def unknown_keys(values: Json, known: Json, path: str = "") -> Iterator[str]:
    for key, value in values.items():
        here = f"{path}.{key}" if path else key
        if key not in known:
            yield f"{here}: the chart does not know it"
            continue
        default = RESOURCES if key == "resources" and not known[key] else known[key]
        if isinstance(value, dict) and isinstance(default, dict):
            yield from unknown_keys(value, default, here)
        elif isinstance(value, dict) or isinstance(default, dict):
            yield f"{here}: {value!r}, but the chart has {default!r} there"


@pytest.fixture
def small_chart(tmp_path: Path) -> Path:
    """Knows exactly the values that we set, those of the sub-charts in the sub-charts."""
    chart = tmp_path / "kube-prometheus-stack"
    values = copy.deepcopy(VALUES)
    # In the real chart maps of resources are empty by default.
    values["prometheusOperator"]["resources"] = {}
    for name in SUBCHARTS:
        values[name]["resources"] = {}
        write_chart(chart / "charts" / name, values.pop(name))
    write_chart(chart, values, dependencies=[{"name": name, "version": "1.0.0"} for name in SUBCHARTS])
    return chart


def write_chart(folder: Path, values: Json, **about: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    chart = {"apiVersion": "v2", "name": folder.name, "version": "1.0.0", **about}
    (folder / "Chart.yaml").write_text(yaml.safe_dump(chart))
    (folder / "values.yaml").write_text(yaml.safe_dump(values))


def with_value(path: str, value: Any) -> Json:
    """Our values with one of them changed."""
    values = copy.deepcopy(VALUES)
    *parents, key = path.split("/")
    inner = values
    for parent in parents:
        inner = inner[parent]
    inner[key] = value
    return values


def test_our_values_pass(small_chart: Path) -> None:
    assert list(unknown_keys(VALUES, defaults(small_chart))) == []


@pytest.mark.parametrize(
    "typo",
    [
        "prometheus/prometheusSpec/enableRemoteWriteReciever",
        "grafana/sidecar/dashboards/folderAnotation",
        "kube-state-metric",
        "prometheusOperator/resources/request",
        "prometheusOperator/resources/requests/cpus",
    ],
)
def test_a_typo_is_found(small_chart: Path, typo: str) -> None:
    unknown = list(unknown_keys(with_value(typo, "x"), defaults(small_chart)))
    assert unknown == [f"{typo.replace('/', '.')}: the chart does not know it"]


@pytest.mark.parametrize(("path", "value"), [("prometheus/prometheusSpec/retention", {}), ("grafana/sidecar", True)])
def test_a_map_in_the_wrong_place_is_found(small_chart: Path, path: str, value: Any) -> None:
    (unknown,) = unknown_keys(with_value(path, value), defaults(small_chart))
    assert unknown.startswith(f"{path.replace('/', '.')}: {value!r}, but the chart has ")


@pytest.mark.skipif(REAL not in os.environ, reason=f"{REAL} names no folder of kube-prometheus-stack {VERSION}")
def test_the_real_chart_knows_our_values() -> None:
    chart = Path(os.environ[REAL]).resolve()
    assert yaml.safe_load((chart / "Chart.yaml").read_text())["version"] == VERSION
    assert list(unknown_keys(VALUES, defaults(chart))) == []
    typo = with_value("prometheus/prometheusSpec/enableRemoteWriteReciever", True)
    assert list(unknown_keys(typo, defaults(chart)))
