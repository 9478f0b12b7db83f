"""All runs below a folder: a page with a line for each experiment, and a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup
from rich.table import Table

from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.report.charts import ratios as charts
from vtlab.report.charts import svg
from vtlab.report.charts.svg import WIDTH, Scale, line, text
from vtlab.report.pages import html
from vtlab.report.parts import part as page_parts
from vtlab.report.parts import ratios
from vtlab.report.words import bottlenecks, figures, labels
from vtlab.report.words import headline as words

#: Labels of runs below an axis, at most.
_LABELS = 3


@dataclass(frozen=True)
class Entry:
    """One comparison of one run, and the folder of its call, below the folder of all."""

    folder: str
    analysis: Analysis


@dataclass(frozen=True)
class Line:
    """What can be compared over time: one comparison of one experiment under one limit, the first measured first."""

    title: str
    entries: list[Entry]


@dataclass(frozen=True)
class _Section:
    title: str
    description: str
    heading: str
    chart: Markup | None
    caption: str
    table: page_parts.Table


def group(entries: Sequence[Entry]) -> list[Line]:
    """The lines, by experiment and limits; in each the runs in order of time."""
    lines: dict[tuple[str, ...], list[Entry]] = {}
    for entry in sorted(entries, key=lambda e: (e.analysis.run.manifest.started, e.folder)):
        c = entry.analysis.verdict.primary_comparison
        title = f"{labels.title(entry.analysis)} {labels.under(entry.analysis)}"
        lines.setdefault((title, c.metric, c.of, c.over), []).append(entry)
    return [Line(key[0], lines[key]) for key in sorted(lines)]


def render(root: str, lines: Sequence[Line], unread: Mapping[str, str]) -> str:
    """``history.html``; ``unread`` are the directories that hold no run that can be read, each with why."""
    runs = {entry.analysis.run.manifest.run_id for of in lines for entry in of.entries}
    return html.page(
        "history.html.j2",
        title=f"{root}: history of runs, Virtual Threads Lab",
        summary=f"{len(runs)} run{'' if len(runs) == 1 else 's'} in {root}",
        sections=[_section(of) for of in lines],
        unread=page_parts.Table(
            "These directories hold no run that vtlab can read.",
            ["directory", "why"],
            [[name, why] for name, why in unread.items()],
        ),
    )


def _section(of: Line) -> _Section:
    newest = of.entries[-1].analysis
    heading = labels.heading(newest.verdict.primary_comparison)
    return _Section(
        title=of.title,
        description=newest.run.experiment.description,
        heading=heading,
        chart=chart(of.entries, f"{heading}, run by run"),
        caption="Dots: ratios, hollow where the run is not valid. Lines: their intervals. Grey band:"
        f" ±{percent(newest.verdict.margin)}, too little to matter. A step to the right is the next run.",
        table=_table(of),
    )


def chart(entries: Sequence[Entry], title: str) -> Markup | None:
    """The ratio of each run with its interval, in order of time; None without any ratio."""
    compared = [entry.analysis.verdict.primary_comparison for entry in entries]
    margin = entries[-1].analysis.verdict.margin
    extent = charts.within([x for c in compared for x in (c.ratio, c.low, c.high)])
    if not extent:
        return None
    steps = svg.ratio_ticks(min([*extent, 1 / (1 + margin)]), max([*extent, 1 + margin]))
    left, right, top, bottom = 48.0, WIDTH - 12.0, 10.0, 170.0
    up = Scale(min([*extent, *steps]), max([*extent, *steps]), bottom, top, log=True)
    across = Scale(0, len(entries) + 1, left, right)
    parts = [svg.rect(left, up(1 + margin), right - left, up(1 / (1 + margin)) - up(1 + margin), "margin")]
    for t in steps:
        parts.append(line(left, up(t), right, up(t), "one" if t == 1 else "grid"))
        parts.append(text(left - 6, up(t) + 4, f"{t:g}×", "end", "tick"))
    shown = [(across(i), entry, c) for i, (entry, c) in enumerate(zip(entries, compared, strict=True), 1)]
    drawn = [(x, entry, c, c.ratio) for x, entry, c in shown if c.ratio is not None]
    parts.append(svg.path([(x, up(ratio)) for x, _, _, ratio in drawn], "line thin history"))
    for x, entry, c, ratio in drawn:
        if c.low is not None and c.high is not None:
            parts.append(line(x, up(c.low), x, up(c.high), "whisker"))
        tip = f"{_measured(entry)}: {charts.interval_in_words(c)}"
        kind = "estimate" if entry.analysis.verdict.valid else "published"
        parts.append(svg.element("circle", svg.element("title", tip), cx=x, cy=up(ratio), r=4.0, class_=kind))
    every = -(-len(entries) // _LABELS)
    for x, entry, _ in shown[::every]:
        parts.append(text(x, bottom + 16, _measured(entry)[:10], "middle", "tick"))
    description = "; ".join(f"{_measured(entry)}: {charts.interval_in_words(c)}" for _, entry, c in shown)
    return svg.chart(bottom + 22, title, f"Logarithmic axis. {description}", *parts)


def _table(of: Line) -> page_parts.Table:
    names = labels.names(of.entries[-1].analysis)
    head = ["measured", "verdict", "ratio", "interval", "blocks", *(f"{n}: bottleneck" for n in names), "report"]
    rows = []
    for entry in reversed(of.entries):
        measured, verdict, *others = _cells(entry)
        # A verdict stays on one line with its symbol.
        cells = [measured, verdict.replace(" ", "\u00a0"), *others]
        rows.append([*cells, *_bottlenecks(entry, names), _link(entry)])
    return page_parts.Table("The newest run first.", head, rows, numeric=(2, 3, 4))


def _cells(entry: Entry) -> list[str]:
    v, c = entry.analysis.verdict, entry.analysis.verdict.primary_comparison
    verdict = words.label(entry.analysis) if v.valid else "✕ not valid"
    return [_measured(entry), verdict, ratios.ratio(c), figures.interval(c.low, c.high), str(v.n)]


def _bottlenecks(entry: Entry, names: Sequence[str]) -> list[str]:
    variants = entry.analysis.verdict.variants
    return [bottlenecks.names(variants[n].bottleneck) if n in variants else figures.DASH for n in names]


def _link(entry: Entry) -> Markup:
    name = entry.analysis.run.manifest.run_id
    return svg.element("a", "report", href=f"{quote(entry.folder)}/report.html", aria_label=f"report of {name}")


def _measured(entry: Entry) -> str:
    return figures.utc(entry.analysis.run.manifest.started)


def table(lines: Sequence[Line]) -> Table:
    """For the terminal: a row for each run, the newest of each line last."""
    shown = Table(box=None, pad_edge=False)
    for title in ("experiment", "measured", "verdict", "ratio", "interval", "n"):
        shown.add_column(title, no_wrap=title != "experiment", justify="right" if title in ("ratio", "n") else "left")
    for of in lines:
        for number, entry in enumerate(of.entries):
            shown.add_row("" if number else of.title, *_cells(entry))
    return shown
