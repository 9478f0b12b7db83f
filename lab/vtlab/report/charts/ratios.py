"""The charts of the report. Each takes plain figures and gives one inline SVG, described in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vtlab.model.units import percent
from vtlab.model.verdict import Bound, Comparison
from vtlab.report.charts import svg
from vtlab.report.charts.svg import WIDTH, Scale, chart, line, mark, path, rect, text
from vtlab.report.words import figures

Format = Callable[[float | None], str]


@dataclass(frozen=True)
class Row:
    """One line of a chart of ratios: its label and the comparison."""

    label: str
    comparison: Comparison


def within(values: Sequence[float | None]) -> list[float]:
    """Those ratios that can be drawn: an interval from two blocks that differ wildly has no end."""
    return [min(max(v, 1e-4), 1e4) for v in values if v is not None]


def ratios(rows: Sequence[Row], margin: float, title: str) -> Markup:
    """Ratios with their intervals on one logarithmic axis, the band of the margin behind them."""
    of, over, better = rows[0].comparison.of, rows[0].comparison.over, rows[0].comparison.better
    extent = within([x for r in rows for x in (r.comparison.ratio, r.comparison.low, r.comparison.high)])
    band = 1 / (1 + margin), 1 + margin
    steps = svg.ratio_ticks(min([*extent, band[0]]), max([*extent, band[1]]))
    labelled = len(rows) > 1
    left, right, top, pitch = (64.0 if labelled else 12.0), WIDTH - 12.0, 22.0, (34.0 if labelled else 46.0)
    bottom = top + pitch * len(rows) + 4
    low, high = min([*extent, band[0], steps[0]]), max([*extent, band[1], steps[-1]])
    air = (high / low) ** 0.07
    across = Scale(low / air, high * air, left, right, log=True)
    unity = across(1)
    sides = (f"{over} better", f"{of} better") if better == "higher" else (f"{of} better", f"{over} better")
    parts = [rect(across(band[0]), top - 4, across(band[1]) - across(band[0]), bottom - top + 4, "margin")]
    parts += [line(across(t), top - 4, across(t), bottom, "grid") for t in steps]
    parts.append(line(unity, top - 8, unity, bottom, "one"))
    parts += [text(across(t), bottom + 14, f"{t:g}×", "middle", "tick") for t in steps]
    room = 6.5 * max(len(s) + 2 for s in sides)
    if unity - left > room:
        parts.append(text(unity - 6, 11, "← " + sides[0], "end", "tick"))
    if right - unity > room:
        parts.append(text(unity + 6, 11, sides[1] + " →", "start", "tick"))
    descriptions: list[str] = []
    for i, row in enumerate(rows):
        c, y = row.comparison, top + pitch * (i + 0.6)
        if labelled:
            parts.append(text(left - 8, y + 4, row.label, "end", "label"))
        descriptions.append(f"{row.label}: {interval_in_words(c)}")
        if c.ratio is None:
            parts.append(text((left + right) / 2, y + 4, interval_in_words(c), "middle", "value"))
            continue
        if c.low is not None and c.high is not None:
            a, b = across(c.low), across(c.high)
            parts += [
                line(a, y, b, y, "whisker"),
                line(a, y - 5, a, y + 5, "whisker"),
                line(b, y - 5, b, y + 5, "whisker"),
            ]
        x = across(c.ratio)
        parts.append(svg.element("circle", cx=x, cy=y, r=5.5, class_="estimate"))
        parts.append(text(min(max(x, left + 22), right - 22), y - 10, figures.ratio(c.ratio), "middle", "label"))
    describe = (
        f"{of} over {over} on a logarithmic axis; the shaded band is the margin of ±{percent(margin)}. "
        + "; ".join(descriptions)
    )
    return chart(bottom + 18, title, describe, *parts)


def interval_in_words(c: Comparison) -> str:
    """A ratio and its interval in words."""
    if c.ratio is None:
        lost = [*(f"{v} overloaded" for v in c.overloaded), *(f"{v} fails" for v in c.fails)]
        return f"no ratio, {figures.listed(lost)}" if lost else "no ratio"
    if c.low is None or c.high is None:
        return f"{figures.ratio(c.ratio)}, no interval from one block"
    return f"{figures.ratio(c.ratio)}, interval {figures.interval(c.low, c.high)}"


def per_block(c: Comparison, blocks: Sequence[int], margin: float) -> Markup:
    """The ratio of every accepted block, their mean and its interval."""
    values = [math.exp(x) for x in c.log_ratios]
    extent = within([*values, c.low, c.high])
    steps = svg.ratio_ticks(min([*extent, 1 / (1 + margin)]), max([*extent, 1 + margin]))
    left, right, top, bottom = 44.0, WIDTH - 12.0, 10.0, 150.0
    up = Scale(min([*extent, *steps]), max([*extent, *steps]), bottom, top, log=True)
    across = Scale(0, len(values) + 1, left, right)
    parts = [rect(left, up(1 + margin), right - left, up(1 / (1 + margin)) - up(1 + margin), "margin")]
    for t in steps:
        parts.append(line(left, up(t), right, up(t), "one" if t == 1 else "grid"))
        parts.append(text(left - 6, up(t) + 4, f"{t:g}×", "end", "tick"))
    if c.low is not None and c.high is not None:
        parts.append(rect(left, up(c.high), right - left, up(c.low) - up(c.high), "interval"))
    if c.ratio is not None:
        parts.append(line(left, up(c.ratio), right, up(c.ratio), "mean"))
    size = 4.0 if len(values) <= 30 else 2.5
    step = max(1, math.ceil(len(values) / 12))
    for i, (number, value) in enumerate(zip(blocks, values, strict=True)):
        x = across(i + 1)
        tip = f"block {number}: {figures.ratio(value)}"
        parts.append(svg.element("circle", svg.element("title", tip), cx=x, cy=up(value), r=size, class_="dot"))
        if i % step == 0:
            parts.append(text(x, bottom + 15, str(number), "middle", "tick"))
    parts.append(text((left + right) / 2, bottom + 31, "block", "middle", "tick"))
    ends = figures.interval(min(values), max(values))
    extremes = f"{len(values)} blocks from {ends}" if len(values) > 1 else f"1 block: {ends}"
    title = f"Ratio of {c.of} over {c.over} in each block"
    return chart(bottom + 36, title, f"{extremes}; {interval_in_words(c)}", *parts)


def dots(
    groups: Sequence[tuple[str, Sequence[float]]],
    title: str,
    form: Format,
    published: Mapping[str, float] | None = None,
) -> Markup:
    """One dot per trial and the mean, a row per variant, from 0; beside them a triangle at what was published."""
    others = published or {}
    steps = svg.ticks(max([*(v for _, values in groups for v in values), *others.values()], default=0.0))
    left, right, pitch = max(78.0, 16 + 6.8 * max(len(n) for n, _ in groups)), WIDTH - 22.0, 50.0
    bottom = 6 + pitch * len(groups)
    across = Scale(0, steps[-1], left, right)
    parts = []
    for t in steps:
        parts.append(line(across(t), 4, across(t), bottom, "grid"))
        parts.append(text(across(t), bottom + 15, figures.short(form(t)), "middle", "tick"))
    descriptions = []
    for slot, (name, values) in enumerate(groups):
        y = 6 + pitch * (slot + 0.5)
        parts.append(text(left - 10, y + 4, name, "end", "label"))
        if name in others:
            at, tip = across(others[name]), f"{name}, published: {form(others[name])}"
            shape = f"M{at - 6:.1f},{y + 22:.1f} l6,-11 l6,11 z"
            parts.append(svg.element("path", svg.element("title", tip), d=shape, class_="published"))
            descriptions.append(tip)
        if not values:
            continue
        mean = math.fsum(values) / len(values)
        for i, value in enumerate(values):
            lift = ((i * 7) % 5 - 2) * 4.0
            parts.append(mark(slot, across(value), y + lift, 3.5, f"v{slot} faint", f"{name}: {form(value)}"))
        parts.append(line(across(mean), y - 17, across(mean), y + 17, "mean"))
        beyond = mean > steps[-1] * 0.75
        x = across(mean) + (-6 if beyond else 6)
        parts.append(text(x, y - 13, form(mean), "end" if beyond else "start", "value"))
        descriptions.append(
            f"{name}: mean {form(mean)}, {len(values)} trials from {form(min(values))} to {form(max(values))}"
        )
    return chart(bottom + 22, title, "; ".join(descriptions), *parts)


def percentiles(groups: Sequence[tuple[str, Sequence[float | None]]], names: Sequence[str]) -> Markup:
    """Latency by percentile on a logarithmic axis, a line per variant; no mark where there is no figure."""
    given = [v for _, values in groups for v in values if v is not None and v > 0]
    title = "Client latency by percentile"
    if not given:
        return Markup("")
    steps = svg.log_ticks(min(given), max(given))
    if len(steps) == 1:
        steps = [steps[0] / 2, steps[0], steps[0] * 2]
    left, right, top, bottom = 58.0, WIDTH - 22.0, 12.0, 150.0
    up = Scale(steps[0], steps[-1], bottom, top, log=True)
    across = Scale(0, len(names) - 1, left + 12, right - 4)
    parts = []
    for t in steps:
        parts.append(line(left, up(t), right, up(t), "grid"))
        parts.append(text(left - 6, up(t) + 4, figures.short(figures.duration(t)), "end", "tick"))
    parts += [text(across(i), bottom + 16, name, "middle", "tick") for i, name in enumerate(names)]
    descriptions = []
    for slot, (name, values) in enumerate(groups):
        points = [(across(i), up(v), i, v) for i, v in enumerate(values) if v is not None and v > 0]
        parts.append(path([(x, y) for x, y, _, _ in points], f"line v{slot}"))
        for x, y, i, v in points:
            parts.append(mark(slot, x, y, 4, f"v{slot} solid", f"{name} {names[i]}: {figures.duration(v)}"))
        descriptions.append(f"{name}: " + ", ".join(f"{names[i]} {figures.duration(v)}" for _, _, i, v in points))
    return chart(bottom + 24, title, "Logarithmic axis. " + "; ".join(descriptions), *parts)


def initials(variant: str) -> str:
    """A variant in a letter or two: ``V``, ``VJ`` (virtual-jdk21), ``PA`` (platform-a)."""
    return "".join(part[:1] for part in variant.split("-")).upper()


@dataclass(frozen=True)
class Window:
    """A measured window of one variant, epoch milliseconds."""

    slot: int
    variant: str
    start: float
    end: float


def over_time(
    title: str,
    lines: Sequence[tuple[str, svg.Points]],
    windows: Sequence[Window],
    form: Format,
    limit: tuple[float, str] | None = None,
    top_at: float | None = None,
) -> Markup:
    """Samples over the time of one block, a line per variant; the measured windows shaded, a limit dashed."""
    thin = [(name, svg.downsample(points)) for name, points in lines]
    times = [t for _, points in thin for t, _ in points]
    if not times:
        return Markup("")
    begin, end = min(times), max([*times, *(w.end for w in windows)])
    most = max([v for _, points in thin for _, v in points] + ([limit[0]] if limit else []))
    unit = 2.0**20 if form is figures.memory else 1.0
    steps = svg.ticks(most if top_at is None else top_at, unit=unit)
    left, right, top, bottom = 58.0, WIDTH - 10.0, 20.0, 140.0
    up, across = Scale(0, steps[-1], bottom, top), Scale(begin, end, left, right)
    parts = [
        rect(across(w.start), top, across(w.end) - across(w.start), bottom - top, f"window v{w.slot}") for w in windows
    ]
    parts += [text(across((w.start + w.end) / 2), top - 6, initials(w.variant), "middle", "tick") for w in windows]
    for t in steps:
        parts.append(line(left, up(t), right, up(t), "grid"))
        parts.append(text(left - 6, up(t) + 4, figures.short(form(t)), "end", "tick"))
    seconds = (end - begin) / 1000
    for t in svg.ticks(seconds):
        if t <= seconds:
            parts.append(text(across(begin + t * 1000), bottom + 15, f"{t:g} s", "middle", "tick"))
    for slot, (_, points) in enumerate(thin):
        parts.append(path([(across(t), up(v)) for t, v in points], f"line thin v{slot}"))
    if limit:
        parts.append(line(left, up(limit[0]), right, up(limit[0]), "limit"))
        parts.append(text(right, up(limit[0]) + 13, limit[1], "end", "value"))
    description = "; ".join(f"{name}: highest {form(max(v for _, v in points))}" for name, points in thin if points)
    return chart(bottom + 22, title, f"Over {seconds:.0f} s. {description}", *parts)


def bounds(variant: str, slot: int, measured: float, rows: Sequence[tuple[Bound, str]]) -> Markup:
    """How much of each bound the measurement reaches, at most all of it; ``rows`` carry a remark (bottleneck, next)."""
    left, right, pitch, top = 112.0, WIDTH - 34.0, 40.0, 8.0
    bottom = top + pitch * len(rows)
    across = Scale(0, 1, left, right)
    parts = []
    for t in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(line(across(t), top, across(t), bottom, "one" if t == 1 else "grid"))
        parts.append(text(across(t), bottom + 15, percent(t), "middle", "tick"))
    descriptions = []
    for i, (b, remark) in enumerate(rows):
        y = top + pitch * i
        parts.append(text(left - 8, y + 18, b.resource, "end", "label"))
        if remark:
            parts.append(text(left - 8, y + 31, remark, "end", "tick"))
        parts.append(
            rect(
                left,
                y + 6,
                across(min(1.0, b.utilisation)) - left,
                14,
                f"bar v{slot}" + ("" if remark in ("bottleneck", "together") else " faint"),
            )
        )
        reach = ", far above" if remark == "refuted" else "; the law allows"
        note = f"{figures.rate(measured)}{reach} {figures.rate(b.bound)}"
        parts.append(text(left + 4, y + 33, note, "start", "value"))
        descriptions.append(f"{b.resource}: {note}" + (f", {remark}" if remark else ""))
    title = f"{variant}: how much of each bound the throughput reaches"
    return chart(bottom + 22, title, "; ".join(descriptions), *parts)


@dataclass(frozen=True)
class Part:
    """A part of what a request takes: its name, and its seconds. ``queued``: before a thread has the request."""

    name: str
    seconds: float
    queued: bool = False


def time_split(variant: str, slot: int, parts: Sequence[Part], longest: float) -> Markup:
    """What a request of one variant takes, part after part, on an axis to ``longest`` seconds; a line for each part."""
    left, right, pitch = 6.0, WIDTH - 6.0, 19.0
    across = Scale(0, longest, left, right)
    drawn, at = [rect(left, 4, right - left, 20, "track")], 0.0
    for i, part in enumerate(parts):
        begin, end = across(at), across(at + part.seconds)
        y = 46 + pitch * i
        rank = sum(not before.queued for before in parts[:i])
        look = f"part v{slot} " + ("queued" if part.queued else f"p{min(rank, 5)}")
        drawn += [
            rect(begin, 4, max(end - begin, 1.0), 20, look, svg.element("title", part.name)),
            rect(left, y - 9, 11, 11, look),
            text(left + 78, y, figures.duration(part.seconds), "end", "value"),
            text(left + 86, y, _shortened(part.name), class_="label plain"),
        ]
        at += part.seconds
    title = f"{variant}: where the time of a request goes"
    words = "; ".join(f"{part.name}: {figures.duration(part.seconds)}" for part in parts)
    return chart(50 + pitch * (len(parts) - 1) + 6, title, words, *drawn)


def _shortened(name: str, most: int = 44) -> str:
    """Text that fits a line of a chart; its beginning says what it is."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
