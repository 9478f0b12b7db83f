"""``vtlab lab k6-plan``: an experiment as k6 reads it."""

from __future__ import annotations

from typing import Annotated

import typer

from vtlab.model import experiment_files, normalised
from vtlab.planning.shipped_experiments import EXPERIMENTS

EXAMPLES = """\
vtlab lab k6-plan blocking
vtlab lab k6-plan vtlab.yaml
"""


def k6_plan(
    name: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="Name (vtlab experiments) or file.")],
) -> None:
    """Print an experiment as k6 reads it.

    Fills every default in, and writes durations in milliseconds.
    """
    print(normalised.as_json(experiment_files.load(name, EXPERIMENTS)), end="")
