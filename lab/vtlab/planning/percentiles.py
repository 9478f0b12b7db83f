"""Percentiles by which the tails of a run's loads are compared."""

from __future__ import annotations

from typing import Literal

from vtlab.analysis.validity import failing
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import Percentile, TypicalPlan
from vtlab.model.records import Block

LoadName = Literal["full", "typical"]
#: Answers beyond a percentile that tell it.
BEYOND = 15
#: The percentiles, the highest first, and how many of 100 answers lie beyond each.
_BEYOND_OF_100: dict[Percentile, int] = {"p99": 1, "p95": 5, "p90": 10}


def highest(expected: float) -> Percentile | None:
    """Returns the highest percentile with enough of so many answers beyond it; None where even p90 has fewer."""
    return next((name for name, share in _BEYOND_OF_100.items() if expected * share >= 100 * BEYOND), None)


def of_loads(experiment: Experiment, block: Block, typical: TypicalPlan | None) -> dict[LoadName, Percentile | None]:
    """Returns the percentile of each load that the block shows: of the trials' load by the window with the fewest
    answers, without variants that failed; of typical load beside it by the answers that its windows expect."""
    of_trials: LoadName = "full" if experiment.has_full_load else "typical"
    answers = [trial.ok_answers for trial in failing.sound_trials(block, experiment)]
    shown: dict[LoadName, Percentile | None] = {of_trials: highest(min(answers))} if answers else {}
    if typical:
        shown["typical"] = highest(typical.rate * typical.window * typical.per_iteration)
    return shown
