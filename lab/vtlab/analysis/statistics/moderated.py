"""Intervals of a ratio over few blocks: the standard deviation of the blocks, moderated by what is known of others.

Sources
    [1] G. Smyth: Linear Models and Empirical Bayes Methods for Assessing Differential Expression in Microarray
        Experiments. Statist. Appl. Genet. Mol. Biol. 3 (2004), article 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

#: Where the standard deviation of the blocks exceeds so many of the prior's, the prior does not hold.
REFUTED = 2.0


@dataclass(frozen=True)
class Prior:
    """What the blocks of other services tell: standard deviation of a block's log ratio, above 0, and its degrees of
    freedom, above 0."""

    sd: float
    df: float


@dataclass(frozen=True)
class Interval:
    """Mean of log ratios with its interval; ``low`` and ``high`` are None where nothing tells how blocks scatter."""

    mean: float
    low: float | None
    high: float | None
    #: As the interval has it; None likewise.
    sd: float | None
    df: float


def interval(log_ratios: Sequence[float], prior: Prior | None, floor: float, level: float) -> Interval:
    """Computes the t interval of the mean log ratio, with the moderated standard deviation [1].

    s² = (d₀s₀² + d·s²)/(d₀ + d) with d = n-1, at least ``floor``, and d₀ + d degrees of freedom. Without a prior, and
    where the blocks refute it, s and d alone. ``level`` is two-sided. ValueError for no blocks.
    """
    n = len(log_ratios)
    if n == 0:
        raise ValueError("no blocks")
    mean = math.fsum(log_ratios) / n
    sd = float(np.std(log_ratios, ddof=1)) if n > 1 and np.ptp(log_ratios) else 0.0
    df = float(n - 1)
    if prior and sd <= REFUTED * prior.sd:
        sd = math.sqrt((prior.df * prior.sd**2 + df * sd**2) / (prior.df + df))
        df += prior.df
    if not df:
        return Interval(mean, None, None, None, 0.0)
    sd = max(sd, floor)
    half = float(special.stdtrit(df, 1 - level / 2)) * sd / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, sd, df)
