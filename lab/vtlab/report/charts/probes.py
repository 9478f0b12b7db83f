"""Chart of the probes: how long each took, over the seconds of a window."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from vtlab.model.records import Probe
from vtlab.report.charts import svg
from vtlab.report.charts.axes import horizontal_grid
from vtlab.report.charts.latency_distribution import time_axis
from vtlab.report.charts.scales import Scale, ticks
from vtlab.report.charts.svg import WIDTH, line, many_marks, text
from vtlab.report.words import figures

#: Seconds from one probe to the next.
SLOT = 0.2
#: A probe that takes longer is one that a kubelet with the default time-out counts as failed.
SLOW = 1.0
_LIMIT = "1 s: default time-out of a kubelet"
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, WIDTH - 22.0, 14.0, 162.0


def ends_of(probes: Sequence[Probe]) -> tuple[float, float] | None:
    """Returns the ends of an axis that has all of these and the line at 1 s; None where none was sent."""
    times = [seconds for probe in probes for seconds in probe.times if seconds]
    return (min(*times, SLOW), max(*times, SLOW)) if times else None


def probe_dots(title: str, groups: Sequence[tuple[str, Sequence[Probe]]], ends: tuple[float, float]) -> Markup:
    """Draws a mark for each probe of each window, the windows of a variant laid over each other; a line at 1 s.
    ``ends``: the shortest and the longest time of the axis, seconds."""
    up, labels = time_axis(ends, _BOTTOM, _TOP)
    length = SLOT * max(len(probe.times) for _, probes in groups for probe in probes)
    across = Scale(0, length, _LEFT + 4, _RIGHT)
    drawn = horizontal_grid((_LEFT, _RIGHT), up, labels)
    seconds_shown = [second for second in ticks(length) if second <= length]
    drawn += [text(across(second), _BOTTOM + 15, f"{second:g} s", "middle", "tick") for second in seconds_shown]
    drawn.append(line(_LEFT, up(SLOW), _RIGHT, up(SLOW), "limit"))
    for slot, (_, probes) in enumerate(groups):
        aside = 2.5 * (slot - (len(groups) - 1) / 2)
        spots = [
            (across(SLOT * number) + aside, up(seconds))
            for probe in probes
            for number, seconds in enumerate(probe.times)
            if seconds
        ]
        drawn += [many_marks(slot, spots, 2)] if spots else []
    # Above the marks, which are many where it matters.
    drawn.append(text(_RIGHT, up(SLOW) + (13 if up(SLOW) < _TOP + 20 else -4), _LIMIT, "end", "value"))
    described = [f"{name}: {in_words(probes)}" for name, probes in groups if probes]
    return svg.chart(_BOTTOM + 22, title, f"Over {length:g} s, logarithmic. {'; '.join(described)}", *drawn)


def in_words(probes: Sequence[Probe]) -> str:
    """Puts the probes of all windows into words: ``150 sent, 2 over 1 s, longest 1.20 s``."""
    sent, slow = sum(probe.sent for probe in probes), sum(probe.over_second for probe in probes)
    longest = max((probe.longest for probe in probes if probe.longest is not None), default=None)
    return f"{sent:,} sent, {slow:,} over 1 s, longest {figures.duration(longest)}"
