"""Inline SVG by hand: escaped elements, axes and downsampling. Colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

#: Width of every chart in user units: what fits a telephone, so that text is never scaled down.
WIDTH = 372

Points = Sequence[Sequence[float]]


def number(value: float) -> str:
    """A coordinate with at most one decimal, the same bytes on every machine."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def element(name: str, *children: str, **attributes: object) -> Markup:
    """``<name …>children</name>``; text is escaped, ``Markup`` is not. ``class_`` loses its ``_``."""
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is None:
            continue
        text = number(value) if isinstance(value, float) else str(value)
        parts.append(f' {key.rstrip("_").replace("_", "-")}="{escape(text)}"')
    if not children:
        return Markup("".join(parts) + "/>")
    return Markup("".join(parts) + ">" + "".join(escape(child) for child in children) + f"</{name}>")


def chart(height: float, title: str, description: str, *children: str, width: float = WIDTH) -> Markup:
    """An accessible picture: named by ``title``, told in words by ``description``."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *children,
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="img",
        aria_label=f"{title}. {description}",
        class_="chart",
    )


def text(x: float, y: float, words: str, anchor: str = "start", class_: str = "") -> Markup:
    """A piece of text."""
    return element("text", words, x=x, y=y, text_anchor=anchor if anchor != "start" else None, class_=class_ or None)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return element("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def rect(x: float, y: float, width: float, height: float, class_: str, *children: str) -> Markup:
    """A rectangle, never of negative size."""
    return element(
        "rect",
        *children,
        x=float(x),
        y=float(y),
        width=float(max(width, 0)),
        height=float(max(height, 0)),
        class_=class_,
    )


def mark(slot: int, x: float, y: float, size: float, class_: str, tip: str = "") -> Markup:
    """The mark of the variant in that place: a disc, a diamond, a square. Shape tells what colour tells."""
    children = [element("title", tip)] if tip else []
    if slot % 3 == 0:
        return element("circle", *children, cx=float(x), cy=float(y), r=float(size), class_=class_)
    if slot % 3 == 1:
        d = size * 1.25
        corners = [(x, y - d), (x + d, y), (x, y + d), (x - d, y)]
    else:
        d = size * 0.9
        corners = [(x - d, y - d), (x + d, y - d), (x + d, y + d), (x - d, y + d)]
    return element("polygon", *children, points=" ".join(f"{number(a)},{number(b)}" for a, b in corners), class_=class_)


def path(points: Points, class_: str) -> Markup:
    """A line through ``points``."""
    return element("polyline", points=" ".join(f"{number(x)},{number(y)}" for x, y in points), class_=class_)


@dataclass(frozen=True)
class Scale:
    """From values to coordinates, linear or logarithmic; values outside are put on the edge."""

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
    """Round values from 0 to at least ``high``, about ``wanted`` steps, in multiples of ``unit``."""
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
    """Round values around ``low`` … ``high`` on a logarithmic axis."""
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
    """Steps for an axis of ratios that shows ``low`` … ``high`` and 1."""
    for steps in _RATIOS:
        if steps[0] <= low and high <= steps[-1]:
            return [s for s in steps if low / 1.5 <= s <= high * 1.5]
    return [s for s in _RATIOS[-1] if low / 10 <= s <= high * 10]


def downsample(points: Points, most: int = 240) -> list[tuple[float, float]]:
    """At most about ``most`` points that keep every peak: lowest and highest of each equal part, in order."""
    whole = [(float(p[0]), float(p[1])) for p in points if math.isfinite(p[1])]
    if len(whole) <= most:
        return whole
    parts = most // 2
    kept: list[tuple[float, float]] = []
    for i in range(parts):
        part = whole[i * len(whole) // parts : (i + 1) * len(whole) // parts]
        ends = {min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])}
        kept += sorted(ends)
    return kept
