"""``vtlab report``: the reports of a results directory, from its raw data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands.output import console
from vtlab.runs.report import refuse_invalid, report_runs


def report(folder: Annotated[Path, typer.Argument(metavar="DIR")]) -> None:
    """Rebuild the reports of a results directory from its raw data."""
    refuse_invalid(folder, report_runs(folder, console))
