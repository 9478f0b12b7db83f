"""Chart of a variant's bounds beside its measurement."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from vtlab.model.units import percent
from vtlab.model.verdict import Bound
from vtlab.report.charts.axes import vertical_grid
from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import WIDTH, chart, rect, text
from vtlab.report.words import figures

_LEFT, _RIGHT, _TOP, _ROW = 112.0, WIDTH - 34.0, 8.0, 40.0


def reached_bounds(variant: str, slot: int, measured: float, rows: Sequence[tuple[Bound, str]]) -> Markup:
    """Draws how much of each bound the measurement reaches, at most all of it; each of ``rows`` has a remark
    (bottleneck, next)."""
    bottom = _TOP + _ROW * len(rows)
    across = Scale(0, 1, _LEFT, _RIGHT)
    parts = vertical_grid((_TOP, bottom), across, {t: percent(t) for t in (0.0, 0.25, 0.5, 0.75, 1.0)}, one=1)
    descriptions = []
    for i, (bound, remark) in enumerate(rows):
        y = _TOP + _ROW * i
        parts.append(text(_LEFT - 8, y + 18, bound.resource, "end", "label"))
        if remark:
            parts.append(text(_LEFT - 8, y + 31, remark, "end", "tick"))
        look = f"bar v{slot}" if remark in ("bottleneck", "together") else f"bar v{slot} faint"
        parts.append(rect(_LEFT, y + 6, across(min(1.0, bound.utilisation)) - _LEFT, 14, look))
        relation = "far above" if remark == "refuted" else "of at most"
        note = f"{figures.rate(measured)}, {relation} {figures.rate(bound.bound)}"
        parts.append(text(_LEFT + 4, y + 33, note, "start", "value"))
        descriptions.append(f"{bound.resource}: {note}" + (f", {remark}" if remark else ""))
    title = f"{variant}: throughput as a share of each bound"
    return chart(bottom + 22, title, "; ".join(descriptions), *parts)
