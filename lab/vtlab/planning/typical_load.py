"""Typical load beside full load: its rate, users and windows, and how long it takes.

It is planned once in a run, by the first attempt whose full load shows its rate (``TypicalPlan``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vtlab.analysis.laws.phases import measured_variant
from vtlab.analysis.laws.single_user import shortest_response
from vtlab.analysis.validity import failing
from vtlab.model import units
from vtlab.model.curve import Curve
from vtlab.model.experiment import Experiment
from vtlab.model.load import RateLoad
from vtlab.model.manifest import TypicalPlan
from vtlab.model.records import Block, Trial
from vtlab.planning import k6_timing, light_load
from vtlab.planning.load_call import TypicalCall

#: Share of the machine's cores below which all variants may have it at the same time.
SHARE_USED = 0.6
#: Answers that a window expects, its shortest and its longest length in seconds, and the step of these: parts of a
#: window are as long (``k6/lib/parts.ts``).
EXPECTED, SHORTEST, LONGEST, STEP = 3000, 5.0, 15.0, 0.5
#: Users, at least and at most. Each has so many seconds for an arrival, and twice those of a request alone: an arrival
#: whose user is still busy is dropped.
LEAST_USERS, MOST_USERS, USER_SECONDS = 20, 1000, 2.0
#: Seconds from a phase's beginning to its window: usually, at least where time is short, at most, and by how much
#: longer than a request alone.
SETTLE, LEAST_SETTLE, MOST_SETTLE, BEYOND_RESPONSE = 1.0, 0.5, 10.0, 0.1
#: Seconds that it may add to a block: at the same time; in turn beside the windows, for each variant.
AT_ONCE_SECONDS, BESIDE_WINDOW = 22.0, 3.0


@dataclass(frozen=True)
class Rate:
    """Rate of the arrivals, per second."""

    rate: float
    #: Variant of whose throughput it is a share, and that throughput; empty and None where it was named.
    of: str = ""
    throughput: float | None = None


def rate_of(experiment: Experiment, block: Block) -> Rate | None:
    """Returns the rate that the experiment names, or that share of the mean throughput under full load in this block of
    the first variant that did not fail; None where there is none."""
    typical = experiment.typical_beside
    if typical is None or isinstance(typical, RateLoad):
        return Rate(typical.rate) if typical else None
    trials = _trials_of_first_sound(experiment, block)
    throughput = math.fsum(trial.throughput for trial in trials) / max(1, len(trials))
    if not throughput:
        return None
    return Rate(float(f"{typical.share * throughput:.3g}"), trials[0].variant, throughput)


def response(experiment: Experiment, blocks: Sequence[Block], curve: Curve | None, variant: str) -> float | None:
    """Returns the seconds of a variant's request alone, of a script's iteration; None where nothing was answered.

    The single users of a run's first block come after its typical load. Until then the shortest of what else tells it
    is the nearest: under load a request takes longer. Warm-up cycles do not count where they send other requests.
    """
    measured = measured_variant(blocks, experiment, variant)
    declared = experiment.load_.service_times.get(variant)
    loaded = measured.trials
    if experiment.windows.warmup_query is None:
        loaded = [*loaded, *(cycle for block in blocks for cycle in block.warmup if cycle.variant == variant)]
    known = [
        shortest_response(measured),
        *(point.mean for point in (curve.points_of(variant) if curve else ()) if point.users == 1),
        units.seconds(declared) if declared else None,
        *(trial.latency.mean for trial in loaded),
    ]
    return min((seconds for seconds in known if seconds), default=None)


def plan(
    experiment: Experiment, blocks: Sequence[Block], curve: Curve | None, loads_at_once: bool
) -> TypicalPlan | None:
    """Plans the typical load of a run; None where its rate is not known.

    ``blocks``: those before that count, and the one that has just had full load. ``loads_at_once``: whether one k6 for
    each variant can run at the same time.
    """
    block = blocks[-1]
    chosen = rate_of(experiment, block)
    if chosen is None:
        return None
    rate, per_iteration = chosen.rate, _answers_per_iteration(experiment, block)
    longest = _longest(response(experiment, blocks, curve, variant) for variant in experiment.variants)
    if longest is None:
        longest = units.seconds(experiment.max_response)
    planned = TypicalPlan(
        rate=rate,
        of=chosen.of,
        throughput=chosen.throughput,
        users=min(MOST_USERS, max(LEAST_USERS, math.ceil(round(rate * (USER_SECONDS + 2 * longest), 6)))),
        settle=min(MOST_SETTLE, max(SETTLE, longest + BEYOND_RESPONSE)),
        window=_window(rate * per_iteration),
        is_at_once=loads_at_once and may_run_at_once(experiment, block.trials, rate),
        per_iteration=per_iteration,
    )
    return _within_budget(planned, len(experiment.variants), longest)


def lowered(planned: TypicalPlan) -> TypicalPlan:
    """Plans half the rate: the load generator, beside the service, did not send the arrivals in time."""
    rate = float(f"{planned.rate / 2:.3g}")
    users = max(LEAST_USERS, math.ceil(planned.users * rate / planned.rate))
    return planned.model_copy(update={"rate": rate, "users": users, "window": _window(rate * planned.per_iteration)})


def may_run_at_once(experiment: Experiment, trials: Sequence[Trial], rate: float) -> bool:
    """Tells whether all variants may have typical load at the same time: they share nothing, and the use of the cores
    that their last trials let expect is small, with k6 and all else that runs there."""
    loaded = {trial.variant: trial for trial in trials}
    if not light_load.share_nothing(experiment) or experiment.reset or loaded.keys() != set(experiment.variants):
        return False
    return math.fsum(_expected_use(trial, rate) for trial in loaded.values()) < SHARE_USED


def call(planned: TypicalPlan, order: Sequence[str]) -> TypicalCall:
    """Returns the part of a call of k6 that loads these variants."""
    settle, measure = (round(1000 * seconds) for seconds in (planned.settle, planned.window))
    return TypicalCall(order, planned.rate, planned.users, settle, measure)


def seconds_of(planned: TypicalPlan, variants: int, response: float | None = None) -> float:
    """Returns how long the typical load of so many variants takes in a block, at most. ``response``: seconds of a
    request alone; as long as the time before the window allows, if not given."""
    longest = planned.settle - BEYOND_RESPONSE if response is None else response
    length = planned.settle + planned.window + k6_timing.last_answer(longest)
    turns, calls = (1, variants) if planned.is_at_once else (variants, 1)
    phases = k6_timing.phase_seconds(length, planned.users) * turns
    # Until the first phase begins.
    return k6_timing.start_up(planned.users * calls) + k6_timing.grid(planned.users) + phases


def expected_seconds(experiment: Experiment, planned: TypicalPlan | None) -> float:
    """Estimates how long typical load takes in each block. Before it is planned that is the most, in turn: with the
    longest windows, unless its rate is named."""
    typical, variants = experiment.typical_beside, len(experiment.variants)
    if typical is None:
        return 0.0
    if planned:
        return seconds_of(planned, variants)
    return _in_turn(_window(typical.rate) if isinstance(typical, RateLoad) else LONGEST, variants)


def _trials_of_first_sound(experiment: Experiment, block: Block) -> list[Trial]:
    """Selects the trials of the first variant that has some and did not fail; none where all failed."""
    trials = failing.sound_trials(block, experiment)
    by_variant = ([trial for trial in trials if trial.variant == variant] for variant in experiment.variants)
    return next((of_variant for of_variant in by_variant if of_variant), [])


def _answers_per_iteration(experiment: Experiment, block: Block) -> float:
    """Returns the HTTP answers of a script's iteration; 1 of requests."""
    trials = [trial for trial in _trials_of_first_sound(experiment, block) if trial.answers and trial.ok]
    if not experiment.workload.k6 or not trials:
        return 1.0
    return sum(trial.ok_answers for trial in trials) / sum(trial.ok for trial in trials) or 1.0


