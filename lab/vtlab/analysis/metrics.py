"""Metrics of a trial that are compared, and their log ratios over blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from vtlab.analysis.laws.phases import cpu_per_ok, ratio
from vtlab.analysis.statistics import paired
from vtlab.model.records import Block, Trial

#: What a figure is counted in: bytes of a page of memory, seconds of a recorded time.
PAGE, MICROSECOND = 4096, 1e-6
Better = Literal["higher", "lower"]


def percentile(name: str) -> Callable[[Trial], float | None]:
    """Reads a percentile of latency off a trial, seconds."""
    return lambda t: cast("float | None", getattr(t.latency, name))


@dataclass(frozen=True)
class Metric:
    """A metric of a trial. ``weight`` turns the mean over a block's trials into a ratio of sums. ``step``
    is what its values are whole multiples of; without one they come from counting the OK answers of a window."""

    better: Better
    value: Callable[[Trial], float | None]
    weight: Callable[[Trial], float] | None = None
    step: float | None = None

    def count(self, trial: Trial) -> float:
        """Returns the whole number that the value comes from, which bounds its resolution."""
        return trial.ok if self.step is None else (self.value(trial) or 0.0) / self.step


#: What is compared, in this order (the primary first).
METRICS: dict[str, Metric] = {
    "throughput": Metric("higher", lambda t: t.throughput),
    "latency_mean": Metric("lower", lambda t: t.latency.mean, lambda t: t.latency.count, MICROSECOND),
    "latency_p50": Metric("lower", percentile("p50"), step=MICROSECOND),
    "latency_p99": Metric("lower", percentile("p99"), step=MICROSECOND),
    "cpu_per_request": Metric("lower", lambda t: cpu_per_ok([t]), lambda t: t.ok),
    "memory": Metric("lower", lambda t: t.server.get("resident"), step=PAGE),
    "service_time": Metric("lower", lambda t: t.server.get("service_time"), lambda t: t.ok, MICROSECOND),
}

#: Names of criteria that differ from the metric that is stored.
CRITERIA = {"capacity": "throughput"}


def criterion(metric: str) -> str:
    """Returns the name by which a user knows a metric."""
    return next((name for name, stored in CRITERIA.items() if stored == metric), metric)


def log_ratios(metric: str, accepted: Sequence[Block], variant: str, over: str) -> list[float]:
    """Computes the log ratio of each block; empty unless every trial of every block has the value, above 0, and where
    there is no block."""
    pairs = [(_values(metric, block, variant), _values(metric, block, over)) for block in accepted]
    if any(not values for pair in pairs for values in pair):
        return []
    return [float(paired.log_ratio(np.asarray(a), np.asarray(b))) for a, b in pairs]


def counting_floor(metric: str, accepted: Sequence[Block], *variants: str) -> float:
    """Computes the least standard deviation of these blocks' log ratios: what counting allows."""
    resolutions = [
        paired.resolution(*([METRICS[metric].count(t) for t in block.trials if t.variant == v] for v in variants))
        for block in accepted
    ]
    return float(paired.floor(np.asarray(resolutions)))


def _values(metric: str, block: Block, variant: str) -> list[float]:
    """Selects what enters a block's mean: the trials' values, or the ratio of sums where the metric is a ratio."""
    m, trials = METRICS[metric], [t for t in block.trials if t.variant == variant]
    values = [m.value(t) for t in trials]
    positive = [v for v in values if v is not None and v > 0]
    if not positive or len(positive) != len(values):
        return []
    if m.weight is None:
        return positive
    mean = weighted_mean(m, trials)
    return [mean] if mean else []


def weighted_mean(metric: Metric, trials: Sequence[Trial]) -> float | None:
    """Averages the metric over several trials: mean, or ratio of sums; None where a trial lacks it."""
    values = [(metric.value(t), metric.weight(t) if metric.weight else 1.0) for t in trials]
    return ratio((None if v is None else v * w, w) for v, w in values)
