"""The least standard deviation of a criterion's log ratios: what counting answers allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vtlab.analysis.criteria.criterion import Criterion
from vtlab.analysis.criteria.judged import Pair
from vtlab.analysis.statistics import paired
from vtlab.model.experiment import Experiment
from vtlab.model.histogram import quantile
from vtlab.model.records import Block, Histogram, Trial

#: Share of the answers at or below each percentile.
_SHARES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}


def floor(experiment: Experiment, criterion: Criterion, blocks: Sequence[Block], pair: Pair) -> float:
    """Computes the least standard deviation of these blocks' log ratios; 0 where nothing is counted."""
    if criterion.key.criterion != "capacity":
        return 0.0
    resolutions = [
        paired.resolution(*([t.ok for t in block.trials if t.variant == name] for name in pair.names))
        for block in blocks
    ]
    return float(paired.floor(np.asarray(resolutions)))


def widest_span(trials: Sequence[Trial], criterion: Criterion) -> float:
    """Computes the largest factor that the 95 % interval of a percentile spans in one of these windows: from its order
    statistics, by the histogram. 1 where no window tells."""
    share = _SHARES[criterion.percentile or "p50"]
    histograms = [t.answers.histogram for t in trials if t.answers]
    return max((_span(h, share) for h in histograms if h.counts), default=1.0)


def _span(histogram: Histogram, share: float) -> float:
    off = 1.96 * math.sqrt(share * (1 - share) / sum(histogram.counts))
    low, high = quantile(histogram, max(0.0, share - off)), quantile(histogram, min(1.0, share + off))
    return high / low
