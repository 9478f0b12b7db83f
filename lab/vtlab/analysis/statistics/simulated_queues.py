"""Simulated windows of open load on one server whose work is heavy-tailed: how often what keeps up is called
overloaded.

One request in a hundred takes a second of CPU, the others share the rest of what the use allows. Both variants have the
same arrivals and the same work. A block has two trials of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vtlab.analysis.validity.overload import BLOCKS_THAT_LAG, most_added

Array = NDArray[np.float64]

#: Seconds of a long request, and their share.
LONG, SHARE = 1.0, 0.01
#: Seconds of the others.
SHORT = 0.005
#: Seconds of a window, and before it.
WINDOW, SETTLE = 30.0, 10.0


@dataclass(frozen=True)
class Window:
    """Window of one trial, by its counts."""

    added: int
    arrived: tuple[int, int]
    completed: tuple[int, int]
    rate: float
    response: float

    @property
    def grows(self) -> bool:
        """Tells whether more was added than Poisson counts allow: the rule of version 0.2."""
        return self.added > sum(most_added(self.rate, WINDOW, self.response))

    @property
    def lags(self) -> bool:
        """Tells whether less was completed than arrived, in both halves."""
        return all(completed < arrived for arrived, completed in zip(self.arrived, self.completed, strict=True))


def window(random: np.random.Generator, use: float) -> Window:
    """Draws a window at so much use of the server."""
    rate = use / (SHARE * LONG + (1 - SHARE) * SHORT)
    length = SETTLE + WINDOW
    due = np.cumsum(random.exponential(1 / rate, int(1.5 * rate * length) + 50))
    due = due[due < length]
    work = np.where(random.random(due.size) < SHARE, LONG, SHORT)
    done = _served(due, work)
    middle, end = SETTLE + WINDOW / 2, length

    def between(times: Array, start: float, stop: float) -> int:
        return int(((times >= start) & (times < stop)).sum())

    def in_flight(at: float) -> int:
        return int(((due < at) & (done >= at)).sum())

    halves = ((SETTLE, middle), (middle, end))
    answered = (done >= SETTLE) & (done < end)
    return Window(
        added=in_flight(end) - in_flight(SETTLE),
        arrived=(between(due, *halves[0]), between(due, *halves[1])),
        completed=(between(done, *halves[0]), between(done, *halves[1])),
        rate=rate,
        response=float((done - due)[answered].mean()) if answered.any() else LONG,
    )


def _served(due: Array, work: Array) -> Array:
    """Computes when each request is done, in turn: max-plus recursion, d_i = max(a_i, d_(i-1)) + w_i."""
    total = np.cumsum(work)
    return total + np.maximum.accumulate(due - (total - work))


@dataclass(frozen=True)
class Shares:
    """Shares of the simulated runs with a window that grows by its counts, with one that lags in both halves, too, and
    that are called overloaded: of one variant without a bound below the rate."""

    by_counts: float
    by_halves: float
    overloaded: float


def simulate(use: float, runs: int, seed: int = 1) -> Shares:
    """Simulates so many runs of a variant that keeps up: three blocks, whose two trials have the same arrivals."""
    random = np.random.default_rng(seed)
    windows = [[window(random, use) for _ in range(BLOCKS_THAT_LAG)] for _ in range(runs)]
    by_counts = [any(w.grows for w in run) for run in windows]
    by_halves = [any(w.grows and w.lags for w in run) for run in windows]
    overloaded = [any(w.grows for w in run) and all(w.lags for w in run) for run in windows]
    return Shares(float(np.mean(by_counts)), float(np.mean(by_halves)), float(np.mean(overloaded)))


def tables(runs: int) -> Iterator[str]:
    """Writes the table of ``vtlab lab simulate``."""
    runs = min(runs, 10_000)
    yield ""
    yield f"Open load on one server that keeps up; 1 % of the requests take {LONG:g} s of CPU."
    yield f"Share of {runs:,} runs of three blocks with a window that grows by its counts, with one that lags in both"
    yield "halves, too, and of runs called overloaded where no bound is below the rate and no other variant keeps up:"
    yield f"{'use':>6} {'grows':>10} {'and lags':>10} {'overloaded':>12}"
    for use in (0.6, 0.8, 0.9):
        shares = simulate(use, runs)
        row = (shares.by_counts, shares.by_halves, shares.overloaded)
        cells = [f"{100 * share:>{width}.1f} %" for share, width in zip(row, (8, 8, 10), strict=True)]
        yield " ".join([f"{100 * use:>4.0f} %", *cells])
