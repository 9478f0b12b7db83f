"""``report.md``: the verdicts for a pull request, the details folded."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis import asserts
from vtlab.model.run import Analysis
from vtlab.report.parts import felt, outcomes, provenance, sections
from vtlab.report.parts.part import Table
from vtlab.report.parts.sections import Section
from vtlab.report.words import block_counts, bottlenecks, labels
from vtlab.report.words.notes import notes
from vtlab.report.words.turning_it_on import TurningItOn, turning_it_on
from vtlab.report.words.verdict_lines import verdict_lines

_FENCE = "```"
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|#~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def render(analyses: Sequence[Analysis]) -> str:
    """Renders the report of one or more runs as GitHub-flavoured Markdown; the same analyses give the same bytes."""
    parts = ["# Should this service turn virtual threads on?", ""]
    parts += _table(["experiment", "decision", "blocks"], [_row(a) for a in analyses])
    parts += [line for analysis in analyses for line in _assertions(analysis)]
    for analysis in analyses:
        parts += ["", *_run(analysis)]
    return "\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Escapes text so that Markdown and HTML leave it alone, on one line."""
    return " ".join(text.split()).translate(_SPECIAL)


def _row(analysis: Analysis) -> list[str]:
    verdict = analysis.verdict
    state = " (not valid)" if not verdict.valid else " (quick look)" if verdict.quick else ""
    return [labels.header(analysis), verdict_lines(analysis).verdict + state, str(verdict.n)]


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
    lines = [f"## {escaped(labels.header(analysis))}", ""]
    invalid = block_counts.why_invalid(analysis)
    lines += [f"> **{escaped(invalid)}**", ""] if invalid else []
    for label, text in verdict_lines(analysis).labelled:
        lines += [f"**{label}** {escaped(text)}", ""]
    if v.n:
        table = outcomes.outcome_table(analysis)
        lines += [*_table(table.head, table.rows, table.numeric), ""]
        lines += [f"- {escaped(note)}" for note in notes(analysis)]
        lines += [f"- {escaped(bottlenecks.line(analysis, name))}" for name in labels.variant_names(analysis)]
        lines.append("")
    if turning := turning_it_on(analysis):
        lines += _turning(turning)
    for section in sorted(sections.sections(analysis), key=_rank):
        if v.n or not section.needs_blocks:
            lines += _folded(section.tables_title or section.title, [named.table for named in section.tables])
    commands = provenance.commands_to_repeat(analysis).replace(_FENCE, "")
    return [*lines, "To repeat this run:", "", f"{_FENCE}sh", commands, _FENCE]


def _turning(turning: TurningItOn) -> list[str]:
    """Shows the lines for ``application.yaml``, and what else changes with them."""
    texts = [turning.back, turning.not_measured, f"{turning.meters} {turning.watch}"]
    lines = [escaped(turning.title), "", f"{_FENCE}yaml", *turning.yaml.splitlines(), _FENCE, ""]
    return [*lines, *(f"- {escaped(text)}" for text in texts), f"- Source: <{turning.source}>", ""]


#: Sections that come first here, in this order; the others follow as the report has them.
_FIRST = (felt.TITLE, sections.PERFORMANCE, sections.FAILURES, sections.OUTCOMES, sections.BOUNDS)


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
