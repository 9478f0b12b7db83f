"""Inline SVG, written by hand: escaped elements and marks. Colours come from the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

#: Width of every chart in user units: what fits a telephone, so that text is never scaled down.
WIDTH = 372

Points = Sequence[Sequence[float]]


def number(value: float) -> str:
    """Writes a coordinate with at most one decimal, the same bytes on every machine."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def element(name: str, *children: str, **attributes: object) -> Markup:
    """Returns ``<name …>children</name>``; escapes text, but not ``Markup``. ``class_`` loses its ``_``."""
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
    """Returns an accessible picture: ``title`` names it, ``description`` tells it in words."""
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
    """Returns a piece of text."""
    return element("text", words, x=x, y=y, text_anchor=anchor if anchor != "start" else None, class_=class_ or None)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Returns a straight line."""
    return element("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def rect(x: float, y: float, width: float, height: float, class_: str, *children: str) -> Markup:
    """Returns a rectangle, never of negative size."""
    return element(
        "rect",
        *children,
        x=float(x),
        y=float(y),
        width=float(max(width, 0)),
        height=float(max(height, 0)),
        class_=class_,
    )


def circle(x: float, y: float, radius: float, class_: str, tip: str = "") -> Markup:
    """Returns a disc, with a tip that a pointer shows."""
    return element("circle", *_tip(tip), cx=float(x), cy=float(y), r=float(radius), class_=class_)


def mark(slot: int, at: tuple[float, float], size: float, fill: str, tip: str) -> Markup:
    """Returns the mark of the variant in place ``slot``: a disc, a diamond or a square. Shape tells what colour tells.
    ``fill``: the class ``solid`` or ``faint``."""
    x, y = at
    class_ = f"v{slot} {fill}"
    if slot % 3 == 0:
        return circle(x, y, size, class_, tip)
    if slot % 3 == 1:
        d = size * 1.25
        corners = [(x, y - d), (x + d, y), (x, y + d), (x - d, y)]
    else:
        d = size * 0.9
        corners = [(x - d, y - d), (x + d, y - d), (x + d, y + d), (x - d, y + d)]
    return element("polygon", *_tip(tip), points=_coordinates(corners), class_=class_)


def many_marks(slot: int, at: Points, size: int) -> Markup:
    """Returns the mark of the variant in place ``slot`` at many points, as one element; rounded, each once."""
    d, r = round(size * 1.25), 2 * size
    shapes = (
        f"m-{size},0a{size},{size} 0 1 0 {r},0a{size},{size} 0 1 0-{r},0z",
        f"m0-{d}l{d},{d}-{d},{d}-{d}-{d}z",
        f"m-{size}-{size}h{r}v{r}h-{r}z",
    )
    spots = sorted({(round(x), round(y)) for x, y in at})
    return element("path", d="".join(f"M{x},{y}{shapes[slot % 3]}" for x, y in spots), class_=f"v{slot} faint")


def path(points: Points, class_: str) -> Markup:
    """Returns a line through ``points``."""
    return element("polyline", points=_coordinates(points), class_=class_)


def _tip(text: str) -> list[Markup]:
    return [element("title", text)] if text else []


def _coordinates(points: Points) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)
