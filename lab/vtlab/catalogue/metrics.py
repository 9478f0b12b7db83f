"""Derived metrics: the rows of ``metrics.toml``, and the metrics that follow from ``resources.toml``.

* ``vtlab.catalogue.rules`` writes the recording rules and the alerts,
* ``vtlab.prometheus.queries`` evaluates the metrics over exactly the window of a trial,
* ``vtlab.dashboards`` draws them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from vtlab.catalogue import promql, resources
from vtlab.catalogue.promql import QueryError
from vtlab.catalogue.resources import RESOURCES, Resource
from vtlab.model.metric_names import MetricName

#: Beside those of ``metrics.toml``: ``sampled``, what a resource has every second while a trial is being measured.
Scope = Literal["window", "now", "run", "rule", "chart", "sampled"]
_WRITTEN: tuple[Scope, ...] = ("window", "now", "run", "rule", "chart")
_PREFIXES: Mapping[Scope, str] = {"run": "run_", "sampled": "window_"}
FILE = Path(__file__).with_name("metrics.toml")


@dataclass(frozen=True)
class Metric:
    """One row: ``metrics.toml`` says what its keys mean. ``series`` is the name of what is recorded, without its unit;
    ``labels`` are added to it."""

    name: str
    unit: str
    help: str
    queries: Mapping[Scope, str]
    by_run: bool = False
    record: str = ""
    series: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def recorded_as(self, scope: Scope) -> str:
        """Returns the name of the recorded series."""
        if scope == "rule":
            return self.record
        return f"vtlab:{_PREFIXES.get(scope, '')}{self.series or self.name}:{self.unit}"


_RESOURCE_METRICS: Mapping[resources.Series, tuple[str, str, Callable[[Resource], str]]] = {
    "utilization": ("ratio", "Throughput as a share of the bound", lambda resource: resource.utilization),
    "capacity": ("count", "Capacity of the resource", lambda resource: resource.capacity),
    "demand": ("seconds", "Seconds of the resource per OK request", resources.demand),
}


def metric_of_row(name: str, row: Mapping[str, Any]) -> Metric:
    """Makes the metric that a row of ``metrics.toml`` describes. Raises QueryError."""
    queries: dict[Scope, str] = {scope: row[scope] for scope in _WRITTEN if scope in row}
    unknown = row.keys() - queries.keys() - {"unit", "help", "by_run", "record"}
    if unknown:
        raise QueryError(f"{FILE.name}: {name}: the key {min(unknown)} is unknown")
    if not queries or not row.get("unit") or not row.get("help"):
        raise QueryError(f"{FILE.name}: {name}: a query, the unit or the help is missing")
    if ("rule" in queries) != ("record" in row) or ("window" in queries and "now" in queries):
        raise QueryError(f"{FILE.name}: {name}: 'rule' needs 'record', and 'window' excludes 'now'")
    return Metric(name, row["unit"], row["help"], queries, row.get("by_run", False), row.get("record", ""))


def resource_metrics(rows: Iterable[Resource]) -> list[Metric]:
    """Makes utilisation, capacity and demand of each resource, which the label ``resource`` distinguishes."""
    metrics = []
    for series, (unit, help, query) in _RESOURCE_METRICS.items():
        for resource in rows:
            queries: dict[Scope, str] = {"window": query(resource)}
            if resource.is_sampled(series):
                queries["sampled"] = resources.in_open_window(resource.metric(series))
            name, labels = resource.metric(series), {"resource": resource.name}
            metrics.append(Metric(name, unit, help, queries, series=series, labels=labels))
    return metrics


def _metrics_over_resources() -> list[Metric]:
    """Makes the metrics of all resources at once, by the label ``resource``."""
    queries: dict[resources.Series, dict[Scope, str]] = {
        "utilization": {"now": resources.utilization_now(), "run": resources.shown(resources.run_utilization())},
        "capacity": {"run": resources.run_capacity()},
    }
    return [Metric(series, *_RESOURCE_METRICS[series][:2], by_scope) for series, by_scope in queries.items()]


def _metrics(rows: Mapping[str, Any]) -> dict[str, Metric]:
    metrics: dict[str, Metric] = {}
    for metric in (
        *(metric_of_row(name, row) for name, row in rows.items()),
        *resource_metrics(RESOURCES.values()),
        *_metrics_over_resources(),
    ):
        if metric.name in metrics:
            raise QueryError(f"{FILE.name}: {metric.name} is there twice")
        metrics[metric.name] = metric
    return metrics


def _definitions(macros: Mapping[str, str], metrics: Mapping[str, Metric]) -> dict[str, str]:
    """Collects what a query may refer to: macros, ``name`` for a metric over ``$window``, ``run_name`` for one over a
    run."""
    definitions = dict(macros)
    for metric in metrics.values():
        names = {scope: f"run_{metric.name}" if scope == "run" else metric.name for scope in ("window", "now", "run")}
        for scope, query in metric.queries.items():
            name = names.get(scope)
            if name in definitions:
                raise QueryError(f"{FILE.name}: {name} is there twice")
            if name:
                definitions[name] = query
    return definitions


_TOML = tomllib.loads(FILE.read_text(encoding="utf-8"))
#: Every metric by its name.
METRICS: Mapping[str, Metric] = MappingProxyType(_metrics(_TOML["metrics"]))
#: What vtlab evaluates over each trial's window.
WINDOW_METRICS: Mapping[MetricName, Metric] = MappingProxyType(
    {cast(MetricName, name): metric for name, metric in METRICS.items() if "window" in metric.queries}
)
#: The raw series that are kept for the charts of the report.
REPORT_SERIES: Mapping[str, Metric] = MappingProxyType(
    {name: metric for name, metric in METRICS.items() if "chart" in metric.queries}
)
_DEFINITIONS = MappingProxyType(_definitions(_TOML["macros"], METRICS))


def render(query: str, **values: str) -> str:
    """Renders a query with its references replaced. ``values`` are those of the placeholders; QueryError where the
    query needs one that is missing."""
    return promql.render(query, _DEFINITIONS, values)


def metric(name: str, scope: Scope, **values: str) -> str:
    """Returns the query of a metric. QueryError where there is no such metric, or not in that scope."""
    if name not in METRICS:
        raise QueryError(f"no metric is called {name}: {FILE.name} has them")
    if scope not in METRICS[name].queries:
        raise QueryError(f"the metric {name} has no query for the scope {scope}: {', '.join(METRICS[name].queries)}")
    return render(METRICS[name].queries[scope], **values)


def names_module() -> str:
    """Writes ``model/metric_names.py``: what a trial's figures may be called, for mypy and for whoever reads a
    result."""
    literals = "".join(f'    "{name}",\n' for name in WINDOW_METRICS)
    return f'''"""Generated from metrics.toml and resources.toml by `make generate`: do not edit this file."""

from __future__ import annotations

from typing import Literal

#: What vtlab evaluates over each trial's window.
MetricName = Literal[
{literals}]
'''
