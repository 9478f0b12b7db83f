"""The load and the windows of the blocks, as a search chose them."""

from __future__ import annotations

import statistics

from vtlab.analysis import load_curve as curves
from vtlab.model import units
from vtlab.model.curve import Curve
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad

#: Seconds of a window, and the answers and rounds of a user in it, at least.
WINDOW, ANSWERS, ROUNDS = 5.0, 100, 2.0
#: Seconds of a window at most.
LONGEST = 60.0
#: Seconds of a variant's three phases with a single user, at least, the rounds of a user in them, and seconds at most.
#: A phase of two seconds holds two scrapes.
SINGLE, SINGLE_ROUNDS, LONGEST_SINGLE = 6.0, 9.0, 9.0
#: Answers to a single user that a warm-up cycle is long enough for.
CYCLE_ANSWERS = 2.0
#: Ramp-up, which takes the place of a round where none is known (``k6/lib/plan.ts``): rounds of a user and longest
#: answers that it holds, and seconds at least.
RAMP_ROUNDS, RAMP_ANSWERS, LEAST_RAMP = 4.0, 2.0, 0.25


def with_load(experiment: Experiment, curve: Curve) -> Experiment:
    """Returns the experiment with the users that the search chose, and windows that hold enough of their rounds."""
    load = experiment.load
    assert isinstance(load, ClosedLoad)
    chosen = ClosedLoad(users=curve.chosen, think_time=load.think_time)
    rounds = {name: seconds for name in experiment.variants if (seconds := _round(curve, name)) is not None}
    slowest = max((count for count in rounds.values()), default=0.0)
    window = max(WINDOW, ROUNDS * slowest, ANSWERS * slowest / curve.chosen)
    single_window = min(LONGEST_SINGLE, max(SINGLE, SINGLE_ROUNDS * slowest))
    windows = experiment.windows.model_copy(
        update={
            "measure": f"{min(LONGEST, window):.3g}s",
            "single_user_phase": f"{single_window:.3g}s",
            "warmup_load": _cycle(experiment, curve),
            "ramp_up": f"{1000 * _ramp(experiment, curve, slowest):.0f}ms",
        }
    )
    return experiment.with_load(chosen).model_copy(
        update={
            "windows": windows,
            "description": f"{experiment.description}; {curve.chosen:,} users, chosen by vtlab",
        }
    )


def _cycle(experiment: Experiment, curve: Curve) -> str:
    """Returns the length of a warm-up cycle: the experiment's, or longer where a single user waits long for an
    answer."""
    planned = experiment.windows.warmup_load
    alone = max((point.mean or 0.0 for point in curve.points if point.users == 1), default=0.0)
    needed = min(LONGEST, CYCLE_ANSWERS * alone)
    return planned if needed <= units.seconds(planned) else f"{needed:.3g}s"


def _ramp(experiment: Experiment, curve: Curve, slowest: float) -> float:
    """Computes the seconds of the ramp-up; at most the experiment's, and that where the longest answers are not known:
    requests of a workload may differ much. Of the levels' longest answers the median counts: in a JVM that is still
    being compiled a pause lengthens one here and there, and a slow request is in all of them."""
    planned = units.seconds(experiment.windows.ramp_up)
    levels = [point.longest for point in curve.points if point.users <= curve.chosen]
    longest = [seconds for seconds in levels if seconds is not None]
    if len(longest) < len(levels):
        return planned
    answers = statistics.median_high(longest) if longest else planned
    return min(planned, max(LEAST_RAMP, RAMP_ROUNDS * slowest, RAMP_ANSWERS * answers))


def _round(curve: Curve, variant: str) -> float | None:
    """Computes the seconds from one request of a user to the next with the chosen users: N / X, at the highest
    throughput."""
    most = max((point.throughput for point in curve.points_of(variant)), default=0.0)
    knee = curves.knee(curve.points, variant)
    if not most or knee is None:
        return None
    return max(curve.chosen, knee) / most
