"""Latency of a variant over its trials: mean, percentiles and maximum.

k6 computes the percentiles of each window (``k6/lib/statistics.ts``). Here they are averaged over windows.
"""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis.metrics import METRICS, Metric, percentile, weighted_mean
from vtlab.model.records import Trial

PERCENTILES = ("p50", "p90", "p95", "p99", "p99_9")


def latency_figures(trials: Sequence[Trial]) -> dict[str, float | None]:
    """Computes mean, percentiles and maximum of the clients' latency in seconds; None where a trial lacks one."""
    answered = [t for t in trials if t.latency.count]
    longest = [t.latency.max for t in trials if t.latency.max is not None]
    return {
        "mean": weighted_mean(METRICS["latency_mean"], answered),
        **{name: weighted_mean(Metric("lower", percentile(name)), trials) for name in PERCENTILES},
        "max": max(longest, default=None),
    }
