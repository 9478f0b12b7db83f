"""The least standard deviation of a criterion's log ratios: what counting answers allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vtlab.analysis.criteria.criterion import Criterion, windows
from vtlab.analysis.criteria.judged import Pair
from vtlab.analysis.statistics import paired, percentiles
from vtlab.model.experiment import Experiment
from vtlab.model.records import Answers, Block, Trial

#: What a figure is counted in: seconds of a recorded time, bytes of a page of memory.
MICROSECOND, PAGE = 1e-6, 4096


def floor(experiment: Experiment, criterion: Criterion, blocks: Sequence[Block], pair: Pair) -> float:
    """Computes the least standard deviation of these blocks' log ratios."""
    match criterion.key.criterion:
        case "capacity":
            return counting_floor(blocks, *pair.names)
        case "median" | "tail":
            found = [_of_percentiles(block, experiment, criterion, pair) for block in blocks]
        case "cpu":
            found = [_of_cpu(block, experiment, criterion, pair) for block in blocks]
        case _:
            found = [_of_memory(block, experiment, criterion, pair) for block in blocks]
    return float(paired.floor(np.asarray(found)))


def counting_floor(blocks: Sequence[Block], *variants: str) -> float:
    """Computes the least standard deviation of the logs of these blocks' throughputs, or of their ratios: what counting
    whole answers allows."""
    found = [paired.resolution(*([t.ok for t in b.trials if t.variant == name] for name in variants)) for b in blocks]
    return float(paired.floor(np.asarray(found)))


def _of_cpu(block: Block, experiment: Experiment, criterion: Criterion, pair: Pair) -> float:
    """Computes the same of CPU seconds per 1,000 OK answers: the seconds are whole microseconds."""
    ok = {v: sum(t.ok for t in windows(block, experiment, criterion.key) if t.variant == v) for v in pair.names}
    values = ((criterion.value(block, experiment, v) or 0.0, ok[v]) for v in pair.names)
    return float(paired.resolution(*([value / 1000 * count / MICROSECOND] for value, count in values)))


def _of_memory(block: Block, experiment: Experiment, criterion: Criterion, pair: Pair) -> float:
    """Computes the same of a resident set, which is whole pages."""
    return float(paired.resolution(*([(criterion.value(block, experiment, v) or 0.0) / PAGE] for v in pair.names)))


def _of_percentiles(block: Block, experiment: Experiment, criterion: Criterion, pair: Pair) -> float:
    """Computes the standard deviation that the windows of a block give the log ratio of two variants' percentiles: the
    windows are independent, and so are the variants."""
    trials = windows(block, experiment, criterion.key)
    return math.sqrt(math.fsum(_variance([t for t in trials if t.variant == v], criterion) for v in pair.names))


def _variance(trials: Sequence[Trial], criterion: Criterion) -> float:
    """Computes the variance of the log of a mean of so many percentiles, which are about as large as each other."""
    errors = [percentiles.log_error(t.answers, _name(criterion)) for t in trials if _tells(t) and t.answers]
    return math.fsum(error**2 for error in errors) / len(errors) ** 2 if errors else 0.0


def widest_span(trials: Sequence[Trial], criterion: Criterion) -> float:
    """Computes the largest factor that the 95 % interval of a percentile spans over these windows of a variant; 1 where
    no window tells."""
    by_variant: dict[str, list[Answers]] = {}
    for trial in trials:
        if trial.answers and _tells(trial):
            by_variant.setdefault(trial.variant, []).append(trial.answers)
    spans = [percentiles.span(percentiles.joined(windows), _name(criterion)) for windows in by_variant.values()]
    return max(spans, default=1.0)


def _name(criterion: Criterion) -> str:
    return criterion.percentile or "p50"


def _tells(trial: Trial) -> bool:
    return trial.answers is not None and any(trial.answers.histogram.counts)
