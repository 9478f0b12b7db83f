"""Timelines of two recorded calls of vtlab, by version 0.2 and by this one: what each part of a block took.

``docs/evidence/recordings/before.txt`` and ``after.txt`` are what the calls printed, by their lines of progress.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from maintain.pictures import recording
from maintain.pictures.page import document
from vtlab.report.charts.axes import vertical_grid
from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import element, line, rect, text

PICTURE = "docs/images/block-timeline.svg"
#: The recorded calls, by what names them in the picture.
RECORDINGS = {"0.2": "docs/evidence/recordings/before.txt", "now": "docs/evidence/recordings/after.txt"}
#: Kind of a part, its caption, and how its line of progress begins. A line that matches nothing belongs to the part
#: before it, but for one that ends a block.
_KINDS = {
    "start": ("start of the JVMs", "starting |.*: not ready after"),
    "raised": ("warm-up with more CPU", r"warm-up, cycle \d+ of those with more CPU"),
    "search": ("search for the load", "searching load"),
    "warm": ("warm-up under the limit", r"warm-up, cycle \d+ of \d+ to"),
    "trials": ("trials, full load", "measuring in the order"),
    "typical": ("typical load", "typical load"),
    "once": ("single users, light load, thread dumps", "measuring a single user|light load|thread dumps"),
}
_LINE = re.compile(r"\d\d:\d\d:\d\d  [^:]+: (?:search|block (\d+)(?: of at most \d+)?): (.*)")
#: Number of the pair of JVMs that version 0.2 had for its search alone.
_SEARCH = 0
_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 860.0, 92.0, 836.0, 44.0, 38.0
_STYLE = """.start{fill:var(--soft);opacity:.45}.raised{fill:var(--v0);opacity:.55}.warm{fill:var(--v0);opacity:.28}
.search{fill:var(--open);opacity:.8}.trials{fill:var(--good)}.typical{fill:var(--good);opacity:.55}
.once{fill:var(--same);opacity:.5}"""


@dataclass(frozen=True)
class Part:
    """A part of a block: its kind, and when it began and ended, in seconds of the call."""

    block: int
    kind: str
    begin: float
    end: float


def parts(output: str) -> list[Part]:
    """Reads the parts of all blocks of an output. The line that ends a block has its result, and is no part."""
    timed = [(row.after, found) for row in recording.rows(output) if (found := _LINE.match(row.words))]
    found_parts: list[Part] = []
    for (begin, line_), (end, _) in pairwise(timed):
        kind = _kind(line_)
        if kind and end > begin:
            found_parts.append(Part(int(line_[1] or _SEARCH), kind, begin, end))
    return found_parts


def _kind(line_: re.Match[str]) -> str | None:
    kind = next((name for name, (_, start) in _KINDS.items() if re.match(start, line_[2])), None)
    return kind if line_[1] or kind == "start" else "search"


@dataclass(frozen=True)
class Row:
    """A row of the picture: a block of a call, or the pair of JVMs of its search."""

    label: str
    parts: list[Part]


def rows(calls: Mapping[str, str]) -> list[Row]:
    """Lists the rows of these outputs, by what names each call."""
    read = {name: parts(output) for name, output in calls.items()}
    return [
        Row(f"{name}, {f'block {block}' if block else 'search'}", [part for part in drawn if part.block == block])
        for name, drawn in read.items()
        for block in sorted({part.block for part in drawn})
    ]


def picture(calls: Mapping[str, str]) -> str:
    """Draws a row for each block, by the seconds of its call."""
    drawn = rows(calls)
    end = max(part.end for row in drawn for part in row.parts)
    across = Scale(0, end, _LEFT, _RIGHT)
    bottom = _TOP + _ROW * len(drawn)
    title = "Where blocks spend their time, before and now"
    labels = {60.0 * minute: f"{minute} min" for minute in range(int(end // 60) + 1)}
    return document(
        (_WIDTH, bottom + 92),
        title,
        " ".join(map(_sentence, drawn)),
        text(8, 24, f"{title}: vtlab try on spring-petclinic", class_="head"),
        *vertical_grid((_TOP - 6, bottom), across, labels),
        *(_bars(row, _TOP + _ROW * number, across) for number, row in enumerate(drawn)),
        line(_LEFT, bottom, _RIGHT, bottom, "one"),
        *_key(bottom + 40),
        style=_STYLE,
    )


def _bars(row: Row, y: float, across: Scale) -> Markup:
    bars = [
        rect(
            across(part.begin),
            y + 4,
            across(part.end) - across(part.begin),
            _ROW - 14,
            part.kind,
            element("title", f"{_KINDS[part.kind][0]}: {part.end - part.begin:.0f} s"),
        )
        for part in row.parts
    ]
    return element("g", text(_LEFT - 8, y + 20, row.label, "end", "tick"), *bars)


def _key(y: float) -> Iterator[Markup]:
    x = _LEFT
    for kind, (caption, _) in _KINDS.items():
        width = 30 + 6.3 * len(caption)
        if x + width > _RIGHT:
            x, y = _LEFT, y + 24
        yield rect(x, y, 14, 12, kind)
        yield element("text", caption, x=x + 20, y=y + 11, class_="tick")
        x += width


def _sentence(row: Row) -> str:
    seconds = {
        caption: sum(part.end - part.begin for part in row.parts if part.kind == kind)
        for kind, (caption, _) in _KINDS.items()
    }
    listed = ", ".join(f"{caption} {value:.0f} s" for caption, value in seconds.items() if value)
    return f"{row.label}: {listed}."
