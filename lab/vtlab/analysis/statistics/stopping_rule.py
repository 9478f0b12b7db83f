"""Group-sequential blocks: a run is looked at after fixed numbers of blocks, and ends when its claims are settled.

At each look the t interval has a level of its own, so that all looks together spend ``ALPHA``: the intervals of all
looks cover the true ratio at once with ``CONFIDENCE`` (repeated confidence intervals [1]). So a run may end at any
look, for any reason, and the interval of that look holds. Of the m claims of a run each spends ``ALPHA``/m. Criteria
that are read once, where the run ended, have the level that as many claims would have at that look. A run that its time
ends, and not what it found, spends at its last look all that the looks before left [2].

A run ends at the first look at which all its claims are settled and the interval of ``capacity`` is narrow enough, or
where that is improbable up to the last look, or where the next look does not fit into the time that the call gave it.

Sources
    [1] C. Jennison, B. Turnbull: Interim Analyses: the Repeated Confidence Interval Approach. J. R. Statist. Soc. B 51
        (1989).
    [2] K. Lan, D. DeMets: Discrete Sequential Boundaries for Clinical Trials. Biometrika 70 (1983). (spent alpha)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vtlab.analysis.statistics import paired
from vtlab.analysis.statistics.paired import Array
from vtlab.model.manifest import SequentialRule
from vtlab.model.outcome import Outcome
from vtlab.model.verdict import Ended, RunEnd

#: Blocks at which a run is looked at.
LOOKS = (2, 3, 4, 6, 9, 12)
#: What the intervals of all looks of all claims of a run may miss together.
ALPHA = 1 - paired.CONFIDENCE
#: Two-sided levels of the looks that add up to ``ALPHA``. A clear difference with little noise is to be settled at the
#: first look, whose interval is the widest: so its level is the largest.
NOMINAL = (0.02, 0.008, 0.007, 0.006, 0.005, 0.004)
#: By how much the levels may be larger, as looks share blocks, for up to so many claims of a run. Of more none may.
#: ``python -m benchmarks.levels`` in lab/ prints them.
FACTORS = {1: 1.25, 2: 1.18, 3: 1.15, 4: 1.13, 5: 1.12, 6: 1.11, 8: 1.10, 10: 1.09, 15: 1.07, 20: 1.07}
#: A run ends where each open claim will be settled with a probability below this. Not before so many blocks: the
#: interval of fewer says next to nothing.
FUTILE, FUTILE_FROM = 0.05, 4
#: Half-width of the interval of ``capacity`` that a run asks for where none is named: from ratio / 1.1 to ratio x 1.1.
PRECISION = 0.10
#: A claim that is undecided without regard to its interval (a variant failed, or was overloaded, in some blocks) is
#: given up at so many blocks.
WITHOUT_INTERVAL = 6


def sequential_rule(claims: int, precision: float = PRECISION, within: float | None = None) -> SequentialRule:
    """Makes the rule of a run with so many claims.

    ``precision``: the wanted half-width of the interval, 0.1 for 10 %. ``within``: seconds that the run may take.
    """
    return SequentialRule(
        looks=list(LOOKS),
        levels=[level * level_factor(claims) / claims for level in NOMINAL],
        claims=claims,
        precision=precision,
        within=within,
    )


def level_factor(claims: int) -> float:
    """Returns the factor by which the levels of this many claims exceed those of independent looks."""
    return next((value for most, value in FACTORS.items() if claims <= most), 1.0)


def level_among(level: float, claims: int, others: int) -> float:
    """Converts the level of a look for so many claims into that for another number of them."""
    return level * claims / level_factor(claims) * level_factor(others) / others


def level(rule: SequentialRule, blocks: int) -> float:
    """Returns the two-sided level of the interval after a number of blocks: between two looks that of the next."""
    return next((a for look, a in zip(rule.looks, rule.levels, strict=True) if blocks <= look), rule.levels[-1])


def last_level(rule: SequentialRule, blocks: int) -> float:
    """Returns the two-sided level of the interval after a number of blocks that no other look follows, as the time is
    over: what the looks before did not spend. Their blocks may be shared or not: the levels are added up."""
    spent = math.fsum(a for look, a in zip(rule.looks, rule.levels, strict=True) if look < blocks)
    return max(level(rule, blocks), ALPHA / rule.claims - spent)


def in_time(rule: SequentialRule, blocks: int) -> SequentialRule:
    """Makes the rule of a run whose time is over after so many blocks: the looks before, and a last one there."""
    before = [look for look in rule.looks if look < blocks]
    levels = [*rule.levels[: len(before)], last_level(rule, blocks)]
    return rule.model_copy(update={"looks": [*before, blocks], "levels": levels})


def next_look(looks: Sequence[int], blocks: int) -> int:
    """Returns the first look after a number of blocks, or else the last look."""
    return next((look for look in looks if look > blocks), looks[-1])


def is_precise(low: Array | float, high: Array | float, precision: float) -> Array:
    """Tells whether intervals of ratios reach no further from their middle, on the log scale, than the precision."""
    narrow: Array = np.log(np.asarray(high) / np.asarray(low)) <= 2 * math.log1p(precision)
    return narrow


@dataclass(frozen=True)
class Blocks:
    """What the first blocks of a run that count tell, by their number."""

    #: Outcomes of the claims with the intervals of the look after so many blocks.
    claims: Callable[[int], Sequence[Outcome]]
    #: Whether failing ends the run.
    fails: Callable[[int], bool]
    #: Probability that a claim after so many blocks will be settled.
    chance: Callable[[Outcome, int], float]


@dataclass(frozen=True)
class Time:
    """Time of a run after some of its blocks."""

    #: Seconds that the run has taken, rejected attempts included.
    spent: float
    #: Seconds that another block most likely takes.
    block: float


def run_end(rule: SequentialRule, times: Sequence[Time], told: Blocks) -> RunEnd:
    """Decides whether a run has ended after its blocks, at which look and why, or continues to the next look.

    ``times``: before the run's first block that counts, and after each of them.

    Only the first attempt is made in any case. No other begins where it, or another up to the next look, does not fit.
    """
    for blocks, time in enumerate(times):
        chances: list[float] = []
        ended: Ended | None = None
        if blocks in rule.looks:
            judged = told.claims(blocks)
            chances = [told.chance(claim, blocks) for claim in judged if not _is_done(rule, claim)]
            ended = "failing" if told.fails(blocks) else _reason_to_stop(rule, judged, blocks, chances)
        if ended is None and time.spent and not fits(rule, blocks, time):
            ended = "within"
        if ended:
            return _end_at(rule, blocks, ended, chances)
    return _end_at(rule, len(times) - 1, None, [])


def _end_at(rule: SequentialRule, blocks: int, ended: Ended | None, chances: Sequence[float]) -> RunEnd:
    return RunEnd(
        looks=rule.looks,
        blocks=blocks,
        level=last_level(rule, blocks) if ended == "within" else level(rule, blocks),
        claims=rule.claims,
        precision=rule.precision,
        within=rule.within,
        ended=ended,
        chance=max(chances, default=None) if ended == "futile" else None,
    )


def _reason_to_stop(
    rule: SequentialRule, claims: Sequence[Outcome], look: int, chances: Sequence[float]
) -> Ended | None:
    """Names the reason for which the blocks up to a look end a run; None where nothing does."""
    is_any_settled = any(c.is_settled for c in claims)
    if is_any_settled and all(_is_done(rule, c) for c in claims):
        return "settled"
    if look == rule.looks[-1]:
        return "last look"
    if look >= FUTILE_FROM and max(chances, default=0.0) < FUTILE:
        return "futile"
    return None


def next_goal(looks: Sequence[int], blocks: int) -> int:
    """Returns the number of blocks that a run must have time for. The first is of use by itself: it shows what limits a
    variant. Later ones are where the next look is."""
    return next_look(looks, blocks) if blocks else 1


def fits(rule: SequentialRule, blocks: int, time: Time) -> bool:
    """Tells whether the blocks that follow end in time."""
    more = next_goal(rule.looks, blocks) - blocks
    return rule.within is None or time.spent + more * time.block <= rule.within


def _is_done(rule: SequentialRule, claim: Outcome) -> bool:
    """Tells whether a claim needs no more blocks: it is settled, or more blocks give it no outcome either. An overload
    settles it without an interval."""
    if not claim.is_settled:
        return claim.judgement is None
    if claim.low is None or claim.high is None:
        return True
    return bool(is_precise(claim.low, claim.high, wanted_precision(rule, claim)))


def wanted_precision(rule: SequentialRule, claim: Outcome) -> float:
    """Returns the half-width that the interval of a claim is to have; infinite for any."""
    return rule.precision if claim.key.criterion == "capacity" else math.inf
