"""The recording rules and the alerts, from ``metrics.toml``, ``resources.toml`` and ``alerts.toml``.

``make generate`` writes ``helm/files/rules.json``. The chart's PrometheusRule and the local Prometheus both take it.
(JSON is YAML.)
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vtlab.catalogue import metrics, resources
from vtlab.catalogue.metrics import METRICS, Metric, Scope

#: Where the rules are, below the repository.
FILE = Path("helm") / "files" / "rules.json"
#: What recorded rates are over.
WINDOW = "15s"
#: How often rules are evaluated.
INTERVAL = "5s"
#: How often those are that are looked at only while a trial is being measured, which may last a few seconds.
WINDOWS_INTERVAL = "1s"
#: Rules see what was true this long ago: k6 sends its samples every second, and a rate at the very front would lack the
#: newest (3 % of 15 s).
OFFSET = "3s"
#: How far back the samples of a run may lie.
RANGE = "1h"
#: The lab's own series: of the application by the label that it is scraped with, of k6 by its run.
SERVER, CLIENT = 'variant!=""', 'variant!="",testid!=""'
#: In which group of rules a scope is.
_GROUPS: dict[Scope, str] = {"window": "vtlab", "run": "vtlab-runs", "rule": "vtlab-runs", "sampled": "vtlab-windows"}

ALERTS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("alerts.toml").read_text(encoding="utf-8"))


def _rendered(query: str) -> str:
    return metrics.render(query, server=SERVER, client=CLIENT, window=WINDOW, range=RANGE)


def _recording(metric: Metric, scope: Scope) -> dict[str, Any]:
    labels = {"labels": dict(metric.labels)} if metric.labels else {}
    query = metric.queries[scope]
    if metric.series == "utilization" and scope == "window":
        query = resources.shown(query)
    return {"record": metric.recorded_as(scope), "expr": _rendered(query), **labels}


def _alert(name: str, row: dict[str, str]) -> dict[str, Any]:
    return {
        "alert": name,
        "expr": _rendered(row["query"]),
        "for": row["for"],
        "labels": {"severity": "warning"},
        "annotations": {key: " ".join(row[key].split()) for key in ("summary", "description")},
    }


def recorded() -> Iterator[tuple[Metric, Scope]]:
    """Returns every metric that the rules record, with its scope."""
    for metric in METRICS.values():
        for scope in metric.queries:
            if scope in _GROUPS and (scope != "run" or metric.by_run):
                yield metric, scope


def rules_json() -> str:
    """Writes the whole file."""
    rules: dict[str, list[dict[str, Any]]] = {group: [] for group in _GROUPS.values()}
    for metric, scope in recorded():
        rules[_GROUPS[scope]].append(_recording(metric, scope))
    # These look at recorded series, too.
    rules["vtlab-runs"] += [_alert(name, row) for name, row in ALERTS.items()]
    groups = [
        {
            "name": name,
            "interval": WINDOWS_INTERVAL if name == "vtlab-windows" else INTERVAL,
            "query_offset": OFFSET,
            "rules": group_rules,
        }
        for name, group_rules in rules.items()
    ]
    return json.dumps({"groups": groups}, indent=1) + "\n"
