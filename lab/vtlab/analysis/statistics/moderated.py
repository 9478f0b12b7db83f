"""Intervals of a ratio over few blocks: the standard deviation of the blocks, moderated by what is known of others.

Two blocks tell little about how blocks scatter: the t interval of two has 12.7 standard errors on each side. What the
blocks of other services showed is a prior for it [1]. The array functions work on the last axis (blocks), so that the
simulation calls the formulae of a real analysis.

Sources
    [1] G. Smyth: Linear Models and Empirical Bayes Methods for Assessing Differential Expression in Microarray
        Experiments. Statist. Appl. Genet. Mol. Biol. 3 (2004), article 3. (moderated t)
    [2] D. Spiegelhalter, L. Freedman, P. Blackburn: Monitoring Clinical Trials: Conditional or Predictive Power?
        Controlled Clinical Trials 7 (1986). (predictive probability)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from vtlab.analysis.statistics.paired import MARGIN, Array

#: Where the standard deviation of the blocks exceeds so many of the prior's, the prior does not hold. At 2.0 intervals
#: of blocks with two modes covered 89.6 % where the true deviation is 1.5 of the prior's (``simulated_priors``).
REFUTED = 1.5
#: Probability of a smaller sum of squares than that at the upper end of a two-sided 95 % interval.
_UPPER_END = 0.025
#: Probability with which ``blocks_needed`` blocks settle a claim, or all of several.
POWER = 0.8
#: More blocks than this are not advised: it takes days to settle a difference next to the margin.
MOST_BLOCKS = 200
#: Over so many values of the true standard deviation, and of the scatter of further blocks, ``chance`` averages.
_TRUE_SDS, _SCATTERS = 16, 4


@dataclass(frozen=True)
class Prior:
    """What the blocks of other services tell: standard deviation of a block's log ratio, above 0, and its degrees of
    freedom, above 0."""

    sd: float
    df: float


class Intervals(NamedTuple):
    """Result of ``intervals``, on the log scale."""

    mean: Array
    low: Array
    high: Array
    #: As the interval has it, and its degrees of freedom.
    sd: Array
    df: Array


@dataclass(frozen=True)
class Interval:
    """Mean of log ratios with its interval; ``low``, ``high`` and ``sd`` are None where nothing tells how blocks
    scatter."""

    mean: float
    low: float | None
    high: float | None
    sd: float | None
    df: float


def moderate(sd: Array | float, blocks: int, prior: Prior | None) -> tuple[Array, Array]:
    """Moderates the standard deviations of so many blocks [1]; returns them with their degrees of freedom.

    s² = (d₀s₀² + d·s²)/(d₀ + d) with d = n-1, and d₀ + d degrees of freedom. Without a prior, and where the blocks
    refute it, s and d alone. s₀ counts up to the largest deviation that the blocks allow, the upper end of the 95 %
    interval of theirs: a service that scatters far less than others does not pay for them.
    """
    sd, df = np.asarray(sd, dtype=np.float64), float(blocks - 1)
    if prior is None:
        return sd, np.full(sd.shape, df)
    # Equal blocks are rounded ones, and allow anything.
    most = np.where(sd > 0, sd * math.sqrt(df / special.chdtri(df, 1 - _UPPER_END)), np.inf) if df else np.inf
    mixed = np.sqrt((prior.df * np.minimum(prior.sd, most) ** 2 + df * sd**2) / (prior.df + df))
    holds = sd <= REFUTED * prior.sd
    return np.where(holds, mixed, sd), np.where(holds, prior.df + df, df)


def intervals(log_ratios: Array, prior: Prior | None, floor: Array | float, level: float) -> Intervals:
    """Computes t intervals of the mean with the moderated standard deviation, which is at least ``floor``; over the
    last axis, n >= 2 blocks, or 1 with a prior. ``level`` is two-sided."""
    n = log_ratios.shape[-1]
    # Equal values count as equal even where their mean is rounded.
    constant = np.ptp(log_ratios, axis=-1) == 0
    mean = np.where(constant, log_ratios[..., 0], np.mean(log_ratios, axis=-1))
    own = np.where(constant, 0.0, np.std(log_ratios, axis=-1, ddof=1)) if n > 1 else np.zeros(mean.shape)
    sd, df = moderate(own, n, prior)
    sd = np.maximum(sd, floor)
    half = _t(df, level) * sd / math.sqrt(n)
    return Intervals(mean, mean - half, mean + half, sd, df)


def _t(df: Array, level: float) -> Array:
    """Computes quantiles of t distributions for a two-sided level."""
    return _by_df(df, lambda two: np.asarray(special.stdtrit(two, 1 - level / 2)))


def _by_df(df: Array, function: Callable[[Array], Array]) -> Array:
    """Applies a slow function to degrees of freedom, of which ``moderate`` returns at most two: with the prior, and
    without it."""
    if not df.size:
        return function(df)
    least, most = function(np.array([df.min(), df.max()]))
    is_least = (df == df.min()).reshape(df.shape + (1,) * np.ndim(least))
    chosen: Array = np.where(is_least, least, most)
    return chosen


def interval(log_ratios: Sequence[float], prior: Prior | None, floor: float, level: float) -> Interval:
    """Computes the interval of one run. ValueError for no blocks."""
    if not log_ratios:
        raise ValueError("no blocks")
    if len(log_ratios) == 1 and prior is None:
        return Interval(log_ratios[0], None, None, None, 0.0)
    found = intervals(np.asarray(log_ratios, dtype=np.float64), prior, floor, level)
    return Interval(*(float(value) for value in found))


@dataclass(frozen=True)
class Goal:
    """What further blocks are to settle: an interval beyond the margin or inside it, and narrow enough."""

    #: Blocks in the end, and the two-sided level of their interval.
    blocks: int
    level: float
    margin: float = MARGIN
    #: Half-width of the interval, 0.1 for 10 %; infinite for any.
    precision: float = math.inf


@dataclass(frozen=True)
class Seen:
    """What ``blocks`` >= 1 blocks showed: mean and standard deviation of their log ratios, not moderated (0 of a single
    one). Arrays stand for several runs."""

    blocks: int
    mean: Array | float
    sd: Array | float
    prior: Prior | None = None
    floor: Array | float = 0.0


def chance(seen: Seen, goal: Goal) -> Array:
    """Computes the probability that more blocks settle a claim.

    Predictive probability [2], with no knowledge but the blocks and the prior. s² and d are moderated, s' is the true
    deviation, m the blocks in the end:
    - d·s²/s'² has a chi-square distribution with d degrees of freedom;
    - the mean of all is normal about the mean of the n, with the variance s'²·(1/n - 1/m);
    - their variance is ((n-1)·(that of the n) + s'²·q) / (m-1), q of a chi-square distribution with m-n degrees of
      freedom; it is moderated as any other.
    The result is an average over quantiles of s' and q. It takes q and the mean to be independent, and leaves out that
    a look before the last may settle what the last does not. 0 where the blocks tell of no scatter.
    """
    n, m = seen.blocks, goal.blocks
    own = np.asarray(seen.sd, dtype=np.float64)
    known, df = moderate(own, n, seen.prior)
    known = np.maximum(known, seen.floor)
    true_sd = known[..., None] * np.sqrt(df[..., None] / _chi_squares(df, _TRUE_SDS))
    scatter = true_sd[..., None] ** 2 * _chi_squares(np.asarray(float(m - n)), _SCATTERS)
    last_own = np.sqrt(((n - 1) * own[..., None, None] ** 2 + scatter) / (m - 1))
    last_sd, last_df = moderate(last_own, m, seen.prior)
    last_sd = np.maximum(last_sd, np.asarray(seen.floor)[..., None, None])
    half = _t(last_df, goal.level) * last_sd / math.sqrt(m)
    error = np.maximum(true_sd[..., None] * math.sqrt(1 / n - 1 / m), 1e-12)
    settled = _settled(np.asarray(seen.mean, dtype=np.float64)[..., None, None], error, half, goal.margin)
    average: Array = np.mean(np.where(half <= math.log1p(goal.precision), settled, 0.0), axis=(-2, -1))
    return average


def half_width(seen: Seen, blocks: int, level: float) -> float:
    """Computes the half-width, on the log scale, of the interval of so many blocks that scatter as those that were
    seen."""
    sd = np.maximum(moderate(seen.sd, seen.blocks, seen.prior)[0], seen.floor)
    df = moderate(seen.sd, blocks, seen.prior)[1]
    return float(_t(df, level) * sd / math.sqrt(blocks))


def _settled(mean: Array, error: Array, half: Array, margin: float) -> Array:
    """Computes the probability that an interval of this half-width lies beyond the margin or inside it, where its
    middle is normal about ``mean`` with the deviation ``error``."""
    edge = math.log1p(margin)
    beyond = special.ndtr((mean - edge - half) / error) + special.ndtr((-mean - edge - half) / error)
    inside = special.ndtr((edge - half - mean) / error) - special.ndtr((half - edge - mean) / error)
    probability: Array = beyond + np.maximum(inside, 0.0)
    return probability


def _chi_squares(freedom: Array, count: int) -> Array:
    """Computes quantiles of equal weight of chi-square distributions, along a new last axis."""
    shares = (np.arange(count) + 0.5) / count
    return _by_df(freedom, lambda two: np.asarray(special.chdtri(two[..., None], shares)))


def blocks_needed(seen: Seen, level: float, margin: float = MARGIN, among: int = 1) -> int | None:
    """Computes how many blocks of a new run, fixed before its start, probably settle a claim: the least m > n whose
    predictive probability is ``POWER`` or more. ``among``: so many claims, all of which are to be settled with that
    probability; each misses it with an equal share of the rest.

    A new run has none of these blocks: its mean varies by the full s'²/m about the truth, which these blocks know to
    s'²/n. None where more than ``MOST_BLOCKS`` would be needed, or the blocks tell of no scatter. This is a plan for
    another run; a run is never extended until its outcome pleases.
    """
    if seen.blocks < 2:
        return None
    least = 1 - (1 - POWER) / among
    return next((m for m in range(seen.blocks + 1, MOST_BLOCKS + 1) if _power(seen, m, level, margin) >= least), None)


def _power(seen: Seen, blocks: int, level: float, margin: float) -> float:
    """Computes the probability that a new run of so many blocks settles a claim."""
    known, df = moderate(seen.sd, seen.blocks, seen.prior)
    known = np.maximum(known, seen.floor)
    true_sd = known * np.sqrt(df / _chi_squares(df, _TRUE_SDS))
    last_own = true_sd[..., None] * np.sqrt(_chi_squares(np.asarray(float(blocks - 1)), _SCATTERS) / (blocks - 1))
    last_sd, last_df = moderate(last_own, blocks, seen.prior)
    last_sd = np.maximum(last_sd, seen.floor)
    half = _t(last_df, level) * last_sd / math.sqrt(blocks)
    error = np.maximum(true_sd[..., None] * math.sqrt(1 / seen.blocks + 1 / blocks), 1e-12)
    return float(np.mean(_settled(np.asarray(seen.mean, dtype=np.float64), error, half, margin)))
