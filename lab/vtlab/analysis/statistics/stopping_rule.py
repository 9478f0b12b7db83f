"""Group-sequential blocks: a run is looked at after fixed numbers of blocks, and ends when its verdict is settled.

At each look the paired t interval has a level of its own, so that all looks together spend ``ALPHA``: the intervals of
all looks cover the true ratio at once with ``CONFIDENCE`` (repeated confidence intervals [1]). So a run may end at any
look, for any reason, and the interval of that look holds. Of k comparisons in one call each spends ``ALPHA``/k.

A run ends at the first look at which its verdict is settled and its interval narrow enough, or where that is improbable
up to the last look, or where the next look does not fit into the time that the call gave it.

Sources
    [1] C. Jennison, B. Turnbull: Interim Analyses: the Repeated Confidence Interval Approach. J. R. Statist. Soc. B 51
        (1989).
    [2] K. Lan, D. DeMets: Discrete Sequential Boundaries for Clinical Trials. Biometrika 70 (1983). (spent alpha)
    [3] D. Spiegelhalter, L. Freedman, P. Blackburn: Monitoring Clinical Trials: Conditional or Predictive Power?
        Controlled Clinical Trials 7 (1986). (futility)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from vtlab.analysis.statistics import paired
from vtlab.analysis.statistics.paired import Array
from vtlab.model.manifest import SequentialRule
from vtlab.model.verdict import Comparison, Ended, RunEnd

#: Blocks at which a run is looked at.
LOOKS = (2, 3, 4, 6, 9, 12)
#: What the intervals of all looks of all comparisons of one call may miss together.
ALPHA = 1 - paired.CONFIDENCE
#: Two-sided levels of the looks that add up to ``ALPHA``. A clear difference with little noise is to be settled at the
#: first look, whose interval is the widest: so its level is the largest.
NOMINAL = (0.02, 0.008, 0.007, 0.006, 0.005, 0.004)
#: By how much the levels may be larger, as looks share blocks, for up to so many comparisons in a call. Of more none
#: may. ``python -m benchmarks.levels`` in lab/ prints them.
FACTORS = {1: 1.25, 2: 1.18, 3: 1.15, 4: 1.13, 5: 1.12, 6: 1.11, 8: 1.10, 10: 1.09, 15: 1.07, 20: 1.07}
#: A run ends where its verdict will be settled with a probability below this. Not before so many blocks: the interval
#: of fewer says next to nothing.
FUTILE, FUTILE_FROM = 0.05, 4
#: Half-width of the ratio's interval that a run asks for where none is named: from ratio / 1.1 to ratio x 1.1.
PRECISION = 0.10
#: A comparison without an interval (a variant failed, or was overloaded in some trials) ends at so many blocks.
WITHOUT_INTERVAL = 6

_SETTLED = ("faster", "slower", "equivalent")
#: Over so many values of the true standard deviation, and of the scatter of further blocks, ``chance`` averages.
_TRUE_SDS, _SCATTERS = 16, 4


def sequential_rule(comparisons: int, precision: float = PRECISION, within: float | None = None) -> SequentialRule:
    """Makes the rule of a run, given the number of comparisons in its call.

    ``precision``: the wanted half-width of the interval, 0.1 for 10 %. ``within``: seconds that the run may take.
    """
    return SequentialRule(
        looks=list(LOOKS),
        levels=[level * level_factor(comparisons) / comparisons for level in NOMINAL],
        comparisons=comparisons,
        precision=precision,
        within=within,
    )


def level_factor(comparisons: int) -> float:
    """Returns the factor by which the levels of this many comparisons exceed those of independent looks."""
    return next((value for most, value in FACTORS.items() if comparisons <= most), 1.0)


def level(rule: SequentialRule, blocks: int) -> float:
    """Returns the two-sided level of the interval after a number of blocks: between two looks that of the next."""
    return next((a for look, a in zip(rule.looks, rule.levels, strict=True) if blocks <= look), rule.levels[-1])


def next_look(looks: Sequence[int], blocks: int) -> int:
    """Returns the first look after a number of blocks, or else the last look."""
    return next((look for look in looks if look > blocks), looks[-1])


def is_precise(low: Array | float, high: Array | float, precision: float) -> Array:
    """Tells whether intervals of ratios reach no further from their middle, on the log scale, than the precision."""
    narrow: Array = np.log(np.asarray(high) / np.asarray(low)) <= 2 * math.log1p(precision)
    return narrow


def chance(rule: SequentialRule, blocks: int, mean: Array | float, sd: Array | float) -> Array:
    """Computes the probability that the interval of the last look settles the verdict and is narrow enough, after 2 <=
    ``blocks`` < the last look, with this mean and standard deviation (> 0) of the log ratios. Arrays are taken element
    by element.

    Predictive probability [3], with no knowledge of mean and deviation but the blocks. With m blocks in the end, and s'
    the true deviation:
    - (n-1)·s²/s'² has a chi-square distribution with n-1 degrees of freedom;
    - the mean of all is normal about the mean of the n, with the variance s'²·(1/n - 1/m);
    - their variance is ((n-1)·s² + s'²·q) / (m-1), q of a chi-square distribution with m-n degrees of freedom.
    The result is an average over quantiles of s' and q. It takes q and the mean to be independent, and leaves out that
    a look before the last may settle the verdict where the last does not.
    """
    n, m = blocks, rule.looks[-1]
    mean, sd = (np.asarray(x, dtype=np.float64)[..., None, None] for x in (mean, sd))
    true_sd = sd * np.sqrt((n - 1) / _chi_squares(n - 1, _TRUE_SDS)[:, None])
    last_sd = np.sqrt(((n - 1) * sd**2 + true_sd**2 * _chi_squares(m - n, _SCATTERS)) / (m - 1))
    half = float(special.stdtrit(m - 1, 1 - rule.levels[-1] / 2)) * last_sd / math.sqrt(m)
    error = true_sd * math.sqrt(1 / n - 1 / m)
    edge = math.log1p(paired.MARGIN)
    beyond = special.ndtr((mean - edge - half) / error) + special.ndtr((-mean - edge - half) / error)
    inside = special.ndtr((edge - half - mean) / error) - special.ndtr((half - edge - mean) / error)
    settled = np.where(half <= math.log1p(rule.precision), beyond + np.maximum(inside, 0.0), 0.0)
    average: Array = np.mean(settled, axis=(-2, -1))
    return average


def _chi_squares(freedom: int, count: int) -> Array:
    """Computes quantiles of equal weight of a chi-square distribution."""
    quantiles: Array = special.chdtri(freedom, (np.arange(count) + 0.5) / count)
    return quantiles


@dataclass(frozen=True)
class Time:
    """Time of a run after some of its blocks."""

    #: Seconds that the run has taken, rejected attempts included.
    spent: float
    #: Seconds that another block most likely takes.
    block: float


def run_end(
    rule: SequentialRule,
    times: Sequence[Time],
    comparisons: Callable[[int], Sequence[Comparison]],
    fails: Callable[[int], bool],
) -> RunEnd:
    """Decides whether a run has ended after its blocks, at which look and why, or continues to the next look.

    ``times``: before the run's first block that counts, and after each of them. ``comparisons`` and ``fails`` are asked
    for the run's first so many blocks: the primary comparisons with the intervals of that look, and whether failing
    ends the run.

    Only the first attempt is made in any case. No other begins where it, or another up to the next look, does not fit.
    """
    for blocks, time in enumerate(times):
        judged: Sequence[Comparison] = []
        ended: Ended | None = None
        if blocks in rule.looks:
            judged = comparisons(blocks)
            ended = "failing" if fails(blocks) else _reason_to_stop(rule, judged, blocks)
        if ended is None and time.spent and not _fits(rule, blocks, time):
            ended = "within"
        if ended:
            return _end_at(rule, blocks, ended, judged)
    return _end_at(rule, len(times) - 1, None, [])


def _end_at(rule: SequentialRule, blocks: int, ended: Ended | None, judged: Sequence[Comparison]) -> RunEnd:
    chances = [_chance(rule, c, blocks) for c in judged if not _is_settled(rule, c)] if ended == "futile" else []
    return RunEnd(
        looks=rule.looks,
        blocks=blocks,
        level=level(rule, blocks),
        comparisons=rule.comparisons,
        precision=rule.precision,
        within=rule.within,
        ended=ended,
        chance=max(chances, default=None),
    )


def _reason_to_stop(rule: SequentialRule, comparisons: Sequence[Comparison], look: int) -> Ended | None:
    """Names the reason for which the blocks up to a look end a run; None where nothing does."""
    if all(_is_settled(rule, c) for c in comparisons):
        return "settled"
    if look == rule.looks[-1]:
        return "last look"
    if look >= FUTILE_FROM and all(_is_settled(rule, c) or _chance(rule, c, look) < FUTILE for c in comparisons):
        return "futile"
    return None


def next_goal(looks: Sequence[int], blocks: int) -> int:
    """Returns the number of blocks that a run must have time for. The first is of use by itself: it shows what limits a
    variant. Later ones are where the next look is."""
    return next_look(looks, blocks) if blocks else 1


def _fits(rule: SequentialRule, blocks: int, time: Time) -> bool:
    """Tells whether the blocks that follow end in time."""
    more = next_goal(rule.looks, blocks) - blocks
    return rule.within is None or time.spent + more * time.block <= rule.within


def _is_settled(rule: SequentialRule, comparison: Comparison) -> bool:
    """Tells whether more blocks are not needed. An overload in every trial settles a verdict without an interval."""
    if comparison.verdict not in _SETTLED:
        return False
    low, high = comparison.low, comparison.high
    return low is None or high is None or bool(is_precise(low, high, rule.precision))


def _chance(rule: SequentialRule, comparison: Comparison, look: int) -> float:
    """Computes the probability that this comparison will be settled; 0 where it has no test and more blocks cannot give
    one."""
    c = comparison
    if c.p_t is None or c.ratio is None or not c.sd:
        return 0.0 if len(c.overloaded) > 1 or look >= WITHOUT_INTERVAL else 1.0
    return float(chance(rule, look, math.log(c.ratio), c.sd))
