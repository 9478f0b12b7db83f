"""``vtlab lab aa``: how large a difference is when there is none."""

from __future__ import annotations

from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.options import ROOT, NoLimit, Results, Seed
from vtlab.commands.output import console
from vtlab.measuring.progress import Progress
from vtlab.model.blocks import FULL_RUN
from vtlab.planning import planned_runs
from vtlab.planning.shipped_experiments import resolve
from vtlab.runs.create import create_runs
from vtlab.runs.measure import measure_and_report
from vtlab.runs.report import describe_noise

EXAMPLES = """\
vtlab lab aa cpu --blocks 16
vtlab lab aa blocking --threads platform
"""


def aa(
    name: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="Name (vtlab experiments) or file.")],
    kind: Annotated[
        str, typer.Option("--threads", metavar="VARIANT", help="Variant to compare with itself.")
    ] = "virtual",
    blocks: Annotated[int, typer.Option("--blocks", metavar="N", help="Number of blocks.")] = FULL_RUN,
    seed: Seed = None,
    root: Results = ROOT,
    no_cpu_limit: NoLimit = False,
) -> None:
    """Compare a variant with itself, to see the noise."""
    with Progress(console) as progress:
        planned = planned_runs.runs([planned_runs.identical(e, kind) for e in resolve([name])], [])
        folder = create_runs(planned, options.run_options(blocks, seed, root, no_cpu_limit), f"{planned[0].name}-aa")
        analyses = measure_and_report(folder, root, progress)
    for analysis in analyses:
        console.print(describe_noise(analysis), highlight=False)
