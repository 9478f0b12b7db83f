"""The statistics of a verdict: paired log ratios over blocks.

Every function is pure and deterministic. Log ratios are natural logarithms; ratios and margins are plain
numbers (a margin of 0.05 is 5 %). The array functions work on the last axis, so that the simulation
(``vtlab.analysis.statistics.simulation``) calls the very formulae that a real analysis uses.

Sources
    [1] A. Georges, D. Buytaert, L. Eeckhout: Statistically Rigorous Java Performance Evaluation. OOPSLA 2007.
        (the JVM invocation, here the block, is the unit of replication)
    [2] T. Kalibera, R. Jones: Rigorous Benchmarking in Reasonable Time. ISMM 2013. (ratios with intervals)
    [3] Student: The Probable Error of a Mean. Biometrika 6 (1908). (paired t)
    [4] R. A. Fisher: The Design of Experiments, 1935, chapter III. (exact sign-flip test)
    [5] B. Phipson, G. Smyth: Permutation P-values Should Never Be Zero. SAGMB 9 (2010). (sampled sign flips)
    [6] D. Schuirmann: A Comparison of the Two One-Sided Tests Procedure. J. Pharmacokin. Biopharm. 15 (1987).
        (TOST; equivalence: the interval lies inside the margin)
    [7] S. Holm: A Simple Sequentially Rejective Multiple Test Procedure. Scand. J. Statist. 6 (1979).
    [8] S. Julious: Sample sizes for clinical trials with Normal data. Statist. Med. 23 (2004).
    [9] C. Clopper, E. Pearson: The Use of Confidence or Fiducial Limits. Biometrika 26 (1934). (failures of blocks)
    [10] B. L. Welch: The Generalization of "Student's" Problem when Several Different Population Variances are
         Involved. Biometrika 34 (1947). (two runs)
    [11] F. E. Satterthwaite: An Approximate Distribution of Estimates of Variance Components. Biometrics 2 (1946).
         (its degrees of freedom, of any number of parts)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Array = NDArray[np.float64]
Better = Literal["higher", "lower"]
Outcome = Literal["faster", "slower", "equivalent", "inconclusive"]

#: Confidence of every interval.
CONFIDENCE = 0.95
#: Level of every one-sided test. The interval is beyond the margin, or inside it, where the p of that claim is at most
#: this.
LEVEL = (1 - CONFIDENCE) / 2
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
    #: One-sided, of the claim that the ratio points to (``paired_t``).
    p_t: float | None
    p_sign_flip: float | None
    #: Mean and standard deviation of the log ratios, the latter at least the floor; ``sd`` None where n < 2.
    mean: float
    sd: float | None


class PairedT(NamedTuple):
    """Result of ``paired_t``, on the log scale."""

    mean: Array
    low: Array
    high: Array
    p: Array
    sd: Array


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


def paired_t(
    log_ratios: Array, floor: Array | float = 0.0, margin: float = MARGIN, confidence: float = CONFIDENCE
) -> PairedT:
    """Computes the mean, its interval, p and standard deviation; over the last axis, n >= 2 blocks [3].

    All on the log scale. The standard deviation is at least ``floor``, so that blocks with equal counts, whose values
    agree by rounding, have an interval, too.

    p is one-sided, of the claim that the mean points to. With d = log(1+margin) and e the standard error: a mean beyond
    d claims to lie beyond, against "at most d": T(-(|mean|-d)/e). A mean inside claims to lie inside, against "at least
    d or at most -d"; of the two one-sided p values the larger counts [6], that of the nearer edge: T(-(d-|mean|)/e).
    So an interval of confidence 1-2a is beyond the margin, or inside it, just where p <= a.
    """
    n = log_ratios.shape[-1]
    mean = np.mean(log_ratios, axis=-1)
    # Equal values count as equal even where their mean is rounded.
    constant = np.ptp(log_ratios, axis=-1) == 0
    mean = np.where(constant, log_ratios[..., 0], mean)
    sd = np.maximum(np.where(constant, 0.0, np.std(log_ratios, axis=-1, ddof=1)), floor)
    error = sd / math.sqrt(n)
    half = float(special.stdtrit(n - 1, 0.5 + confidence / 2)) * error
    distance = np.abs(np.abs(mean) - math.log1p(margin))
    still = error == 0
    # Of an error next to 0 the quotient is infinite, and p is 0.
    with np.errstate(over="ignore"):
        certain = special.stdtr(n - 1, -distance / np.where(still, 1.0, error))
    p = np.where(still, np.where(distance == 0, 0.5, 0.0), certain)
    return PairedT(mean, mean - half, mean + half, p, sd)


def estimate(
    log_ratios: Sequence[float], floor: float = 0.0, margin: float = MARGIN, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimates the ratio over blocks with its paired t interval and both p values. ValueError for no blocks."""
    n = len(log_ratios)
    if n == 0:
        raise ValueError("no blocks")
    if n == 1:
        return Estimate(1, math.exp(log_ratios[0]), None, None, None, None, log_ratios[0], None)
    t = paired_t(np.asarray(log_ratios, dtype=np.float64), floor, margin, confidence)
    mean, low, high, p, sd = (float(x) for x in t)
    return Estimate(n, math.exp(mean), _exp(low), _exp(high), p, sign_flip(log_ratios, margin), mean, sd)


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
    """Estimates the ratio exp(difference) of two independent estimates, and its t interval [10].

    ``difference`` is that of two means of logs. ``parts`` are what its variance is made of: s²/n of each of the two
    with n-1 degrees of freedom, and whatever else varies between them. Their sum is the variance of the difference;
    its degrees of freedom are (sum of parts)² / sum of (part²/df) [11]. p is that of ``paired_t``, with this error.
    ValueError where the sum is 0: then nothing was estimated.
    """
    variance = math.fsum(part.value for part in parts)
    if not variance > 0:
        raise ValueError("no variance")
    df = variance**2 / math.fsum(part.value**2 / part.df for part in parts)
    error = math.sqrt(variance)
    half = float(special.stdtrit(df, 0.5 + confidence / 2)) * error
    distance = abs(abs(difference) - math.log1p(margin))
    p = float(special.stdtr(df, -distance / error))
    return Welch(_exp(difference), _exp(difference - half), _exp(difference + half), p)


