"""The checks that all variants were warm: their warm-up cycles, steady state, JIT compiler, the trend of their trials.

A variant that is still warming up rejects the block: it says nothing against the variant that vtlab waits no longer.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence

from vtlab.analysis.validity.check import NOT_MEASURED, Check, Value, block_check, moment_of
from vtlab.analysis.validity.failing import answered_late, sound_trials, sound_variants
from vtlab.analysis.validity.jit_compiler import MOST_JIT, is_cpu_scarce
from vtlab.analysis.validity.steady_state import MOST_GAIN, WarmUp, judged_warm_ups, warm_up_of
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Block, Trial
from vtlab.model.units import percent

#: How the reason begins that rejects a block whose variant was not steady after its last warm-up cycle.
NO_STEADY_STATE = "no steady state"
#: Rise of a variant's throughput from its first to its last trial of a block. While it rises by g, the mean of its two
#: trials is g/2 below the last: here as much as the margin. The two trials of ``cpu`` differ by a standard deviation
#: of 3 %, so that fewer than 1 in 1,000 healthy variants rises as much. A fall is no warming up, nor is a rise to what
#: an earlier cycle with the trials' load has served: on shared cores trials of unchanged spring-petclinic differ by
#: 17 %.
MOST_RISE = 0.10


def _cycles(block: Block, experiment: Experiment) -> Iterator[Value]:
    """Yields one value for each fault in the numbers of warm-up cycles; a single good one without faults."""
    warm_ups = [warm_up_of(block, experiment, variant) for variant in sound_variants(block, experiment)]
    if len({len(warm_up.cycles) for warm_up in warm_ups}) > 1:
        unequal = ", ".join(f"{w.variant} {len(w.cycles)}" for w in warm_ups)
        yield Value(1, "unequal", f"the variants had unequal numbers of warm-up cycles: {unequal}")
    for warm_up in warm_ups:
        count = len(warm_up.cycles)
        least = experiment.windows.warmup_cycles + warm_up.least
        text = f"{count} warm-up cycles, at least {least} needed"
        yield Value(least - count, f"{count}" if count >= least else text, text, warm_up.variant)


def _warm_up_measured(block: Block, experiment: Experiment) -> Iterator[Value]:
    for variant in sound_variants(block, experiment):
        warm_up = warm_up_of(block, experiment, variant)
        if any(map(answered_late, warm_up.cycles)):
            continue
        # Of a single cycle the load tells, not the CPU.
        if not warm_up.state.gains:
            continue
        is_known = all(gain.cpu is not None for gain in warm_up.state.gains)
        reason = f"{NOT_MEASURED} of its CPU in the warm-up, so its steady state is unknown"
        yield Value(0 if is_known else None, "every cycle" if is_known else NOT_MEASURED, reason, variant)


def _judged_warm_ups(block: Block, experiment: Experiment) -> list[WarmUp]:
    return judged_warm_ups(block, experiment, sound_variants(block, experiment))


def _steady(warm_up: WarmUp, _: Experiment) -> Value | None:
    state = warm_up.state
    if state.worst is None or any(map(answered_late, warm_up.cycles)):
        return None
    steps = ", then ".join(
        f"throughput by {_signed(gain.throughput)} and CPU by {_signed(-(gain.cpu or 0.0))} of its limit"
        for gain in state.gains
    )
    last = "the last two" if len(state.gains) == 2 else "the last"
    reason = (
        f"{NO_STEADY_STATE} after {len(warm_up.cycles)} warm-up cycles: compared with the best before, {last}"
        f" changed {steps}; a gain of less than {percent(MOST_GAIN)} is allowed"
    )
    return Value(state.worst, percent(state.worst, 1), reason, warm_up.variant)


def _signed(share: float | None) -> str:
    return f"{100 * (share or 0.0):+.1f} %"


def _jit(trial: Trial, experiment: Experiment) -> Value | None:
    cores = trial.server.get("jit_cpu")
    if cores is None or not is_cpu_scarce(trial, experiment):
        return None
    reason = (
        f"the JIT compiler still used {cores:.3f} cores, more than {MOST_JIT:g}, where the CPU was scarce: the warm-up"
        " was too short"
    )
    return Value(cores, f"{cores:.3f} cores", reason, trial.variant, moment_of(trial))


def _trend(block: Block, experiment: Experiment) -> Iterator[Value]:
    """Compares the second half of a variant's trials with the first, and with the best warm-up cycle that had the
    trials' load, less what the counts allow. Under open load throughput is that of the arrivals."""
    if not isinstance(experiment.load, ClosedLoad):
        return
    for variant in sound_variants(block, experiment):
        trials = sorted((t for t in block.trials if t.variant == variant), key=lambda t: t.position)
        half = len(trials) // 2
        first, last = trials[:half], trials[len(trials) - half :]
        answers = [sum(t.ok for t in part) for part in (first, last)]
        if not all(answers):
            continue
        cycles = warm_up_of(block, experiment, variant).judged
        best = max((cycle.throughput for cycle in cycles), default=0.0)
        before = max(math.fsum(t.throughput for t in first) / half, best)
        rise = math.fsum(t.throughput for t in last) / half / before - 1
        parts = "trial" if half == 1 else f"{half} trials"
        reason = (
            f"throughput rose by {percent(rise, 1)} from its first {parts}, and its best warm-up cycle, to its last, at"
            f" most {percent(MOST_RISE)} allowed: it was still warming up"
        )
        yield Value(rise - sum(1 / count for count in answers), percent(rise, 1), reason, variant)


def are_warm(block: Block, experiment: Experiment) -> bool:
    """Tells whether the warm-up of every variant that did not fail was measured, and reached the steady state."""
    return not any(True for check in (MEASURED, STEADY) for _ in check.beyond(block, experiment))


def is_cold(reasons: Sequence[str]) -> bool:
    """Tells whether a block was rejected because a variant still warmed up."""
    return any(NO_STEADY_STATE in reason for reason in reasons)


def is_rising(block: Block, experiment: Experiment) -> bool:
    """Tells whether a variant became so much faster in its trials that the block does not count."""
    return not all(TREND.passes(value) for value in _trend(block, experiment))


CYCLES = block_check("warm-up cycles", "machine", "enough, and equal for all variants", _cycles)
MEASURED = block_check("warm-up measured", "machine", "in every cycle that is judged", _warm_up_measured)
STEADY = Check(
    "steady state",
    "machine",
    f"< {percent(MOST_GAIN)} over the best before, or left to what the load allows; any where the JIT compiler rested",
    _judged_warm_ups,
    _steady,
    MOST_GAIN,
    operator.ge,
)
# More than MOST_JIT in a trial's window marks the block and does not reject it: in ``cpu`` bursts of 0.1 to 0.2 cores
# come long after the compiler rested, in most blocks.
JIT = Check(
    "JIT compiler",
    "mark",
    f"<= {MOST_JIT:g} cores in every window in which the CPU is scarce",
    sound_trials,
    _jit,
    MOST_JIT,
)
TREND = block_check(
    "trend",
    "machine",
    f"<= {percent(MOST_RISE)} from a variant's first trials, and its best warm-up cycle, to its last",
    _trend,
    MOST_RISE,
)
