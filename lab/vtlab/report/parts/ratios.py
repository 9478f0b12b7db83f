"""Ratios of one variant over another: of every metric with their intervals, and of every block."""

from __future__ import annotations

from markupsafe import Markup

from vtlab.analysis.comparable import has_latency
from vtlab.analysis.validity import failing
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.model.verdict import Comparison, RunEnd, VariantResult
from vtlab.report.charts.ratios import RatioRow, block_ratios, ratio_intervals
from vtlab.report.parts.part import Panel, Table
from vtlab.report.parts.performance import latency_figure
from vtlab.report.words import figures
from vtlab.report.words.labels import METRICS, metric, ratio_heading


def interval_chart(analysis: Analysis) -> Markup | None:
    """Draws the chart of the verdict card."""
    verdict, c = analysis.verdict, analysis.verdict.primary_comparison
    if c.ratio is None:
        return None
    return ratio_intervals([RatioRow(verdict.experiment, c)], verdict.margin, ratio_heading(c))


def probability(p: float) -> str:
    """Writes a p value to three places: ``0.031``, ``< 0.001``."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def ratio_cell(c: Comparison) -> str:
    """Writes a ratio for a table; a lower bound says so: ``≥ 5.00×``, ``≤ 0.200×`` where the variant is slower."""
    bounded = c.ratio is not None and c.is_lower_bound
    sign = ("≥ " if (c.ratio or 0) > 1 else "≤ ") if bounded else ""
    return sign + figures.ratio(c.ratio)


def metric_table(analysis: Analysis) -> Table:
    """Lists both values of every metric, the primary one first, with its verdict; the ratio where it holds."""
    v = analysis.verdict
    first = v.primary_comparison
    compared = {c.metric: c for c in v.comparisons}
    rows: list[list[str]] = []
    for name in [v.primary, *(name for name in METRICS if name != v.primary)]:
        values = [_value(name, v.variants[variant]) for variant in (first.over, first.of)]
        c = compared.get(name)
        if c is None and set(values) == {figures.DASH}:
            continue
        rows.append(
            [
                metric(name),
                *values,
                ratio_cell(c) if c else figures.DASH,
                figures.interval(c.low, c.high) if c else figures.DASH,
                c.better if c else "",
                (c.verdict or "") if c else "",
            ]
        )
    head = ["metric", first.over, first.of, "ratio", f"{percent(v.confidence)} interval", "better", "verdict"]
    caption = f"Ratios {first.of} over {first.over}. The primary metric, first, carries the verdict.{_tests(analysis)}"
    caption += (
        " These have no ratio: CPU per request and memory, if throughputs differ by more than"
        f" {percent(v.margin)}; service time and queue time, which belong together; latency under closed load, which"
        " follows from the throughput; latency of an overloaded variant."
    )
    return Table(caption, head, rows, (0,), (1, 2, 3, 4))


def _tests(analysis: Analysis) -> str:
    """Lists the p values of the primary metric, and the claim that they test."""
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    p_values = (("paired t", c.p_t), ("after Holm", c.p_holm), ("sign flip", c.p_sign_flip))
    tests = [f"{name} {probability(p)}" for name, p in p_values if p is not None]
    if not tests:
        return ""
    text = f" Its one-sided p for {_claim(c, v.margin)}: {', '.join(tests)}."
    if v.end:
        return f"{text} {_levels(v.end)}"
    return text + (" Holm corrects for the number of comparisons in this report." if c.p_holm is not None else "")


def _levels(end: RunEnd) -> str:
    """Says which p settles a verdict of a run with looks."""
    looks = figures.listed([str(number) for number in end.looks])
    among = f" and {end.claims} claims" if end.claims > 1 else ""
    return (
        f"After {end.blocks} blocks, a p of at most {100 * end.level / 2:.2g} % settles it: the looks after"
        f" {looks} blocks{among} share 2.5 % on each side, and their intervals 95 %."
    )


def _value(name: str, result: VariantResult) -> str:
    """Writes one variant's value of a metric."""
    if name.startswith("latency_"):
        return latency_figure(result, name.removeprefix("latency_"))
    form = {"throughput": figures.rate, "memory": figures.memory}.get(name, figures.duration)
    value = {
        "throughput": result.throughput,
        "cpu_per_request": result.cpu_per_request,
        "memory": result.memory,
        "service_time": result.service_time,
        "queue_time": result.queue_time if has_latency(result) else None,
    }[name]
    return form(value)


def _claim(comparison: Comparison, margin: float) -> str:
    """Names the claim that the p values of a comparison test."""
    ratio, most = comparison.ratio or 1.0, 1 + margin
    if 1 / most <= ratio <= most:
        return f"a difference below {percent(margin)}"
    return f"a ratio above {most:g}" if ratio > most else f"a ratio below 1/{most:g}"


def block_panel(analysis: Analysis) -> Panel | None:
    """Draws the ratio of every block that counts and in which neither variant failed; None without ratios."""
    c, margin = analysis.verdict.primary_comparison, analysis.verdict.margin
    sound = failing.sound_blocks(analysis.accepted, analysis.run.experiment, c.of, c.over)
    if not c.log_ratios or len(c.log_ratios) != len(sound):
        return None
    caption = f"Dots: blocks. Line: their mean, with its interval. Grey band: ±{percent(margin)}."
    return Panel(ratio_heading(c), block_ratios(c, [b.block for b in sound], margin), caption)