def _exp(x: float) -> float:
    """Computes exp without overflow: two blocks that differ wildly have an interval beyond every number."""
    return math.exp(min(max(x, -700.0), 700.0))


def sign_flip(log_ratios: Sequence[float], margin: float = MARGIN) -> float:
    """Computes the one-sided p of the sign-flip test of the claim that the mean points to, as that of ``paired_t`` [4].

    The values are shifted by the margin. It assumes only that, were the true ratio on the margin, a block's log ratio
    would be symmetric about it, which the random mirrored order brings about. ValueError for no blocks.
    """
    values = np.asarray(log_ratios, dtype=np.float64)
    if not len(values):
        raise ValueError("no blocks")
    edge, mean = math.log1p(margin), math.fsum(log_ratios) / len(values)
    if abs(mean) > edge:
        return _share_of_flips(math.copysign(1, mean) * values - edge)
    return max(_share_of_flips(edge - values), _share_of_flips(edge + values))


def _share_of_flips(values: Array) -> float:
    """Returns the share of sign patterns with a sum as large as that of ``values``.

    All 2^n patterns up to ``EXACT_FLIPS`` values (so the share is at least 1/2^n), beyond it ``SAMPLED_FLIPS``
    patterns from a fixed seed, with the observed one counted [5].
    """
    # Sums that are equal on paper must not differ by rounding.
    observed = math.fsum(values) - 1e-12 * float(np.sum(np.abs(values)))
    if len(values) <= EXACT_FLIPS:
        sums = np.zeros(1)
        for value in values:
            sums = np.concatenate((sums + value, sums - value))
        return float(np.count_nonzero(sums >= observed)) / len(sums)
    random = np.random.default_rng(20_070_801)
    as_large, remaining = 1, SAMPLED_FLIPS
    while remaining:
        size = min(remaining, 10_000)
        signs = random.integers(0, 2, size=(size, len(values)), dtype=np.int8) * 2.0 - 1.0
        as_large += int(np.count_nonzero(signs @ values >= observed))
        remaining -= size
    return as_large / (SAMPLED_FLIPS + 1)


def spread(log_ratios: Sequence[float], confidence: float = CONFIDENCE) -> Spread:
    """Estimates the standard deviation of the log ratios and its chi-square interval, (n-1)·s²/χ² (for ``vtlab
    aa``)."""
    n = len(log_ratios)
    if n < 2:
        return Spread(n, None, None, None)
    sd = float(paired_t(np.asarray(log_ratios, dtype=np.float64)).sd)
    tail = (1 - confidence) / 2
    # chdtri takes the upper tail.
    low = sd * math.sqrt((n - 1) / float(special.chdtri(n - 1, tail)))
    high = sd * math.sqrt((n - 1) / float(special.chdtri(n - 1, 1 - tail)))
    return Spread(n, sd, low, high)


