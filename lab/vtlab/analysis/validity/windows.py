"""Checks that a window is long enough for the figures that are computed from it."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import replace

from vtlab.analysis.laws.single_user import response_alone
from vtlab.analysis.validity.check import Check, Value, block_check, moment_of
from vtlab.analysis.validity.failing import answered_late, sound_trials, sound_variants
from vtlab.analysis.validity.overload import overloaded
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Block, Trial

#: Answers for a median: ten must lie beyond it.
LEAST_FOR_MEDIAN = 20
#: Rounds of a user that a window must hold, where the experiment says nothing of rounds; and how many times longer than
#: alone a request takes that waits for others.
LEAST_ROUNDS, QUEUED = 2, 2.0


def _long_enough(block: Block, experiment: Experiment) -> Iterator[Value]:
    """Yields one value for each variant that did not fail: that of the first window that is too short, if one is."""
    for variant in sound_variants(block, experiment):
        phases = [t for t in (*block.warmup, *block.trials) if t.variant == variant]
        late = next((t for t in phases if answered_late(t)), None)
        if late is None:
            yield Value(0, "every window", "", variant)
            continue
        key = "measure" if late.phase == "measure" else "warmup_load"
        reason = f"every answer came after the window of {late.window:g} s: raise windows.{key}"
        moment = moment_of(late) if late.phase == "measure" else "the warm-up"
        # The first cycle of a cold JVM may be so alone.
        is_certain = late.phase == "measure" or all(map(answered_late, phases))
        yield Value(2 if is_certain else 1, "answers take longer", reason, variant, moment)


def _enough(trial: Trial, experiment: Experiment) -> Value | None:
    """Counts the answers of a window whose latency alone is judged. Too few for a tail are no fault of the window: a
    run judges the percentile that its first block shows, or none."""
    if isinstance(experiment.load, ClosedLoad) or overloaded(trial, experiment):
        return None
    reason = f"{trial.ok:,} OK answers are too few for a median, {LEAST_FOR_MEDIAN} needed"
    number = trial.ok if trial.latency.p50 else 0
    return Value(number, f"{trial.ok:,}", reason, trial.variant, moment_of(trial))


def _whole_rounds(block: Block, experiment: Experiment) -> Iterator[Value]:
    """Counts the rounds of a user in each window, where the experiment says nothing of them (``load.full.round``) and a
    request takes about as long as alone. Where it waits for others the service is busy throughout, and a part of a
    round counts right."""
    load = experiment.load
    if not isinstance(load, ClosedLoad) or load.round:
        return
    for trial in sound_trials(block, experiment):
        round_alone_seconds = response_alone([t for t in block.single if t.variant == trial.variant])
        mean = trial.latency.mean
        if (
            trial.phase != "measure"
            or mean is None
            or round_alone_seconds is None
            or mean > QUEUED * round_alone_seconds
        ):
            continue
        seconds = mean + load.mean_think_time
        rounds = trial.window / seconds
        reason = (
            f"a window of {trial.window:.3g} s holds {rounds:.1f} rounds of a user ({seconds:.3g} s each),"
            f" {LEAST_ROUNDS} needed: raise windows.measure to at least {math.ceil(LEAST_ROUNDS * seconds)}s"
        )
        yield Value(rounds, f"{rounds:,.1f}", reason, trial.variant, moment_of(trial))


LENGTH = replace(block_check("windows", "machine", "as long as an answer takes", _long_enough), certain=2)
ANSWERS = Check(
    "answers for a median",
    "machine",
    f">= {LEAST_FOR_MEDIAN}, without full load",
    sound_trials,
    _enough,
    LEAST_FOR_MEDIAN,
    operator.lt,
)
ROUNDS = Check(
    "rounds in a window",
    "machine",
    f">= {LEAST_ROUNDS} of a user, without load.full.round and queues",
    _whole_rounds,
    lambda value, _: value,
    LEAST_ROUNDS,
    operator.lt,
)
