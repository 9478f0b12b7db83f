"""Simulated runs with realistic noise, and what the statistics make of them.

``python -m vtlab.analysis.simulation`` prints the table of coverage and power.

The noise of a trial's throughput, on the log scale (standard deviations in ``Noise``): what the machine
does to a block (both variants alike), a drift within it, an effect of each JVM (compilation, layout),
correlated noise from trial to trial (AR(1)) and independent noise. Orders are mirrored and drawn like a
real run's (ABBA or BAAB). The formulae are those of ``vtlab.analysis.statistics``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vtlab.analysis import statistics

RUNS = 4000
SEED = 20_261_120


@dataclass(frozen=True)
class Noise:
    """Standard deviations on the log scale: 0.03 is about 3 %."""

    block: float = 0.10
    #: Of the slope over a block's four trials, per trial.
    drift: float = 0.02
    jvm: float = 0.02
    #: Stationary, and its correlation from one trial to the next.
    trial: float = 0.02
    correlation: float = 0.6
    white: float = 0.01


@dataclass(frozen=True)
class Result:
    """Shares of the simulated runs."""

    coverage: float
    faster: float
    slower: float
    equivalent: float
    inconclusive: float
    #: Mean standard deviation of a block's log ratio.
    sd: float


def throughputs(
    random: np.random.Generator, runs: int, n: int, ratio: float, noise: Noise
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Throughputs of the trials of ``of`` and ``over``: two arrays of runs x n blocks x 2 trials."""
    shape = (runs, n, 4)
    ar = np.empty(shape)
    ar[..., 0] = random.normal(0, noise.trial, (runs, n))
    for i in range(1, 4):
        fresh = random.normal(0, noise.trial * math.sqrt(1 - noise.correlation**2), (runs, n))
        ar[..., i] = noise.correlation * ar[..., i - 1] + fresh
    common = random.normal(0, noise.block, (runs, n, 1)) + random.normal(0, noise.drift, (runs, n, 1)) * np.arange(4)
    trials = common + ar + random.normal(0, noise.white, shape)
    of_jvm, over_jvm = random.normal(0, noise.jvm, (2, runs, n, 1))
    # of first and last (ABBA), or over (BAAB).
    outer = random.random((runs, n, 1)) < 0.5
    ends, middle = trials[..., [0, 3]], trials[..., [1, 2]]
    of = np.where(outer, ends, middle) + of_jvm + math.log(ratio)
    over = np.where(outer, middle, ends) + over_jvm
    return 1000 * np.exp(of), 1000 * np.exp(over)


def simulate(n: int, ratio: float, noise: Noise | None = None, runs: int = RUNS, seed: int = SEED) -> Result:
    """What a true ``ratio`` of a higher-is-better metric gives with ``n`` >= 2 blocks."""
    random = np.random.default_rng(seed)
    of, over = throughputs(random, runs, n, ratio, noise or Noise())
    _, low, high, _, sd = statistics.paired_t(statistics.log_ratio(of, over))
    truth = math.log(ratio)
    covered = float(np.count_nonzero((low <= truth) & (truth <= high))) / runs
    verdicts = [
        statistics.outcome(float(lo), float(hi), "higher") for lo, hi in zip(np.exp(low), np.exp(high), strict=True)
    ]
    share = {name: verdicts.count(name) / runs for name in ("faster", "slower", "equivalent", "inconclusive")}
    return Result(covered, **share, sd=float(np.mean(sd)))


def table() -> Iterator[str]:
    """The lines that ``python -m vtlab.analysis.simulation`` prints."""
    yield f"{RUNS} simulated runs each, seed {SEED}, {Noise()}"
    yield f"interval {statistics.CONFIDENCE:.0%}, margin {statistics.MARGIN:.0%}; the rest are shares of runs"
    yield ""
    yield " ratio   n  coverage   faster   slower  equivalent  inconclusive      sd"
    for ratio in (1.0, 1.05, 1.1, 1.15, 1.2, 1.5):
        for n in (2, 3, 4, 6, 8, 10, 12, 20):
            r = simulate(n, ratio)
            yield (
                f"{ratio:6.2f}{n:4d}{r.coverage:10.2%}{r.faster:9.2%}{r.slower:9.2%}"
                f"{r.equivalent:12.2%}{r.inconclusive:14.2%}{r.sd:8.4f}"
            )


if __name__ == "__main__":
    for line in table():
        print(line)
