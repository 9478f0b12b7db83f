"""The report of a run: one HTML file, Markdown for pull requests, and a few lines for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vtlab.analysis import Analysis
from vtlab.report import html as html
from vtlab.report import markdown as markdown
from vtlab.results import write_atomic


def write(folder: Path, analyses: Sequence[Analysis]) -> None:
    """Writes ``report.html`` and ``report.md`` into ``folder``; the same analyses give the same bytes."""
    for name, text in (("report.html", html.render(analyses)), ("report.md", markdown.render(analyses))):
        write_atomic(folder / name, text)
