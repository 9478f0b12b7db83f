"""One block as a drawing: its parts in their order, without times of a run."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from maintain.pictures.page import document
from vtlab.report.charts.svg import element, line, rect, text

PICTURE = "docs/images/block.svg"
_WIDTH, _LEFT, _RIGHT = 860.0, 74.0, 846.0
#: Bottoms of the rows of both variants, and the height of what stands on them.
_ROWS, _BAR = (112.0, 176.0), 36.0
_RAMP_UP, _WINDOW, _DRAIN = 16.0, 52.0, 10.0
_VARIANTS = ("platform", "virtual")
_STYLE = """.start{fill:var(--soft);opacity:.45}.raised{fill:var(--open);opacity:.75}.warm{fill:var(--same);opacity:.5}
.ramp{fill:var(--v);opacity:.3}.window{fill:var(--v)}.typical{fill:var(--good)}.once{fill:var(--soft);opacity:.8}
.bracket{fill:none;stroke:var(--soft)}"""
_DESCRIPTION = (
    "Time runs from left to right. Two fresh JVMs start, platform above and virtual below. They are warmed up in turn: "
    "first by cheap cycles with more CPU, then by cycles with the load of the trials, which are judged. Four trials at "
    "full load follow in mirrored order: platform, virtual, virtual, platform. Each has a ramp-up, a measured window "
    "and a drain. Then both have typical load, at one rate. In the first block alone single users and light load show "
    "what a request takes alone."
)
_KEY = (
    ("raised", "cheap cycles with more CPU"),
    ("warm", "cycles with the load of the trials: is the variant in its steady state?"),
    ("ramp v0", "ramp-up and drain: not measured"),
    ("window v0", "measured window, platform"),
    ("window v1", "measured window, virtual"),
    ("typical", "typical load: one rate for both"),
    ("once", "a single user and light load: in the first block alone"),
)


def picture() -> str:
    """Draws the block."""
    title = "One block: fresh JVMs, equal warm-up, trials in mirrored order"
    parts = [
        text(8, 24, title, class_="head"),
        *(text(_LEFT - 8, y - 12, name, "end") for y, name in zip(_ROWS, _VARIANTS, strict=True)),
        *(line(_LEFT, y, _RIGHT, y, "one") for y in _ROWS),
        *_parts(),
        *_key(208),
    ]
    return document((_WIDTH, 306), "One block", _DESCRIPTION, *parts, style=_STYLE)


def _parts() -> Iterator[Markup]:
    for row in (0, 1):
        yield _bar(row, _LEFT + 2, 40, "start")
    yield from _caption(_LEFT + 2, _LEFT + 42, "start")
    yield from _in_turn(_LEFT + 52, (24.0, 4), "raised", "warm-up")
    yield from _in_turn(_LEFT + 164, (24.0, 4), "warm", "judged cycles")
    x = _LEFT + 276
    yield from _caption(x, x + 4 * 82 - 4, "four trials: full load")
    for number, row in enumerate((0, 1, 1, 0)):
        yield from _trial(row, x + 82 * number)
    for row in (0, 1):
        yield _bar(row, x + 338, 62, "typical")
    yield from _caption(x + 338, x + 400, "typical load")
    yield from _in_turn(x + 416, (18.0, 4), "once", "alone")


def _in_turn(x: float, cycles: tuple[float, int], kind: str, caption: str) -> Iterator[Markup]:
    """Draws phases of both variants in turn. ``cycles``: the width of each, and how many there are."""
    width, number = cycles
    yield from _caption(x, x + number * (width + 2) - 2, caption)
    for at in range(number):
        yield _bar(at % 2, x + at * (width + 2), width, kind)


def _trial(row: int, x: float) -> Iterator[Markup]:
    y = _ROWS[row]
    begin, end = x + _RAMP_UP, x + _RAMP_UP + _WINDOW
    sides = f"M{x:g} {y:g}L{begin:g} {y - _BAR:g}H{end:g}L{end + _DRAIN:g} {y:g}Z"
    yield element("path", d=sides, class_=f"ramp v{row}")
    yield _bar(row, begin, _WINDOW, f"window v{row}")


def _bar(row: int, x: float, width: float, kind: str) -> Markup:
    return rect(x, _ROWS[row] - _BAR, width, _BAR, kind)


def _caption(begin: float, end: float, words: str) -> Iterator[Markup]:
    yield element("path", d=f"M{begin:g} 66V62H{end:g}V66", class_="bracket")
    yield text((begin + end) / 2, 55, words, "middle", "tick")


def _key(y: float) -> Iterator[Markup]:
    x = _LEFT
    for kind, caption in _KEY:
        width = 34 + 6.1 * len(caption)
        if x + width > _RIGHT:
            x, y = _LEFT, y + 24
        yield rect(x, y, 14, 12, kind)
        yield text(x + 20, y + 11, caption, class_="tick")
        x += width
