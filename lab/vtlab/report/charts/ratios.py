"""Charts of ratios with their intervals: block by block, and over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vtlab.model.outcome import Outcome
from vtlab.report.charts.axes import horizontal_grid
from vtlab.report.charts.scales import Scale, ratio_ticks
from vtlab.report.charts.svg import WIDTH, chart, circle, line, path, rect, text
from vtlab.report.words import figures

#: Most labels of runs below an axis.
_RUN_LABELS = 3


@dataclass(frozen=True)
class DatedRatio:
    """The outcome of one run in a history, and when it was measured."""

    measured: str
    outcome: Outcome
    is_valid: bool


def interval_in_words(outcome: Outcome) -> str:
    """Returns a ratio and its interval in words; why there is none."""
    if outcome.ratio is None:
        return f"no ratio, {outcome.reason}" if outcome.reason else "no ratio"
    if outcome.low is None or outcome.high is None:
        return f"{figures.ratio(outcome.ratio)}, no interval from one block"
    provisional = "provisional " if outcome.is_provisional else ""
    return f"{figures.ratio(outcome.ratio)}, {provisional}interval {figures.interval(outcome.low, outcome.high)}"


def _drawable(values: Sequence[float | None]) -> list[float]:
    """Cuts ratios to what can be drawn: an interval from two blocks that differ wildly has no end."""
    return [min(max(v, 1e-4), 1e4) for v in values if v is not None]


def _ends(outcomes: Sequence[Outcome]) -> list[float]:
    return _drawable([value for o in outcomes for value in (o.ratio, o.low, o.high)])


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


def block_ratios(outcome: Outcome, blocks: Sequence[int], name: str) -> Markup:
    """Draws the ratio of every accepted block, their mean and its interval; ``name``: of the criterion."""
    values = [math.exp(x) for x in outcome.log_ratios]
    margin, low, high = outcome.margin, outcome.low, outcome.high
    area = _columns_area(_drawable([*values, low, high]), margin, left=44.0, bottom=150.0)
    up, across = area.up, Scale(0, len(values) + 1, area.left, area.right)
    parts = area.background(margin)
    if low is not None and high is not None:
        parts.append(area.band(low, high, "interval"))
    if outcome.ratio is not None:
        parts.append(line(area.left, up(outcome.ratio), area.right, up(outcome.ratio), "mean"))
    size = 4.0 if len(values) <= 30 else 2.5
    step = max(1, math.ceil(len(values) / 12))
    for i, (number, value) in enumerate(zip(blocks, values, strict=True)):
        parts.append(circle(across(i + 1), up(value), size, "dot", f"block {number}: {figures.ratio(value)}"))
        if i % step == 0:
            parts.append(text(across(i + 1), area.bottom + 15, str(number), "middle", "tick"))
    parts.append(text((area.left + area.right) / 2, area.bottom + 31, "block", "middle", "tick"))
    ends = figures.interval(min(values), max(values))
    extremes = f"{len(values)} blocks from {ends}" if len(values) > 1 else f"1 block: {ends}"
    title = f"{name}: ratio of {outcome.of} over {outcome.over} in each block"
    return chart(area.bottom + 36, title, f"{extremes}; {interval_in_words(outcome)}", *parts)


def ratio_history(runs: Sequence[DatedRatio], title: str) -> Markup | None:
    """Draws the ratio of each run with its interval, in order of time; None without any ratio."""
    margin = runs[-1].outcome.margin if runs else 0.0
    ends = _ends([run.outcome for run in runs])
    if not ends:
        return None
    area = _columns_area(ends, margin, left=48.0, bottom=170.0)
    up, across = area.up, Scale(0, len(runs) + 1, area.left, area.right)
    parts = area.background(margin)
    placed = [(across(i), run, run.outcome) for i, run in enumerate(runs, 1)]
    drawn = [(x, run, o, o.ratio) for x, run, o in placed if o.ratio is not None]
    parts.append(path([(x, up(ratio)) for x, _, _, ratio in drawn], "line thin history"))
    for x, run, o, ratio in drawn:
        if o.low is not None and o.high is not None:
            parts.append(line(x, up(o.low), x, up(o.high), "whisker"))
        tip = f"{run.measured}: {interval_in_words(o)}"
        parts.append(circle(x, up(ratio), 4.0, "estimate" if run.is_valid else "published", tip))
    label_step = -(-len(runs) // _RUN_LABELS)
    for x, run, _ in placed[::label_step]:
        parts.append(text(x, area.bottom + 16, run.measured[:10], "middle", "tick"))
    description = "; ".join(f"{run.measured}: {interval_in_words(o)}" for _, run, o in placed)
    return chart(area.bottom + 22, title, f"Logarithmic axis. {description}", *parts)
