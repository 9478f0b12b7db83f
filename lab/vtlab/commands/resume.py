"""``vtlab resume``: an interrupted run, from its next block."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands.latest import latest_unfinished
from vtlab.commands.options import ROOT, Json, Quiet, Results
from vtlab.commands.output import Output
from vtlab.measuring.progress import Progress
from vtlab.runs import store
from vtlab.runs.measure import measure_and_report

EXAMPLES = """\
vtlab resume
vtlab resume results/20261126T101500Z-shop
"""


def resume(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Results directory. [default: the latest unfinished run]"),
    ] = None,
    as_json: Json = False,
    is_quiet: Quiet = False,
    root: Results = ROOT,
) -> None:
    """Continue an interrupted run, from its next block."""
    folder, output = (folder or latest_unfinished(root)).resolve(), Output(is_quiet, as_json)
    with output.concluding(folder), Progress(output.progress) as progress:
        measure_and_report(folder, store.root_of(folder), progress)
