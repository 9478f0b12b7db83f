"""Outcomes beside their margins on one logarithmic axis: to the right the variant is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vtlab.model.outcome import Judgement, Outcome
from vtlab.model.units import percent
from vtlab.report.charts.ratios import interval_in_words
from vtlab.report.charts.svg import WIDTH, chart, circle, element, line, rect, text

#: Size of a row in user units, as part of a table; the axis leaves room for arrows at both sides.
ROW_WIDTH, ROW_HEIGHT, _AIR = 340.0, 38.0, 12.0
#: Ends of an axis that is the same to both sides, each with the steps that it shows.
_AXES: dict[float, tuple[float, ...]] = {
    1.25: (1.1, 1.25),
    1.5: (1.2, 1.5),
    2.0: (1.5, 2.0),
    3.0: (1.5, 3.0),
    5.0: (2.0, 5.0),
    10.0: (3.0, 10.0),
}
#: An interval reaches beyond the axis from here on, where no estimate is that far.
_FAR = 3.0
#: Classes of the style sheet: colour tells what word and symbol tell.
TONES: dict[Judgement | None, str] = {
    "better": "good",
    "worse": "bad",
    "fails": "bad",
    "same": "same",
    "undecided": "open",
    None: "none",
}


@dataclass(frozen=True)
class Axis:
    """An axis of factors around 1, from ``left`` to ``right``; factors beyond its end are put on the edge."""

    end: float
    left: float
    right: float

    def __call__(self, factor: float) -> float:
        """Places a factor: above 1 the variant is better."""
        part = max(-1.0, min(1.0, math.log(factor) / math.log(self.end)))
        return (self.left + self.right) / 2 + part * (self.right - self.left) / 2

    @property
    def steps(self) -> list[tuple[float, str]]:
        """Lists the places that have a label, with it: both sides count how many times better or worse."""
        ahead = [(step, f"{step:g}×") for step in _AXES[self.end]]
        return [*((1 / step, label) for step, label in reversed(ahead)), (1.0, "1"), *ahead]

    def labels(self, y: float) -> list[Markup]:
        """Returns the labels of the steps."""
        return [text(self(step), y, label, "middle", "tick") for step, label in self.steps]

    def sides(self, y: float) -> list[Markup]:
        """Says which side is which."""
        return [text(self.left, y, "← worse", "start", "tick"), text(self.right, y, "better →", "end", "tick")]

    def grid(self, top: float, bottom: float) -> list[Markup]:
        """Returns a line for each step."""
        return [line(self(s), top, self(s), bottom, "one" if s == 1 else "grid") for s, _ in self.steps]


def row_axis(outcomes: Sequence[Outcome]) -> Axis:
    """Returns the axis that rows of a table share."""
    return Axis(_end(outcomes), _AIR, ROW_WIDTH - _AIR)


def row_head(axis: Axis) -> Markup:
    """Draws what stands above the rows: the sides, and the labels of the axis."""
    return chart(
        34,
        "Axis of the pictures",
        f"{axis.end:g} times worse to {axis.end:g} times better.",
        *axis.sides(12),
        *axis.labels(29),
        width=ROW_WIDTH,
    )


def row_picture(axis: Axis, outcome: Outcome, name: str) -> Markup:
    """Draws an outcome as a row: its interval beside its margin."""
    parts = [*axis.grid(0, ROW_HEIGHT), *_marks(axis, outcome, ROW_HEIGHT / 2)]
    return chart(ROW_HEIGHT, name, _described(outcome), *parts, width=ROW_WIDTH)


def forest(rows: Sequence[tuple[str, Outcome]], title: str) -> Markup:
    """Draws labelled outcomes below each other."""
    axis = Axis(_end([outcome for _, outcome in rows]), 76.0, WIDTH - _AIR)
    pitch, top = 34.0, 20.0
    bottom = top + pitch * len(rows)
    parts = [*axis.sides(12), *axis.grid(top, bottom), *axis.labels(bottom + 15)]
    for number, (label, outcome) in enumerate(rows):
        y = top + pitch * (number + 0.5)
        parts += [text(axis.left - 14, y + 4, label, "end", "label"), *_marks(axis, outcome, y)]
    described = "; ".join(f"{label}: {_described(outcome)}" for label, outcome in rows)
    return chart(bottom + 20, title, described, *parts)


def _end(outcomes: Sequence[Outcome]) -> float:
    """Chooses the end of an axis: every estimate and margin lies on it, and intervals where they are not too wide."""
    near = [1 + o.margin for o in outcomes] + [_away(o.ratio) for o in outcomes]
    far = [_away(end) for o in outcomes for end in (o.low, o.high)]
    most = max([*near, min(_FAR, max(far, default=1.0))], default=1.0)
    return next((end for end in _AXES if most <= end * 0.97), max(_AXES))


def _away(ratio: float | None) -> float:
    return max(ratio, 1 / ratio) if ratio else 1.0


def _marks(axis: Axis, outcome: Outcome, y: float) -> list[Markup]:
    """Returns margin, interval and estimate; an arrow where there is only a side, or the interval goes on."""
    tone = TONES[outcome.judgement]
    if outcome.ratio is None:
        sides = {"better": axis.right, "worse": axis.left}
        return [_arrow(sides[outcome.judgement], y, axis, tone)] if outcome.judgement in sides else []
    band = axis(1 / (1 + outcome.margin)), axis(1 + outcome.margin)
    parts = [rect(band[0], y - 13, band[1] - band[0], 26, "margin")]
    factor = outcome.ratio if outcome.better == "higher" else 1 / outcome.ratio
    if ends := _ends(outcome):
        parts.append(line(axis(ends[0]), y, axis(ends[1]), y, f"whisker {tone}"))
        # Both ends beyond the axis are one arrow.
        parts += dict.fromkeys(_end_mark(axis, end, y, tone) for end in ends)
    if outcome.is_one_sided:
        edge = axis.right if factor > 1 else axis.left
        parts += [line(axis(factor), y, edge, y, f"whisker beyond {tone}"), _arrow(edge, y, axis, tone)]
    if 1 / axis.end <= factor <= axis.end:
        kind = "estimate" if outcome.judgement in ("better", "worse", "same") else "estimate hollow"
        parts.append(circle(axis(factor), y, 5, f"{kind} {tone}"))
    return parts


def _ends(outcome: Outcome) -> tuple[float, float] | None:
    """Returns the interval as factors by which the variant is better."""
    if outcome.low is None or outcome.high is None:
        return None
    return (outcome.low, outcome.high) if outcome.better == "higher" else (1 / outcome.high, 1 / outcome.low)


def _end_mark(axis: Axis, factor: float, y: float, tone: str) -> Markup:
    if 1 / axis.end <= factor <= axis.end:
        return line(axis(factor), y - 5, axis(factor), y + 5, f"whisker {tone}")
    return _arrow(axis(factor), y, axis, tone)


def _arrow(x: float, y: float, axis: Axis, tone: str) -> Markup:
    """Returns the head of an arrow at an end of the axis, outwards."""
    way = 9 if x > (axis.left + axis.right) / 2 else -9
    return element(
        "polygon", points=f"{x:.1f},{y - 6:.1f} {x + way:.1f},{y:.1f} {x:.1f},{y + 6:.1f}", class_=f"arrow {tone}"
    )


def _described(outcome: Outcome) -> str:
    words = [interval_in_words(outcome), outcome.judgement or "no outcome"]
    if outcome.ratio is not None:
        words.insert(1, f"margin ±{percent(outcome.margin)}")
    return ", ".join(words)
