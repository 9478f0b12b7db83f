"""The two kinds of part that a report has: tables of ready text, and charts with their captions."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Table:
    """A table of text: a caption, headings (the first names the rows), rows; ``marked`` rows stand out."""

    caption: str
    head: list[str]
    rows: list[list[str]]
    marked: tuple[int, ...] = ()
    #: Columns of figures, set flush right.
    numeric: tuple[int, ...] = ()


@dataclass(frozen=True)
class Panel:
    """A chart with its heading and a line that says what to look for."""

    title: str
    chart: Markup
    caption: str = ""
