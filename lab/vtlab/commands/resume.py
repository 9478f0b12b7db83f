"""``vtlab resume``: an interrupted run, from its next block."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands.output import console
from vtlab.measuring.progress import Progress
from vtlab.runs import store
from vtlab.runs.measure import measure_and_report


def resume(folder: Annotated[Path, typer.Argument(metavar="DIR")]) -> None:
    """Go on with an interrupted run, from its next block."""
    folder = folder.resolve()
    with Progress(console) as progress:
        measure_and_report(folder, store.root_of(folder), progress)
