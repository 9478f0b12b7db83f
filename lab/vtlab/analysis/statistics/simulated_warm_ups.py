"""Simulated warm-ups under the CPU limit: what the rule that ends them does to the ratio of the trials that follow.

Two variants that are alike. Cycles and trials are phases in turn, whose throughputs scatter on the log scale, with a
correlation from one to the next. The JIT compilers work in the first cycles and take throughput then. In the rows one
variant alone has dips, a drift, or bursts of its compiler later. A rule that goes by throughput, too, waits for cycles
that gain little, and takes more of them. The rule goes by the compilers alone: after two cycles in which those of both
variants rested, the next trials count, whatever their level. Only trials that rise, also above the best cycle before
them, count as cycles, and are measured once more; a block whose trials rise again does not count. Trials that fall
stay, so dips and bursts bias both rules.

The bias is the mean log ratio of the blocks that count less that of trials at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vtlab.analysis.statistics.paired import Array

SEED = 20_261_127
#: Cycles that judge a warm-up, and the most in all.
LEAST, MOST = 2, 10
#: Trials of a variant, and the rise from the first to the last of which the next set, or none, counts.
TRIALS, MOST_RISE = 2, 0.10
#: Gain over the best before of a cycle, below which the rule by throughput takes it for no warming up.
MOST_GAIN = 0.05
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
    #: Standard deviation of the slope, per phase.
    drift: float = 0.0
    #: Probability that the compiler begins to work in a phase, and that it works on in the next.
    bursts: float = 0.0
    burst_goes_on: float = 0.3


KINDS = {
    "none": Disturbance(),
    "dips: 2 % of its phases are 15 % slower": Disturbance(dips=0.02),
    "drift: 0.5 % a phase, up or down": Disturbance(drift=0.005),
    "bursts: its JIT compiler works in 4 % of its phases": Disturbance(bursts=0.03),
    "all three": Disturbance(dips=0.02, drift=0.005, bursts=0.03),
}


@dataclass(frozen=True)
class Result:
    """Means over the simulated blocks."""

    #: Of the log ratio, and its standard error.
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


def simulate(by_rest: bool, kind: Disturbance, blocks: int) -> Result:
    """Simulates so many blocks. ``by_rest``: the warm-up ends by the compilers alone; else by throughput, too."""
    random = np.random.default_rng(SEED)
    quiet = Disturbance(kind.scatter, kind.correlation, kind.white)
    variants = [_phases(random, disturbed, blocks) for disturbed in (kind, quiet)]
    usual = [_trials(phases, np.full(blocks, MOST)) for phases in variants]
    ends = _ends(variants, by_rest)
    rises = np.logical_or(*(_rises(phases, ends) for phases in variants))
    begins = np.where(rises, ends + TRIALS, ends)
    last = [_trials(phases, begins) for phases in variants]
    counts = ~np.logical_or(*(_rises(phases, begins) for phases in variants))
    # Less the same of trials at any time: much of the scatter is in both.
    ratios = _log_ratio(last)[counts]
    unconditional = _log_ratio(usual)
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
    slope = random.normal(0, kind.drift, (blocks, 1)) if kind.drift else 0.0
    return _Phases(logs + slope * np.arange(length), works)


def _ends(variants: list[_Phases], by_rest: bool) -> NDArray[np.int64]:
    """Finds after how many cycles the warm-up of each block ends."""
    blocks = variants[0].logs.shape[0]
    ends = np.full(blocks, MOST)
    for cycles in range(MOST - 1, LEAST - 1, -1):
        is_over = np.ones(blocks, dtype=np.bool_)
        for phases in variants:
            two = slice(cycles - 2, cycles)
            is_over &= ~phases.works[:, two].any(axis=1) if by_rest else _is_steady(phases, cycles)
        ends[is_over] = cycles
    return ends


def _is_steady(phases: _Phases, cycles: int) -> _Flags:
    """Tells where the last two cycles gained little over the best before, and the compiler rested in the last."""
    judged = 1 if cycles == LEAST else 2
    best = phases.logs[:, : cycles - judged].max(axis=1, keepdims=True)
    gains = phases.logs[:, cycles - judged : cycles] - best
    steady: _Flags = (gains < np.log1p(MOST_GAIN)).all(axis=1) & ~phases.works[:, cycles - 1]
    return steady


def _trials(phases: _Phases, begin: NDArray[np.int64]) -> Array:
    """Takes the trials of a set that begins after so many phases."""
    return np.take_along_axis(phases.logs, begin[:, None] + np.arange(TRIALS), axis=1)


def _rises(phases: _Phases, begin: NDArray[np.int64]) -> _Flags:
    """Tells where the last trial of a set exceeds the first, and the best cycle before the set, by too much."""
    trials = _trials(phases, begin)
    best = np.take_along_axis(np.maximum.accumulate(phases.logs, axis=1), begin[:, None] - 1, axis=1)[:, 0]
    rises: _Flags = trials[:, -1] - np.maximum(trials[:, 0], best) > np.log1p(MOST_RISE)
    return rises


def _log_ratio(variants: list[Array]) -> Array:
    """Computes the log ratio of the variants' mean throughputs: the disturbed one over the other."""
    disturbed, other = (np.log(np.exp(trials).mean(axis=1)) for trials in variants)
    ratio: Array = disturbed - other
    return ratio


def tables(blocks: int) -> Iterator[str]:
    """Writes the table of ``vtlab lab simulate``."""
    yield ""
    yield "Two variants alike, one of them disturbed: bias of the ratio in %, by the rule that ends the warm-up:"
    yield "by throughput and the JIT compilers, or by the JIT compilers alone, which vtlab does. Cycles: mean."
    yield f"{'disturbed by':<52} {'throughput':>10} {'cycles':>7} {'rest':>7} {'cycles':>7} {'rejected':>9}"
    for name, kind in KINDS.items():
        by_throughput, by_rest = (simulate(is_by_rest, kind, blocks) for is_by_rest in (False, True))
        yield (
            f"{name:<52} {100 * by_throughput.bias:>+10.2f} {by_throughput.cycles:>7.1f}"
            f" {100 * by_rest.bias:>+7.2f} {by_rest.cycles:>7.1f} {100 * by_rest.rejected:>8.2f}%"
        )
