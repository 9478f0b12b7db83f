"""The levels of the looks at a run (``vtlab.analysis.statistics.stopping_rule``), calibrated by simulation.

    cd lab && ../.venv/bin/python -m benchmarks.levels [RUNS]

The looks share blocks, so that their intervals miss the true ratio together less often than their levels add up to.
Each level may be larger by the same factor. A run's t statistics at the looks depend neither on the true ratio nor on
the noise, if it is Gaussian: so standard normal blocks are simulated, with the smallest p over the nominal level of
each run. The factor for k claims is k times the quantile of these at 5 %/k.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from scipy import special

from vtlab.analysis.statistics import stopping_rule
from vtlab.analysis.statistics.paired import Array

RUNS = 20_000_000
CHUNK = 100_000
SEED = 20_261_124
CLAIMS = tuple(stopping_rule.FACTORS)


def smallest(runs: int, seed: int = SEED) -> Array:
    """Returns the smallest two-sided p of each simulated run's looks, over the look's nominal level."""
    random = np.random.default_rng(seed)
    chunks = [_smallest(random, min(CHUNK, runs - begin)) for begin in range(0, runs, CHUNK)]
    return np.concatenate(chunks)


def _smallest(random: np.random.Generator, runs: int) -> Array:
    logs = random.standard_normal((runs, stopping_rule.LOOKS[-1]))
    sums, squares = np.cumsum(logs, axis=-1), np.cumsum(np.square(logs), axis=-1)
    least: Array = np.full(runs, np.inf)
    for n, nominal in zip(stopping_rule.LOOKS, stopping_rule.NOMINAL, strict=True):
        mean = sums[:, n - 1] / n
        variance = (squares[:, n - 1] - n * mean**2) / (n - 1)
        p = 2 * special.stdtr(n - 1, -np.abs(mean) / np.sqrt(variance / n))
        least = np.minimum(least, p / nominal)
    return least


def factors(least: Array) -> dict[int, float]:
    """Returns by number of claims the largest factor, in hundredths, with which all looks spend at most 5 %/k."""
    quantiles = {k: float(np.quantile(least, stopping_rule.ALPHA / k, method="lower")) for k in CLAIMS}
    return {k: math.floor(100 * k * value) / 100 for k, value in quantiles.items()}


def main() -> int:
    """Simulates, and prints."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    least = smallest(runs)
    calibrated = factors(least)
    print(f"{runs:,} runs. Levels of the looks, two-sided, in %; half: half-widths in SDs of a block.")
    print("     claims  factor   spent " + "".join(f"  n = {n:2d}    half" for n in stopping_rule.LOOKS))
    for claims, value in calibrated.items():
        spent = float(np.mean(least <= value / claims))
        looks = "".join(_look(index, value / claims) for index in range(len(stopping_rule.LOOKS)))
        print(f"{claims:11d}{value:8.2f}{100 * spent:8.3f} {looks}")
    print(f"stopping_rule.FACTORS has {'these factors' if calibrated == stopping_rule.FACTORS else 'others'}.")
    return 0


def _look(index: int, scale: float) -> str:
    n, level = stopping_rule.LOOKS[index], stopping_rule.NOMINAL[index] * scale
    half = float(special.stdtrit(n - 1, 1 - level / 2)) / math.sqrt(n)
    return f"{100 * level:8.4f}{half:8.2f}"


if __name__ == "__main__":
    sys.exit(main())
