"""Simulated runs with looks (``vtlab lab simulate``): what the rule of ``statistics.stopping_rule`` gives.

The noise is that of ``statistics.simulation``, and the formulae and rules are those that judge real runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vtlab.analysis.statistics import moderated, paired, simulation, stopping_rule
from vtlab.analysis.statistics.moderated import Goal, Prior, Seen
from vtlab.analysis.statistics.paired import ABOVE, ACROSS, BELOW, INSIDE, Array
from vtlab.analysis.statistics.simulation import KINDS, RATIOS, SEED, Noise
from vtlab.model.manifest import SequentialRule

#: Standard deviations of a block that a table compares.
SDS = (0.003, 0.007, 0.02, 0.04, 0.08)
#: Half-width of the interval that the simulated runs ask for; the tables in docs/evidence/simulation.md are of it.
PRECISION = 0.25
#: Blocks after which the time of a simulated run is over.
IN_TIME = (2, 3, 4, 6)


@dataclass(frozen=True)
class Ends:
    """Ends of simulated runs: arrays over the runs."""

    blocks: NDArray[np.int64]
    #: ``statistics.position`` of the interval of the last look.
    position: NDArray[np.int8]
    covers: NDArray[np.bool_]
    is_futile: NDArray[np.bool_]
    #: Half-width of the interval: 0.1 is 10 %.
    width: Array


@dataclass(frozen=True)
class Result:
    """Shares of the simulated runs."""

    coverage: float
    better: float
    worse: float
    same: float
    undecided: float
    #: Runs with an outcome that does not hold. On the edge of the margin none holds.
    false: float
    #: That ended because settling them was improbable.
    futile: float
    #: Mean number of blocks.
    blocks: float
    #: Half-width of the interval that nine runs in ten have at most.
    width: float


def ends(counts: Array, base_counts: Array, ratio: float, rule: SequentialRule, prior: Prior | None = None) -> Ends:
    """Simulates the ends of runs with these counts; each array has runs x blocks up to the last look x trials."""
    logs, resolutions = paired.log_ratio(counts, base_counts), paired.resolution(counts, base_counts)
    runs = len(logs)
    running = np.arange(runs)
    result = Ends(
        blocks=np.zeros(runs, dtype=np.int64),
        position=np.zeros(runs, dtype=np.int8),
        covers=np.zeros(runs, dtype=np.bool_),
        is_futile=np.zeros(runs, dtype=np.bool_),
        width=np.zeros(runs),
    )
    for look in rule.looks:
        seen, floor = logs[running, :look], paired.floor(resolutions[running, :look])
        t = moderated.intervals(seen, prior, floor, stopping_rule.level(rule, look))
        half = (t.high - t.low) / 2
        low, high = np.exp(t.low), np.exp(t.high)
        position = paired.position(low, high)
        settled = (position != ACROSS) & stopping_rule.is_precise(low, high, rule.precision)
        futile = np.zeros(len(running), dtype=np.bool_)
        if stopping_rule.FUTILE_FROM <= look < rule.looks[-1]:
            told = Seen(look, t.mean, np.std(seen, axis=-1, ddof=1), prior, floor)
            goal = Goal(rule.looks[-1], rule.levels[-1], precision=rule.precision)
            futile = ~settled & (moderated.chance(told, goal) < stopping_rule.FUTILE)
        ended = settled | futile | (look == rule.looks[-1])
        now = running[ended]
        result.blocks[now] = look
        result.position[now] = position[ended]
        result.covers[now] = ((t.low <= math.log(ratio)) & (math.log(ratio) <= t.high))[ended]
        result.is_futile[now] = futile[ended]
        result.width[now] = np.expm1(half[ended])
        running = running[~ended]
    return result


def simulate(ratio: float, noise: Noise, runs: int, rule: SequentialRule, prior: Prior | None = None) -> Result:
    """Simulates runs with a true ``ratio`` of throughputs."""
    random = np.random.default_rng([SEED, rule.claims, round(1000 * ratio), round(100_000 * noise.sd)])
    most = rule.looks[-1]
    parts = [
        ends(*simulation.counts(random, (size, most), ratio, noise), ratio, rule, prior)
        for size in simulation.chunks(runs)
    ]
    position = np.concatenate([part.position for part in parts])
    share = {place: float(np.mean(position == place)) for place in (ABOVE, BELOW, INSIDE, ACROSS)}
    holds = simulation.true_position(ratio)
    return Result(
        coverage=float(np.mean(np.concatenate([part.covers for part in parts]))),
        better=share[ABOVE],
        worse=share[BELOW],
        same=share[INSIDE],
        undecided=share[ACROSS],
        false=sum(share[place] for place in (ABOVE, BELOW, INSIDE) if place != holds),
        futile=float(np.mean(np.concatenate([part.is_futile for part in parts]))),
        blocks=float(np.mean(np.concatenate([part.blocks for part in parts]))),
        width=float(np.quantile(np.concatenate([part.width for part in parts]), 0.9)),
    )


def tables(runs: int, sd: float = simulation.SD) -> Iterator[str]:
    """Writes the lines that ``vtlab lab simulate`` prints of runs with looks: the same on every machine."""
    rule = stopping_rule.sequential_rule(1, PRECISION)
    looks = ", ".join(str(look) for look in rule.looks)
    yield ""
    yield f"Runs that end when they are settled: looks after {looks} blocks, which share the level of 5%,"
    yield f"and an interval of at most ±{rule.precision:.0%}. futile: ended, as more blocks were unlikely to settle it;"
    yield "blocks: mean number; width: 90th percentile of the interval's half-width, in %."
    for name, noise in KINDS.items():
        yield from ["", f"{name}. SD of a block {sd:.2%}" + (" without the modes" if noise.of_is_slow else ""), _HEAD]
        for ratio in RATIOS:
            yield f"{ratio:6.2f}{_row(simulate(ratio, noise.with_sd(sd), runs, rule))}"
    yield from ["", "Gaussian, by the SD of a block.", f"   SD {_HEAD}"]
    for other in SDS:
        for ratio in RATIOS:
            result = simulate(ratio, KINDS["Gaussian"].with_sd(other), runs, rule)
            yield f"{100 * other:5.1f} {ratio:6.2f}{_row(result)}"
    yield from ["", f"Gaussian, by the blocks for which there is time. SD of a block {sd:.2%}", f"blocks {_HEAD}"]
    for most in IN_TIME:
        for ratio in RATIOS:
            result = simulate(ratio, KINDS["Gaussian"].with_sd(sd), runs, stopping_rule.in_time(rule, most))
            yield f"{most:6d} {ratio:6.2f}{_row(result)}"


_HEAD = " ratio  coverage  better   worse    same  undecided   false  futile  blocks   width"


def _row(r: Result) -> str:
    return (
        f"{_percent(r.coverage, 10)}{_percent(r.better)}{_percent(r.worse)}{_percent(r.same)}"
        f"{_percent(r.undecided, 11)}{_percent(r.false)}{_percent(r.futile)}{r.blocks:8.2f}{_percent(r.width)}"
    )


def _percent(share: float, width: int = 8) -> str:
    return f"{100 * share:{width}.2f}"
