"""The least standard deviation of a criterion's log ratios: what counting answers allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vtlab.analysis.criteria.criterion import Criterion, windows
from vtlab.analysis.criteria.judged import Pair
from vtlab.analysis.statistics import paired, percentiles
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial


def floor(experiment: Experiment, criterion: Criterion, blocks: Sequence[Block], pair: Pair) -> float:
    """Computes the least standard deviation of these blocks' log ratios; 0 where nothing is counted."""
    match criterion.key.criterion:
        case "capacity":
            found = [_of_counts(block, pair) for block in blocks]
        case "median" | "tail":
            found = [_of_percentiles(block, experiment, criterion, pair) for block in blocks]
        case _:
            return 0.0
    return float(paired.floor(np.asarray(found)))


def _of_counts(block: Block, pair: Pair) -> float:
    return float(paired.resolution(*([t.ok for t in block.trials if t.variant == name] for name in pair.names)))


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
    """Computes the largest factor that the 95 % interval of a percentile spans in one of these windows; 1 where no
    window tells."""
    spans = [percentiles.span(t.answers, _name(criterion)) for t in trials if _tells(t) and t.answers]
    return max(spans, default=1.0)


def _name(criterion: Criterion) -> str:
    return criterion.percentile or "p50"


def _tells(trial: Trial) -> bool:
    return trial.answers is not None and any(trial.answers.histogram.counts)
