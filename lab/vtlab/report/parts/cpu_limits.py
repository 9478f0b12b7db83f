"""Experiments that were measured under several CPU limits, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vtlab.model.run import Analysis
from vtlab.model.verdict import VariantResult
from vtlab.report.charts.ratios import RatioRow, ratio_intervals
from vtlab.report.parts import performance, ratios
from vtlab.report.parts.part import Table
from vtlab.report.words import bottlenecks, figures, labels


@dataclass(frozen=True)
class LimitGroup:
    """One experiment under several CPU limits."""

    experiment: str
    heading: str
    chart: Markup
    caption: str
    table: Table


def limit_groups(analyses: Sequence[Analysis]) -> list[LimitGroup]:
    """Groups the experiments that were measured under several CPU limits, the smallest limit first."""
    groups = []
    for name in dict.fromkeys(a.verdict.experiment for a in analyses):
        by_limit = [a for a in analyses if a.verdict.experiment == name]
        by_limit.sort(key=lambda a: a.run.experiment.limits.cpu)
        compared = {(a.verdict.primary, *a.run.experiment.variants) for a in by_limit}
        if len({a.run.experiment.limits.cpu for a in by_limit}) > 1 and len(compared) == 1:
            groups.append(_group(name, by_limit))
    return groups


def _group(name: str, by_limit: Sequence[Analysis]) -> LimitGroup:
    heading = labels.ratio_heading(by_limit[0].verdict.primary_comparison)
    rows = [RatioRow(figures.cores(a.run.experiment.limits.cpu), a.verdict.primary_comparison) for a in by_limit]
    return LimitGroup(
        experiment=name,
        heading=heading,
        chart=ratio_intervals(rows, by_limit[0].verdict.margin, f"{heading} under each CPU limit"),
        caption="Dots: ratios. Lines: their intervals. Grey band: too small to matter.",
        table=_limit_table(by_limit),
    )


def _limit_table(by_limit: Sequence[Analysis]) -> Table:
    names = labels.variant_names(by_limit[0])
    rows = []
    for a in by_limit:
        v, c = a.verdict, a.verdict.primary_comparison
        results = [v.variants[n] for n in names]
        rows.append(
            [
                labels.limits(a),
                "not valid" if not v.valid else c.verdict or "",
                ratios.ratio_cell(c),
                figures.interval(c.low, c.high),
                str(v.n),
                *(_figure(v.primary, r) for r in results),
                *(bottlenecks.resource_names(r.bottleneck) for r in results),
            ]
        )
    head = ["limits", "verdict", "ratio", "interval", "blocks"]
    metric = labels.metric(by_limit[0].verdict.primary)
    head += [f"{n}: {column}" for column in (metric, "bottleneck") for n in names]
    return Table("One run for each CPU limit.", head, rows, numeric=(2, 3, 4, 5, 6))


def _figure(metric: str, result: VariantResult) -> str:
    if metric == "throughput":
        return figures.rate(result.throughput)
    return performance.latency_figure(result, "p99")
