"""Writes the recording rules and the alerts, from the named expressions: ``helm/files/rules.json``.

The chart's PrometheusRule and the local Prometheus take the same file. (JSON is YAML.)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vtlab.catalogue import expressions
from vtlab.catalogue.expressions import EXPRESSIONS, KEY, RUN, Expression

#: Where the rules are, below the repository.
FILE = Path("helm") / "files" / "rules.json"
#: What recorded rates are over.
WINDOW = "15s"
#: How often rules are evaluated.
INTERVAL = "5s"
#: How often those are that are looked at only while a trial is being measured, which may last a few seconds.
EVERY = "1s"
#: Rules see what was true this long ago: k6 sends its samples every second, and a rate at the very front would lack the
#: newest (3 % of 15 s).
OFFSET = "3s"
#: How far back the samples of a run may lie.
RANGE = "1h"
#: The lab's own series: of the application by the label that it is scraped with, of k6 by its run.
SERVER, CLIENT = 'variant!=""', 'variant!="",testid!=""'

#: Load generators by what cAdvisor says of their containers; only namespaces where k6 is the lab's.
_K6_POD = 'container="k6"'
_K6_OURS = "and on (namespace) max by (namespace) (last_over_time(k6_trial_started_total[5m]))"


def _container_throttled(selector: str, more: str, by: str) -> str:
    counters = (f"container_cpu_cfs_{part}_total{{{selector}}}" for part in ("throttled_periods", "periods"))
    above, below = (f"sum by ({by}) (rate({counter}[1m]){more})" for counter in counters)
    return f"{above} / {below}"


_PODS_OF_VARIANTS = (
    f" * on (namespace, pod) group_left (variant) max by (namespace, pod, variant) (0 * up{{{SERVER}}} + 1)"
)

#: What has no window of its own: recorded, and not evaluated by vtlab.
RECORDED: list[Expression] = [
    Expression("window", "bool", expressions.IN_WINDOW, "1 while a trial is being measured"),
    Expression(
        "constraint",
        "ratio",
        expressions.constraint(
            lambda names: f'vtlab:utilization:ratio{{resource=~"{"|".join(names)}"}}', expressions.USERS_NOW
        )
        + f" and on ({KEY}) vtlab:throughput:rate > 0",
        "The resource that holds a variant back, and its utilisation",
    ),
    *RUN.values(),
    Expression(
        "throughput",
        "virtual_over_platform",
        expressions.over_platform("run_throughput"),
        "Throughput of virtual over that of platform, all windows of a run",
    ),
    Expression(
        "latency_p99",
        "virtual_over_platform",
        expressions.over_platform("run_latency_p99"),
        "99th percentile of the client latency of virtual over that of platform, all windows of a run",
    ),
    # cAdvisor renews its figures every 10 to 15 s.
    Expression(
        "container_throttled_periods",
        "ratio",
        _container_throttled('container="app"', _PODS_OF_VARIANTS, KEY),
        "Share of the CFS periods in which the quota ran out, by the kubelet's cAdvisor",
    ),
    Expression(
        "generator_throttled_periods",
        "ratio",
        f"{_container_throttled(_K6_POD, '', 'namespace')} {_K6_OURS}",
        "Share of the CFS periods in which k6's quota ran out, by the kubelet's cAdvisor",
    ),
    Expression(
        "generator_cpu",
        "cores",
        f"sum by (namespace) (rate(container_cpu_usage_seconds_total{{{_K6_POD}}}[1m])) {_K6_OURS}",
        "CPU that k6 uses, by the kubelet's cAdvisor",
    ),
]

#: Milliseconds since the epoch, of the newest phase of each variant.
_BEGUN = f"max by ({KEY}) (last_over_time(k6_trial_begin{{{CLIENT}}}[1h]))"
#: k6 stamps a series with its newest sample, and every user says when a phase begins: the first one's word of its end
#: can be some milliseconds older.
_ENDS = f"max by ({KEY}) (last_over_time(k6_trial_window_end{{{CLIENT}}}[1h] offset 2s))"
_STARTED = f"1000 * max by ({KEY}) (process_start_time_seconds{{{SERVER}}})"
#: Between two blocks JVMs are replaced some seconds after the last request.
_LOADED = f"sum by ({KEY}) (rate(k6_trial_started_total{{{CLIENT}}}[10s])) > 0"


def _alert(name: str, promql: str, after: str, summary: str, description: str) -> dict[str, Any]:
    return {
        "alert": name,
        "expr": promql,
        "for": after,
        "labels": {"severity": "warning"},
        "annotations": {"summary": summary, "description": description},
    }


ALERTS = [
    _alert(
        "VtlabGeneratorSaturated",
        "vtlab:generator_throttled_periods:ratio > 0.05",
        "10s",
        "k6 runs out of CPU in namespace {{ $labels.namespace }}",
        "The quota stopped k6 in {{ $value | humanizePercentage }} of its periods, at most 5% are allowed: it measures"
        " itself, and not the variants. Give it more CPU (k6.limits.cpu) or less load.",
    ),
    _alert(
        "VtlabVariantRestarted",
        # Started after the newest phase began, and before it was to end.
        f"({_STARTED} > {_BEGUN}) < {_ENDS}",
        "0s",
        "{{ $labels.variant }} restarted while it was loaded",
        "Its process is younger than the phase in which k6 loads it: the block does not count. Look at the pod's last"
        " state and the memory limit.",
    ),
    _alert(
        "VtlabTargetDown",
        f"({_LOADED}) unless on ({KEY}) max by ({KEY}) (up{{{SERVER}}}) == 1",
        "10s",
        "{{ $labels.variant }} is loaded and not scraped",
        "Prometheus has no target of this variant that is up: whatever its panels show is old. Look at the pod and at"
        " Prometheus's targets.",
    ),
    _alert(
        "VtlabDroppedIterations",
        # Users count them and tell at the end of the phase: the counter begins with its last value.
        f"sum by ({KEY}) (last_over_time(k6_trial_dropped_total{{{CLIENT}}}[1m])) > 0",
        "0s",
        "{{ $labels.variant }} does not keep up with its arrivals",
        "k6 dropped arrivals because the users that were to send them still waited for an answer: with a healthy"
        " generator the variant is overloaded, and its latency has no bound.",
    ),
]


def recording(expression: Expression) -> dict[str, Any]:
    """A recording rule."""
    filled = expressions.fill(expression.promql, server=SERVER, client=CLIENT, window=WINDOW, range=RANGE)
    labels = {"labels": dict(expression.labels)} if expression.labels else {}
    return {"record": expression.record, "expr": filled, **labels}


def text() -> str:
    """The whole file."""
    groups = [
        {
            "name": "vtlab",
            "interval": INTERVAL,
            "query_offset": OFFSET,
            "rules": list(map(recording, EXPRESSIONS.values())),
        },
        # Some of these are made of the ones above.
        {
            "name": "vtlab-runs",
            "interval": INTERVAL,
            "query_offset": OFFSET,
            "rules": [*map(recording, RECORDED), *ALERTS],
        },
        {
            "name": "vtlab-windows",
            "interval": EVERY,
            "query_offset": OFFSET,
            "rules": list(map(recording, expressions.SAMPLED)),
        },
    ]
    return json.dumps({"groups": groups}, indent=1) + "\n"
