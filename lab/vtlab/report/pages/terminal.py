"""The verdicts in a few lines for the end of a run; plain text where there is no terminal or no colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from vtlab.analysis import verdict
from vtlab.model.run import Analysis
from vtlab.report.parts import breakdowns, thresholds
from vtlab.report.words import bottlenecks, decision, hints, labels
from vtlab.report.words import curve_sentences as curve
from vtlab.report.words import finding_lines as findings
from vtlab.report.words import headline as words

_STYLES = {
    "faster": "bold green",
    "slower": "bold red",
    "equivalent": "bold blue",
    "inconclusive": "bold yellow",
    "fails": "bold red",
}


def render(analyses: Sequence[Analysis]) -> RenderableType:
    """One paragraph per run: verdict, ratio and interval, what limits each variant."""
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
    c = v.primary_comparison
    lines = [Text.assemble((labels.title(analysis), "bold"), f" {labels.under(analysis)}")]
    invalid, quick = words.validity(analysis), hints.quick(analysis)
    if invalid:
        lines.append(Text(f"✕ {invalid}", "bold red"))
    answer = decision.of(analysis)
    lines.append(Text.assemble((f"{answer.lead}:", "bold"), f" {answer.reason}."))
    label = (words.label(analysis), _STYLES[c.verdict or "inconclusive"])
    lines.append(Text.assemble(label, "  ", words.headline(analysis)))
    if parted := curve.decision(analysis):
        lines.append(Text(parted))
    lines += [Text(text) for text in words.explanation(analysis)]
    if quick:
        lines.append(Text(quick, "yellow"))
    if v.n:
        sentences = {n: bottlenecks.sentence(analysis, n) for n in labels.names(analysis)}
        lines += [Text(f"{n}: {sentence}", "dim") for n, sentence in sentences.items()]
        held = thresholds.line(analysis)
        lines += [Text(held, "dim")] if held else []
        times = {name: result.time for name, result in v.variants.items() if result.time}
        lines += [Text(breakdowns.TITLE, "dim")] if times else []
        for name, time in times.items():
            sentence = f"{breakdowns.line(name, time)} {breakdowns.caveat(analysis, name, time)}"
            lines.append(Text(sentence.rstrip(), "dim"))
    return lines + [Text(findings.line(finding), "dim") for finding in v.findings]
