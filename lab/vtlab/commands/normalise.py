"""``vtlab normalise``: an experiment as k6 reads it."""

from __future__ import annotations

from typing import Annotated

import typer

from vtlab.model import experiment_files, normalised
from vtlab.planning.shipped_experiments import EXPERIMENTS


def normalise(name: Annotated[str, typer.Argument(metavar="FILE", help="An experiment's name or JSON file.")]) -> None:
    """Print an experiment as k6 reads it: every default filled in, durations in milliseconds."""
    print(normalised.as_json(experiment_files.load(name, EXPERIMENTS)), end="")
