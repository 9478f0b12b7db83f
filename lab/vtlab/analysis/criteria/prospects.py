"""Prospects of a claim that is not settled: what more blocks would do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vtlab.analysis.criteria import priors
from vtlab.analysis.criteria.judged import Levels
from vtlab.analysis.statistics import moderated, stopping_rule
from vtlab.analysis.statistics.moderated import Goal, Seen
from vtlab.model.manifest import SequentialRule
from vtlab.model.outcome import Outcome


def chance(rule: SequentialRule, claim: Outcome, blocks: int) -> float:
    """Computes the probability that a claim after so many blocks will be settled at the last look; 0 where its interval
    does not judge it, and more blocks cannot change that."""
    if claim.reason or len(claim.log_ratios) < 2:
        return 0.0 if blocks >= stopping_rule.WITHOUT_INTERVAL else 1.0
    goal = Goal(rule.looks[-1], rule.levels[-1], claim.margin, stopping_rule.wanted_precision(rule, claim))
    return float(moderated.chance(_seen(claim), goal))


def with_blocks_needed(outcomes: Sequence[Outcome], levels: Levels) -> list[Outcome]:
    """Adds to the outcomes of a pair how many blocks of a new run, fixed before its start, would probably settle each
    that is undecided by its interval, and all such claims together. ``levels``: of that run."""
    open_ = [o for o in outcomes if o.judgement == "undecided" and not o.reason and len(o.log_ratios) >= 2]
    claims = sum(o.is_claim for o in open_)
    needed = {
        o.key: moderated.blocks_needed(
            _seen(o), levels.claim if o.is_claim else levels.beside, o.margin, claims if o.is_claim else 1
        )
        for o in open_
    }
    return [o.model_copy(update={"blocks_needed": needed.get(o.key)}) for o in outcomes]


def half_width(rule: SequentialRule, claim: Outcome, blocks: int) -> float | None:
    """Predicts the half-width of a claim's interval after so many blocks, the last for which there is time, 0.05 for
    5 %: they scatter as those so far, and as the prior says. None where nothing tells how they scatter."""
    if not claim.log_ratios or (len(claim.log_ratios) < 2 and priors.prior(claim.key) is None):
        return None
    return math.expm1(moderated.half_width(_seen(claim), blocks, stopping_rule.last_level(rule, blocks)))


def _seen(claim: Outcome) -> Seen:
    """Returns what the blocks of a claim showed. The floor is known where it made the deviation larger."""
    logs = np.asarray(claim.log_ratios)
    own, prior = float(np.std(logs, ddof=1)) if len(logs) > 1 else 0.0, priors.prior(claim.key)
    mixed = float(moderated.moderate(own, len(logs), prior)[0])
    floor = claim.sd if claim.sd is not None and claim.sd > mixed else 0.0
    return Seen(len(logs), math.fsum(claim.log_ratios) / len(logs), own, prior, floor)
