"""``vtlab report``: the reports of a results directory, from its raw data."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands.latest import latest
from vtlab.commands.options import ROOT, Results
from vtlab.commands.output import console
from vtlab.measuring.progress import Progress
from vtlab.runs.report import refuse_invalid, report_runs

EXAMPLES = """\
vtlab report --open
vtlab report results/20261126T101500Z-shop
"""


def report(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Results directory. [default: the latest run]")
    ] = None,
    is_opened: Annotated[bool, typer.Option("--open", help="Open report.html in a browser.")] = False,
    root: Results = ROOT,
) -> None:
    """Show a verdict again, and rebuild its reports."""
    folder = folder or latest(root)
    with Progress(console, f"judging the runs of {folder.name}"):
        analyses = report_runs(folder, console)
    page = (folder / "report.html").resolve()
    if is_opened and not webbrowser.open(page.as_uri()):
        console.print(f"note: no browser was found; open {page}", highlight=False, style="yellow")
    refuse_invalid(folder, analyses)