def _longest(responses: Iterable[float | None]) -> float | None:
    return max((seconds for seconds in responses if seconds is not None), default=None)


def _expected_use(trial: Trial, rate: float) -> float:
    """Returns the share of the machine's cores that a variant of this trial takes at another rate."""
    idle = trial.machine.get("idle_cores")
    used = 1.0 if idle is None else 1.0 - idle
    return used * min(1.0, rate / trial.throughput) if trial.throughput else used


def _window(answers: float) -> float:
    """Returns the seconds of a window with so many answers a second: whole parts."""
    wanted = STEP * math.ceil(round(EXPECTED / answers / STEP, 6))
    return min(LONGEST, max(SHORTEST, wanted))


def _in_turn(window: float, variants: int) -> float:
    """Returns the seconds that so many variants may add to a block in turn, with windows of that length."""
    return k6_timing.START_UP + variants * (window + BESIDE_WINDOW)


def _budget(planned: TypicalPlan, variants: int) -> float:
    return AT_ONCE_SECONDS if planned.is_at_once else _in_turn(planned.window, variants)


def _within_budget(planned: TypicalPlan, variants: int, response: float) -> TypicalPlan:
    """Returns the plan with windows, and a time before them, that are short enough for the seconds that typical load
    may add to a block; with the shortest where none are.

    Users begin and end on a grid, so that a window which is half a second shorter, or longer, may take a whole second
    less. Where requests take too long for any window's own seconds, those of the planned one are kept.
    """
    steps = round((planned.window - SHORTEST) / STEP)
    windows = [*(planned.window - STEP * step for step in range(steps + 1)), SHORTEST + STEP]
    least = min(planned.settle, max(LEAST_SETTLE, response + BEYOND_RESPONSE))
    shorter = [
        planned.model_copy(update={"settle": settle, "window": window})
        for settle in (planned.settle, least)
        for window in windows
    ]
    shortest = planned.model_copy(update={"settle": least, "window": SHORTEST})
    took = [(short, seconds_of(short, variants, response)) for short in shorter]
    within = [short for short, seconds in took if seconds <= _budget(short, variants)]
    within += [short for short, seconds in took if seconds <= _budget(planned, variants)]
    return next(iter(within), shortest)
