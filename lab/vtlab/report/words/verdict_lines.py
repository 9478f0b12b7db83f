"""First lines of a run: the verdict in one sentence, why, what to do next, and whether the SLO is met."""

from __future__ import annotations

from dataclasses import dataclass

from vtlab.model.run import Analysis
from vtlab.report.words import advice, next_step, objective, why


@dataclass(frozen=True)
class VerdictLines:
    """The lines VERDICT, WHY, NEXT and SLO; None where there is nothing to say. NEXT always has a step."""

    verdict: str
    why: str | None
    next: str
    slo: str | None = None

    @property
    def labelled(self) -> list[tuple[str, str]]:
        """Returns each line with its label."""
        named = [("VERDICT", self.verdict), ("WHY", self.why), ("NEXT", self.next), ("SLO", self.slo)]
        return [(label, text) for label, text in named if text]


def verdict_lines(analysis: Analysis) -> VerdictLines:
    """Writes the lines of an analysis of one pair (``split_by_pair``)."""
    slo = objective.sentence(analysis)
    return VerdictLines(advice.sentence(analysis), why.sentence(analysis), next_step.sentence(analysis), slo)
