"""The decision for a pair of variants, by the first rule that holds.

1. A variant fails, is overloaded at typical load or would be restarted, in at least two blocks and more than half, and
   the other in none: that decides.
2. A claim (``capacity``, and ``median`` and ``tail`` at typical load) is better, none is worse, nor is ``median`` or
   ``tail`` at full load: turn it on; the reverse: leave it off; both ways: a trade-off.
3. Only ``median`` or ``tail`` at full load differ: that decides about full load. At typical load there is no
   difference; or no decision, where no claim is settled there.
4. The claims are the same or without outcome: no difference. What is undecided at full load is named beside it.

Where a claim is undecided beside rule 2 or 3 that decision is probable; else there is none. It is also probable where
few blocks show a difference near its margin alone: a variant of which some JVMs are slower shows such a one by chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from vtlab.analysis.criteria import reasons
from vtlab.analysis.criteria.differences import differences
from vtlab.analysis.criteria.judged import Judged, Pair
from vtlab.analysis.validity import failing
from vtlab.model.outcome import Decision, Fault, LoadName, Outcome
from vtlab.model.verdict import VariantResult

Direction = Literal["turn it on", "leave it off", "trade-off"]
#: An interval with an end below this ratio, of fewer blocks than that, is near its margin.
NEAR, FEW_BLOCKS = 1.15, 6


def decide(judged: Judged, pair: Pair, outcomes: Sequence[Outcome], variants: Mapping[str, VariantResult]) -> Decision:
    """Decides for a pair by its outcomes, and by the numbers of blocks in which a variant broke."""
    decision = by_outcomes(pair, outcomes)
    if by_fault := _by_fault(judged, pair, variants):
        decision = by_fault.model_copy(update={"beside": decision.beside})
    return decision.model_copy(update={"differences": differences(judged, pair)})


def by_outcomes(pair: Pair, outcomes: Sequence[Outcome]) -> Decision:
    """Decides by rules 2 to 4."""
    plain = Decision(of=pair.of, over=pair.over, advice="no decision", rule=None, beside=_beside(outcomes))
    if fails := next((o for o in outcomes if o.judgement == "fails"), None):
        return plain.model_copy(update={"missing": fails.reason})
    claims = [o for o in outcomes if o.is_claim]
    at_full = [o for o in outcomes if o.key.load == "full" and o.key.criterion in ("median", "tail")]
    better, worse = _differing(claims, "better"), _differing(claims, "worse")
    full_better, full_worse = _differing(at_full, "better"), _differing(at_full, "worse")
    undecided, open_at_full = _undecided(claims), _undecided(at_full)
    plain = plain.model_copy(update={"undecided": [o.key for o in undecided], "is_probable": bool(undecided)})
    if better or worse:
        return plain.model_copy(update={"rule": 2, **_directed([*better, *full_better], [*worse, *full_worse], plain)})
    if full_better or full_worse:
        directed = _directed(full_better, full_worse, plain)
        at_typical = _beside_full_load(claims, undecided)
        return plain.model_copy(update={"rule": 3, **directed, "at_full": directed["advice"], **at_typical})
    if undecided or not any(o.is_settled for o in claims):
        return plain.model_copy(update={"is_probable": False, "missing": _missing(undecided or claims)})
    return plain.model_copy(update={"rule": 4, "advice": "no difference", "undecided": [o.key for o in open_at_full]})


def _directed(ups: Sequence[Outcome], downs: Sequence[Outcome], plain: Decision) -> dict[str, object]:
    advice: Direction = "trade-off" if ups and downs else "turn it on" if ups else "leave it off"
    first, second = (ups, downs) if ups else (downs, ups)
    is_near = any(side and all(map(is_near_margin, side)) for side in (ups, downs))
    return {
        "advice": advice,
        "because": [o.key for o in first],
        "against": [o.key for o in second],
        "is_near_margin": is_near,
        "is_probable": plain.is_probable or is_near,
    }


def _beside_full_load(claims: Sequence[Outcome], undecided: Sequence[Outcome]) -> dict[str, object]:
    """Says what the claims show where none differs: that they are the same, or nothing."""
    load = load_of_claims(claims)
    if any(o.judgement == "same" for o in claims if o.key.load == load):
        return {"advice": "no difference"}
    return {"advice": "no decision", "is_probable": False, "missing": _missing(undecided or claims)}


def load_of_claims(outcomes: Sequence[Outcome]) -> LoadName:
    """Returns the load at which the claims count beside latency at full load: typical load, where one is judged
    there."""
    is_judged = any(o.is_claim and o.judgement and o.key.load == "typical" for o in outcomes)
    return "typical" if is_judged else "full"


def is_near_margin(outcome: Outcome) -> bool:
    """Tells whether few blocks show a difference whose interval begins near the margin."""
    if outcome.low is None or outcome.high is None:
        return False
    nearest = min(abs(math.log(outcome.low)), abs(math.log(outcome.high)))
    return nearest < math.log(NEAR) and len(outcome.log_ratios) < FEW_BLOCKS


def _undecided(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [o for o in outcomes if o.judgement == "undecided" or o.is_provisional]


def _differing(outcomes: Sequence[Outcome], judgement: str) -> list[Outcome]:
    """Selects those with a judgement, the largest effect first; one without a ratio has no bound."""
    found = [o for o in outcomes if o.judgement == judgement]
    return sorted(found, key=lambda o: -abs(math.log(o.ratio)) if o.ratio else -math.inf)


def _beside(outcomes: Sequence[Outcome]) -> list[object]:
    return [o.key for o in outcomes if o.key.criterion in ("cpu", "memory") and o.judgement in ("better", "worse")]


def _missing(claims: Sequence[Outcome]) -> str:
    return next((o.reason for o in claims if o.reason), "the intervals are too wide")


def _by_fault(judged: Judged, pair: Pair, variants: Mapping[str, VariantResult]) -> Decision | None:
    """Decides by rule 1; None where no variant alone breaks."""
    n = len(judged.blocks)
    faults = {name: _faults(judged, name, variants[name]) for name in pair.names}
    for loser, other in (pair.names, pair.names[::-1]):
        fault = next((f for f, count in faults[loser].items() if failing.fails_under_load(count, n)), None)
        if fault and not any(faults[other].values()):
            advice = "turn it on" if loser == pair.over else "leave it off"
            return Decision(of=pair.of, over=pair.over, advice=advice, rule=1, loser=loser, fault=fault)
    return None


def _faults(judged: Judged, variant: str, result: VariantResult) -> dict[Fault, int]:
    """Counts the blocks in which a variant broke, the worst fault first."""
    return {
        "fails": judged.failed_blocks(variant),
        "overloaded": reasons.overloaded_blocks(judged, variant),
        "restarted": max((p.restarting_blocks for p in result.probes.values() if p.restarts), default=0),
    }
