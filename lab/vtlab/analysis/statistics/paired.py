"""The statistics of ratios over blocks: paired log ratios, their resolution, margins, and two independent estimates.

Every function is pure and deterministic. Log ratios are natural logarithms; ratios and margins are plain
numbers (a margin of 0.05 is 5 %). The array functions work on the last axis, so that the simulation
(``vtlab.analysis.statistics.simulation``) calls the very formulae that a real analysis uses. Intervals over blocks are
in ``vtlab.analysis.statistics.moderated``.

Sources
    [1] A. Georges, D. Buytaert, L. Eeckhout: Statistically Rigorous Java Performance Evaluation. OOPSLA 2007.
        (the JVM invocation, here the block, is the unit of replication)
    [2] T. Kalibera, R. Jones: Rigorous Benchmarking in Reasonable Time. ISMM 2013. (ratios with intervals)
    [3] D. Schuirmann: A Comparison of the Two One-Sided Tests Procedure. J. Pharmacokin. Biopharm. 15 (1987).
        (TOST; the same: the interval lies inside the margin)
    [4] B. L. Welch: The Generalization of "Student's" Problem when Several Different Population Variances are
        Involved. Biometrika 34 (1947). (two runs)
    [5] F. E. Satterthwaite: An Approximate Distribution of Estimates of Variance Components. Biometrics 2 (1946).
        (its degrees of freedom, of any number of parts)
    [6] S. Holm: A Simple Sequentially Rejective Multiple Test Procedure. Scand. J. Statist. 6 (1979).
    [7] C. Clopper, E. Pearson: The Use of Confidence or Fiducial Limits. Biometrika 26 (1934). (failures of blocks)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Array = NDArray[np.float64]

#: Confidence of every interval.
CONFIDENCE = 0.95
#: Level of every one-sided test. An interval is beyond the margin, or inside it, where the p of that claim is at most
#: this.
LEVEL = (1 - CONFIDENCE) / 2
#: Differences up to this share do not matter, unless a criterion has a margin of its own; symmetric on the log scale.
MARGIN = 0.05


@dataclass(frozen=True)
class Spread:
    """Standard deviation of the log ratios with its interval; all None where n < 2."""

    n: int
    sd: float | None
    low: float | None
    high: float | None


def log_ratio(values: Array, base_values: Array) -> Array:
    """Computes the log of the ratio of the means over the last axis (the trials of a variant in one block).

    All values must be above 0. The ratio of the block's means, not the mean of ratios [2].
    """
    ratio: Array = np.log(np.mean(values, axis=-1)) - np.log(np.mean(base_values, axis=-1))
    return ratio


def resolution(*counts: ArrayLike) -> Array:
    """Computes the standard deviation that counting alone gives a block's log; over the last axis (a variant's trials
    in one block).

    ``counts``: answers in each trial's window, one array per variant: two for a log ratio, one for a log throughput.
    Let x answers fall due in a window in the long run. Where they come evenly and the window begins at a random moment,
    it holds the next lower or the next higher whole number, and the count has the variance f·(1-f), f the fraction of
    x: at most 1/4. So a trial that counted c answers has a standard deviation of up to 1/2 answer, 1/(2c) of the count.
    The windows of a variant have one length and begin independently: the sum over T trials has sqrt(T)/2, its log, by
    first order, sqrt(T)/(2·sum). The logs of two variants are independent: their variances add.
    """
    trials = [np.asarray(c, dtype=np.float64) for c in counts]
    sd: Array = np.sqrt(sum(c.shape[-1] / (2 * np.maximum(np.sum(c, axis=-1), 1)) ** 2 for c in trials))
    return sd


def floor(resolutions: Array) -> Array:
    """Returns the least standard deviation of log ratios whose blocks have these resolutions; over the last axis
    (blocks).

    Their root mean square: of independent values with different variances, the variance in the sample is on average
    the mean of those.
    """
    least: Array = np.sqrt(np.mean(np.square(resolutions), axis=-1))
    return least


@dataclass(frozen=True)
class Variance:
    """A part of the variance of an estimate, on the log scale, and the degrees of freedom (above 0, also infinite) with
    which it was estimated."""

    value: float
    df: float


class Welch(NamedTuple):
    """Result of ``welch``: a ratio, its interval, and p, one-sided, of the claim that the ratio points to."""

    ratio: float
    low: float
    high: float
    p: float


def welch(
    difference: float, parts: Sequence[Variance], margin: float = MARGIN, confidence: float = CONFIDENCE
) -> Welch:
    """Estimates the ratio exp(difference) of two independent estimates, and its t interval [4].

    ``difference`` is that of two means of logs. ``parts`` are what its variance is made of: s²/n of each of the two
    with n-1 degrees of freedom, and whatever else varies between them. Their sum is the variance of the difference;
    its degrees of freedom are (sum of parts)² / sum of (part²/df) [5]. ValueError where the sum is 0: then nothing was
    estimated.

    p is one-sided, of the claim that the difference points to. With d = log(1+margin) and e the standard error: one
    beyond d claims to lie beyond, against "at most d": T(-(|difference|-d)/e). One inside claims to lie inside, against
    "at least d or at most -d"; of the two one-sided p values the larger counts [3], that of the nearer edge:
    T(-(d-|difference|)/e). So an interval of confidence 1-2a is beyond the margin, or inside it, just where p <= a.
    """
    variance = math.fsum(part.value for part in parts)
    if not variance > 0:
        raise ValueError("no variance")
    df = variance**2 / math.fsum(part.value**2 / part.df for part in parts)
    error = math.sqrt(variance)
    half = float(special.stdtrit(df, 0.5 + confidence / 2)) * error
    distance = abs(abs(difference) - math.log1p(margin))
    p = float(special.stdtr(df, -distance / error))
    return Welch(exp(difference), exp(difference - half), exp(difference + half), p)


def exp(x: float) -> float:
    """Computes exp without overflow: two blocks that differ wildly have an interval beyond every number."""
    return math.exp(min(max(x, -700.0), 700.0))


def spread(log_ratios: Sequence[float], confidence: float = CONFIDENCE) -> Spread:
    """Estimates the standard deviation of the log ratios and its chi-square interval, (n-1)·s²/χ² (for ``vtlab lab
    aa``)."""
    n = len(log_ratios)
    if n < 2:
        return Spread(n, None, None, None)
    # Equal values count as equal even where their mean is rounded.
    sd = float(np.std(log_ratios, ddof=1)) if max(log_ratios) > min(log_ratios) else 0.0
    tail = (1 - confidence) / 2
    # chdtri takes the upper tail.
    low = sd * math.sqrt((n - 1) / float(special.chdtri(n - 1, tail)))
    high = sd * math.sqrt((n - 1) / float(special.chdtri(n - 1, 1 - tail)))
    return Spread(n, sd, low, high)


#: Where an interval lies.
ABOVE, BELOW, INSIDE, ACROSS = 1, -1, 0, 2


def position(low: Array | float, high: Array | float, margin: float = MARGIN) -> NDArray[np.int8]:
    """Tells where intervals of ratios lie: beyond the margin (``ABOVE``, ``BELOW``), ``INSIDE`` it (edges included), or
    ``ACROSS`` an edge of it. The margin is symmetric on the log scale, from 1/(1+margin) to 1+margin.

    Beyond either edge, and inside [3], are three claims, each of the interval's one-sided level: with a true ratio on
    the edge of the margin a 95 % interval makes one in 2.5 % of runs. (Two one-sided tests of 5 % each, the usual ones,
    would ask for an interval of 90 %.)
    """
    upper = 1 + margin
    lower = 1 / upper
    inside = np.where((np.asarray(low) >= lower) & (np.asarray(high) <= upper), INSIDE, ACROSS)
    return np.where(np.asarray(low) > upper, ABOVE, np.where(np.asarray(high) < lower, BELOW, inside)).astype(np.int8)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusts the p values of several claims (Holm [6]). None (no test made) stays None and does not count."""
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(tested):
        largest = max(largest, min(1.0, p * (len(tested) - rank)))
        adjusted[place] = largest
    return adjusted


def binomial(count: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Returns the exact interval of a share that was seen ``count`` of ``n`` >= 1 times [7]."""
    tail = (1 - confidence) / 2
    low = float(special.betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return low, high
