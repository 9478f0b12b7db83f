"""Service demands with their t intervals: over blocks or phases, and as slopes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy import special

from vtlab.analysis.laws.phases import Measured, Phases
from vtlab.analysis.statistics.moderated import Prior, interval
from vtlab.analysis.statistics.paired import CONFIDENCE
from vtlab.model.records import Trial

#: Half of the width, over its middle, that the interval of a demand may have for its bound to be relied on.
NARROW = 0.2
#: As a share of a demand, how far above it its interval may reach: beyond, it explains nothing and gives no bound.
TOO_WIDE = 0.5
#: Standard errors on each side of an interval whose deviation is known.
NORMAL = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
#: Degrees of freedom that the phases within blocks have at most beside those of the blocks: JVMs differ, too.
MOST_WITHIN = 4
#: Points that a slope needs: phases of light load, and the trials as one.
LEAST_POINTS = 5


@dataclass(frozen=True)
class Demand:
    """Resource-seconds per OK request, with their interval; None where single values give none."""

    seconds: float
    low: float | None = None
    high: float | None = None

    @property
    def is_known(self) -> bool:
        """Tells whether it is known well enough to explain anything, as far as its interval tells."""
        return self.high is None or self.high <= (1 + TOO_WIDE) * self.seconds

    def within(self, factor: float) -> Demand:
        """Returns the demand with an interval that reaches to so many times its seconds, and as far below, at least;
        without one where there is none."""
        if self.low is None or self.high is None:
            return self
        return Demand(self.seconds, min(self.low, self.seconds / factor), max(self.high, self.seconds * factor))


def estimate(
    measured: Measured, of_block: Callable[[Phases], list[Trial]], value: Callable[[Sequence[Trial]], float | None]
) -> Demand | None:
    """Estimates a demand over all phases, with the t interval of the blocks' values on the logarithmic scale; of the
    phases' values where only one block has any. Two blocks tell little of how blocks scatter: how phases scatter within
    them counts, too, unless the blocks refute it."""
    by_block = [of_block(block) for block in measured.blocks if of_block(block)]
    phases = [t for trials in by_block for t in trials]
    seconds = value(phases)
    if not seconds or seconds <= 0:
        return None
    groups = by_block if len(by_block) > 1 else [[t] for t in phases]
    values = [v for group in groups if (v := value(group)) is not None and v > 0]
    if len(values) < 2:
        return Demand(seconds)
    within = _within(by_block, value) if len(by_block) > 1 else None
    found = interval([math.log(v) for v in values], within, 0.0, 1 - CONFIDENCE)
    half = (found.high or 0.0) - found.mean
    return Demand(seconds, seconds * math.exp(-half), seconds * math.exp(half))


def _within(by_block: Sequence[list[Trial]], value: Callable[[Sequence[Trial]], float | None]) -> Prior | None:
    """Estimates how the values of blocks scatter by how phases scatter within them; None where no block has two."""
    squares, degrees, phases = 0.0, 0, 0
    for trials in by_block:
        logs = [math.log(v) for t in trials if (v := value([t])) is not None and v > 0]
        squares += float(np.var(logs)) * len(logs) if logs else 0.0
        degrees += max(0, len(logs) - 1)
        phases += len(logs)
    if not degrees or not squares:
        return None
    return Prior(math.sqrt(squares / degrees / (phases / len(by_block))), min(degrees, MOST_WITHIN))


def quantile(degrees: int) -> float:
    """Computes the two-sided quantile of Student's t."""
    return float(special.stdtrit(degrees, (1 + CONFIDENCE) / 2))


def slope(points: Sequence[tuple[float, float]]) -> Demand | None:
    """Estimates the slope of cores over requests per second, by least squares; None where its t interval is wider than
    ``NARROW``.

    The interval of an accepted slope is as wide as that, not its own. Few points leave few degrees of freedom: what
    passes has often been made narrow by chance, and the own interval of five would hold the true slope in 82 % of the
    cases where levels scatter by 10 % of the highest. Light load is also of one JVM, and JVMs differ. Fewer points say
    too little to select by.
    """
    rates, cores = np.array([rate for rate, _ in points]), np.array([level for _, level in points])
    if len(points) < LEAST_POINTS or rates.max() <= rates.min():
        return None
    fitted, covariance = np.polyfit(rates, cores, 1, cov=True)
    seconds = float(fitted[0])
    half = quantile(len(points) - 2) * math.sqrt(covariance[0][0])
    if seconds <= 0 or half > NARROW * seconds:
        return None
    return Demand(seconds, (1 - NARROW) * seconds, (1 + NARROW) * seconds)
