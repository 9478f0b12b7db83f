"""``vtlab compare``: reads two calls, compares their runs, says what came of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from vtlab.analysis import asserts, two_runs
from vtlab.analysis.metrics import METRICS
from vtlab.analysis.statistics.paired import Variance
from vtlab.analysis.two_runs import TwoRuns
from vtlab.errors import AssertionFailed, BadInput, InvalidRun
from vtlab.report.words import changes
from vtlab.runs.report import analyse_runs


def compare(
    before: Path, after: Path, spread: float | None, aa: Sequence[Path], demands: Sequence[str], console: Console
) -> None:
    """Shows the runs in ``after`` over those in ``before``. ``spread``: the standard deviation of a run's throughput
    between runs of the same, in percent; ``aa``: the results directories that show it.

    BadInput as of ``two_runs``; InvalidRun where a run lacks blocks, AssertionFailed where a demand does not hold.
    """
    parsed = [asserts.parse(text, alone=True) for text in demands]
    for demand in parsed:
        if demand.metric not in METRICS:
            raise BadInput(f"--assert '{demand.text}': no metric '{demand.metric}'", f"there is: {', '.join(METRICS)}")
    befores, afters = analyse_runs(before), analyse_runs(after)
    if spread is not None and aa:
        raise BadInput("--spread and --aa say the same", "leave one out")
    if spread is not None and not (math.isfinite(spread) and spread >= 0):
        raise BadInput(f"--spread {spread:g}: not a standard deviation in percent", "write 2 for 2 %")
    between = None if spread is None else Variance(math.log1p(spread / 100) ** 2, math.inf)
    if aa:
        between = two_runs.between_runs([a for folder in aa for a in analyse_runs(folder)], befores[0])
    compared = two_runs.compare(befores, afters, between)
    for line in changes.lines(compared):
        console.print(line, highlight=False, soft_wrap=True)
    _refuse_invalid(compared)
    _check(parsed, compared)


def _refuse_invalid(compared: Sequence[TwoRuns]) -> None:
    missing = [a.run.manifest.run_id for two in compared for a in (two.before, two.after) if not a.verdict.valid]
    if missing:
        raise InvalidRun(f"blocks are missing: {', '.join(missing)}", "vtlab resume measures them, or measure it again")


def _check(demands: Sequence[asserts.Demand], compared: Sequence[TwoRuns]) -> None:
    failed = []
    for demand in demands:
        for two in compared:
            name = f"{demand.metric}({demand.of}{'/' if demand.over else ''}{demand.over})"
            change = next((c for c in two.changes if c.name == name), None)
            if change is None and demand.over == "" and two.no_absolute:
                failed.append(f"'{demand.text}' does not hold: no absolute throughput: {two.no_absolute}")
            elif change is None:
                known = ", ".join(c.name for c in two.changes)
                raise BadInput(f"--assert '{demand.text}': nothing of that name in both runs", f"there is: {known}")
            elif _is_hollow(two, demand) or not demand.holds(change.low, change.high):
                failed.append(f"'{demand.text}' does not hold: {changes.sentence(change)}")
    if failed:
        raise AssertionFailed("; ".join(failed), "an assertion holds when the whole interval lies on its side")


def _is_hollow(two: TwoRuns, demand: asserts.Demand) -> bool:
    """Whether one of its variants failed in a block of either run: then nothing holds of it."""
    results = [a.verdict.variants.get(v) for a in (two.before, two.after) for v in (demand.of, demand.over)]
    return any(result is not None and result.failed_blocks for result in results)
