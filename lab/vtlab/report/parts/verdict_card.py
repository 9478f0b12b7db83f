"""The verdict card that stands at the top of the HTML page."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from vtlab.catalogue import palette
from vtlab.model.run import Analysis
from vtlab.model.units import in_blocks, percent
from vtlab.report.parts import findings, load_curve, performance, ratios, time_split
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import (
    block_counts,
    bottlenecks,
    curve_sentences,
    decision,
    explanation,
    figures,
    hints,
    labels,
)
from vtlab.report.words.decision import Decision
from vtlab.report.words.headline import headline, label


@dataclass(frozen=True)
class Badge:
    """A word on a verdict card; ``kind`` is its class in the style sheet."""

    kind: str
    text: str


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
    tone: str
    decision: Decision
    badges: list[Badge]
    headline: str
    sentences: list[str]
    invalid: str | None
    quick: str | None
    chart: Markup | None
    chart_caption: str
    variants: list[VariantCard]
    #: Throughput over users, where vtlab searched the load.
    curve: Panel | None
    times: list[Panel]
    findings: Table
    colours: list[str]
    description: str


def verdict_card(analysis: Analysis) -> Card:
    """Returns the card of a run's verdict."""
    verdict, invalid = analysis.verdict, block_counts.why_invalid(analysis)
    parted = curve_sentences.decision_sentence(analysis)
    return Card(
        experiment=labels.title(analysis),
        limits=labels.under(analysis),
        tone="invalid" if invalid else verdict.primary_comparison.verdict or "inconclusive",
        decision=decision.decide(analysis),
        badges=_badges(analysis),
        headline=headline(analysis),
        sentences=[*explanation.sentences(analysis), *filter(None, [parted])],
        invalid=invalid,
        quick=hints.quick_look(analysis),
        chart=ratios.interval_chart(analysis),
        chart_caption="Dot: the ratio. Line: its interval. Grey band: the margin,"
        f" ±{percent(verdict.margin)}, too small to matter.",
        variants=[_variant(analysis, name) for name in labels.variant_names(analysis)] if verdict.n else [],
        curve=load_curve.curve_panel(analysis),
        times=time_split.time_panels(analysis),
        findings=findings.finding_table(analysis),
        colours=palette.colours(labels.variant_names(analysis)),
        description=analysis.run.experiment.description,
    )


def _badges(analysis: Analysis) -> list[Badge]:
    outcome, n = label(analysis), analysis.verdict.n
    # An invalid run has figures, but no verdict that anyone should act on.
    is_invalid = block_counts.why_invalid(analysis) is not None
    badges = [Badge("verdict", "✕ not valid"), Badge("plain", outcome)] if is_invalid else [Badge("verdict", outcome)]
    badges += [Badge("open", "◔ quick look")] if hints.quick_look(analysis) else []
    return [*badges, Badge("plain", f"{n} block{'' if n == 1 else 's'}")]


def _variant(analysis: Analysis, name: str) -> VariantCard:
    result = analysis.verdict.variants[name]
    if not result.throughput and result.failed_blocks:
        figure, unit = "fails", in_blocks(result.failed_blocks, analysis.verdict.n)
    elif analysis.verdict.primary == "throughput":
        figure, unit = figures.rate(result.throughput), "throughput"
    elif result.growth is not None or name in analysis.verdict.primary_comparison.overloaded:
        figure, unit = "overloaded", f"{figures.rate(result.throughput)} answered"
    else:
        figure, unit = performance.latency_figure(result, "p99"), "latency p99"
    sentence = bottlenecks.sentence(analysis, name)
    return VariantCard(name, figure, unit, sentence[0].upper() + sentence[1:])
