"""What a call of k6 is told beside its phases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vtlab.analysis import laws
from vtlab.model import units
from vtlab.model.experiment import ClosedLoad, Experiment
from vtlab.model.records import Trial

#: Seconds of light load of all variants together, at most; answers that a phase ends with are waited for besides.
LIGHT_SECONDS = 30.0
#: Between two phases, about, with up to 100 users; and the shortest window that is worth it.
BETWEEN, LEAST_WINDOW = 0.3, 0.5
#: Without any rate: the phases' settle, and their window at most.
_IDLE_SETTLE, _IDLE_WINDOW = 0.5, 1.5
#: Of the throughput under load, the larger light rate. It takes no more than a quarter of the CPU limit, as there is
#: none where the CPU was used to half.
OF_THROUGHPUT = 0.5
#: Arrivals, over the square root of R / rate, that show 5 % too much load: a window's length in seconds is
#: 150 sqrt(2 R / rate), so that 5 % of its arrivals are more than the counts at its edges differ by chance,
#: 3 sqrt(2 rate R), by a factor of two and a half.
_ENOUGH = 150.0
#: Rounds of a user in a window from which on it does not matter that the window cuts them.
_MANY_ROUNDS = 10
#: Answers are alike where nine in ten are not longer than that many times the mean: then no queue grew.
_ALIKE = 1.1


@dataclass(frozen=True)
class Pace:
    """The same for every call of one block. Milliseconds."""

    #: What k6 draws depends on it and on the block's number; None: on the run's id.
    seed: int | None = None
    #: Open load: from the ramp-up to a trial's window.
    settle: int = 0
    #: Length of the trials' windows; None: the experiment's.
    measure: int | None = None
    #: Closed load: a round of a user, by variant, where the experiment has none and windows hold few of them.
    rounds: Mapping[str, int] = field(default_factory=dict, hash=False)


AS_PLANNED = Pace()


@dataclass(frozen=True)
class LightLoad:
    """Phases of light load, with arrivals at even gaps."""

    #: By variant: arrivals per second of its phases, in their order; 0 for an idle one.
    rates: Mapping[str, Sequence[float]]
    #: Milliseconds of each: with arrivals before the window, as long as an answer may take; the window.
    settle: int = 1000
    measure: int = 2000


def pace(experiment: Experiment, seed: int, warmed: Sequence[Trial] = ()) -> Pace:
    """How the calls of k6 of one block are paced. ``warmed``: the last warm-up cycles, one of each variant, by which
    open load settles before a window, and by which its window is long enough to show an overload of 5 %; and by which
    the users of closed load are spread over a round."""
    load = experiment.load
    if isinstance(load, ClosedLoad):
        return Pace(seed, rounds=_rounds(experiment, load, warmed))
    answered = [t.latency for t in warmed if t.latency.mean is not None and t.latency.max is not None]
    if not answered:
        return Pace(seed)
    longest = max(latency.max or 0.0 for latency in answered)
    mean = max(latency.mean or 0.0 for latency in answered)
    enough = round(1000 * _ENOUGH * math.sqrt(2 * mean / load.rate))
    planned = max(units.milliseconds(experiment.window_of(variant)) for variant in experiment.variants)
    settle = min(round(1000 * longest), round(units.milliseconds(experiment.max_response)))
    return Pace(seed, settle, enough if enough > planned else None)


def _rounds(experiment: Experiment, load: ClosedLoad, warmed: Sequence[Trial]) -> dict[str, int]:
    """Milliseconds of a round by variant, of those of which the experiment says none; none where all are short beside
    their windows.

    Users who begin together stay together, where their answers take equally long, and are counted in whole rounds: a
    window of 2.5 rounds has two of them, or three. Fewer users than in the trials would tell nothing.
    """
    whole = [t for t in warmed if t.ok and t.users == load.users and t.variant not in load.round]
    rounds = {t.variant: math.ceil(1000 * _round(t, load)) for t in whole}
    windows = {name: units.milliseconds(experiment.window_of(name)) for name in rounds}
    return rounds if any(windows[name] < _MANY_ROUNDS * round_ for name, round_ in rounds.items()) else {}


def _round(cycle: Trial, load: ClosedLoad) -> float:
    """Seconds of a round: response and think time; where a queue still grew, or waits are drawn, N / X. The longest
    answers came after the cycle's window then, but as many in a second as later."""
    latency = cycle.latency
    mean, longest = latency.mean or 0.0, latency.p90 or latency.max or 0.0
    seconds = mean + load.mean_think_time
    if longest <= _ALIKE * mean:
        return seconds
    return max(seconds, cycle.users * cycle.window / cycle.ok)


def light(responses: Mapping[str, float], throughputs: Mapping[str, float], cpu: Mapping[str, float]) -> LightLoad:
    """Light load for the CPU demand of each variant: idle phases and two rates, in mirrored order.

    ``responses``: seconds of a request alone. ``throughputs``: requests per second under load. ``cpu``: the share of
    the CPU limit that was used for them. Only idle phases where the CPU was used to half, as its demand is known under
    load then, where nothing was answered, and where requests take so long that all would exceed ``LIGHT_SECONDS``.
    """
    settle = max([0.2, *(1.2 * response + 0.1 for response in responses.values())])
    seconds = LIGHT_SECONDS / max(1, len(throughputs))
    idle = (0.0, 0.0)
    window = seconds / 6 - settle - BETWEEN
    if window < LEAST_WINDOW:
        window = min(_IDLE_WINDOW, seconds / len(idle) - _IDLE_SETTLE - BETWEEN)
        return LightLoad(dict.fromkeys(throughputs, idle), _milliseconds(_IDLE_SETTLE), _milliseconds(window))
    rates: dict[str, Sequence[float]] = {}
    for name, throughput in throughputs.items():
        rate = OF_THROUGHPUT * throughput
        is_known = cpu[name] >= laws.BUSY
        rates[name] = idle if is_known or not rate else (0.0, rate / 3, rate, rate, rate / 3, 0.0)
    return LightLoad(rates, _milliseconds(settle), _milliseconds(window))


def _milliseconds(seconds: float) -> int:
    return math.floor(1000 * seconds)
