"""``report.md``: the verdicts for a pull request, the details folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vtlab.analysis import asserts
from vtlab.model.run import Analysis
from vtlab.report.pages.html import repeat
from vtlab.report.parts import breakdowns, performance, provenance, ratios, resource_use, thresholds
from vtlab.report.parts.part import Table
from vtlab.report.words import bottlenecks, decision, figures, hints, labels
from vtlab.report.words import curve_sentences as curve
from vtlab.report.words import finding_lines as findings
from vtlab.report.words import headline as words

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_[]|#~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def render(analyses: Sequence[Analysis], others: Mapping[str, Table] | None = None) -> str:
    """The report of one or more runs as GitHub-flavoured Markdown; the same analyses give the same bytes. ``others``:
    tables that are of none of them, by their titles."""
    parts = ["# Should this service turn virtual threads on?", ""]
    parts += _table(["experiment", "decision", "verdict", "ratio", "interval", "blocks"], [_row(a) for a in analyses])
    parts += [line for analysis in analyses for line in _assertions(analysis)]
    for title, other in (others or {}).items():
        parts += ["", *_folded(escaped(title), [other])]
    for analysis in analyses:
        parts += ["", *_run(analysis)]
    return "\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown and HTML leave alone, on one line."""
    return " ".join(text.split()).translate(_SPECIAL)


def _row(analysis: Analysis) -> list[str]:
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    label = words.label(analysis)
    label = f"{label}, not valid" if not v.valid else f"{label}, quick look" if v.quick else label
    return [
        f"{labels.title(analysis)} {labels.under(analysis)}",
        decision.of(analysis).text,
        label,
        ratios.ratio(c),
        figures.interval(c.low, c.high),
        str(v.n),
    ]


def _assertions(analysis: Analysis) -> list[str]:
    """Whether what the call demanded holds, a line each: a job that failed for it is understood from here."""
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
    invalid = words.validity(analysis)
    lines += [f"> **{escaped(invalid)}**", ""] if invalid else []
    answer = decision.of(analysis)
    lines += [f"**{escaped(answer.lead)}:** {escaped(answer.reason)}.", ""]
    explanation = [f"{words.headline(analysis)}.", curve.decision(analysis), *words.explanation(analysis)]
    explanation.append(hints.quick(analysis))
    lines += [escaped(" ".join(text for text in explanation if text)), ""]
    if v.n:
        sentences = {n: bottlenecks.sentence(analysis, n) for n in labels.names(analysis)}
        lines += [f"- {escaped(f'{n}: {sentence}')}" for n, sentence in sentences.items()]
        lines.append("")
        lines += _folded("Throughput, latency and costs", [performance.latency(analysis), performance.costs(analysis)])
        lines += _folded("Failures", [performance.failures(analysis)])
        lines += _folded("Ratios by metric", [ratios.by_metric(analysis)])
        lines += _folded("Bound beside measurement", [resource_use.resource_table(analysis)])
        if (searched := analysis.run.manifest.curve) is not None:
            lines += _folded("Throughput and latency over users", [curve.table(searched, labels.names(analysis))])
        lines += _folded(thresholds.TITLE, [thresholds.table(analysis)])
        lines += _folded(breakdowns.TITLE, [breakdowns.table(analysis)])
        lines += _folded("Where threads stood", [resource_use.places(analysis)])
        lines += _folded("Pinned virtual threads", [resource_use.pinned(analysis)])
    lines += _folded("Findings", [findings.table(analysis)])
    lines += _folded(
        "Validity checks and rejected attempts", [provenance.checks(analysis), provenance.rejected(analysis)]
    )
    lines += _folded("Environment", [provenance.environment(analysis)])
    fence = "```"
    return [*lines, "To repeat it:", "", f"{fence}sh", repeat(analysis).replace(fence, ""), fence]


def _folded(title: str, tables: Sequence[Table]) -> list[str]:
    shown = [t for t in tables if t.rows]
    if not shown:
        return []
    lines = [f"<details><summary>{title}</summary>", ""]
    for table in shown:
        lines += [escaped(table.caption), "", *_table(table.head, table.rows, table.numeric), ""]
    return [*lines, "</details>", ""]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> list[str]:
    rule = ["---:" if i in numeric else "---" for i in range(len(head))]
    cells = [[escaped(c) for c in head], rule, *([escaped(c) for c in row] for row in rows)]
    return [f"| {' | '.join(row)} |" for row in cells]
