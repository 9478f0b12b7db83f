"""Axes: lines of a grid, each with its label."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup

from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import line, text

#: How an axis writes its values.
Format = Callable[[float | None], str]


def horizontal_grid(
    sides: tuple[float, float], up: Scale, labels: Mapping[float, str], one: float | None = None
) -> list[Markup]:
    """Returns lines from the left to the right side, with their labels at the left. ``one``: the value that stands
    out."""
    left, right = sides
    return [
        part
        for value, label in labels.items()
        for part in (
            line(left, up(value), right, up(value), _line_class(value, one)),
            text(left - 6, up(value) + 4, label, "end", "tick"),
        )
    ]


def vertical_grid(
    ends: tuple[float, float], across: Scale, labels: Mapping[float, str], one: float | None = None
) -> list[Markup]:
    """Returns lines from the top to the bottom, with their labels below. ``one``: the value that stands out."""
    top, bottom = ends
    return [
        part
        for value, label in labels.items()
        for part in (
            line(across(value), top, across(value), bottom, _line_class(value, one)),
            text(across(value), bottom + 15, label, "middle", "tick"),
        )
    ]


def _line_class(value: float, one: float | None) -> str:
    return "one" if value == one else "grid"
