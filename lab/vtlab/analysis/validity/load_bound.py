"""The throughput that the load allows a trial, by the experiment's own figures."""

from __future__ import annotations

from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Trial

#: The load is the bound of a trial whose throughput is within this share of what the load allows.
AT_BOUND = 0.03


def most_throughput(trial: Trial, experiment: Experiment) -> float | None:
    """Computes the OK answers per second that the trial's users can have at most, by the operational laws: their number
    over the time of a round. None where the experiment does not say how long that is."""
    load = experiment.load
    if not isinstance(load, ClosedLoad) or trial.rate is not None or not trial.users:
        return None
    if trial.users == load.users:
        round_ = load.round.get(trial.variant)
    else:
        # Fewer users, of whom none queues: those of the warm-up.
        round_ = None if load.mean_think_time else load.service_time.get(trial.variant)
    return trial.users / units.seconds(round_) if round_ else None


def is_at_most(trial: Trial, most: float | None) -> bool:
    """Tells whether the load was the bound of a trial: within 3 % of ``most``. Above that the experiment's round is
    wrong."""
    return most is not None and abs(trial.throughput / most - 1) < AT_BOUND
