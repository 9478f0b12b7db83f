"""Outcomes of a pair as rows of text: the same on terminal, page, Markdown and JUnit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.manifest import Manifest
from vtlab.model.outcome import CriterionName, LoadName, Outcome
from vtlab.model.run import Analysis
from vtlab.report.words import figures, phrases

#: Beside each word, for readers without colour.
SYMBOLS = {"better": "▲", "worse": "▼", "same": "=", "undecided": "?", "fails": "✗", None: "·"}
NO_OUTCOME = "no outcome"
#: How values of a criterion are written, and the unit that stands before them.
_FORMS: dict[CriterionName, tuple[str, Callable[[float | None], str]]] = {
    "capacity": ("req/s", lambda value: figures.rate(value).removesuffix("/s")),
    "median": ("", figures.duration),
    "tail": ("", figures.duration),
    "cpu": ("s/1,000", lambda value: figures.DASH if value is None else figures.significant(value)),
    "memory": ("", figures.memory),
    "probe": ("longest", figures.duration),
}


@dataclass(frozen=True)
class OutcomeRow:
    """An outcome in words."""

    outcome: Outcome
    #: ``tail (p95)``.
    criterion: str
    #: ``24 users``, ``29/s``; empty of a criterion over both loads.
    load: str
    #: Before the values; empty where they have their own.
    unit: str
    base_value: str
    value: str
    #: ``−0.9 % (−2.1 to +0.3)``; empty without a ratio.
    change: str
    #: ``same``, ``no outcome``.
    judgement: str
    symbol: str


def rows(analysis: Analysis) -> list[OutcomeRow]:
    """Writes the outcomes of an analysis of one pair (``split_by_comparison``)."""
    run = analysis.run
    return [_row(outcome, run.experiment, run.manifest) for outcome in analysis.verdict.outcomes]


def load_words(load: LoadName | None, experiment: Experiment, manifest: Manifest) -> str:
    """Writes a load briefly: ``24 users``, ``29.3/s``; empty where a criterion is about both, or it is not known."""
    if load == "full":
        return phrases.load_words(experiment)
    if load is None:
        return ""
    if manifest.typical:
        return figures.rate(manifest.typical.rate)
    return "" if isinstance(experiment.load, ClosedLoad) else figures.rate(experiment.load.rate)


def _row(outcome: Outcome, experiment: Experiment, manifest: Manifest) -> OutcomeRow:
    unit, form = _FORMS[outcome.key.criterion]
    sign = "≥ " if outcome.is_lower_bound else ""
    has_ratio = outcome.ratio is not None
    return OutcomeRow(
        outcome,
        criterion=outcome.key.criterion + (f" ({outcome.percentile})" if outcome.percentile else ""),
        load=load_words(outcome.key.load, experiment, manifest),
        unit=unit,
        base_value=form(outcome.base_value),
        value=form(outcome.value),
        change=sign + figures.change(outcome.ratio or 1.0, outcome.low, outcome.high) if has_ratio else "",
        judgement=outcome.judgement or NO_OUTCOME,
        symbol=SYMBOLS[outcome.judgement],
    )
