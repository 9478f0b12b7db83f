"""The statistics of a verdict: paired log ratios over blocks.

Every function is pure and deterministic. Log ratios are natural logarithms; ratios and margins are plain
numbers (a margin of 0.05 is 5 %). The array functions work on the last axis, so that the simulation
(``vtlab.analysis.simulation``) calls the very formulae that a real analysis uses.

Sources
    [1] A. Georges, D. Buytaert, L. Eeckhout: Statistically Rigorous Java Performance Evaluation. OOPSLA 2007.
        (the JVM invocation, here the block, is the unit of replication)
    [2] T. Kalibera, R. Jones: Rigorous Benchmarking in Reasonable Time. ISMM 2013. (ratios with intervals)
    [3] Student: The Probable Error of a Mean. Biometrika 6 (1908). (paired t)
    [4] R. A. Fisher: The Design of Experiments, 1935, chapter III. (exact sign-flip test)
    [5] B. Phipson, G. Smyth: Permutation P-values Should Never Be Zero. SAGMB 9 (2010). (sampled sign flips)
    [6] D. Schuirmann: A Comparison of the Two One-Sided Tests Procedure. J. Pharmacokin. Biopharm. 15 (1987).
        (equivalence: the interval lies inside the margin)
    [7] S. Holm: A Simple Sequentially Rejective Multiple Test Procedure. Scand. J. Statist. 6 (1979).
    [8] S. Julious: Sample sizes for clinical trials with Normal data. Statist. Med. 23 (2004).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
Better = Literal["higher", "lower"]
Outcome = Literal["faster", "slower", "equivalent", "inconclusive"]

#: Confidence of every interval, and 1 minus the level of every test.
CONFIDENCE = 0.95
#: Differences up to this share do not matter; symmetric on the log scale.
MARGIN = 0.05
#: Up to this many blocks all 2^n sign flips are enumerated; beyond it they are sampled.
EXACT_FLIPS = 16
#: Sign flips sampled beyond ``EXACT_FLIPS`` blocks, with a fixed seed.
SAMPLED_FLIPS = 99_999
#: Probability with which ``blocks_needed`` blocks settle a verdict.
POWER = 0.8
#: More blocks than this are not advised: it takes days to settle a difference next to the margin.
MOST_BLOCKS = 200


@dataclass(frozen=True)
class Estimate:
    """A ratio over n blocks. ``low``, ``high`` and the p values are None where n < 2."""

    n: int
    ratio: float
    low: float | None
    high: float | None
    p_t: float | None
    p_sign_flip: float | None
    #: Mean and standard deviation of the log ratios; ``sd`` None where n < 2.
    mean: float
    sd: float | None


@dataclass(frozen=True)
class Spread:
    """Standard deviation of the log ratios with its interval; all None where n < 2."""

    n: int
    sd: float | None
    low: float | None
    high: float | None


def log_ratio(of: Array, over: Array) -> Array:
    """Log of the ratio of the means over the last axis (the trials of a variant in one block).

    All values must be above 0. The ratio of the block's means, not the mean of ratios [2].
    """
    ratio: Array = np.log(np.mean(of, axis=-1)) - np.log(np.mean(over, axis=-1))
    return ratio


def paired_t(log_ratios: Array, confidence: float = CONFIDENCE) -> tuple[Array, Array, Array, Array, Array]:
    """Mean, low, high, two-sided p for mean 0, standard deviation; over the last axis, n >= 2 blocks [3].

    All on the log scale. Zero variance gives a zero-width interval and p 0 (1 where the mean is 0), never
    NaN: equal values count as equal even where their mean is rounded.
    """
    n = log_ratios.shape[-1]
    mean = np.mean(log_ratios, axis=-1)
    constant = np.ptp(log_ratios, axis=-1) == 0
    mean = np.where(constant, log_ratios[..., 0], mean)
    sd = np.where(constant, 0.0, np.std(log_ratios, axis=-1, ddof=1))
    error = sd / math.sqrt(n)
    half = float(special.stdtrit(n - 1, 0.5 + confidence / 2)) * error
    still = error == 0
    t = np.abs(mean) / np.where(still, 1.0, error)
    p = np.where(still, np.where(mean == 0, 1.0, 0.0), 2 * special.stdtr(n - 1, -t))
    return mean, mean - half, mean + half, p, sd


def estimate(log_ratios: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The ratio over blocks with its paired t interval and both p values. ValueError for no blocks."""
    n = len(log_ratios)
    if n == 0:
        raise ValueError("no blocks")
    if n == 1:
        return Estimate(1, math.exp(log_ratios[0]), None, None, None, None, log_ratios[0], None)
    mean, low, high, p, sd = (float(x) for x in paired_t(np.asarray(log_ratios, dtype=np.float64), confidence))
    ratio, low, high = math.exp(mean), _exp(low), _exp(high)
    return Estimate(n, ratio, low, high, p, sign_flip(log_ratios), mean, sd)


def _exp(x: float) -> float:
    """exp without overflow: two blocks that differ wildly have an interval beyond every number."""
    return math.exp(min(max(x, -700.0), 700.0))


