"""Outcomes and decisions of a run, with what typical load and the probes show of each variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vtlab.analysis.criteria import decisions, outcomes, probes, reasons
from vtlab.analysis.criteria.criterion import claims_of, criteria_of
from vtlab.analysis.criteria.judged import Judged, Levels, Pair
from vtlab.analysis.statistics import paired
from vtlab.model.outcome import Decision, Outcome
from vtlab.model.run import Run
from vtlab.model.verdict import RunEnd, VariantResult


@dataclass(frozen=True)
class Conclusions:
    """Outcomes and decisions of a run, and the results of its variants with typical load and probes."""

    outcomes: list[Outcome]
    decisions: list[Decision]
    variants: dict[str, VariantResult]


def levels_of(run: Run, end: RunEnd | None) -> Levels:
    """Computes the levels of the intervals of the look at which the run ended, or is; ``end`` is None where its number
    of blocks was fixed."""
    claims = max(1, claims_of(criteria_of(run.experiment, run.manifest), run.experiment))
    beside = 4 * (len(run.experiment.variants) - 1)
    whole = claims * end.level if end else 1 - paired.CONFIDENCE
    return Levels(whole / claims, whole / beside)


def judge(judged: Judged, results: Mapping[str, VariantResult]) -> Conclusions:
    """Judges the criteria of each pair, and decides."""
    over, *others = judged.experiment.variants
    variants = {name: _with_typical(judged, result, name) for name, result in results.items()}
    found = outcomes.all_outcomes(judged)
    decided = [decisions.decide(judged, Pair(of, over), [o for o in found if o.of == of], variants) for of in others]
    return Conclusions(found, decided, variants)


def _with_typical(judged: Judged, result: VariantResult, variant: str) -> VariantResult:
    """Adds what typical load and the probes show of a variant."""
    found = {load: probes.result(judged, load, variant) for load in probes.loads(judged)}
    return result.model_copy(
        update={
            "overloaded_blocks": reasons.overloaded_blocks(judged, variant),
            "probes": {load: probe for load, probe in found.items() if probe},
        }
    )
