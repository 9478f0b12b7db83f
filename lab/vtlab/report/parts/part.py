"""What a report is made of: tables of ready text, and charts."""

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
