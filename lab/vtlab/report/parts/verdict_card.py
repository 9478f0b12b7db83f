"""The verdict card that stands at the top of the HTML page."""

from __future__ import annotations

from dataclasses import dataclass

from vtlab.catalogue import palette
from vtlab.model.outcome import Advice
from vtlab.model.run import Analysis
from vtlab.model.units import in_blocks
from vtlab.report.parts import findings, load_curve, outcomes, performance, time_split
from vtlab.report.parts.outcomes import OutcomePicture
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import block_counts, bottlenecks, figures, hints, labels
from vtlab.report.words.notes import notes
from vtlab.report.words.turning_it_on import TurningItOn, turning_it_on
from vtlab.report.words.verdict_lines import verdict_lines

#: Classes of the style sheet.
_TONES: dict[Advice, str] = {
    "turn it on": "good",
    "leave it off": "bad",
    "no difference": "same",
    "trade-off": "open",
    "no decision": "open",
}
#: Where the command begins in a line.
_COMMAND = ": vtlab "


@dataclass(frozen=True)
class Badge:
    """A word on a verdict card; ``kind`` is its class in the style sheet."""

    kind: str
    text: str


@dataclass(frozen=True)
class Line:
    """A labelled line: ``NEXT``, its text, and the command that ends it."""

    label: str
    text: str
    command: str


@dataclass(frozen=True)
class VariantCard:
    """One variant on a verdict card: its figure, and the sentence that says why."""

    variant: str
    figure: str
    unit: str
    sentence: str


@dataclass(frozen=True)
class Card:
    """A verdict, as the page begins."""

    experiment: str
    limits: str
    #: Names of the variants.
    names: list[str]
    tone: str
    #: The lines VERDICT, WHY, NEXT and SLO.
    lines: list[Line]
    badges: list[Badge]
    invalid: str | None
    outcomes: OutcomePicture | None
    notes: list[str]
    turning: TurningItOn | None
    variants: list[VariantCard]
    #: Throughput over users, where vtlab searched the load.
    curve: Panel | None
    times: list[Panel]
    findings: Table
    colours: list[str]
    description: str


def verdict_card(analysis: Analysis) -> Card:
    """Returns the card of an analysis of one pair."""
    verdict, invalid = analysis.verdict, block_counts.why_invalid(analysis)
    return Card(
        experiment=labels.title(analysis),
        limits=labels.under(analysis),
        names=labels.variant_names(analysis),
        tone="invalid" if invalid else _TONES[verdict.decisions[0].advice],
        lines=[_line(label, text) for label, text in verdict_lines(analysis).labelled],
        badges=_badges(analysis),
        invalid=invalid,
        outcomes=outcomes.outcome_picture(analysis),
        notes=notes(analysis),
        turning=turning_it_on(analysis),
        variants=[_variant(analysis, name) for name in labels.variant_names(analysis)] if verdict.n else [],
        curve=load_curve.curve_panel(analysis),
        times=time_split.time_panels(analysis),
        findings=findings.finding_table(analysis),
        colours=palette.colours(labels.variant_names(analysis)),
        description=analysis.run.experiment.description,
    )


def _line(label: str, text: str) -> Line:
    before, found, command = text.partition(_COMMAND)
    return Line(label, before + ":" * bool(found), f"vtlab {command}" if found else "")


def _badges(analysis: Analysis) -> list[Badge]:
    n = analysis.verdict.n
    # An invalid run has figures, but no decision that anyone should act on.
    badges = [Badge("verdict", "✕ not valid")] if block_counts.why_invalid(analysis) else []
    badges += [Badge("open", "◔ quick look")] if hints.quick_look(analysis) else []
    return [*badges, Badge("plain", f"{n} block{'' if n == 1 else 's'}")]


def _variant(analysis: Analysis, name: str) -> VariantCard:
    result = analysis.verdict.variants[name]
    if not result.throughput and result.failed_blocks:
        figure, unit = "fails", in_blocks(result.failed_blocks, analysis.verdict.n)
    elif analysis.run.experiment.has_full_load:
        figure, unit = figures.rate(result.throughput), "throughput"
    elif result.growth is not None or result.overloaded_blocks:
        figure, unit = "overloaded", f"{figures.rate(result.throughput)} answered"
    else:
        figure, unit = performance.latency_figure(result, "p99"), "latency p99"
    sentence = bottlenecks.sentence(analysis, name)
    return VariantCard(name, figure, unit, sentence[0].upper() + sentence[1:])
