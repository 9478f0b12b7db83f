"""Chart of where the time of a request goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import WIDTH, chart, element, rect, text
from vtlab.report.words import figures

_LEFT, _RIGHT, _ROW = 6.0, WIDTH - 6.0, 19.0


@dataclass(frozen=True)
class Part:
    """A part of the time of a request: its name and its seconds. ``queued``: before a thread has the request."""

    name: str
    seconds: float
    queued: bool = False


def time_bar(variant: str, slot: int, parts: Sequence[Part], longest: float) -> Markup:
    """Draws what a request of one variant takes, part after part, on an axis to ``longest`` seconds; a line for each
    part."""
    across = Scale(0, longest, _LEFT, _RIGHT)
    drawn, elapsed = [rect(_LEFT, 4, _RIGHT - _LEFT, 20, "track")], 0.0
    for i, part in enumerate(parts):
        begin, end = across(elapsed), across(elapsed + part.seconds)
        y = 46 + _ROW * i
        rank = sum(not earlier.queued for earlier in parts[:i])
        look = f"part v{slot} " + ("queued" if part.queued else f"p{min(rank, 5)}")
        drawn += [
            rect(begin, 4, max(end - begin, 1.0), 20, look, element("title", part.name)),
            rect(_LEFT, y - 9, 11, 11, look),
            text(_LEFT + 78, y, figures.duration(part.seconds), "end", "value"),
            text(_LEFT + 86, y, _shortened(part.name), class_="label plain"),
        ]
        elapsed += part.seconds
    title = f"{variant}: where the time of a request goes"
    words = "; ".join(f"{part.name}: {figures.duration(part.seconds)}" for part in parts)
    return chart(50 + _ROW * (len(parts) - 1) + 6, title, words, *drawn)


def _shortened(name: str, most: int = 44) -> str:
    """Shortens text to a line of a chart; its beginning says what it is."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
