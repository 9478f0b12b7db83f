"""The report of a run: one HTML file, Markdown for pull requests, JUnit XML, and a few lines for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vtlab import jmh
from vtlab.analysis import verdict
from vtlab.model.run import Analysis
from vtlab.report import jmh_table
from vtlab.report.pages import html, junit, markdown
from vtlab.results import write_atomic


def write(folder: Path, analyses: Sequence[Analysis]) -> None:
    """Writes ``report.html``, ``report.md`` and ``junit.xml`` into ``folder``; the same analyses give the same bytes.
    What JMH measured is in the first two, too, if its file is in ``folder``."""
    compared = [pair for analysis in analyses for pair in verdict.split_by_comparison(analysis)]
    file = folder / jmh.FILE
    others = {jmh_table.BENCHMARK: jmh_table.benchmark(jmh.read(file))} if file.is_file() else {}
    for name, render in (("report.html", html.render), ("report.md", markdown.render)):
        write_atomic(folder / name, render(compared, others))
    write_atomic(folder / "junit.xml", junit.render(analyses))
