"""A search's curve as a table and as a chart."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.model.curve import Curve
from vtlab.model.run import Analysis
from vtlab.report.charts.load_curve import LAWS, throughput_over_users
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import curve_sentences, figures, labels


def curve_panel(analysis: Analysis) -> Panel | None:
    """Draws throughput over users; None where vtlab searched no load, or nothing was measured."""
    curve, variants = analysis.run.manifest.curve, labels.variant_names(analysis)
    if curve is None or not curve.points:
        return None
    caption = " ".join([*curve_sentences.sentences(curve, variants), LAWS])
    return Panel("Requests per second over users", throughput_over_users(curve, variants), caption)


def curve_table(curve: Curve, variants: Sequence[str]) -> Table:
    """Lists throughput and latency of every level."""
    head = ["users", *(f"{variant}, {figure}" for variant in variants for figure in ("requests/s", "mean", "p99"))]
    rows = []
    for users in curve.users:
        points = {point.variant: point for point in curve.points if point.users == users}
        row = [f"{users:,}"]
        for variant in variants:
            if point := points.get(variant):
                row += [figures.rate(point.throughput), figures.duration(point.mean), figures.duration(point.p99)]
            else:
                row += [figures.DASH] * 3
        rows.append(row)
    caption = "Throughput and latency over users: one pair of JVMs, one window per level"
    return Table(caption, head, rows, numeric=tuple(range(len(head))))
