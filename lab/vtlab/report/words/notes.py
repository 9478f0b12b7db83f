"""What stands below the rows of criteria: which differences matter, what has no outcome, and what else to know."""

from __future__ import annotations

from vtlab.analysis.statistics import stopping_rule
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.report.words import curve_sentences, hints, outcome_rows


def notes(analysis: Analysis) -> list[str]:
    """Writes the notes of an analysis of one pair; none where no block counts."""
    if not analysis.verdict.n:
        return []
    texts = [
        outcome_rows.margins(analysis),
        *outcome_rows.reasons(analysis),
        curve_sentences.decision_sentence(analysis),
        hints.quick_look(analysis),
        _wide_capacity(analysis),
    ]
    return [text for text in texts if text]


def _wide_capacity(analysis: Analysis) -> str | None:
    """Says that the interval of a settled capacity is wider than its target, and why; None where it is not."""
    verdict = analysis.verdict
    capacity = next((o for o in verdict.outcomes if o.key.criterion == "capacity"), None)
    if verdict.end is None or not verdict.valid or capacity is None or capacity.low is None or capacity.high is None:
        return None
    end = verdict.end
    if not capacity.is_settled or stopping_rule.is_precise(capacity.low, capacity.high, end.precision):
        return None
    why = {
        "futile": f"even {end.looks[-1]} blocks are unlikely to reach it",
        "within": "too little time was left for another block (--max-time)",
    }.get(end.ended or "", f"{verdict.n} blocks are the maximum of a run")
    return f"The interval of capacity is wider than the target of ±{percent(end.precision)}: {why}."
