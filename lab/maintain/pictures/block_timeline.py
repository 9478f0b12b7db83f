"""Timeline of the blocks of the recorded call of vtlab: what each part took, by the lines of its progress."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from maintain.pictures import recording
from maintain.pictures.page import document
from vtlab.report.charts.axes import vertical_grid
from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import element, line, rect, text

PICTURE = "docs/images/block-timeline.svg"
#: Kind of a part, its caption, and how its line of progress begins. A line that matches nothing belongs to the part
#: before it, but for one that ends a block.
_KINDS = {
    "start": ("start of the JVMs", "starting "),
    "raised": ("warm-up with more CPU", r"warm-up, cycle \d+ of those with more CPU"),
    "search": ("search for the load", "searching load"),
    "warm": ("warm-up under the limit", r"warm-up, cycle \d+ of \d+ to"),
    "trials": ("trials, full load", "measuring in the order"),
    "typical": ("typical load", "typical load"),
    "once": ("single users, light load, thread dumps", "measuring a single user|light load|thread dumps"),
}
_BLOCK = re.compile(r"\d\d:\d\d:\d\d  [^:]+: block (\d+): (.*)")
_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 860.0, 74.0, 836.0, 44.0, 38.0
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
    timed = [(row.after, found) for row in recording.rows(output) if (found := _BLOCK.match(row.words))]
    found_parts: list[Part] = []
    for (begin, line_), (end, _) in pairwise(timed):
        block, words = int(line_[1]), line_[2]
        kind = next((name for name, (_, start) in _KINDS.items() if re.match(start, words)), None)
        if kind and end > begin:
            found_parts.append(Part(block, kind, begin, end))
    return found_parts


def picture(output: str) -> str:
    """Draws a row for each block."""
    drawn = parts(output)
    blocks = sorted({part.block for part in drawn})
    end = max(part.end for part in drawn)
    across = Scale(0, end, _LEFT, _RIGHT)
    bottom = _TOP + _ROW * len(blocks)
    title = f"Where {len(blocks)} blocks spend their time"
    labels = {60.0 * minute: f"{minute} min" for minute in range(int(end // 60) + 1)}
    return document(
        (_WIDTH, bottom + 92),
        title,
        _description(drawn, blocks),
        text(8, 24, f"{title}: vtlab try on spring-petclinic", class_="head"),
        *vertical_grid((_TOP - 6, bottom), across, labels),
        *(_row(drawn, number, across) for number in blocks),
        line(_LEFT, bottom, _RIGHT, bottom, "one"),
        *_key(bottom + 40),
        style=_STYLE,
    )


def _row(drawn: Sequence[Part], number: int, across: Scale) -> Markup:
    y = _TOP + _ROW * (number - 1)
    bars = [
        rect(
            across(part.begin),
            y + 4,
            across(part.end) - across(part.begin),
            _ROW - 14,
            part.kind,
            element("title", f"{_KINDS[part.kind][0]}: {part.end - part.begin:.0f} s"),
        )
        for part in drawn
        if part.block == number
    ]
    return element("g", text(_LEFT - 8, y + 20, f"block {number}", "end", "tick"), *bars)


def _key(y: float) -> Iterator[Markup]:
    x = _LEFT
    for kind, (caption, _) in _KINDS.items():
        width = 30 + 6.3 * len(caption)
        if x + width > _RIGHT:
            x, y = _LEFT, y + 24
        yield rect(x, y, 14, 12, kind)
        yield element("text", caption, x=x + 20, y=y + 11, class_="tick")
        x += width


def _description(drawn: Sequence[Part], blocks: Sequence[int]) -> str:
    sentences = []
    for number in blocks:
        seconds = {
            caption: sum(part.end - part.begin for part in drawn if (part.block, part.kind) == (number, kind))
            for kind, (caption, _) in _KINDS.items()
        }
        listed = ", ".join(f"{caption} {value:.0f} s" for caption, value in seconds.items() if value)
        sentences.append(f"Block {number}: {listed}.")
    return " ".join(sentences)
