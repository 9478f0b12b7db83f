"""Simulated warm-ups under the CPU limit: what the rule that ends them does to the ratio of the trials that follow.

Two variants that are alike. Cycles and trials are phases in turn, whose throughputs scatter on the log scale, with a
correlation from one to the next. The JIT compilers work in the first cycles and take throughput then. In the rows one
variant alone has dips, a drift of one sign, or bursts of its compiler later. The CPU is scarce, and windows have so
many answers that one more is nothing.

The rule is that of ``steady_state`` and ``warm_up``, over many blocks at once (a test compares them). Where the
compilers had CPU, a variant is steady that had them at rest in its last two cycles, whatever these gained. It is also
steady, and elsewhere only, where these gained little over the best before. In the last cycle the compilers of all
rested. Trials that rise, also above the best cycle before them, count as cycles where the variants are steady with
them, and are measured once more; a block whose trials rise again does not count. Trials that fall stay.

The bias is the mean log ratio of the blocks that count less that of trials at any time, both without the drift.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vtlab.analysis.statistics.paired import Array
from vtlab.analysis.validity.steady_state import AT_REST, MOST_GAIN, least_cycles
from vtlab.analysis.validity.warm_up_checks import MOST_RISE
from vtlab.model.experiment import Windows

SEED = 20_261_127
_WINDOWS = Windows()
#: Cycles that judge a warm-up after a part with more CPU, and the most in all; trials of a variant.
LEAST, TRIALS = least_cycles(is_raised=True), _WINDOWS.trials
MOST = LEAST + _WINDOWS.max_cycles
#: Throughput that a compiler takes while it works, on the log scale, and the probability that it works on in the next
#: of the first cycles.
TAKEN, WORKS_ON = 0.10, 0.5

_Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Disturbance:
    """Noise of both variants, and disturbances of one alone, on the log scale."""

    #: Stationary standard deviation of a phase, its correlation with the next, and its independent part.
    scatter: float = 0.02
    correlation: float = 0.6
    white: float = 0.02
    #: Share of the phases that dip, and by how much.
    dips: float = 0.0
    dip: float = 0.15
    #: Slope, per phase.
    drift: float = 0.0
    #: Probability that the compiler begins to work in a phase, and that it works on in the next.
    bursts: float = 0.0
    burst_goes_on: float = 0.3


KINDS = {
    "none": Disturbance(),
    "dips: 2 % of its phases are 15 % slower": Disturbance(dips=0.02),
    "drift up: 0.5 % a phase": Disturbance(drift=0.005),
    "drift down: 0.5 % a phase": Disturbance(drift=-0.005),
    "bursts: its JIT compiler works in 4 % of its phases": Disturbance(bursts=0.03),
    "dips, drift up and bursts": Disturbance(dips=0.02, drift=0.005, bursts=0.03),
    "dips, drift down and bursts": Disturbance(dips=0.02, drift=-0.005, bursts=0.03),
}


@dataclass(frozen=True)
class Result:
    """Means over the simulated blocks."""

    #: Bias of the log ratio, and its standard error.
    bias: float
    error: float
    #: Cycles of each variant.
    cycles: float
    #: Share of the blocks that do not count.
    rejected: float


@dataclass(frozen=True)
class _Phases:
    """Phases of one variant: arrays of blocks x phases."""

    #: Throughput on the log scale.
    logs: Array
    #: Whether the compiler works.
    works: _Flags
    #: Slope of the logs, per phase.
    drift: float


def simulate(had_cpu: bool, kind: Disturbance, blocks: int) -> Result:
    """Simulates so many blocks. ``had_cpu``: the compilers had CPU in all cycles."""
    random = np.random.default_rng(SEED)
    quiet = Disturbance(kind.scatter, kind.correlation, kind.white)
    variants = [_phases(random, disturbed, blocks) for disturbed in (kind, quiet)]
    steady = _are_steady(variants, had_cpu)
    ends = _ends(variants, steady)
    rises = np.logical_or(*(_rises(phases, ends) for phases in variants))
    repeated = rises & _at(steady, ends + TRIALS)
    begins = np.where(repeated, ends + TRIALS, ends)
    rises = np.logical_or(*(_rises(phases, begins) for phases in variants))
    counts = _at(steady, begins) & ~rises
    # Less the same of trials at any time: much of the scatter is in both.
    ratios = _log_ratio(variants, begins)[counts]
    unconditional = _log_ratio(variants, np.full(blocks, MOST))
    error = np.hypot(ratios.std() / np.sqrt(ratios.size), unconditional.std() / np.sqrt(blocks))
    return Result(
        bias=float(ratios.mean() - unconditional.mean()),
        error=float(error),
        cycles=float(ends.mean()),
        rejected=float(1 - counts.mean()),
    )


def _phases(random: np.random.Generator, kind: Disturbance, blocks: int) -> _Phases:
    """Draws the phases of a variant: as many as the longest warm-up and two sets of trials have."""
    length = MOST + 2 * TRIALS
    logs, works = np.empty((blocks, length)), np.empty((blocks, length), dtype=np.bool_)
    level = random.normal(0, kind.scatter, blocks)
    is_warming, bursts = np.ones(blocks, dtype=np.bool_), np.zeros(blocks, dtype=np.bool_)
    for phase in range(length):
        is_warming &= random.random(blocks) < WORKS_ON
        bursts = random.random(blocks) < np.where(bursts, kind.burst_goes_on, kind.bursts)
        works[:, phase] = is_warming | bursts
        fresh = random.normal(0, kind.scatter * np.sqrt(1 - kind.correlation**2), blocks)
        level = kind.correlation * level + fresh
        dips = np.log1p(-kind.dip) * (random.random(blocks) < kind.dips)
        logs[:, phase] = level + random.normal(0, kind.white, blocks) + dips - TAKEN * works[:, phase]
    return _Phases(logs + kind.drift * np.arange(length), works, kind.drift)


def _are_steady(variants: list[_Phases], had_cpu: bool) -> _Flags:
    """Tells where both variants are steady: an array of blocks x cycles, the first column for none."""
    shape = (variants[0].logs.shape[0], MOST + TRIALS + 1)
    steady = np.zeros(shape, dtype=np.bool_)
    for cycles in range(LEAST, MOST + TRIALS + 1):
        steady[:, cycles] = np.logical_and(*(is_steady(phases, cycles, had_cpu) for phases in variants))
    return steady


def is_steady(phases: _Phases, cycles: int, had_cpu: bool) -> _Flags:
    """Tells where a variant is steady after so many cycles, as ``steady_state`` does."""
    judged = 1 if cycles == LEAST else 2
    best = phases.logs[:, : cycles - judged].max(axis=1, keepdims=True)
    gains = phases.logs[:, cycles - judged : cycles] - best
    steady: _Flags = (gains < np.log1p(MOST_GAIN)).all(axis=1)
    rested = ~phases.works[:, cycles - AT_REST : cycles].any(axis=1)
    return steady | rested if had_cpu else steady


def _ends(variants: list[_Phases], steady: _Flags) -> NDArray[np.int64]:
    """Finds after how many cycles the warm-up of each block ends: both variants are steady, and compiled."""
    works = np.logical_or(*(phases.works for phases in variants))
    ends = np.full(steady.shape[0], MOST)
    for cycles in range(MOST - 1, LEAST - 1, -1):
        ends[steady[:, cycles] & ~works[:, cycles - 1]] = cycles
    return ends


def _at(flags: _Flags, cycles: NDArray[np.int64]) -> _Flags:
    """Takes the flag of each block after so many cycles."""
    taken: _Flags = np.take_along_axis(flags, cycles[:, None], axis=1)[:, 0]
    return taken


def _trials(phases: _Phases, begin: NDArray[np.int64]) -> Array:
    """Takes the trials of a set that begins after so many phases."""
    return np.take_along_axis(phases.logs, begin[:, None] + np.arange(TRIALS), axis=1)


def _rises(phases: _Phases, begin: NDArray[np.int64]) -> _Flags:
    """Tells where the last trial of a set exceeds the first, and the best cycle before the set, by too much."""
    trials = _trials(phases, begin)
    best = np.take_along_axis(np.maximum.accumulate(phases.logs, axis=1), begin[:, None] - 1, axis=1)[:, 0]
    rises: _Flags = trials[:, -1] - np.maximum(trials[:, 0], best) > np.log1p(MOST_RISE)
    return rises


def _log_ratio(variants: list[_Phases], begin: NDArray[np.int64]) -> Array:
    """Computes the log ratio of the variants' mean throughputs in the trials after so many phases, without the drift:
    the disturbed one over the other."""
    disturbed, other = (np.log(np.exp(_trials(p, begin)).mean(axis=1)) - p.drift * begin for p in variants)
    ratio: Array = disturbed - other
    return ratio


def tables(blocks: int) -> Iterator[str]:
    """Writes the table of ``vtlab lab simulate``."""
    yield ""
    yield "Two variants alike, one of them disturbed: bias of the ratio in %, without the drift, by the rule that ends"
    yield "the warm-up: where the JIT compilers had CPU in all cycles, and where gains alone tell. Cycles: mean."
    yield f"{'disturbed by':<52} {'CPU':>6} {'cycles':>7} {'rejected':>9} {'none':>7} {'cycles':>7} {'rejected':>9}"
    for name, kind in KINDS.items():
        yield f"{name:<52} {_row(simulate(True, kind, blocks))} {_row(simulate(False, kind, blocks))}"


def _row(result: Result) -> str:
    return f"{100 * result.bias:>+6.2f} {result.cycles:>7.1f} {100 * result.rejected:>8.2f}%"
