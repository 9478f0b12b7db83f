"""``vtlab compare``: two runs that exist, one over the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from vtlab.analysis import asserts, two_runs
from vtlab.analysis.statistics.paired import Variance
from vtlab.analysis.two_runs import TwoRuns
from vtlab.commands.output import console
from vtlab.errors import AssertionFailed, BadInput, InvalidRun
from vtlab.measuring.progress import Progress
from vtlab.model.run import Analysis
from vtlab.report.words import changes
from vtlab.runs.report import analyse_runs

EXAMPLES = """\
vtlab compare results/a results/b
vtlab compare results/a results/b --assert 'capacity(virtual/platform) >= 0.9'
"""


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="Earlier results directory.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Later results directory.")],
    spread: Annotated[
        float | None,
        typer.Option("--spread", metavar="PERCENT", help="SD of the capacity between equal runs."),
    ] = None,
    aa: Annotated[
        list[Path] | None,
        typer.Option("--aa", metavar="DIR", help="Results of vtlab lab aa, which show that SD; at least two."),
    ] = None,
    demand: Annotated[
        list[str] | None,
        typer.Option(
            "--assert",
            metavar="TEXT",
            help="Exit 1 unless the change is so, as 'capacity(virtual/platform) >= 0.95'. Repeatable.",
        ),
    ] = None,
) -> None:
    """Compare two runs that exist: did the ratio change?

    Divides the ratio of the variants in AFTER by that in BEFORE.
    """
    demands = [asserts.parse(text, alone=True) for text in demand or []]
    if spread is not None and aa:
        raise BadInput("--spread and --aa say the same", "leave one out")
    with Progress(console, "judging both runs"):
        befores, afters = analyse_runs(before), analyse_runs(after)
        compared = two_runs.compare(befores, afters, _between_runs(spread, aa or [], befores[0]))
    for line in changes.lines(compared):
        console.print(line, highlight=False)
    _refuse_invalid(compared)
    _check(demands, compared)


def _between_runs(spread: float | None, aa: Sequence[Path], first: Analysis) -> Variance | None:
    """Returns the variance of the throughput between runs of the same: by its SD in percent, or by the results of
    ``vtlab lab aa``; None where neither is named."""
    if aa:
        return two_runs.between_runs([analysis for folder in aa for analysis in analyse_runs(folder)], first)
    if spread is None:
        return None
    if not (math.isfinite(spread) and spread >= 0):
        raise BadInput(f"--spread {spread:g}: not a standard deviation in percent", "write 2 for 2 %")
    return Variance(math.log1p(spread / 100) ** 2, math.inf)


def _refuse_invalid(compared: Sequence[TwoRuns]) -> None:
    missing = [a.run.manifest.run_id for two in compared for a in (two.before, two.after) if not a.verdict.valid]
    if missing:
        raise InvalidRun(f"blocks are missing: {', '.join(missing)}", "vtlab resume measures them, or measure it again")


def _check(demands: Sequence[asserts.Demand], compared: Sequence[TwoRuns]) -> None:
    failed = []
    for demand in demands:
        for two in compared:
            key = (demand.name, demand.of, demand.over)
            change = next((c for c in two.changes if (str(c.key), c.of, c.over) == key), None)
            if change is None and demand.over == "" and demand.name == "capacity" and two.no_absolute:
                failed.append(f"'{demand.text}' does not hold: no absolute capacity: {two.no_absolute}")
            elif change is None and two.no_typical and asserts.RATIOS.get(demand.name) == "typical":
                failed.append(f"'{demand.text}' does not hold: nothing at typical load: {two.no_typical}")
            elif change is None:
                names = ", ".join(c.name for c in two.changes)
                raise BadInput(f"--assert '{demand.text}': the runs have no such change", f"write one of {names}")
            elif _is_hollow(two, demand) or not demand.holds(change.low, change.high):
                failed.append(f"'{demand.text}' does not hold: {changes.sentence(change)}")
    if failed:
        raise AssertionFailed("; ".join(failed), "an assertion holds when the whole interval lies on its side")


def _is_hollow(two: TwoRuns, demand: asserts.Demand) -> bool:
    """Tells whether a variant of the change failed in a block of either run: then the change has no meaning."""
    results = [a.verdict.variants.get(v) for a in (two.before, two.after) for v in (demand.of, demand.over)]
    return any(result is not None and result.failed_blocks for result in results)
