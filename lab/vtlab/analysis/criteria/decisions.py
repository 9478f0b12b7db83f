"""The decision for a pair of variants, by the first rule that holds.

1. A variant fails, is overloaded at typical load or would be restarted, in at least two blocks and more than half, and
   the other in none: that decides.
2. A claim (``capacity``, and ``median`` and ``tail`` at typical load) is better, none is worse, nor is ``median`` or
   ``tail`` at full load: turn it on; the reverse: leave it off; both ways: a trade-off.
3. Only ``median`` or ``tail`` at full load differ: no difference at typical load; at full load that decides.
4. All of these are the same or without outcome: no difference.

Where a claim is undecided beside rule 2 or 3 the decision is probable; else there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from vtlab.analysis.criteria import reasons
from vtlab.analysis.criteria.judged import Judged, Pair
from vtlab.analysis.validity import failing
from vtlab.model.outcome import Decision, Fault, Outcome
from vtlab.model.verdict import VariantResult

Direction = Literal["turn it on", "leave it off", "trade-off"]
_SETTLED = ("better", "same", "worse")


def decide(judged: Judged, pair: Pair, outcomes: Sequence[Outcome], variants: dict[str, VariantResult]) -> Decision:
    """Decides for a pair by its outcomes, and by the numbers of blocks in which a variant broke."""
    by_fault = _by_fault(judged, pair, variants)
    return by_fault or by_outcomes(pair, outcomes)


def by_outcomes(pair: Pair, outcomes: Sequence[Outcome]) -> Decision:
    """Decides by rules 2 to 4."""
    plain = Decision(of=pair.of, over=pair.over, advice="no decision", rule=None)
    if fails := next((o for o in outcomes if o.judgement == "fails"), None):
        return plain.model_copy(update={"missing": fails.reason})
    claims = [o for o in outcomes if o.is_claim]
    at_full = [o for o in outcomes if o.key.load == "full" and o.key.criterion in ("median", "tail")]
    undecided = [o.key for o in claims if o.judgement == "undecided" or o.is_provisional]
    better, worse = _differing(claims, "better"), _differing(claims, "worse")
    full_better, full_worse = _differing(at_full, "better"), _differing(at_full, "worse")
    common = {"undecided": undecided, "is_probable": bool(undecided), "beside": _beside(outcomes)}
    if better or worse:
        ups, downs = ([*better, *full_better], [*worse, *full_worse])
        return plain.model_copy(update={**common, "rule": 2, **_directed(ups, downs)})
    if full_better or full_worse:
        directed = _directed(full_better, full_worse)
        at_full_advice = directed.pop("advice")
        update = {**common, "rule": 3, "advice": "no difference", "at_full": at_full_advice, **directed}
        return plain.model_copy(update=update)
    if undecided or not any(o.judgement in _SETTLED for o in claims):
        return plain.model_copy(update={**common, "is_probable": False, "missing": _missing(claims)})
    return plain.model_copy(update={**common, "rule": 4, "advice": "no difference"})


def _directed(ups: Sequence[Outcome], downs: Sequence[Outcome]) -> dict[str, object]:
    advice: Direction = "trade-off" if ups and downs else "turn it on" if ups else "leave it off"
    first, second = (ups, downs) if ups else (downs, ups)
    return {"advice": advice, "because": [o.key for o in first], "against": [o.key for o in second]}


def _differing(outcomes: Sequence[Outcome], judgement: str) -> list[Outcome]:
    """Selects those with a judgement, the largest effect first; one without a ratio has no bound."""
    found = [o for o in outcomes if o.judgement == judgement]
    return sorted(found, key=lambda o: -abs(math.log(o.ratio)) if o.ratio else -math.inf)


def _beside(outcomes: Sequence[Outcome]) -> list[object]:
    return [o.key for o in outcomes if o.key.criterion in ("cpu", "memory") and o.judgement in ("better", "worse")]


def _missing(claims: Sequence[Outcome]) -> str:
    return next((o.reason for o in claims if o.reason), "the intervals are too wide")


def _by_fault(judged: Judged, pair: Pair, variants: dict[str, VariantResult]) -> Decision | None:
    """Decides by rule 1; None where no variant alone breaks."""
    n = len(judged.blocks)
    failed = [failing.failed(block, judged.experiment) for block in judged.blocks]
    counts: dict[Fault, dict[str, int]] = {
        "fails": {name: sum(name in names for names in failed) for name in pair.names},
        "overloaded": {name: reasons.overloaded_blocks(judged, name) for name in pair.names},
        "restarted": {
            name: max((p.restarting_blocks for p in variants[name].probes.values() if p.restarts), default=0)
            for name in pair.names
        },
    }
    for fault, by_name in counts.items():
        for loser, other in (pair.names, pair.names[::-1]):
            if failing.fails_under_load(by_name[loser], n) and not by_name[other]:
                advice = "turn it on" if loser == pair.over else "leave it off"
                return Decision(of=pair.of, over=pair.over, advice=advice, rule=1, loser=loser, fault=fault)
    return None
