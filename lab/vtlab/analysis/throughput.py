"""Throughput of one variant over blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vtlab.analysis.criteria.floors import counting_floor
from vtlab.analysis.statistics import moderated
from vtlab.analysis.statistics.moderated import Interval
from vtlab.analysis.statistics.stopping_rule import ALPHA
from vtlab.model.records import Block


def log_throughput(blocks: Sequence[Block], variant: str, level: float = ALPHA) -> Interval | None:
    """Estimates the log of a variant's throughput over blocks, each of which has trials of it; None where one served
    nothing, and without blocks. The mean is of logs, as everywhere: throughputs of blocks differ by factors."""
    rates = [float(np.mean([t.throughput for t in block.trials if t.variant == variant])) for block in blocks]
    if not rates or min(rates) <= 0:
        return None
    return moderated.interval([math.log(rate) for rate in rates], None, counting_floor(blocks, variant), level)
