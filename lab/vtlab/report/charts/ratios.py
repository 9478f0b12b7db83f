"""Charts of ratios with their intervals: of several runs, block by block, and over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vtlab.model.units import percent
from vtlab.model.verdict import Comparison
from vtlab.report.charts.axes import horizontal_grid
from vtlab.report.charts.scales import Scale, ratio_ticks
from vtlab.report.charts.svg import WIDTH, chart, circle, line, path, rect, text
from vtlab.report.words import figures

#: Most labels of runs below an axis.
_RUN_LABELS = 3


@dataclass(frozen=True)
class RatioRow:
    """A line of a chart of ratios: its label and the comparison."""

    label: str
    comparison: Comparison


@dataclass(frozen=True)
class DatedRatio:
    """The comparison of one run in a history, and when it was measured."""

    measured: str
    comparison: Comparison
    is_valid: bool


def interval_in_words(c: Comparison) -> str:
    """Returns a ratio and its interval in words."""
    if c.ratio is None:
        lost = [*(f"{v} overloaded" for v in c.overloaded), *(f"{v} fails" for v in c.fails)]
        return f"no ratio, {figures.listed(lost)}" if lost else "no ratio"
    if c.low is None or c.high is None:
        return f"{figures.ratio(c.ratio)}, no interval from one block"
    return f"{figures.ratio(c.ratio)}, interval {figures.interval(c.low, c.high)}"


def _drawable(values: Sequence[float | None]) -> list[float]:
    """Cuts ratios to what can be drawn: an interval from two blocks that differ wildly has no end."""
    return [min(max(v, 1e-4), 1e4) for v in values if v is not None]


def _ends(comparisons: Sequence[Comparison]) -> list[float]:
    return _drawable([value for c in comparisons for value in (c.ratio, c.low, c.high)])


@dataclass(frozen=True)
class _RowsArea:
    """The area of ``ratio_intervals``: ratios from left to right, a line for each comparison."""

    across: Scale
    steps: Sequence[float]
    band: tuple[float, float]
    left: float
    bottom: float
    pitch: float

    right = WIDTH - 12.0
    top = 22.0

    def background(self) -> list[Markup]:
        """Returns the band of the margin, the grid, the line of no difference and the labels below."""
        across, top, bottom = self.across, self.top, self.bottom
        low, high = across(self.band[0]), across(self.band[1])
        return [
            rect(low, top - 4, high - low, bottom - top + 4, "margin"),
            *(line(across(t), top - 4, across(t), bottom, "grid") for t in self.steps),
            line(across(1), top - 8, across(1), bottom, "one"),
            *(text(across(t), bottom + 14, f"{t:g}×", "middle", "tick") for t in self.steps),
        ]

    def sides(self, c: Comparison) -> list[Markup]:
        """Returns which variant is better on which side, where there is room for the words."""
        lower, higher = (c.over, c.of) if c.better == "higher" else (c.of, c.over)
        words, unity = (f"{lower} better", f"{higher} better"), self.across(1)
        room = 6.5 * max(len(side) + 2 for side in words)
        parts = [text(unity - 6, 11, "← " + words[0], "end", "tick")] if unity - self.left > room else []
        return parts + ([text(unity + 6, 11, words[1] + " →", "start", "tick")] if self.right - unity > room else [])

    def interval(self, c: Comparison, y: float) -> list[Markup]:
        """Returns a ratio and its interval at the height ``y``."""
        if c.ratio is None:
            return [text((self.left + self.right) / 2, y + 4, interval_in_words(c), "middle", "value")]
        parts, x = [], self.across(c.ratio)
        if c.low is not None and c.high is not None:
            low, high = self.across(c.low), self.across(c.high)
            parts.append(line(low, y, high, y, "whisker"))
            parts += [line(end, y - 5, end, y + 5, "whisker") for end in (low, high)]
        parts.append(circle(x, y, 5.5, "estimate"))
        inside = min(max(x, self.left + 22), self.right - 22)
        return [*parts, text(inside, y - 10, figures.ratio(c.ratio), "middle", "label")]


def ratio_intervals(rows: Sequence[RatioRow], margin: float, title: str) -> Markup:
    """Draws ratios with their intervals on one logarithmic axis, the band of the margin behind them."""
    area = _rows_area([row.comparison for row in rows], margin)
    first = rows[0].comparison
    parts = [*area.background(), *area.sides(first)]
    for i, row in enumerate(rows):
        y = area.top + area.pitch * (i + 0.6)
        if len(rows) > 1:
            parts.append(text(area.left - 8, y + 4, row.label, "end", "label"))
        parts += area.interval(row.comparison, y)
    description = (
        f"{first.of} over {first.over} on a logarithmic axis; the shaded band is the margin of ±{percent(margin)}. "
        + "; ".join(f"{row.label}: {interval_in_words(row.comparison)}" for row in rows)
    )
    return chart(area.bottom + 18, title, description, *parts)


def _rows_area(comparisons: Sequence[Comparison], margin: float) -> _RowsArea:
    ends, band = _ends(comparisons), (1 / (1 + margin), 1 + margin)
    steps = ratio_ticks(min([*ends, band[0]]), max([*ends, band[1]]))
    left, pitch = (64.0, 34.0) if len(comparisons) > 1 else (12.0, 46.0)
    low, high = min([*ends, band[0], steps[0]]), max([*ends, band[1], steps[-1]])
    air = (high / low) ** 0.07
    across = Scale(low / air, high * air, left, _RowsArea.right, log=True)
    return _RowsArea(across, steps, band, left, _RowsArea.top + pitch * len(comparisons) + 4, pitch)


@dataclass(frozen=True)
class _ColumnsArea:
    """The area of a chart with ratios on its vertical, logarithmic axis."""

    left: float
    bottom: float
    up: Scale
    steps: Sequence[float]

    right = WIDTH - 12.0

    def background(self, margin: float) -> list[Markup]:
        """Returns the band of the margin and the grid."""
        labels = {step: f"{step:g}×" for step in self.steps}
        grid = horizontal_grid((self.left, self.right), self.up, labels, one=1)
        return [self.band(1 / (1 + margin), 1 + margin, "margin"), *grid]

    def band(self, low: float, high: float, class_: str) -> Markup:
        """Returns a band over the whole width."""
        return rect(self.left, self.up(high), self.right - self.left, self.up(low) - self.up(high), class_)


def _columns_area(ends: Sequence[float], margin: float, left: float, bottom: float) -> _ColumnsArea:
    steps = ratio_ticks(min([*ends, 1 / (1 + margin)]), max([*ends, 1 + margin]))
    up = Scale(min([*ends, *steps]), max([*ends, *steps]), bottom, 10.0, log=True)
    return _ColumnsArea(left, bottom, up, steps)


def block_ratios(c: Comparison, blocks: Sequence[int], margin: float) -> Markup:
    """Draws the ratio of every accepted block, their mean and its interval."""
    values = [math.exp(x) for x in c.log_ratios]
    area = _columns_area(_drawable([*values, c.low, c.high]), margin, left=44.0, bottom=150.0)
    up, across = area.up, Scale(0, len(values) + 1, area.left, area.right)
    parts = area.background(margin)
    if c.low is not None and c.high is not None:
        parts.append(area.band(c.low, c.high, "interval"))
    if c.ratio is not None:
        parts.append(line(area.left, up(c.ratio), area.right, up(c.ratio), "mean"))
    size = 4.0 if len(values) <= 30 else 2.5
    step = max(1, math.ceil(len(values) / 12))
    for i, (number, value) in enumerate(zip(blocks, values, strict=True)):
        parts.append(circle(across(i + 1), up(value), size, "dot", f"block {number}: {figures.ratio(value)}"))
        if i % step == 0:
            parts.append(text(across(i + 1), area.bottom + 15, str(number), "middle", "tick"))
    parts.append(text((area.left + area.right) / 2, area.bottom + 31, "block", "middle", "tick"))
    ends = figures.interval(min(values), max(values))
    extremes = f"{len(values)} blocks from {ends}" if len(values) > 1 else f"1 block: {ends}"
    title = f"Ratio of {c.of} over {c.over} in each block"
    return chart(area.bottom + 36, title, f"{extremes}; {interval_in_words(c)}", *parts)


def ratio_history(runs: Sequence[DatedRatio], margin: float, title: str) -> Markup | None:
    """Draws the ratio of each run with its interval, in order of time; None without any ratio."""
    ends = _ends([run.comparison for run in runs])
    if not ends:
        return None
    area = _columns_area(ends, margin, left=48.0, bottom=170.0)
    up, across = area.up, Scale(0, len(runs) + 1, area.left, area.right)
    parts = area.background(margin)
    placed = [(across(i), run, run.comparison) for i, run in enumerate(runs, 1)]
    drawn = [(x, run, c, c.ratio) for x, run, c in placed if c.ratio is not None]
    parts.append(path([(x, up(ratio)) for x, _, _, ratio in drawn], "line thin history"))
    for x, run, c, ratio in drawn:
        if c.low is not None and c.high is not None:
            parts.append(line(x, up(c.low), x, up(c.high), "whisker"))
        tip = f"{run.measured}: {interval_in_words(c)}"
        parts.append(circle(x, up(ratio), 4.0, "estimate" if run.is_valid else "published", tip))
    label_step = -(-len(runs) // _RUN_LABELS)
    for x, run, _ in placed[::label_step]:
        parts.append(text(x, area.bottom + 16, run.measured[:10], "middle", "tick"))
    description = "; ".join(f"{run.measured}: {interval_in_words(c)}" for _, run, c in placed)
    return chart(area.bottom + 22, title, f"Logarithmic axis. {description}", *parts)
