"""The least standard deviation of a criterion's log ratios: what counting answers allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vtlab.analysis.criteria.criterion import Criterion
from vtlab.analysis.criteria.judged import Pair
from vtlab.analysis.statistics import paired
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block


def floor(experiment: Experiment, criterion: Criterion, blocks: Sequence[Block], pair: Pair) -> float:
    """Computes the least standard deviation of these blocks' log ratios; 0 where nothing is counted."""
    if criterion.key.criterion != "capacity":
        return 0.0
    resolutions = [
        paired.resolution(*([t.ok for t in block.trials if t.variant == name] for name in pair.names))
        for block in blocks
    ]
    return float(paired.floor(np.asarray(resolutions)))
