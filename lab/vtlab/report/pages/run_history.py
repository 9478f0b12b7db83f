"""The history of all runs below a folder: a page with a line for each experiment, and a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup
from rich import table as terminal

from vtlab.model.outcome import Key
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.report.charts import svg
from vtlab.report.charts.ratios import DatedRatio, ratio_history
from vtlab.report.pages import template
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import bottlenecks, figures, labels, outcome_rows
from vtlab.report.words.outcome_rows import OutcomeRow
from vtlab.report.words.verdict_lines import verdict_lines

#: Columns of criteria in a terminal; the page has all.
_IN_TERMINAL = (
    Key(criterion="capacity", load="full"),
    Key(criterion="median", load="typical"),
    Key(criterion="tail", load="typical"),
)


@dataclass(frozen=True)
class Entry:
    """One pair of variants of one run, and the folder of its call, below the folder of all."""

    folder: str
    analysis: Analysis


@dataclass(frozen=True)
class Line:
    """Comparable runs in order of time: one pair of variants of one experiment under one limit."""

    title: str
    entries: list[Entry]


@dataclass(frozen=True)
class _Section:
    title: str
    description: str
    panels: list[Panel]
    table: Table


def group(entries: Sequence[Entry]) -> list[Line]:
    """Groups runs to lines, by experiment and limits; in each line in order of time."""
    lines: dict[tuple[str, ...], list[Entry]] = {}
    for entry in sorted(entries, key=lambda e: (e.analysis.run.manifest.started, e.folder)):
        title = f"{labels.title(entry.analysis)} {labels.under(entry.analysis)}"
        lines.setdefault((title, *labels.variant_names(entry.analysis)), []).append(entry)
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
    return _Section(
        title=line.title,
        description=line.entries[-1].analysis.run.experiment.description,
        panels=list(filter(None, [outcome_panel(line.entries, key) for key in _keys(line)])),
        table=_table(line),
    )


def _keys(line: Line) -> list[Key]:
    """Lists the criteria of the runs of a line, in the order of reports."""
    found = {str(o.key): o.key for entry in line.entries for o in entry.analysis.verdict.outcomes}
    return [found[name] for name in outcome_rows.ORDER if name in found]


def outcome_panel(entries: Sequence[Entry], key: Key) -> Panel | None:
    """Draws the ratio of a criterion in each run, in order of time; None without any ratio."""
    found = [(entry, row) for entry in entries if (row := outcome_rows.row_of(entry.analysis, key))]
    runs = [DatedRatio(_measured(entry), row.outcome, entry.analysis.verdict.valid) for entry, row in found]
    over, of = labels.variant_names(entries[-1].analysis)
    title = f"{_column(key)}: {of} over {over}"
    chart = ratio_history(runs, f"{title}, run by run")
    if chart is None:
        return None
    caption = f"Grey band: ±{percent(runs[-1].outcome.margin)}, too small to matter."
    return Panel(title, chart, caption)


def _table(line: Line) -> Table:
    names, keys = labels.variant_names(line.entries[-1].analysis), _keys(line)
    head = ["measured", "decision", *map(_column, keys), "blocks", f"bottlenecks: {', '.join(names)}"]
    rows = [
        [
            _link(entry),
            _decision(entry),
            *(outcome_rows.cell(outcome_rows.row_of(entry.analysis, key)) for key in keys),
            str(entry.analysis.verdict.n),
            _bottlenecks(entry, names),
        ]
        for entry in reversed(line.entries)
    ]
    return Table("Newest run first.", head, rows, numeric=(2 + len(keys),))


def _column(key: Key) -> str:
    """Names a criterion for a heading: ``median``, ``median at full load``."""
    is_other = key.load == "full" and key.criterion != "capacity"
    return f"{key.criterion} at full load" if is_other else key.criterion


def _decision(entry: Entry) -> str:
    verdict = entry.analysis.verdict
    return verdict_lines(entry.analysis).verdict if verdict.valid else "✕ not valid"


def _bottlenecks(entry: Entry, names: Sequence[str]) -> str:
    variants = entry.analysis.verdict.variants
    known = [bottlenecks.resource_names(variants[n].bottleneck) if n in variants else figures.DASH for n in names]
    return ", ".join(known)


def _link(entry: Entry) -> Markup:
    """Links the time of a run to its report."""
    measured, name = _measured(entry), entry.analysis.run.manifest.run_id
    href = f"{quote(entry.folder)}/report.html"
    return svg.element("a", measured, href=href, aria_label=f"{measured}: report of {name}")


def _measured(entry: Entry) -> str:
    return figures.utc(entry.analysis.run.manifest.started)


def terminal_table(lines: Sequence[Line]) -> terminal.Table:
    """Lists the runs for a terminal: a row for each, the newest of each line last."""
    table = terminal.Table(box=None, pad_edge=False)
    for title in ("experiment", "measured", "decision", *(key.criterion for key in _IN_TERMINAL), "n"):
        table.add_column(title, no_wrap=title != "experiment", justify="right" if title == "n" else "left")
    for line in lines:
        for number, entry in enumerate(line.entries):
            verdict = entry.analysis.verdict
            advice = verdict.decisions[0].advice if verdict.valid else "✕ not valid"
            cells = [_short(outcome_rows.row_of(entry.analysis, key)) for key in _IN_TERMINAL]
            table.add_row("" if number else line.title, _measured(entry)[:10], advice, *cells, str(verdict.n))
    return table


def _short(row: OutcomeRow | None) -> str:
    """Writes an outcome as its symbol with the change alone: ``▲ 2.00×``."""
    if row is None or row.outcome.ratio is None:
        return row.symbol if row else figures.DASH
    return f"{row.symbol} {outcome_rows.bound_sign(row.outcome)}{figures.change(row.outcome.ratio, None, None)}"
