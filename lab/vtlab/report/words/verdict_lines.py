"""What a run says first: the verdict in one sentence, why, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass

from vtlab.model.outcome import Decision
from vtlab.model.run import Analysis


@dataclass(frozen=True)
class VerdictLines:
    """The lines VERDICT, WHY and NEXT; None where there is nothing to say."""

    verdict: str
    why: str | None
    next: str | None


def verdict_lines(analysis: Analysis) -> VerdictLines:
    """Writes the lines of an analysis of one pair (``split_by_comparison``)."""
    decision = analysis.verdict.decisions[0]
    return VerdictLines(_advice(decision), None, None)


def _advice(decision: Decision) -> str:
    probably = "Probably " if decision.is_probable else ""
    reason = f": {decision.missing}" if decision.missing else ""
    return f"{probably}{decision.advice}{reason}"
