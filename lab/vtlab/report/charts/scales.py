"""Scales from values to coordinates, and the round values that stand at an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vtlab.report.charts.svg import Points


@dataclass(frozen=True)
class Scale:
    """Linear or logarithmic scale from values to coordinates; puts values outside on the edge."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        part = (at - low) / (high - low) if high > low else 0.5
        return self.start + part * (self.end - self.start)


def ticks(high: float, wanted: int = 4, unit: float = 1.0) -> list[float]:
    """Returns round values from 0 to at least ``high``: about ``wanted`` steps, in multiples of ``unit``."""
    high = high / unit
    if high <= 0:
        return [0.0, unit]
    step = 10 ** math.floor(math.log10(high / wanted))
    for factor in (1, 2, 2.5, 5, 10):
        if high / (step * factor) <= wanted:
            step *= factor
            break
    return [round(i * step, 12) * unit for i in range(math.ceil(high / step - 1e-9) + 1)]


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Returns at most about ``most`` round values around ``low`` … ``high`` for a logarithmic axis."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps: list[float] = []
    for factors in ((1, 2, 5), (1, 3), (1,)):
        steps = [f * 10.0**e for e in range(first - 1, last + 1) for f in factors]
        under = [t for t in steps if t <= low * 1.0001][-1:]
        over = [t for t in steps if t >= high * 0.9999][:1]
        steps = under + [t for t in steps if low * 1.0001 < t < high * 0.9999] + over
        if len(steps) <= most:
            break
    return [float(f"{t:.3g}") for t in steps]


#: Steps of an axis of ratios, from close to 1 to far away.
_RATIOS = (
    [0.96, 0.98, 1.0, 1.02, 1.04],
    [0.9, 0.95, 1.0, 1.05, 1.1],
    [0.8, 0.9, 1.0, 1.1, 1.25],
    [0.5, 0.7, 1.0, 1.4, 2.0],
    [0.25, 0.5, 1.0, 2.0, 4.0],
    [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0],
    [0.01, 0.1, 1.0, 10.0, 100.0],
    [0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0],
)


def ratio_ticks(low: float, high: float) -> list[float]:
    """Returns the steps for an axis of ratios that shows ``low`` … ``high`` and 1."""
    for steps in _RATIOS:
        if steps[0] <= low and high <= steps[-1]:
            return [s for s in steps if low / 1.5 <= s <= high * 1.5]
    return [s for s in _RATIOS[-1] if low / 10 <= s <= high * 10]


def downsample(points: Points, most: int = 240) -> list[tuple[float, float]]:
    """Keeps at most about ``most`` points, and every peak: the lowest and the highest of each equal part, in order."""
    finite = [(float(p[0]), float(p[1])) for p in points if math.isfinite(p[1])]
    if len(finite) <= most:
        return finite
    parts = most // 2
    points_kept: list[tuple[float, float]] = []
    for i in range(parts):
        part = finite[i * len(finite) // parts : (i + 1) * len(finite) // parts]
        extremes = {min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])}
        points_kept += sorted(extremes)
    return points_kept
