"""Chart of how latency is distributed: the latency below which each share of the answers lies."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from vtlab.model.histogram import quantile
from vtlab.model.records import Histogram, Latency
from vtlab.report.charts import scales, svg
from vtlab.report.charts.axes import horizontal_grid, vertical_grid
from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import WIDTH, many_marks, path
from vtlab.report.words import figures

#: A share of the answers is shown where so many lie beyond it, as k6 tells percentiles.
LEAST_BEYOND = 10
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, WIDTH - 22.0, 12.0, 212.0
#: Share at each mark of a window, by the key of its latency; and as the axis and the description write it.
_MARKS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
_TICKS = {0.5: "50 %", 0.9: "90 %", 0.99: "99 %", 0.999: "99.9 %", 0.9999: "99.99 %", 0.99999: "99.999 %"}
_STEPS = 120
#: An axis begins at the shortest time over this.
_ROOM = 1.15


def distribution(
    title: str, lines: Sequence[tuple[str, Histogram]], marks: Sequence[Sequence[Latency]], ends: tuple[float, float]
) -> Markup:
    """Draws a line for each variant, from the shortest answer on; ``marks``: of each variant's windows their own
    percentiles. ``ends``: the shortest and the longest time of the axis, seconds."""
    up, labels = time_axis(ends, _BOTTOM, _TOP)
    across = Scale(0, max([nines(0.9), *(_end(histogram) for _, histogram in lines)]), _LEFT + 4, _RIGHT)
    shares = {nines(share): label for share, label in _TICKS.items() if nines(share) <= across.high + 1e-9}
    drawn = horizontal_grid((_LEFT, _RIGHT), up, labels)
    drawn += vertical_grid((_TOP, _BOTTOM), across, shares)
    descriptions = []
    for slot, ((name, histogram), latencies) in enumerate(zip(lines, marks, strict=True)):
        points = [(across(x), up(seconds)) for x, seconds in _line(histogram)]
        if not points:
            continue
        # Beside each other: those of two variants may have one place.
        aside = 3.0 * (slot - (len(lines) - 1) / 2)
        of_windows = [(across(x) + aside, up(value)) for x, value in _of_windows(latencies) if x <= across.high]
        drawn += [path(points, f"line v{slot}"), many_marks(slot, of_windows, 3)]
        descriptions.append(f"{name}: {_in_words(histogram)}")
    return svg.chart(_BOTTOM + 22, title, "Logarithmic axes. " + "; ".join(descriptions), *drawn)


def ends_of(histograms: Sequence[Histogram]) -> tuple[float, float] | None:
    """Returns the shortest and the longest time that lines of these have; None where they have none."""
    lines = [line for histogram in histograms if (line := _line(histogram))]
    return (min(line[0][1] for line in lines), max(line[-1][1] for line in lines)) if lines else None


def time_axis(ends: tuple[float, float], bottom: float, top: float) -> tuple[Scale, dict[float, str]]:
    """Returns a logarithmic axis of times, from the shortest to the longest, with the values that stand at it: two at
    least, though all times are one."""
    shortest, longest = ends[0] / _ROOM, ends[1] * _ROOM
    steps = scales.log_ticks(*ends)
    inside = [step for step in steps if shortest <= step <= longest]
    if len(inside) < 2:
        inside = steps if len(steps) > 1 else [steps[0] / 2, steps[0], steps[0] * 2]
        shortest, longest = inside[0], inside[-1]
    labels = {step: figures.short(figures.duration(step)) for step in inside}
    return Scale(shortest, longest, bottom, top, log=True), labels


def nines(share: float) -> float:
    """Returns the place of a share on the axis: 1 for 90 %, 2 for 99 %."""
    return -math.log10(1 - share)


def _end(histogram: Histogram) -> float:
    count = sum(histogram.counts)
    return math.log10(count / LEAST_BEYOND) if count > LEAST_BEYOND else 0.0


def _line(histogram: Histogram) -> list[tuple[float, float]]:
    """Returns places and seconds; none where too few answers lie beyond the first half."""
    end = _end(histogram)
    if end < nines(0.5):
        return []
    places = [end * step / _STEPS for step in range(_STEPS + 1)]
    return [(place, quantile(histogram, 1 - 10**-place)) for place in places]


def _of_windows(latencies: Sequence[Latency]) -> list[tuple[float, float]]:
    """Returns places and seconds of the percentiles that windows have."""
    values = [(share, getattr(latency, key)) for latency in latencies for key, share in _MARKS.items()]
    return [(nines(share), value) for share, value in values if value]


def _in_words(histogram: Histogram) -> str:
    end = _end(histogram) + 1e-9
    shown = {key: share for key, share in _MARKS.items() if nines(share) <= end}
    return ", ".join(
        f"{key.replace('_', '.')} {figures.duration(quantile(histogram, share))}" for key, share in shown.items()
    )