def sign_flip(log_ratios: Sequence[float]) -> float:
    """Two-sided p of the sign-flip test: the share of sign patterns with a mean as far from 0 as seen [4].

    All 2^n patterns up to ``EXACT_FLIPS`` blocks (so p is at least 2/2^n), beyond it ``SAMPLED_FLIPS``
    patterns from a fixed seed, with the observed one counted [5]. Assumes only that, were the variants
    alike, a block's log ratio would be symmetric about 0, which the random mirrored order brings about.
    ValueError for no blocks.
    """
    values = np.asarray(log_ratios, dtype=np.float64)
    n = len(values)
    if n == 0:
        raise ValueError("no blocks")
    # Sums that are equal on paper must not differ by rounding.
    seen = abs(math.fsum(log_ratios)) - 1e-12 * float(np.sum(np.abs(values)))
    if n <= EXACT_FLIPS:
        sums = np.zeros(1)
        for value in values:
            sums = np.concatenate((sums + value, sums - value))
        return float(np.count_nonzero(np.abs(sums) >= seen)) / len(sums)
    random = np.random.default_rng(20_070_801)
    as_far, left = 1, SAMPLED_FLIPS
    while left:
        size = min(left, 10_000)
        signs = random.integers(0, 2, size=(size, n), dtype=np.int8) * 2.0 - 1.0
        as_far += int(np.count_nonzero(np.abs(signs @ values) >= seen))
        left -= size
    return as_far / (SAMPLED_FLIPS + 1)


def spread(log_ratios: Sequence[float], confidence: float = CONFIDENCE) -> Spread:
    """Standard deviation of the log ratios and its chi-square interval, (n-1)·s²/χ² (for ``vtlab aa``)."""
    n = len(log_ratios)
    if n < 2:
        return Spread(n, None, None, None)
    sd = float(paired_t(np.asarray(log_ratios, dtype=np.float64))[4])
    tail = (1 - confidence) / 2
    # chdtri takes the upper tail.
    low = sd * math.sqrt((n - 1) / float(special.chdtri(n - 1, tail)))
    high = sd * math.sqrt((n - 1) / float(special.chdtri(n - 1, 1 - tail)))
    return Spread(n, sd, low, high)


def outcome(low: float | None, high: float | None, better: Better, margin: float = MARGIN) -> Outcome:
    """The verdict of an interval of ratios ``of``/``over``.

    ``faster`` means that ``of`` is the better of the two: for a metric where lower is better, a ratio below
    1. The margin is symmetric on the log scale, from 1/(1+margin) to 1+margin. An interval beyond it is
    faster or slower, one inside it (edges included) is equivalent [6], any other, or none, is inconclusive.
    """
    if low is None or high is None:
        return "inconclusive"
    upper = 1 + margin
    lower = 1 / upper
    if low > upper:
        return "faster" if better == "higher" else "slower"
    if high < lower:
        return "slower" if better == "higher" else "faster"
    if low >= lower and high <= upper:
        return "equivalent"
    return "inconclusive"


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p values, in the order given [7]. None (no test made) stays None and does not count."""
    tested = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, i) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - rank) * p))
        adjusted[i] = largest
    return adjusted


def blocks_needed(
    n: int, mean: float, sd: float | None, margin: float = MARGIN, confidence: float = CONFIDENCE
) -> int | None:
    """Blocks of a new run that settle the verdict with probability ``POWER``, were mean and sd the truth.

    ``mean`` and ``sd`` are those of the log ratios over ``n`` blocks. The least m > n for which ``chance(m,
    …) >= POWER``. None where that cannot be known or told: sd unknown, the mean on the margin, or m above
    ``MOST_BLOCKS``. This is a plan for another run; a run is never extended until its verdict pleases.
    """
    if sd is None or not math.isfinite(sd):
        return None
    if chance(MOST_BLOCKS, mean, sd, margin, confidence) < POWER:
        return None
    for m in range(n + 1, MOST_BLOCKS + 1):
        if m >= 2 and chance(m, mean, sd, margin, confidence) >= POWER:
            return m
    return None


def chance(m: int, mean: float, sd: float, margin: float = MARGIN, confidence: float = CONFIDENCE) -> float:
    """About the probability that m >= 2 blocks give the verdict of the side on which ``mean`` lies.

    With the central t distribution for the estimate about its true mean, d = log(1+margin), e = sd/sqrt(m)
    and t the quantile of the interval: beyond the margin T((|mean|-d)/e - t), inside it T((d-mean)/e - t) +
    T((d+mean)/e - t) - 1 ([8], equations for superiority by a margin and for equivalence).
    """
    d, size = math.log1p(margin), abs(mean)
    if sd == 0:
        return 0.0 if size == d else 1.0
    error = sd / math.sqrt(m)
    t = float(special.stdtrit(m - 1, 0.5 + confidence / 2))

    def below(x: float) -> float:
        return float(special.stdtr(m - 1, x))

    if size > d:
        return below((size - d) / error - t)
    return max(0.0, below((d - size) / error - t) + below((d + size) / error - t) - 1)
