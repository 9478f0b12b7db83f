"""Outcomes and decisions of a run, with what typical load and the probes show of each variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vtlab.analysis.criteria import decisions, outcomes, probes, reasons
from vtlab.analysis.criteria.criterion import loads_of
from vtlab.analysis.criteria.judged import Judged, Pair
from vtlab.model.outcome import Decision, Outcome
from vtlab.model.verdict import VariantResult

LOAD_ALONE = "the load alone limits both"


@dataclass(frozen=True)
class Conclusions:
    """Outcomes and decisions of a run, and the results of its variants with typical load and probes."""

    outcomes: list[Outcome]
    decisions: list[Decision]
    variants: dict[str, VariantResult]


def judge(judged: Judged, results: Mapping[str, VariantResult]) -> Conclusions:
    """Judges the criteria of each pair, and decides."""
    over, *others = judged.experiment.variants
    variants = {name: _with_typical(judged, result, name) for name, result in results.items()}
    found = [_bounded_by_load(outcome, variants) for outcome in outcomes.all_outcomes(judged)]
    decided = [decisions.decide(judged, Pair(of, over), [o for o in found if o.of == of], variants) for of in others]
    return Conclusions(found, decided, variants)


def _bounded_by_load(outcome: Outcome, variants: Mapping[str, VariantResult]) -> Outcome:
    """Marks ``capacity`` as a lower bound where the load alone limits the better variant, and what limits the other has
    a bound: with more users the first serves more, and the other does not. Without such a bound, as of requests that
    wait for a carrier while the CPU is idle, more users may bring both closer. Judges it the same where the load alone
    limits both: neither was shown to serve less, unless the interval lies beyond the margin."""
    ratio = outcome.ratio
    if outcome.key.criterion != "capacity" or ratio is None or outcome.judgement in (None, "fails"):
        return outcome
    keep_up = {name: variants[name].keeps_up for name in (outcome.of, outcome.over)}
    if all(keep_up.values()):
        changes = {"judgement": "same", "reason": LOAD_ALONE} if outcome.judgement == "undecided" else {}
        return outcome.model_copy(update={"is_lower_bound": True, **changes})
    better, other = (outcome.of, outcome.over) if ratio > 1 else (outcome.over, outcome.of)
    is_bound = keep_up[better] and variants[other].bottleneck.bound is not None
    return outcome.model_copy(update={"is_lower_bound": outcome.judgement != "same" and is_bound})


def _with_typical(judged: Judged, result: VariantResult, variant: str) -> VariantResult:
    """Adds what typical load and the probes show of a variant."""
    found = {load: probes.result(judged, load, variant) for load in loads_of(judged.experiment)}
    return result.model_copy(
        update={
            "overloaded_blocks": reasons.overloaded_blocks(judged, variant),
            "probes": {load: probe for load, probe in found.items() if probe},
        }
    )
