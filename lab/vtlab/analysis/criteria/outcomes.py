"""Outcomes of a run: each further variant beside the first one, by criterion and load.

Per block the log ratio of the variants' means, over blocks a t interval with the moderated standard deviation
(``vtlab.analysis.statistics.moderated``). Outcome and interval always agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from vtlab.analysis.criteria import floors, levels, priors, probes, prospects, reasons
from vtlab.analysis.criteria.criterion import Criterion, criteria_of
from vtlab.analysis.criteria.judged import Judged, Pair
from vtlab.analysis.criteria.reasons import Reason
from vtlab.analysis.statistics import moderated, paired
from vtlab.model.outcome import Better, Judgement, Outcome


def all_outcomes(judged: Judged) -> list[Outcome]:
    """Judges every criterion of every pair, in the order of reports."""
    over, *others = judged.experiment.variants
    return [outcome for of in others for outcome in _of_pair(judged, Pair(of, over))]


def _of_pair(judged: Judged, pair: Pair) -> list[Outcome]:
    listed = criteria_of(judged.experiment, judged.manifest)
    found = [_outcome(judged, criterion, pair) for criterion in listed]
    of_new_run = levels.of_fixed_blocks(judged.experiment)
    return [*prospects.with_blocks_needed(found, of_new_run), probes.outcome(judged, pair)]


def claims(judged: Judged) -> list[Outcome]:
    """Judges the claims alone: they tell whether the run ends."""
    over, *others = judged.experiment.variants
    listed = [c for c in criteria_of(judged.experiment, judged.manifest) if c.is_claim]
    return [_outcome(judged, criterion, Pair(of, over)) for of in others for criterion in listed]


def _outcome(judged: Judged, criterion: Criterion, pair: Pair) -> Outcome:
    blocks = pair.sound_blocks(judged)
    base_values, values = ([criterion.value(b, judged.experiment, v) for b in blocks] for v in pair.names)
    base_value, value = _geometric_mean(base_values), _geometric_mean(values)
    plain = Outcome(
        key=criterion.key,
        of=pair.of,
        over=pair.over,
        judgement=None,
        percentile=criterion.percentile,
        base_value=base_value,
        value=value,
        margin=criterion.margin(base_value),
        better=criterion.better,
        is_claim=criterion.is_claim,
    )
    if reason := reasons.against(judged, criterion, pair):
        return plain.model_copy(update=_by(reason))
    if not base_value or not value:
        return plain.model_copy(update={"reason": reasons.NOT_MEASURED})
    logs = [math.log(v / b) for v, b in zip(values, base_values, strict=True) if v and b]
    return _with_interval(judged, criterion, plain, logs, floors.floor(judged.experiment, criterion, blocks, pair))


def _by(reason: Reason) -> dict[str, object]:
    return {"judgement": reason.judgement, "reason": reason.text, "fails": list(reason.fails)}


def _with_interval(judged: Judged, criterion: Criterion, plain: Outcome, logs: list[float], floor: float) -> Outcome:
    level = judged.levels.claim if criterion.is_claim else judged.levels.beside
    found = moderated.interval(logs, priors.prior(criterion.key), floor, level)
    low, high = (None if end is None else paired.exp(end) for end in (found.low, found.high))
    is_single = len(logs) < 2
    return plain.model_copy(
        update={
            "judgement": None if is_single else judgement(low, high, plain.margin, plain.better),
            "reason": reasons.ONE_BLOCK if is_single else None,
            "ratio": math.exp(found.mean),
            "low": low,
            "high": high,
            "level": level,
            "is_provisional": is_single,
            "log_ratios": logs,
            "sd": found.sd,
            "df": found.df,
        }
    )


def judgement(low: float | None, high: float | None, margin: float, better: Better) -> Judgement:
    """Judges an interval of ratios by the margin."""
    if low is None or high is None:
        return "undecided"
    place = int(paired.position(low, high, margin))
    if place == paired.ACROSS:
        return "undecided"
    if place == paired.INSIDE:
        return "same"
    return "better" if (place == paired.ABOVE) == (better == "higher") else "worse"


def _geometric_mean(values: Sequence[float | None]) -> float | None:
    """Averages values as ratios are averaged; None where one is missing or 0, or there is none."""
    known = [math.log(value) for value in values if value]
    return math.exp(math.fsum(known) / len(known)) if known and len(known) == len(values) else None
