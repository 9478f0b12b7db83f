"""Chart of samples over the time of one block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vtlab.report.charts import scales, svg
from vtlab.report.charts.axes import Format, horizontal_grid
from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import WIDTH, line, path, rect, text
from vtlab.report.words import figures

_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, WIDTH - 10.0, 20.0, 140.0


@dataclass(frozen=True)
class Window:
    """A measured window of one variant, epoch milliseconds."""

    slot: int
    variant: str
    start: float
    end: float


@dataclass(frozen=True)
class Samples:
    """Samples of one figure over one block: a line per variant, and the windows that were measured meanwhile."""

    title: str
    lines: Sequence[tuple[str, svg.Points]]
    windows: Sequence[Window]
    form: Format
    #: A limit, and its label.
    limit: tuple[float, str] | None = None
    #: Where the axis ends, whatever the samples are.
    top: float | None = None


def initials(variant: str) -> str:
    """Shortens a variant to a letter or two: ``V``, ``VJ`` (virtual-jdk21), ``PA`` (platform-a)."""
    return "".join(part[:1] for part in variant.split("-")).upper()


def samples_over_time(samples: Samples) -> Markup:
    """Draws samples over time, a line per variant; the measured windows shaded, a limit dashed."""
    thin = [(name, scales.downsample(points)) for name, points in samples.lines]
    times = [t for _, points in thin for t, _ in points]
    if not times:
        return Markup("")
    begin, end = min(times), max([*times, *(w.end for w in samples.windows)])
    highest = [v for _, points in thin for _, v in points] + ([samples.limit[0]] if samples.limit else [])
    unit = 2.0**20 if samples.form is figures.memory else 1.0
    steps = scales.ticks(max(highest) if samples.top is None else samples.top, unit=unit)
    up, across = Scale(0, steps[-1], _BOTTOM, _TOP), Scale(begin, end, _LEFT, _RIGHT)
    parts = _windows(samples.windows, across)
    parts += horizontal_grid((_LEFT, _RIGHT), up, {t: figures.short(samples.form(t)) for t in steps})
    seconds = (end - begin) / 1000
    for t in scales.ticks(seconds):
        if t <= seconds:
            parts.append(text(across(begin + t * 1000), _BOTTOM + 15, f"{t:g} s", "middle", "tick"))
    for slot, (_, points) in enumerate(thin):
        parts.append(path([(across(t), up(v)) for t, v in points], f"line thin v{slot}"))
    if samples.limit:
        limit, label = samples.limit
        parts.append(line(_LEFT, up(limit), _RIGHT, up(limit), "limit"))
        parts.append(text(_RIGHT, up(limit) + 13, label, "end", "value"))
    peaks = [f"{name}: highest {samples.form(max(v for _, v in points))}" for name, points in thin if points]
    return svg.chart(_BOTTOM + 22, samples.title, f"Over {seconds:.0f} s. {'; '.join(peaks)}", *parts)


def _windows(windows: Sequence[Window], across: Scale) -> list[Markup]:
    """Returns the measured windows, shaded, with the initials of their variants above."""
    shades = [
        rect(across(w.start), _TOP, across(w.end) - across(w.start), _BOTTOM - _TOP, f"window v{w.slot}")
        for w in windows
    ]
    labels = [text(across((w.start + w.end) / 2), _TOP - 6, initials(w.variant), "middle", "tick") for w in windows]
    return shades + labels
