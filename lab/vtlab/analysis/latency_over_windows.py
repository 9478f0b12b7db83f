"""Latency of a variant over its trials: mean, percentiles and maximum.

k6 computes the percentiles of each window (``k6/lib/statistics.ts``). Here they are averaged over windows.
"""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis.laws.phases import ratio
from vtlab.model.records import Trial

PERCENTILES = ("p50", "p90", "p95", "p99", "p99_9")


def latency_figures(trials: Sequence[Trial]) -> dict[str, float | None]:
    """Computes mean, percentiles and maximum of the clients' latency in seconds; None where a trial lacks one."""
    means = [(t.latency.mean, t.latency.count) for t in trials if t.latency.count]
    longest = [t.latency.max for t in trials if t.latency.max is not None]
    return {
        "mean": ratio((None if mean is None else mean * count, count) for mean, count in means),
        **{name: ratio((getattr(t.latency, name), 1) for t in trials) for name in PERCENTILES},
        "max": max(longest, default=None),
    }
