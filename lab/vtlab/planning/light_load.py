"""Light load after the trials, which tells a variant's CPU demand, and how long it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vtlab.analysis.laws import demands
from vtlab.analysis.laws.phases import Measured
from vtlab.analysis.laws.single_user import shortest_response
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Trial
from vtlab.planning import k6_timing
from vtlab.planning.load_call import LightLoad
from vtlab.planning.round_pacing import declared_round

#: Time budgets in seconds for the light load of all variants: one after the other, and at the same time.
SEQUENTIAL_SECONDS, AT_ONCE_SECONDS = 30.0, 17.0
#: The shortest window that is worth it, and the longest, in steps.
SHORTEST_WINDOW, LONGEST_WINDOW, _STEP = 0.5, 4.0, 0.05
#: The longest where there are idle phases alone.
LONGEST_IDLE_WINDOW = 2.0
#: Users of a phase, at most: more begin and end on a coarser grid of time.
MOST_USERS = 500
#: What the sample application may need that its variants do not share.
_NEEDED_BY_ONE_VARIANT = {"jdk21"}
#: The largest sum of the variants' shares of the machine with which all may be loaded at the same time.
_QUIET = 0.75
#: The larger light rate, as a share of the throughput under load. It takes no more than a quarter of the CPU limit, as
#: there is none where the CPU was used to half.
SHARE_OF_THROUGHPUT = 0.5
#: Rates of a variant with idle phases alone.
_IDLE = (0.0, 0.0)


@dataclass(frozen=True)
class LoadedVariant:
    """Figures of a variant from its trials, by which its light load is planned."""

    #: Seconds of a request alone; 0 where that is unknown.
    response: float
    #: Requests per second under load.
    throughput: float
    #: The share of the CPU limit that was used for them.
    cpu_share: float

    @classmethod
    def measured(cls, under_load: Measured, alone: Measured) -> LoadedVariant:
        """Takes over what was measured of a variant under the trials' load, and with a single user."""
        return cls(shortest_response(alone) or 0.0, under_load.throughput or 0.0, demands.cpu_share(under_load) or 0.0)


def share_nothing(experiment: Experiment) -> bool:
    """Tells whether the variants are known to share nothing: they are the sample application by itself."""
    return experiment.is_sample and set(experiment.needs) <= _NEEDED_BY_ONE_VARIANT and not experiment.workload.k6


def may_run_at_once(experiment: Experiment, loaded: Sequence[Trial]) -> bool:
    """Tells whether all variants may have light load at the same time: they share nothing, and no CPU is short.

    ``loaded``: the last trial of each, or warm-up cycle with its load. Together they took at most three quarters of the
    machine, with k6 and all else that runs there; light load is half of that.
    """
    if not share_nothing(experiment):
        return False
    idle = [trial.machine.get("idle_cores") for trial in loaded]
    return sum(1.0 if share is None else 1.0 - share for share in idle) <= _QUIET


def may_single_users_run_at_once(experiment: Experiment, loaded: Sequence[Trial]) -> bool:
    """Tells the same for single users. They do not think, so that one of them may be more than a load whose users
    do."""
    load = experiment.load
    return isinstance(load, ClosedLoad) and not load.mean_think_time and may_run_at_once(experiment, loaded)


def plan(variants: Mapping[str, LoadedVariant], is_at_once: bool = False) -> LightLoad:
    """Plans light load for the CPU demand of each variant: two idle phases and two rates, in mirrored order, with the
    longest window that fits into ``SEQUENTIAL_SECONDS``, or ``AT_ONCE_SECONDS``.

    Only idle phases where the CPU was used to half, as its demand is known under load then, where nothing was answered,
    and where requests take so long that all would take too long.
    """
    responses = {name: variant.response for name, variant in variants.items()}
    settle = max([0.2, *(1.1 * response + 0.1 for response in responses.values())])
    rates = {name: _rates(variant, settle) for name, variant in variants.items()}
    steps = round((LONGEST_WINDOW - SHORTEST_WINDOW) / _STEP)
    windows = [LONGEST_WINDOW - _STEP * step for step in range(steps + 1)]
    idle_windows = [window for window in windows if window <= LONGEST_IDLE_WINDOW]
    if LightLoad(rates).is_idle:
        windows = idle_windows
    budget = AT_ONCE_SECONDS if is_at_once else SEQUENTIAL_SECONDS
    for window in windows:
        planned = LightLoad(rates, _milliseconds(settle), _milliseconds(window))
        if seconds_of(planned, responses, is_at_once) <= budget:
            return planned
    only_idle = dict.fromkeys(variants, _IDLE)
    shorter = [LightLoad(only_idle, _milliseconds(k6_timing.IDLE_SETTLE), _milliseconds(w)) for w in idle_windows]
    return next((light for light in shorter if seconds_of(light, responses, is_at_once) <= budget), shorter[-1])


def _rates(variant: LoadedVariant, settle: float) -> Sequence[float]:
    rate = min(SHARE_OF_THROUGHPUT * variant.throughput, MOST_USERS / settle)
    is_known = variant.cpu_share >= demands.BUSY
    return _IDLE if is_known or not rate else (0.0, rate, rate / 3, rate, 0.0)


def seconds_of(planned: LightLoad, responses: Mapping[str, float], is_at_once: bool = False) -> float:
    """Returns how long light load takes, at most."""
    settle, window = planned.settle / 1000, planned.measure / 1000
    most = max((rate for rates in planned.rates.values() for rate in rates), default=0.0)
    users = math.ceil(round(most * settle, 6))
    seconds = []
    for name, rates in planned.rates.items():
        answered = k6_timing.last_answer(responses[name])
        lengths = [
            settle + window + answered if rate else min(settle, k6_timing.IDLE_SETTLE) + window for rate in rates
        ]
        seconds.append(sum(k6_timing.phase_seconds(length, users) for length in lengths))
    # Until the first phase begins.
    return k6_timing.START_UP + k6_timing.grid(users) + (max(seconds, default=0.0) if is_at_once else sum(seconds))


def extra_phase_seconds(
    experiment: Experiment, with_single_user: bool, with_light_load: bool, is_always_diagnosed: bool = False
) -> float:
    """Estimates what one block takes beyond warm-up and trials: single-user phases, light load, and one more trial with
    thread dumps, of each variant or of one. A variant that figures explain may need no such trial, and variants may be
    measured at once: that is not known before."""
    load, windows = experiment.load, experiment.windows
    seconds = units.seconds(windows.single_user_phase) * len(experiment.variants) if with_single_user else 0.0
    if with_light_load and windows.wait_for_answers:
        trials = [
            units.seconds(experiment.window_of(variant))
            + units.seconds(windows.ramp_up)
            + 2 * declared_round(load, variant)
            for variant in experiment.variants
        ]
        seconds += SEQUENTIAL_SECONDS + k6_timing.START_UP + (sum(trials) if is_always_diagnosed else max(trials))
    return seconds


def _milliseconds(seconds: float) -> int:
    return math.floor(1000 * round(seconds, 6))
