"""The verdicts in a few lines for the end of a run; plain text where there is no terminal or no colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from vtlab.analysis import verdict
from vtlab.host import program
from vtlab.model.outcome import Judgement
from vtlab.model.run import Analysis
from vtlab.report.parts import thresholds
from vtlab.report.words import block_counts, finding_lines, labels, outcome_rows
from vtlab.report.words.notes import notes
from vtlab.report.words.turning_it_on import turning_it_on
from vtlab.report.words.verdict_lines import verdict_lines

_STYLES: dict[Judgement | None, str] = {
    "better": "bold green",
    "worse": "bold red",
    "same": "bold blue",
    "undecided": "bold yellow",
    "fails": "bold red",
    None: "dim",
}
#: Columns of labels such as VERDICT.
_LABEL = 9
#: Columns of the table whose cells end at the right: the values.
_RIGHT = (2, 3)


def render(analyses: Sequence[Analysis]) -> RenderableType:
    """Renders the lines of each pair of variants: verdict, why, what next, and a row for each criterion."""
    return _Paragraphs([_pair(pair) for a in analyses for pair in verdict.split_by_pair(a)])


@dataclass(frozen=True)
class _Line:
    """A line; where a terminal wraps it, its rest is indented. Rows of a table stay whole."""

    text: Text
    indent: int = 0
    is_row: bool = False


@dataclass(frozen=True)
class _Paragraphs:
    """Paragraphs with an empty line before each; wrapped where a terminal shows them."""

    paragraphs: list[list[_Line]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for paragraph in self.paragraphs:
            yield Text()
            for line in paragraph:
                yield from _wrapped(line, console)


def _wrapped(line: _Line, console: Console) -> Iterator[Text]:
    if line.is_row or not console.is_terminal or len(line.text) <= console.width:
        yield line.text
        return
    label, text = line.text[: line.indent], line.text[line.indent :]
    for number, part in enumerate(text.wrap(console, max(20, console.width - line.indent))):
        part.rstrip()
        yield (Text(" " * line.indent) if number else label) + part


def _pair(analysis: Analysis) -> list[_Line]:
    lines = [_Line(Text(labels.header(analysis), "bold"))]
    if invalid := block_counts.why_invalid(analysis):
        lines.append(_Line(Text(f"✕ {invalid}", "bold red")))
    for label, text in verdict_lines(analysis).labelled:
        style = "bold" if label == "VERDICT" else ""
        called = Text(program.as_called(text), style)
        lines.append(_Line(Text.assemble((f"{label:<{_LABEL}}", "bold"), called), _LABEL))
    lines += [_Line(row, is_row=True) for row in _table(analysis)]
    lines += [_Line(Text(program.as_called(text), "dim"), 2) for text in _notes(analysis)]
    return lines


def _table(analysis: Analysis) -> list[Text]:
    """Lays out a row for each criterion; none where no block counts."""
    rows = outcome_rows.shown(analysis)
    if not rows:
        return []
    over, of = labels.variant_names(analysis)
    units = max(len(row.unit) for row in rows if row.load)
    values = max(len(row.base_value) for row in rows)
    cells = [["", "", over, of, "change (95 %)", ""]]
    for row in rows:
        unit = f"{row.unit:<{units}} {row.base_value:>{values}}" if row.load and row.unit else row.base_value
        cells.append([row.criterion, row.load or row.unit, unit, row.value, row.change, row.judgement])
    styles = ["", *(_STYLES[row.outcome.judgement] for row in rows), ""]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if errors := outcome_rows.errors_row(analysis):
        # A note may be long, and nothing stands behind it.
        cells.append([errors.criterion, errors.load, errors.base_value, errors.value, errors.note, ""])
    return [_row(row, widths, style) for row, style in zip(cells, styles, strict=False)]


def _row(cells: Sequence[str], widths: Sequence[int], style: str) -> Text:
    padded = [
        f"{cell:>{width}}" if column in _RIGHT else f"{cell:<{width}}"
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    row = Text.assemble("  ".join(padded[:-1]), "  ", (cells[-1], style), style="dim" if not cells[0] else "")
    row.rstrip()
    return row


def _notes(analysis: Analysis) -> list[str]:
    """Says below the table what it rests on, what has no outcome, and what else was found."""
    if not analysis.verdict.n:
        return [finding_lines.finding_line(finding) for finding in analysis.verdict.findings]
    turning = turning_it_on(analysis)
    texts = [
        *notes(analysis),
        thresholds.threshold_line(analysis),
        *(turning.lines if turning else []),
        *(finding_lines.finding_line(finding) for finding in analysis.verdict.findings),
    ]
    return [text for text in texts if text]
