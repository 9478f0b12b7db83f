"""What a call of k6 is told beside its phases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from vtlab.analysis.laws import demands
from vtlab.analysis.validity.overload import fell_behind, most_added
from vtlab.model import units
from vtlab.model.experiment import ClosedLoad, Experiment, OpenLoad
from vtlab.model.records import Trial
from vtlab.planning.load_call import CallPacing, LightLoad

#: Seconds of light load of all variants together, at most, one after the other and at once; and of these for k6 to come
#: up and end.
LIGHT_SECONDS, AT_ONCE_SECONDS, COMING_UP = 30.0, 17.0, 2.5
#: The shortest window that is worth it, and the longest, in steps.
LEAST_WINDOW, MOST_WINDOW, _STEP = 0.5, 4.0, 0.05
#: The longest where there are idle phases alone.
MOST_IDLE_WINDOW = 2.0
#: Users of a phase, at most: more begin and end on a coarser grid of time.
MOST_LIGHT_USERS = 500
#: What the sample application may need that its variants do not share.
_OF_ONE_VARIANT = {"jdk21"}
#: See ``at_once``.
_QUIET = 0.75
#: Seconds of an idle phase before its window, as in ``k6/lib/plan.ts``.
IDLE_SETTLE = 0.3
#: Of the throughput under load, the larger light rate. It takes no more than a quarter of the CPU limit, as there is
#: none where the CPU was used to half.
OF_THROUGHPUT = 0.5
#: The share of arrivals beyond what a variant serves that a trial of an open load is to show, if the window may be as
#: long as that takes.
OVERLOAD = 0.05
#: In so many cases.
_SHOWN = 0.975
#: Seconds of a window that shows it, unless the experiment's is longer.
LONGEST_WINDOW = 60.0
#: Of these, the least by the response alone: 150 sqrt(2 R / rate) seconds, so that 5 % of the arrivals are two and a
#: half times what the counts at the edges differ by chance, 3 sqrt(2 rate R).
_ENOUGH = 150.0
#: Seconds that the last answers of a trial are waited for where nothing comes after it: then they count by their parts
#: within the window (``k6/lib/record.ts``).
WORTH_WAITING = 2.0
#: Rounds of a user in a window from which on it does not matter that the window cuts them.
_MANY_ROUNDS = 10
#: Answers are alike where nine in ten are not longer than that many times the mean: then no queue grew.
_ALIKE = 1.1


def pacing(experiment: Experiment, seed: int, warmed: Sequence[Trial] = ()) -> CallPacing:
    """How the calls of k6 of one block are paced. ``warmed``: the last warm-up cycles, one of each variant, by which
    open load settles before a window, and by which its window is long enough to show an overload of 5 %; and by which
    the users of closed load are spread over a round."""
    load = experiment.load
    if isinstance(load, ClosedLoad):
        return CallPacing(seed, rounds=_rounds(experiment, load, warmed))
    answered = [t.latency for t in warmed if t.latency.mean is not None and t.latency.max is not None]
    if not answered:
        return CallPacing(seed)
    longest = max(latency.max or 0.0 for latency in answered)
    settle = min(round(1000 * longest), round(units.milliseconds(experiment.max_response)))
    return replace(_window(experiment, load, warmed, settle / 1000), seed=seed, settle=settle)


def _window(experiment: Experiment, load: OpenLoad, warmed: Sequence[Trial], settle: float) -> CallPacing:
    """The length of an open load's windows, which show an overload of 5 %, and what they show if that is more.

    R is that of the slowest variant. Of one that fell behind in its last warm-up cycle it is no longer than the time
    before that window: what is longer may be its queue, and an overload that large is seen in any window.
    """
    responses = [
        trial.latency.mean
        if not fell_behind(trial, experiment)
        else min(trial.latency.mean, (trial.start - trial.begin) / 1000)
        for trial in warmed
        if trial.latency.mean is not None
    ]
    arriving = Arriving(
        load.rate,
        max(responses, default=0.0),
        units.seconds(experiment.windows.ramp_up) + settle,
        load.gaps == "exponential",
    )
    planned = max(units.seconds(experiment.window_of(variant)) for variant in experiment.variants)
    window = max(planned, min(LONGEST_WINDOW, arriving.window()))
    shown = arriving.overload(window) if window < arriving.window() else None
    return CallPacing(measure=math.ceil(1000 * window) if window > planned else None, shown_overload=shown)


@dataclass(frozen=True)
class Arriving:
    """How long windows of an open load have to be, so that a trial shows that the variant is overloaded.

    With the share o of the arrivals beyond what the variant serves, a window of W seconds adds o·rate·W requests in
    flight on average. An overloaded variant is always busy and completes the same in each window, so what is added
    varies as the arrivals do: by √(rate·W) with exponential gaps, not at all with even ones. ``most_added`` allows
    0.01·rate·W + 3·√(2·rate·R'). R' is the mean response in that window, in which the queue counts, too: half way
    through it adds o·(before + W/2) to R. That is exceeded in 97.5 % of cases where

        o·rate·W >= 0.01·rate·W + 3·√(2·rate·R') + z·√(rate·W),

    z = 1.96, the normal distribution's 97.5th percentile (there are hundreds of arrivals).
    """

    #: Arrivals per second.
    rate: float
    #: Seconds that a request takes where the variant keeps up, and that pass from the first arrival to the window.
    response: float
    before: float
    is_random: bool = True

    def window(self, overload: float = OVERLOAD) -> float:
        """The shortest window that shows this overload, seconds."""
        shortest = _ENOUGH * math.sqrt(2 * self.response / self.rate)
        return max(shortest, _root(lambda window: self._beyond(overload, window), 1e6))

    def overload(self, window: float) -> float:
        """The smallest overload that a window of this length shows, as a share of the arrivals; at most 1."""
        return _root(lambda overload: self._beyond(overload, window), 1.0)

    def _beyond(self, overload: float, window: float) -> float:
        """Requests that the overload adds beyond the limit and what chance takes away."""
        response = self.response + overload * (self.before + window / 2)
        limit = sum(most_added(self.rate, window, response))
        by_chance = NormalDist().inv_cdf(_SHOWN) * math.sqrt(self.rate * window) if self.is_random else 0.0
        return overload * self.rate * window - limit - by_chance


def _root(function: Callable[[float], float], most: float) -> float:
    """Where a function that begins below 0 and crosses it once does so, by halves; ``most`` where that is later."""
    low, high = 0.0, most
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return high


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


def gives_up(experiment: Experiment, variant: str, warmed: Sequence[Trial] = ()) -> bool:
    """Whether a last trial of this variant gives up what is unanswered at its end: under closed load, where that takes
    long, or nobody knows how long. ``warmed``: the last warm-up cycles, one of each variant."""
    load = experiment.load
    if not isinstance(load, ClosedLoad):
        return False
    longest = [t.latency.max for t in warmed if t.variant == variant and t.latency.max and t.users == load.users]
    return (_planned_round(load, variant) or max(longest, default=math.inf)) > WORTH_WAITING


def _round(cycle: Trial, load: ClosedLoad) -> float:
    """Seconds of a round: response and think time; where a queue still grew, or waits are drawn, N / X. The longest
    answers came after the cycle's window then, but as many in a second as later."""
    latency = cycle.latency
    mean, longest = latency.mean or 0.0, latency.p90 or latency.max or 0.0
    seconds = mean + load.mean_think_time
    if longest <= _ALIKE * mean:
        return seconds
    return max(seconds, cycle.users * cycle.window / cycle.ok)


def at_once(experiment: Experiment, loaded: Sequence[Trial]) -> bool:
    """Whether all variants may have light load at the same time: the sample application by itself, of which they share
    nothing, and no CPU is short. ``loaded``: the last trial of each, or warm-up cycle with its load. Together they took
    at most three quarters of the machine, with k6 and all else that runs there; light load is half of that."""
    if experiment.service is not None or not set(experiment.needs) <= _OF_ONE_VARIANT or experiment.workload.k6:
        return False
    idle = [trial.machine.get("idle_cores") for trial in loaded]
    return sum(1.0 if share is None else 1.0 - share for share in idle) <= _QUIET


def single_at_once(experiment: Experiment, loaded: Sequence[Trial]) -> bool:
    """The same for single users. They do not think, so that one of them may be more than a load whose users do."""
    load = experiment.load
    return isinstance(load, ClosedLoad) and not load.mean_think_time and at_once(experiment, loaded)


def light(
    responses: Mapping[str, float], throughputs: Mapping[str, float], cpu: Mapping[str, float], at_once: bool = False
) -> LightLoad:
    """Light load for the CPU demand of each variant: two idle phases and two rates, in mirrored order, with the longest
    window that fits into ``LIGHT_SECONDS``, or ``AT_ONCE_SECONDS``.

    ``responses``: seconds of a request alone. ``throughputs``: requests per second under load. ``cpu``: the share of
    the CPU limit that was used for them. Only idle phases where the CPU was used to half, as its demand is known under
    load then, where nothing was answered, and where requests take so long that all would take too long.
    """
    settle = max([0.2, *(1.1 * response + 0.1 for response in responses.values())])
    idle = (0.0, 0.0)
    rates: dict[str, Sequence[float]] = {}
    for name, throughput in throughputs.items():
        rate = min(OF_THROUGHPUT * throughput, MOST_LIGHT_USERS / settle)
        is_known = cpu[name] >= demands.BUSY
        rates[name] = idle if is_known or not rate else (0.0, rate, rate / 3, rate, 0.0)
    steps = round((MOST_WINDOW - LEAST_WINDOW) / _STEP)
    windows = [MOST_WINDOW - _STEP * step for step in range(steps + 1)]
    idle_windows = [window for window in windows if window <= MOST_IDLE_WINDOW]
    if LightLoad(rates).is_idle:
        windows = idle_windows
    most = AT_ONCE_SECONDS if at_once else LIGHT_SECONDS
    for window in windows:
        planned = LightLoad(rates, _milliseconds(settle), _milliseconds(window))
        if light_seconds(planned, responses, at_once) <= most:
            return planned
    only_idle = dict.fromkeys(throughputs, idle)
    shorter = [LightLoad(only_idle, _milliseconds(IDLE_SETTLE), _milliseconds(window)) for window in idle_windows]
    return next((planned for planned in shorter if light_seconds(planned, responses, at_once) <= most), shorter[-1])


def light_seconds(planned: LightLoad, responses: Mapping[str, float], at_once: bool = False) -> float:
    """How long light load takes, at most. k6 begins and ends phases on a grid of time, which is coarser for more users
    (``k6/lib/plan.ts``). The answers to the last arrivals come after a window's end, a little later than alone."""
    settle, window = planned.settle / 1000, planned.measure / 1000
    most = max((rate for rates in planned.rates.values() for rate in rates), default=0.0)
    users = math.ceil(round(most * settle, 6))
    grid = 0.25 if users <= 100 else 0.5 * math.ceil(users / 500)
    seconds = []
    for name, rates in planned.rates.items():
        answered = 1.02 * responses[name] + 0.05
        lengths = [settle + window + answered if rate else min(settle, IDLE_SETTLE) + window for rate in rates]
        seconds.append(sum(grid * (math.ceil(round(length / grid, 6)) + 1) for length in lengths))
    # Until the first phase begins.
    return COMING_UP + grid + (max(seconds, default=0.0) if at_once else sum(seconds))


def beside_seconds(
    experiment: Experiment, with_single: bool, with_light: bool, is_always_diagnosed: bool = False
) -> float:
    """About how long takes what one block has beside warm-up and trials: single-user phases, light load, and one more
    trial with thread dumps, of each variant or of one. Of a variant that figures explain there may be none, and
    variants may be measured at once: that is not known before."""
    load, windows = experiment.load, experiment.windows
    seconds = units.seconds(windows.single_user_phase) * len(experiment.variants) if with_single else 0.0
    if with_light and windows.wait_for_answers:
        trials = [
            units.seconds(experiment.window_of(variant))
            + units.seconds(windows.ramp_up)
            + 2 * _planned_round(load, variant)
            for variant in experiment.variants
        ]
        seconds += LIGHT_SECONDS + COMING_UP + (sum(trials) if is_always_diagnosed else max(trials))
    return seconds


def _planned_round(load: ClosedLoad | OpenLoad, variant: str) -> float:
    known = load.round.get(variant) if isinstance(load, ClosedLoad) else None
    return units.seconds(known) if known else 0.0


def _milliseconds(seconds: float) -> int:
    return math.floor(1000 * round(seconds, 6))
