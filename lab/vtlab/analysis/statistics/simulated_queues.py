"""Simulated windows of open load on one server whose work is heavy-tailed: how often what keeps up is called
overloaded.

One request in a hundred takes a second of CPU, the others share the rest of what the use allows. Two variants are alike
and keep up: they have the same arrivals, and each has its own work. A block has a window of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from vtlab.analysis.validity.overload import BLOCKS_BESIDE_ANOTHER, BLOCKS_THAT_LAG, most_added

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


def windows(random: np.random.Generator, use: float) -> tuple[Window, Window]:
    """Draws a window of each of two variants that have the same arrivals, at so much use of the server."""
    rate = use / (SHARE * LONG + (1 - SHARE) * SHORT)
    length = SETTLE + WINDOW
    due = np.cumsum(random.exponential(1 / rate, int(1.5 * rate * length) + 50))
    due = due[due < length]
    return _window(random, rate, due), _window(random, rate, due)


def _window(random: np.random.Generator, rate: float, due: Array) -> Window:
    done = _served(due, np.where(random.random(due.size) < SHARE, LONG, SHORT))
    middle, end = SETTLE + WINDOW / 2, SETTLE + WINDOW

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
    """Shares of the simulated runs of three blocks with a window that grows by its counts; with one that lags in both
    halves, too; and of runs in which one variant is called overloaded: beside the other that keeps up, and by itself,
    of four blocks."""

    by_counts: float
    by_halves: float
    beside_another: float
    alone: float


def simulate(use: float, runs: int, seed: int = 1) -> Shares:
    """Simulates so many runs of two variants that are alike and keep up."""
    random = np.random.default_rng(seed)
    most = max(BLOCKS_THAT_LAG, BLOCKS_BESIDE_ANOTHER)
    shown = np.array([_shown([windows(random, use) for _ in range(most)]) for _ in range(runs)])
    return Shares(*(float(share) for share in shown.mean(axis=0)))


def _shown(blocks: Sequence[tuple[Window, Window]]) -> tuple[bool, bool, bool, bool]:
    """Tells what a run shows of its first variant, in the order of ``Shares``."""
    first, other = zip(*blocks, strict=True)
    few = first[:BLOCKS_BESIDE_ANOTHER]
    keeps_up = not any(w.grows and w.lags for w in other[:BLOCKS_BESIDE_ANOTHER])
    return (
        any(w.grows for w in few),
        any(w.grows and w.lags for w in few),
        _is_overloaded(few) and keeps_up,
        _is_overloaded(first[:BLOCKS_THAT_LAG]),
    )


def _is_overloaded(windows_of_variant: Sequence[Window]) -> bool:
    return any(w.grows for w in windows_of_variant) and all(w.lags for w in windows_of_variant)


def tables(runs: int) -> Iterator[str]:
    """Writes the table of ``vtlab lab simulate``."""
    runs = min(runs, 10_000)
    yield ""
    yield f"Open load on one server that keeps up; 1 % of the requests take {LONG:g} s of CPU. Two variants are alike."
    yield f"Share of {runs:,} runs of {BLOCKS_BESIDE_ANOTHER} blocks in which a variant has a window that grows by its"
    yield "counts, and one that lags in both halves, too; and of runs that call it overloaded where no bound is below"
    yield f"the rate: beside the other, which keeps up, and by itself, over {BLOCKS_THAT_LAG} blocks:"
    yield f"{'use':>6} {'grows':>10} {'and lags':>10} {'beside another':>16} {'by itself':>12}"
    for use in (0.6, 0.8, 0.9):
        shares = zip(astuple(simulate(use, runs)), (8, 8, 14, 10), strict=True)
        yield " ".join([f"{100 * use:>4.0f} %", *(f"{100 * share:>{width}.1f} %" for share, width in shares)])
