"""What stands below the rows of criteria: which differences matter, what has no outcome, and what else to know."""

from __future__ import annotations

from vtlab.model.run import Analysis
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
    ]
    return [text for text in texts if text]
