"""The verdicts in a few lines for the end of a run; plain text where there is no terminal or no colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from vtlab.analysis import verdict
from vtlab.host import program
from vtlab.model.run import Analysis
from vtlab.report.parts import breakdowns, thresholds
from vtlab.report.words import (
    block_counts,
    bottlenecks,
    curve_sentences,
    decision,
    explanation,
    finding_lines,
    hints,
    labels,
)
from vtlab.report.words.headline import headline, label

_STYLES = {
    "faster": "bold green",
    "slower": "bold red",
    "equivalent": "bold blue",
    "inconclusive": "bold yellow",
    "fails": "bold red",
}


def render(analyses: Sequence[Analysis]) -> RenderableType:
    """Renders one paragraph per run: verdict, ratio and interval, what limits each variant."""
    return _Paragraphs([_run(pair) for a in analyses for pair in verdict.split_by_comparison(a)])


@dataclass(frozen=True)
class _Paragraphs:
    """A first line and indented ones; wrapped with the indent kept where a terminal shows them."""

    paragraphs: list[list[Text]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for head, *rest in self.paragraphs:
            yield Text()
            yield head
            for line in rest:
                wrapped = line.wrap(console, max(20, console.width - 2)) if console.is_terminal else [line]
                for part in wrapped:
                    part.rstrip()
                    yield Text("  ") + part


def _run(analysis: Analysis) -> list[Text]:
    v = analysis.verdict
    lines = [Text.assemble((labels.title(analysis), "bold"), f" {labels.under(analysis)}")]
    if invalid := block_counts.why_invalid(analysis):
        lines.append(Text(f"✕ {invalid}", "bold red"))
    advice = decision.decide(analysis)
    lines.append(Text.assemble((f"{advice.lead}:", "bold"), f" {advice.reason}."))
    outcome = (label(analysis), _STYLES[v.primary_comparison.verdict or "inconclusive"])
    lines.append(Text.assemble(outcome, "  ", headline(analysis)))
    lines += [Text(program.as_called(text)) for text in explanation.sentences(analysis)]
    if parted := curve_sentences.decision_sentence(analysis):
        lines.append(Text(parted))
    if quick := hints.quick_look(analysis):
        lines.append(Text(quick, "yellow"))
    details = _measured_lines(analysis) if v.n else []
    details += [finding_lines.finding_line(finding) for finding in v.findings]
    return lines + [Text(program.as_called(text), "dim") for text in details]


def _measured_lines(analysis: Analysis) -> list[str]:
    """Says what limits each variant, which thresholds hold, and where the time goes."""
    lines = [bottlenecks.line(analysis, name) for name in labels.variant_names(analysis)]
    lines += filter(None, [thresholds.threshold_line(analysis)])
    times = {name: result.time for name, result in analysis.verdict.variants.items() if result.time}
    lines += [breakdowns.TITLE] if times else []
    for name, time in times.items():
        sentence = f"{breakdowns.breakdown_line(name, time)} {breakdowns.caveat(analysis, name, time)}"
        lines.append(sentence.rstrip())
    return lines
