"""One variant over another: the ratios of every metric with their intervals, and of every block."""

from __future__ import annotations

from markupsafe import Markup

from vtlab.analysis.comparable import has_latency
from vtlab.analysis.validity import failing
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.model.verdict import Comparison, Decision, VariantResult
from vtlab.report.charts import ratios as charts
from vtlab.report.charts.ratios import Row
from vtlab.report.parts.part import Table
from vtlab.report.parts.performance import latency_figure
from vtlab.report.words import figures
from vtlab.report.words.labels import METRICS, heading, metric


def interval(analysis: Analysis) -> Markup | None:
    """The chart of the verdict card."""
    verdict, c = analysis.verdict, analysis.verdict.primary_comparison
    if c.ratio is None:
        return None
    return charts.ratios([Row(verdict.experiment, c)], verdict.margin, heading(c))


def probability(p: float) -> str:
    """A p value to three places: ``0.031``, ``< 0.001``."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def ratio(c: Comparison) -> str:
    """A ratio for a table; a lower bound says so: ``≥ 5.00×``, of a variant that is slower ``≤ 0.200×``."""
    bounded = c.ratio is not None and c.is_lower_bound
    sign = ("≥ " if (c.ratio or 0) > 1 else "≤ ") if bounded else ""
    return sign + figures.ratio(c.ratio)


def by_metric(analysis: Analysis) -> Table:
    """Both values of every metric, the primary one first, with its verdict; the ratio where it holds."""
    v = analysis.verdict
    first = v.primary_comparison
    compared = {c.metric: c for c in v.comparisons}
    rows: list[list[str]] = []
    for name in [v.primary, *(name for name in METRICS if name != v.primary)]:
        values = [_value(name, v.variants[of]) for of in (first.over, first.of)]
        c = compared.get(name)
        if c is None and set(values) == {figures.DASH}:
            continue
        rows.append(
            [
                metric(name),
                *values,
                (ratio(c) if c else figures.DASH),
                figures.interval(c.low, c.high) if c else figures.DASH,
                c.better if c else "",
                (c.verdict or "") if c else "",
            ]
        )
    head = ["metric", first.over, first.of, "ratio", f"{percent(v.confidence)} interval", "better", "verdict"]
    caption = f"Ratios {first.of} over {first.over}. The primary metric, first, carries the verdict.{_tests(analysis)}"
    caption += (
        " Without a ratio: CPU per request and memory at throughputs that differ by more than"
        f" {percent(v.margin)}; service time and queue time, which belong together; latency under closed load, which"
        " follows from the throughput; latency of an overloaded variant."
    )
    return Table(caption, head, rows, (0,), (1, 2, 3, 4))


def _tests(analysis: Analysis) -> str:
    """The p values of the primary metric, and of which claim they are."""
    v, c = analysis.verdict, analysis.verdict.primary_comparison
    given = (("paired t", c.p_t), ("after Holm", c.p_holm), ("sign flip", c.p_sign_flip))
    tests = [f"{name} {probability(p)}" for name, p in given if p is not None]
    if not tests:
        return ""
    text = f" Its p, one-sided, for {_claim(c, v.margin)}: {', '.join(tests)}."
    if v.decision:
        return f"{text} {_levels(v.decision)}"
    return text + (" Holm: corrected for the number of comparisons in this report." if c.p_holm is not None else "")


def _levels(decision: Decision) -> str:
    """Which p settles a verdict of a run with looks."""
    looks = figures.listed([str(number) for number in decision.looks])
    among = f" and {decision.comparisons} comparisons" if decision.comparisons > 1 else ""
    return (
        f"At {decision.blocks} blocks a p of at most {100 * decision.level / 2:.2g} % settles it: the looks at {looks}"
        f" blocks{among} share 2.5 % to each side, and their intervals 95 %."
    )


def _value(name: str, result: VariantResult) -> str:
    """One variant's value of a metric."""
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
    """What the p values of a comparison are of."""
    ratio, most = comparison.ratio or 1.0, 1 + margin
    if 1 / most <= ratio <= most:
        return f"a difference below {percent(margin)}"
    return f"a ratio above {most:g}" if ratio > most else f"a ratio below 1/{most:g}"


def blocks(analysis: Analysis) -> Markup | None:
    """The ratio of every block that counts and in which neither variant failed."""
    c = analysis.verdict.primary_comparison
    sound = failing.sound_blocks(analysis.accepted, analysis.run.experiment, c.of, c.over)
    if not c.log_ratios or len(c.log_ratios) != len(sound):
        return None
    return charts.per_block(c, [b.block for b in sound], analysis.verdict.margin)
