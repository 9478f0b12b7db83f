"""Meaningful comparisons: those that a verdict keeps.

Some ratios say nothing of the variants, however narrow their interval is:

- CPU per request and memory at different throughput. What a service uses without requests is divided by more of
  them, and more requests are in the heap.
- Service time: it begins when a thread has the request, so that of one carrier hides the wait before it.
- Latency under closed load: it follows from the users and the throughput, N = X·(R+Z).
- Latency of an overloaded variant: it grows with the length of the window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from vtlab.analysis.statistics.paired import MARGIN
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.verdict import Bottleneck, Comparison, VariantResult

#: Metrics that compare at equal throughput only.
AT_EQUAL_THROUGHPUT = frozenset({"cpu_per_request", "memory"})


def reason_in_every_run(metric: str, experiment: Experiment) -> str | None:
    """Explains why no run of the experiment has a ratio of that metric; None where one may have it."""
    if metric == "service_time":
        return "it starts once a thread has the request, so the variants' values do not compare"
    if metric.startswith("latency") and isinstance(experiment.load, ClosedLoad):
        return "under closed load it follows from the throughput"
    return None


def meaningful_comparisons(
    comparisons: Sequence[Comparison], variants: Mapping[str, VariantResult], experiment: Experiment
) -> list[Comparison]:
    """Selects the comparisons that hold, in order."""
    return [
        comparison
        for comparison in comparisons
        if comparison.metric == experiment.primary or _is_meaningful(comparison, variants, experiment)
    ]


def agree_within_margin(one: float, other: float) -> bool:
    """Tells whether two throughputs agree within the margin."""
    return one > 0 and other > 0 and abs(math.log(one / other)) <= math.log1p(MARGIN)


def reason_in_these_results(metric: str, result: VariantResult, base_result: VariantResult) -> str | None:
    """Explains why these results have no ratio of a metric that other results may have; None where they have one."""
    if metric in AT_EQUAL_THROUGHPUT and not agree_within_margin(result.throughput, base_result.throughput):
        return "the throughputs differ by more than the margin"
    if metric.startswith("latency") and (result.growth is not None or base_result.growth is not None):
        return "the latency of an overloaded variant grows with the length of the window"
    return None


def _is_meaningful(comparison: Comparison, variants: Mapping[str, VariantResult], experiment: Experiment) -> bool:
    """Tells whether a ratio of another metric than the primary one holds."""
    if reason_in_every_run(comparison.metric, experiment) or comparison.overloaded:
        return False
    return reason_in_these_results(comparison.metric, variants[comparison.of], variants[comparison.over]) is None


def has_latency(result: VariantResult) -> bool:
    """Tells whether the clients' latency belongs to the variant: it depends neither on the window's length nor on
    users without an answer."""
    return result.growth is None and result.missing_users is None


def is_only_load(limit: Bottleneck) -> bool:
    """Tells whether only the load limits a variant."""
    return limit.resource == "load" and not limit.together


def keeps_up(result: VariantResult) -> bool:
    """Tells whether the load alone limits the variant."""
    return is_only_load(result.bottleneck) and result.growth is None
