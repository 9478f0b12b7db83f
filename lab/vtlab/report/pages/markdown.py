"""``report.md``: the verdicts for a pull request, the details folded."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis import asserts
from vtlab.model.run import Analysis
from vtlab.report.parts import felt, provenance, ratios, sections
from vtlab.report.parts.part import Table
from vtlab.report.parts.sections import Section
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
from vtlab.report.words.headline import headline, label

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|#~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def render(analyses: Sequence[Analysis]) -> str:
    """Renders the report of one or more runs as GitHub-flavoured Markdown; the same analyses give the same bytes."""
    parts = ["# Should this service turn virtual threads on?", ""]
    parts += _table(["experiment", "decision", "verdict", "ratio", "interval", "blocks"], [_row(a) for a in analyses])
    parts += [line for analysis in analyses for line in _assertions(analysis)]
    for analysis in analyses:
        parts += ["", *_run(analysis)]
    return "\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Escapes text so that Markdown and HTML leave it alone, on one line."""
    return " ".join(text.split()).translate(_SPECIAL)


def _row(analysis: Analysis) -> list[str]:
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    outcome = label(analysis)
    if not v.valid:
        outcome += ", not valid"
    elif v.quick:
        outcome += ", quick look"
    return [
        f"{labels.title(analysis)} {labels.under(analysis)}",
        decision.decide(analysis).text,
        outcome,
        ratios.ratio_cell(c),
        figures.interval(c.low, c.high),
        str(v.n),
    ]


def _assertions(analysis: Analysis) -> list[str]:
    """Says whether each assertion of the call holds: the reader of a failed job understands it from here."""
    outcomes = asserts.judge(analysis.run.manifest.asserts, analysis.verdict)
    title = labels.title(analysis)
    lines = [
        f"✗ {title}: {outcome.text} does not hold: {outcome.broken}"
        if outcome.broken
        else f"✓ {title}: {outcome.text} holds: {outcome.measured}"
        for outcome in outcomes
    ]
    return ["", *(f"- {escaped(line)}" for line in lines)] if lines else []


def _run(analysis: Analysis) -> list[str]:
    v = analysis.verdict
    lines = [f"## {escaped(f'{labels.title(analysis)} {labels.under(analysis)}')}", ""]
    invalid = block_counts.why_invalid(analysis)
    lines += [f"> **{escaped(invalid)}**", ""] if invalid else []
    advice = decision.decide(analysis)
    lines += [f"**{escaped(advice.lead)}:** {escaped(advice.reason)}.", ""]
    others = filter(None, [curve_sentences.decision_sentence(analysis), hints.quick_look(analysis)])
    lines += [escaped(" ".join([f"{headline(analysis)}.", *explanation.sentences(analysis), *others])), ""]
    if v.n:
        lines += [f"- {escaped(bottlenecks.line(analysis, name))}" for name in labels.variant_names(analysis)]
        lines.append("")
    for section in sorted(sections.sections(analysis), key=_rank):
        if v.n or not section.needs_blocks:
            lines += _folded(section.tables_title or section.title, [named.table for named in section.tables])
    fence = "```"
    commands = provenance.commands_to_repeat(analysis).replace(fence, "")
    return [*lines, "To repeat this run:", "", f"{fence}sh", commands, fence]


#: Sections that come first here, in this order; the others follow as the report has them.
_FIRST = (felt.TITLE, sections.PERFORMANCE, sections.FAILURES, sections.RATIOS, sections.BOUNDS)


def _rank(section: Section) -> int:
    return _FIRST.index(section.title) if section.title in _FIRST else len(_FIRST)


def _folded(title: str, tables: Sequence[Table]) -> list[str]:
    filled_tables = [t for t in tables if t.rows]
    if not filled_tables:
        return []
    lines = [f"<details><summary>{title}</summary>", ""]
    for table in filled_tables:
        lines += [escaped(table.caption), "", *_table(table.head, table.rows, table.numeric), ""]
    return [*lines, "</details>", ""]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> list[str]:
    rule = ["---:" if i in numeric else "---" for i in range(len(head))]
    cells = [[escaped(c) for c in head], rule, *([escaped(c) for c in row] for row in rows)]
    return [f"| {' | '.join(row)} |" for row in cells]
