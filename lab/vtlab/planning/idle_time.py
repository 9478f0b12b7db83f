"""Length of what may fit into the time that a run leaves idle at its end: as many trials again, thread dumps."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.model.experiment import Experiment
from vtlab.model.records import Trial
from vtlab.planning import dump_schedule, k6_timing
from vtlab.planning.load_call import CallPacing

#: Seconds that a call takes after its last block, for its reports.
ENDING = 10.0


def set_seconds(trials: Sequence[Trial], call_seconds: float) -> float:
    """Estimates how long as many trials again take, by a further call of k6. ``call_seconds``: for it to come and
    go."""
    users = max(trial.users for trial in trials)
    took = (max(trial.drained for trial in trials) - min(trial.begin for trial in trials)) / 1000
    # The users of a new call connect anew.
    connecting = len({trial.variant for trial in trials}) * k6_timing.USER_RAMP_UP * users
    return max(call_seconds, k6_timing.start_up(users)) + took + k6_timing.BETWEEN_PHASES + connecting


def dump_seconds(trials: Sequence[Trial], pace: CallPacing, experiment: Experiment, call_seconds: float) -> float:
    """Estimates how long one more trial of a variant takes, with thread dumps. ``trials``: those that it had; ``pace``:
    that of the one with dumps, whose window may be longer."""
    longest = max(trials, key=lambda trial: trial.drained - trial.begin)
    window = dump_schedule.window_seconds(pace, experiment, longest.variant)
    return set_seconds([longest], call_seconds) + max(0.0, window - longest.window)
