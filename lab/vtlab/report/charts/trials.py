"""Charts of the trials: a dot for each trial, and latency by percentile."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from vtlab.report.charts import scales
from vtlab.report.charts.axes import Format, horizontal_grid, vertical_grid
from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import WIDTH, chart, element, line, mark, path, text
from vtlab.report.words import figures

_ROW = 50.0


def trial_dots(
    groups: Sequence[tuple[str, Sequence[float]]],
    title: str,
    form: Format,
    published: Mapping[str, float] | None = None,
) -> Markup:
    """Draws one dot per trial and the mean, a row per variant, from 0; beside them a triangle at what was published."""
    others = published or {}
    steps = scales.ticks(max([*(v for _, values in groups for v in values), *others.values()], default=0.0))
    left, right = max(78.0, 16 + 6.8 * max(len(n) for n, _ in groups)), WIDTH - 22.0
    bottom = 6 + _ROW * len(groups)
    across = Scale(0, steps[-1], left, right)
    parts = vertical_grid((4, bottom), across, {t: figures.short(form(t)) for t in steps})
    descriptions = []
    for slot, (name, values) in enumerate(groups):
        y = 6 + _ROW * (slot + 0.5)
        parts.append(text(left - 10, y + 4, name, "end", "label"))
        if name in others:
            tip = f"{name}, published: {form(others[name])}"
            parts.append(_triangle(across(others[name]), y, tip))
            descriptions.append(tip)
        if not values:
            continue
        for i, value in enumerate(values):
            lift = ((i * 7) % 5 - 2) * 4.0
            parts.append(mark(slot, (across(value), y + lift), 3.5, "faint", f"{name}: {form(value)}"))
        mean = math.fsum(values) / len(values)
        parts += _mean(across, mean, y, form(mean))
        extremes = f"{len(values)} trials from {form(min(values))} to {form(max(values))}"
        descriptions.append(f"{name}: mean {form(mean)}, {extremes}")
    return chart(bottom + 22, title, "; ".join(descriptions), *parts)


def _triangle(x: float, y: float, tip: str) -> Markup:
    shape = f"M{x - 6:.1f},{y + 22:.1f} l6,-11 l6,11 z"
    return element("path", element("title", tip), d=shape, class_="published")


def _mean(across: Scale, mean: float, y: float, label: str) -> list[Markup]:
    """Returns the line of a mean, its label at the side that has room."""
    is_far_right = mean > across.high * 0.75
    x = across(mean) + (-6 if is_far_right else 6)
    return [
        line(across(mean), y - 17, across(mean), y + 17, "mean"),
        text(x, y - 13, label, "end" if is_far_right else "start", "value"),
    ]


def latency_percentiles(groups: Sequence[tuple[str, Sequence[float | None]]], names: Sequence[str]) -> Markup:
    """Draws latency by percentile on a logarithmic axis, a line per variant; no mark where there is no figure."""
    positive = [v for _, values in groups for v in values if v is not None and v > 0]
    if not positive:
        return Markup("")
    steps = scales.log_ticks(min(positive), max(positive))
    if len(steps) == 1:
        steps = [steps[0] / 2, steps[0], steps[0] * 2]
    left, right, top, bottom = 58.0, WIDTH - 22.0, 12.0, 150.0
    up = Scale(steps[0], steps[-1], bottom, top, log=True)
    across = Scale(0, len(names) - 1, left + 12, right - 4)
    parts = horizontal_grid((left, right), up, {t: figures.short(figures.duration(t)) for t in steps})
    parts += [text(across(i), bottom + 16, name, "middle", "tick") for i, name in enumerate(names)]
    descriptions = []
    for slot, (name, values) in enumerate(groups):
        points = [(across(i), up(v), i, v) for i, v in enumerate(values) if v is not None and v > 0]
        parts.append(path([(x, y) for x, y, _, _ in points], f"line v{slot}"))
        for x, y, i, v in points:
            parts.append(mark(slot, (x, y), 4, "solid", f"{name} {names[i]}: {figures.duration(v)}"))
        descriptions.append(f"{name}: " + ", ".join(f"{names[i]} {figures.duration(v)}" for _, _, i, v in points))
    return chart(bottom + 24, "Client latency by percentile", "Logarithmic axis. " + "; ".join(descriptions), *parts)
