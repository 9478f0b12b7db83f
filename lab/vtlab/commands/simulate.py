"""``vtlab lab simulate``: how often verdicts are right, wrong or missing."""

from __future__ import annotations

import itertools
from typing import Annotated

import typer

from vtlab.analysis.statistics import (
    simulated_mixes,
    simulated_percentiles,
    simulated_priors,
    simulated_queues,
    simulated_runs,
    simulated_warm_ups,
    simulation,
)
from vtlab.commands.output import console
from vtlab.errors import BadInput
from vtlab.measuring.progress import Progress

EXAMPLES = """\
vtlab lab simulate --runs 100000
vtlab lab simulate --sd 0.04
"""


def simulate(
    runs: Annotated[
        int, typer.Option("--runs", metavar="N", help="Simulated runs in each row of the tables.")
    ] = 20_000,
    sd: Annotated[
        float, typer.Option("--sd", metavar="SD", help="Per-block SD of the log ratio; vtlab lab aa prints yours.")
    ] = simulation.SD,
) -> None:
    """Show how often verdicts are right, wrong or missing.

    Simulates runs, and judges them by the rules of a report.
    """
    if runs < 1:
        raise BadInput(f"--runs {runs}: at least one run is needed", "20000 take about half a minute")
    if not 0 < sd <= 1:
        raise BadInput(f"--sd {sd:g}: not above 0 and at most 1", "0.02 is 2 %")
    with Progress(console, "simulating runs"):
        of_ratios = itertools.chain(simulation.tables(runs, sd), simulated_runs.tables(runs, sd))
        of_latency = itertools.chain(simulated_percentiles.tables(runs), simulated_queues.tables(runs))
        of_users = simulated_mixes.tables(runs)
        of_warm_ups = simulated_warm_ups.tables(runs)
        for line in itertools.chain(of_ratios, simulated_priors.tables(runs), of_latency, of_users, of_warm_ups):
            print(line, flush=True)
