"""The history of all runs below a folder: a page with a line for each experiment, and a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup
from rich import table as terminal

from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.report.charts import svg
from vtlab.report.charts.ratios import DatedRatio, ratio_history
from vtlab.report.pages import template
from vtlab.report.parts import ratios
from vtlab.report.parts.part import Table
from vtlab.report.words import bottlenecks, figures, labels
from vtlab.report.words.headline import label


@dataclass(frozen=True)
class Entry:
    """One comparison of one run, and the folder of its call, below the folder of all."""

    folder: str
    analysis: Analysis


@dataclass(frozen=True)
class Line:
    """Comparable runs in order of time: one comparison of one experiment under one limit."""

    title: str
    entries: list[Entry]


@dataclass(frozen=True)
class _Section:
    title: str
    description: str
    heading: str
    chart: Markup | None
    caption: str
    table: Table


def group(entries: Sequence[Entry]) -> list[Line]:
    """Groups runs to lines, by experiment and limits; in each line in order of time."""
    lines: dict[tuple[str, ...], list[Entry]] = {}
    for entry in sorted(entries, key=lambda e: (e.analysis.run.manifest.started, e.folder)):
        c = entry.analysis.verdict.primary_comparison
        title = f"{labels.title(entry.analysis)} {labels.under(entry.analysis)}"
        lines.setdefault((title, c.metric, c.of, c.over), []).append(entry)
    return [Line(key[0], lines[key]) for key in sorted(lines)]


def render(root: str, lines: Sequence[Line], unread: Mapping[str, str]) -> str:
    """Renders ``history.html``; ``unread``: the directories that hold no run that can be read, each with why."""
    runs = {entry.analysis.run.manifest.run_id for line in lines for entry in line.entries}
    return template.fill(
        "history.html.j2",
        title=f"{root}: history of runs, Virtual Threads Lab",
        summary=f"{len(runs)} run{'' if len(runs) == 1 else 's'} in {root}",
        sections=[_section(line) for line in lines],
        unread=Table(
            "vtlab cannot read a run in these directories.",
            ["directory", "why"],
            [[name, why] for name, why in unread.items()],
        ),
    )


def _section(line: Line) -> _Section:
    newest = line.entries[-1].analysis
    heading = labels.ratio_heading(newest.verdict.primary_comparison)
    return _Section(
        title=line.title,
        description=newest.run.experiment.description,
        heading=heading,
        chart=ratio_chart(line.entries, f"{heading}, run by run"),
        caption="Dots: ratios, hollow where the run is not valid. Lines: their intervals. Grey band:"
        f" ±{percent(newest.verdict.margin)}, too small to matter. Time runs from left to right, one step per run.",
        table=_table(line),
    )


def ratio_chart(entries: Sequence[Entry], title: str) -> Markup | None:
    """Draws the ratio of each run, in order of time; None without any ratio."""
    runs = [
        DatedRatio(_measured(entry), entry.analysis.verdict.primary_comparison, entry.analysis.verdict.valid)
        for entry in entries
    ]
    return ratio_history(runs, entries[-1].analysis.verdict.margin, title)


def _table(line: Line) -> Table:
    names = labels.variant_names(line.entries[-1].analysis)
    head = ["measured", "verdict", "ratio", "interval", "blocks", *(f"{n}: bottleneck" for n in names), "report"]
    rows = []
    for entry in reversed(line.entries):
        measured, verdict, *others = _cells(entry)
        # A verdict stays on one line with its symbol.
        cells = [measured, verdict.replace(" ", "\u00a0"), *others]
        rows.append([*cells, *_bottlenecks(entry, names), _link(entry)])
    return Table("Newest run first.", head, rows, numeric=(2, 3, 4))


def _cells(entry: Entry) -> list[str]:
    v, c = entry.analysis.verdict, entry.analysis.verdict.primary_comparison
    verdict = label(entry.analysis) if v.valid else "✕ not valid"
    return [_measured(entry), verdict, ratios.ratio_cell(c), figures.interval(c.low, c.high), str(v.n)]


def _bottlenecks(entry: Entry, names: Sequence[str]) -> list[str]:
    variants = entry.analysis.verdict.variants
    return [bottlenecks.resource_names(variants[n].bottleneck) if n in variants else figures.DASH for n in names]


def _link(entry: Entry) -> Markup:
    name = entry.analysis.run.manifest.run_id
    return svg.element("a", "report", href=f"{quote(entry.folder)}/report.html", aria_label=f"report of {name}")


def _measured(entry: Entry) -> str:
    return figures.utc(entry.analysis.run.manifest.started)


def terminal_table(lines: Sequence[Line]) -> terminal.Table:
    """Lists the runs for a terminal: a row for each, the newest of each line last."""
    table = terminal.Table(box=None, pad_edge=False)
    for title in ("experiment", "measured", "verdict", "ratio", "interval", "n"):
        table.add_column(title, no_wrap=title != "experiment", justify="right" if title in ("ratio", "n") else "left")
    for line in lines:
        for number, entry in enumerate(line.entries):
            table.add_row("" if number else line.title, *_cells(entry))
    return table
