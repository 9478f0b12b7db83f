"""Chart of a search's curve: throughput over users."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from vtlab.analysis import load_curve as curves
from vtlab.model.curve import Curve
from vtlab.report.charts import scales, svg
from vtlab.report.charts.axes import horizontal_grid
from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import mark, path, text
from vtlab.report.words import curve_sentences, figures

#: Caption of the chart's thin lines.
LAWS = "Thin lines show the bound: the throughput of one user times the number of users, up to the maximum measured."
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, svg.WIDTH - 20.0, 12.0, 232.0


def throughput_over_users(curve: Curve, variants: Sequence[str]) -> Markup:
    """Draws throughput over users, both logarithmic, and the law that each variant follows."""
    points = [p for p in curve.points if p.throughput > 0]
    if not points:
        return Markup("")
    users, rates = [p.users for p in points], [p.throughput for p in points]
    x = Scale(min(users), max(*users, min(users) + 1), _LEFT, _RIGHT, log=True)
    ticks = scales.log_ticks(min(rates) / 1.1, max(rates) * 1.1)
    # From tick to tick: a tick beyond the scale would stand on its edge, where another value is.
    y = Scale(ticks[0], ticks[-1], _BOTTOM, _TOP, log=True)
    drawn = horizontal_grid((_LEFT, _RIGHT), y, {t: f"{t:g}" if t < 1 else f"{t:,.0f}" for t in ticks})
    for level in curve.users:
        if level in users:
            drawn.append(text(x(level), _BOTTOM + 16, svg.number(level), "middle", "tick"))
    for slot, variant in enumerate(variants):
        law = [(x(users), y(rate)) for users, rate in curves.bounds(curve.points, variant)]
        drawn += [path(law, f"law v{slot}")] if law else []
        measured = [(p, (x(p.users), y(p.throughput))) for p in curve.points_of(variant) if p.throughput > 0]
        drawn.append(path([at for _, at in measured], f"line v{slot}"))
        for point, at in measured:
            tip = f"{variant}, {point.users:,} users: {figures.rate(point.throughput)}"
            drawn.append(mark(slot, at, 4, "solid", tip))
    drawn.append(text((_LEFT + _RIGHT) / 2, _BOTTOM + 34, "users", "middle", "tick"))
    description = " ".join([*curve_sentences.sentences(curve, variants), LAWS])
    return svg.chart(_BOTTOM + 42, "Requests per second over users", description, *drawn)
