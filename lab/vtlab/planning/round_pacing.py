"""The pacing of k6's calls by what the warm-up showed: the users' rounds under closed load, windows of open load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad, OpenLoad
from vtlab.model.records import Trial
from vtlab.planning.load_call import CallPacing
from vtlab.planning.open_windows import window_pacing

#: Seconds that the last answers of a trial are waited for where nothing comes after it. Where they take longer they
#: count by their parts within the window (``k6/lib/record.ts``).
WORTH_WAITING = 2.0
#: Rounds of a user in a window from which on it does not matter that the window cuts them.
_MANY_ROUNDS = 10
#: Answers are alike where nine in ten are not longer than that many times the mean: then no queue grew.
_ALIKE = 1.1


def pacing(experiment: Experiment, seed: int, warmed: Sequence[Trial] = ()) -> CallPacing:
    """Returns how the calls of k6 of one block are paced.

    ``warmed``: the last warm-up cycles, one of each variant. By these open load settles before a window, and its window
    is long enough to show an overload of 5 %; and the users of closed load are spread over a round.
    """
    load = experiment.load
    if isinstance(load, ClosedLoad):
        return CallPacing(seed, rounds=_rounds(experiment, load, warmed))
    answered = [cycle.latency for cycle in warmed if cycle.latency.mean is not None and cycle.latency.max is not None]
    if not answered:
        return CallPacing(seed)
    longest = max(latency.max or 0.0 for latency in answered)
    settle = min(round(1000 * longest), round(units.milliseconds(experiment.max_response)))
    return replace(window_pacing(experiment, load, warmed, settle / 1000), seed=seed, settle=settle)


def gives_up(experiment: Experiment, variant: str, warmed: Sequence[Trial] = ()) -> bool:
    """Tells whether a last trial of this variant gives up what is unanswered at its end: under closed load, where that
    takes long, or nobody knows how long. ``warmed``: the last warm-up cycles, one of each variant."""
    load = experiment.load
    if not isinstance(load, ClosedLoad):
        return False
    longest = [
        cycle.latency.max
        for cycle in warmed
        if cycle.variant == variant and cycle.latency.max and cycle.users == load.users
    ]
    return (declared_round(load, variant) or max(longest, default=math.inf)) > WORTH_WAITING


def declared_round(load: ClosedLoad | OpenLoad, variant: str) -> float:
    """Returns the round that the experiment declares, in seconds; 0 where it declares none."""
    declared = load.round.get(variant) if isinstance(load, ClosedLoad) else None
    return units.seconds(declared) if declared else 0.0


def _rounds(experiment: Experiment, load: ClosedLoad, warmed: Sequence[Trial]) -> dict[str, int]:
    """Returns the milliseconds of a round by variant, without variants whose round the experiment declares; none where
    all are short beside their windows.

    Users who begin together stay together, where their answers take equally long, and are counted in whole rounds: a
    window of 2.5 rounds has two of them, or three. Fewer users than in the trials would tell nothing.
    """
    whole = [cycle for cycle in warmed if cycle.ok and cycle.users == load.users and cycle.variant not in load.round]
    rounds = {cycle.variant: math.ceil(1000 * _round(cycle, load)) for cycle in whole}
    windows = {name: units.milliseconds(experiment.window_of(name)) for name in rounds}
    return rounds if any(windows[name] < _MANY_ROUNDS * round_ for name, round_ in rounds.items()) else {}


def _round(cycle: Trial, load: ClosedLoad) -> float:
    """Returns the seconds of a round: response and think time; where a queue still grew, or waits are drawn, N / X. The
    longest answers came after the cycle's window then, but as many in a second as later."""
    latency = cycle.latency
    mean, longest = latency.mean or 0.0, latency.p90 or latency.max or 0.0
    seconds = mean + load.mean_think_time
    if longest <= _ALIKE * mean:
        return seconds
    return max(seconds, cycle.users * cycle.window / cycle.ok)
