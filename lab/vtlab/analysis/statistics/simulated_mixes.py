"""Simulated lone users of a mix: how often the interval of what a request takes alone holds the true mean.

Three phases of a single user, as in a run. 2 % of the requests take 50 times as long as the others. Version 0.2 drew
the kinds, the same in each phase; now each is sent by its share, and counts by its weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vtlab.analysis.laws.estimates import TOO_WIDE, quantile
from vtlab.analysis.laws.single_user import ANSWERS_OF_KIND, factor_of_few

Array = NDArray[np.float64]

#: Phases, and seconds of each.
PHASES, PHASE = 3, 3.0
#: Seconds and share of the slow kind; the others' seconds.
SLOW, SHARE, FAST = 0.5, 0.02, 0.01
TRUTH = SHARE * SLOW + (1 - SHARE) * FAST
#: Standard deviation of the logarithm of a slow request, where it is not an exponential wait.
SCATTER = 0.2


@dataclass(frozen=True)
class Shares:
    """Shares of the simulated runs: within a tenth of the truth; with an interval that holds it; with one that is
    narrow enough for a bound; and of these, with one that holds it. (Some of those are narrow by chance.)"""

    near: float
    covered: float
    known: float
    covered_of_known: float


def simulate(kind: str, runs: int, seed: int = 1) -> Shares:
    """Simulates so many runs. ``kind``: ``drawn`` as in version 0.2, ``scattered`` or ``exponential`` slow requests,
    sent by their share."""
    random = np.random.default_rng(seed)
    requests = round(PHASE / TRUTH)
    if kind == "drawn":
        slow = random.binomial(requests, SHARE, runs)[:, np.newaxis].repeat(PHASES, 1)
        means = np.full((runs, PHASES), SLOW)
        values = (slow * means + (requests - slow) * FAST) / requests
    else:
        # Of the whole each kind has its share, to one request; phases begin where those before ended.
        ends = np.floor(np.arange(PHASES + 1) * requests * SHARE + random.random((runs, 1)))
        slow = np.diff(ends, axis=1)
        means = _means(random, slow, kind)
        values = SHARE * means + (1 - SHARE) * FAST
    if slow.sum(axis=1).min() < ANSWERS_OF_KIND and kind != "drawn":
        raise ValueError("no bound: too few answers of the slow kind")
    if kind == "drawn":
        middle = values.mean(axis=1)
    else:
        middle = SHARE * (slow * means).sum(axis=1) / slow.sum(axis=1) + (1 - SHARE) * FAST
    spread = np.exp(quantile(PHASES - 1) * np.log(values).std(axis=1, ddof=1) / np.sqrt(PHASES))
    if kind != "drawn":
        parts = np.stack([middle - (1 - SHARE) * FAST, np.full(runs, (1 - SHARE) * FAST)], axis=-1)
        spread = np.maximum(spread, factor_of_few(parts, _answers(slow, requests)))
    known = spread <= 1 + TOO_WIDE
    covered = np.abs(np.log(middle / TRUTH)) <= np.log(spread)
    near = np.abs(middle / TRUTH - 1) <= 0.1
    return Shares(*(float(share.mean()) for share in (near, covered, known, covered[known])))


def _answers(slow: NDArray[Any], requests: int) -> Array:
    """Counts the answers of both kinds, by run."""
    of_slow = slow.sum(axis=1)
    return np.asarray(np.stack([of_slow, PHASES * requests - of_slow], axis=-1), dtype=np.float64)


def _means(random: np.random.Generator, slow: NDArray[Any], kind: str) -> Array:
    """Draws the mean of so many slow requests, by phase."""
    if kind == "exponential":
        return np.asarray(SLOW * random.gamma(slow) / slow, dtype=np.float64)
    # The mean of some lognormal values, whose own mean is 1, is about normal.
    deviation = np.sqrt((np.exp(SCATTER**2) - 1) / slow)
    return np.asarray(SLOW * (1 + deviation * random.standard_normal(slow.shape)), dtype=np.float64)


def tables(runs: int) -> Iterator[str]:
    """Writes the table of ``vtlab lab simulate``."""
    yield ""
    yield f"A lone user of a mix, {100 * SHARE:g} % of whose requests take {SLOW / FAST:g} times as long, in {PHASES}"
    yield f"phases of {PHASE:g} s. Share of runs whose mean is within a tenth of the truth; whose interval holds it;"
    yield "whose interval is narrow enough for a bound; and of these, whose interval holds the truth:"
    yield f"{'':<44} {'near':>8} {'covered':>8} {'known':>8} {'of these':>8}"
    for name, kind in (
        ("drawn, alike in each phase (version 0.2)", "drawn"),
        ("by their shares, the slow scatter by 20 %", "scattered"),
        ("by their shares, the slow are exponential", "exponential"),
    ):
        cells = [f"{100 * share:>6.1f} %" for share in astuple(simulate(kind, runs))]
        yield " ".join([f"{name:<44}", *cells])