#: Where an interval lies.
ABOVE, BELOW, INSIDE, ACROSS = 1, -1, 0, 2


def position(low: Array | float, high: Array | float, margin: float = MARGIN) -> NDArray[np.int8]:
    """Tells where intervals of ratios lie: beyond the margin (``ABOVE``, ``BELOW``), ``INSIDE`` it (edges included), or
    ``ACROSS`` an edge of it. The margin is symmetric on the log scale, from 1/(1+margin) to 1+margin."""
    upper = 1 + margin
    lower = 1 / upper
    inside = np.where((np.asarray(low) >= lower) & (np.asarray(high) <= upper), INSIDE, ACROSS)
    return np.where(np.asarray(low) > upper, ABOVE, np.where(np.asarray(high) < lower, BELOW, inside)).astype(np.int8)


def outcome(low: float | None, high: float | None, better: Better, margin: float = MARGIN) -> Outcome:
    """Judges an interval of ratios ``of``/``over``.

    ``faster`` means that ``of`` is the better of the two: for a metric where lower is better, a ratio below
    1. An interval beyond the margin is faster or slower, one inside it is equivalent [6], any other, or none, is
    inconclusive. Each of the three has the one-sided ``LEVEL``: with a true ratio on the edge of the margin it is
    given in 2.5 % of runs. (Two one-sided tests of 5 % each, the usual ones, would ask for an interval of 90 %.)
    """
    if low is None or high is None:
        return "inconclusive"
    verdicts: dict[int, Outcome] = {ABOVE: "faster", BELOW: "slower", INSIDE: "equivalent", ACROSS: "inconclusive"}
    if better == "lower":
        verdicts |= {ABOVE: "slower", BELOW: "faster"}
    return verdicts[int(position(low, high, margin))]


def holm_adjusted(p_values: Array) -> Array:
    """Adjusts p values by Holm's method, in their order [7]; over the last axis."""
    order = np.argsort(p_values, axis=-1, kind="stable")
    remaining = np.arange(p_values.shape[-1], 0, -1)
    raised = np.minimum(1.0, np.take_along_axis(p_values, order, axis=-1) * remaining)
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(raised, axis=-1), axis=-1)
    return adjusted


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusts the p values of a report's claims (Holm [7]). None (no test made) stays None and does not count."""
    tested = [(i, p) for i, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    if tested:
        for (i, _), p in zip(tested, holm_adjusted(np.array([p for _, p in tested])), strict=True):
            adjusted[i] = float(p)
    return adjusted


def blocks_needed(n: int, mean: float, sd: float | None, margin: float = MARGIN, level: float = LEVEL) -> int | None:
    """Computes how many blocks of a new run settle the verdict with probability ``POWER``, were mean and sd the
    truth.

    ``mean`` and ``sd`` are those of the log ratios over ``n`` blocks. The least m > n for which ``chance(m,
    …) >= POWER``. None where that cannot be known or told: sd unknown, the mean on the margin, or m above
    ``MOST_BLOCKS``. This is a plan for another run; a run is never extended until its verdict pleases.
    """
    if sd is None or not math.isfinite(sd):
        return None
    if chance(MOST_BLOCKS, mean, sd, margin, level) < POWER:
        return None
    for m in range(n + 1, MOST_BLOCKS + 1):
        if m >= 2 and chance(m, mean, sd, margin, level) >= POWER:
            return m
    return None


def chance(m: int, mean: float, sd: float, margin: float = MARGIN, level: float = LEVEL) -> float:
    """Approximates the probability that m >= 2 blocks give the verdict of the side on which ``mean`` lies.

    With the central t distribution for the estimate about its true mean, d = log(1+margin), e = sd/sqrt(m)
    and t the quantile of the one-sided level: beyond the margin T((|mean|-d)/e - t), inside it T((d-mean)/e - t) +
    T((d+mean)/e - t) - 1 ([8], equations for superiority by a margin and for equivalence).
    """
    d, size = math.log1p(margin), abs(mean)
    if sd == 0:
        return 0.0 if size == d else 1.0
    error = sd / math.sqrt(m)
    t = float(special.stdtrit(m - 1, 1 - level))

    def below(x: float) -> float:
        return float(special.stdtr(m - 1, x))

    if size > d:
        return below((size - d) / error - t)
    return max(0.0, below((d - size) / error - t) + below((d + size) / error - t) - 1)


def binomial(count: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Returns the exact interval of a share that was seen ``count`` of ``n`` >= 1 times [9]."""
    tail = (1 - confidence) / 2
    low = float(special.betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return low, high
