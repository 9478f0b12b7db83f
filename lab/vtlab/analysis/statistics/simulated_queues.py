"""Simulated windows of open load on one server whose work is heavy-tailed: how often what keeps up is called
overloaded.

One request in a hundred takes a second of CPU, the others share the rest of what the use allows. Two variants are alike
and keep up: they have the same arrivals, and each has its own work. A block has a window of each, at typical load
beside full load, and nothing else: no bound is below the rate. Whether a run calls a variant overloaded is decided by
the functions that decide it of a real run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from vtlab.analysis.statistics.stopping_rule import LOOKS
from vtlab.analysis.validity import failing, overload
from vtlab.analysis.validity.overload import most_added
from vtlab.model.experiment import Experiment
from vtlab.model.records import Answers, Block, Halves, Histogram, InFlight, Latency, MachineFigure, Parts, Trial

Array = NDArray[np.float64]

#: Seconds of a long request, and their share.
LONG, SHARE = 1.0, 0.01
#: Seconds of the others.
SHORT = 0.005
#: Seconds of a window, and before it.
WINDOW, SETTLE = 30.0, 10.0
#: Blocks of a run, at the most.
MOST_BLOCKS = 6

_EXPERIMENT = Experiment.model_validate({"service": {"jar": "simulated.jar"}, "load": {"full": {"users": 10}}})
#: A load generator that kept up.
_MACHINE: dict[MachineFigure, float | None] = {"idle_cores": 0.5, "generator_wait": 0.0}


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
    due = arrivals(random, rate)
    first, second = (np.where(random.random(due.size) < SHARE, LONG, SHORT) for _ in range(2))
    return window(rate, due, first), window(rate, due, second)


def arrivals(random: np.random.Generator, rate: float) -> Array:
    """Draws when requests are due, up to the end of a window."""
    length = SETTLE + WINDOW
    due = np.cumsum(random.exponential(1 / rate, int(1.5 * rate * length) + 50))
    return due[due < length]


def window(rate: float, due: Array, work: Array) -> Window:
    """Counts the window of a variant by when requests are due, and their work."""
    done = _served(due, work)
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
    """Shares of the simulated runs: of those with a window that grows by its counts in the first block; with one that
    lags in both halves, too; and of those that call one of the two variants overloaded at one of their looks."""

    by_counts: float
    by_halves: float
    overloaded: float


def simulate(use: float, runs: int, seed: int = 1) -> Shares:
    """Simulates so many runs of two variants that are alike and keep up."""
    random = np.random.default_rng(seed)
    shown = np.array([_shown(_run(random, use)) for _ in range(runs)])
    return Shares(*(float(share) for share in shown.mean(axis=0)))


def _run(random: np.random.Generator, use: float) -> list[tuple[Window, Window]]:
    """Draws the windows of a run; none after each variant has one that does not lag, which no look forgives."""
    drawn: list[tuple[Window, Window]] = []
    while len(drawn) < MOST_BLOCKS:
        drawn.append(windows(random, use))
        if not any(all(w.lags for w in of_variant) for of_variant in zip(*drawn, strict=True)):
            break
    return drawn


def _shown(drawn: Sequence[tuple[Window, Window]]) -> tuple[bool, bool, bool]:
    """Tells what a run shows, in the order of ``Shares``."""
    blocks = [block(number, pair) for number, pair in enumerate(drawn, 1)]
    called = any(overloaded_variants(blocks[:look]) for look in LOOKS if look <= len(blocks))
    return any(w.grows for w in drawn[0]), any(w.grows and w.lags for w in drawn[0]), called


def overloaded_variants(blocks: Sequence[Block]) -> list[str]:
    """Lists the variants that a run of these blocks calls overloaded."""
    counts = {name: overload.blocks_at_typical_load(blocks, _EXPERIMENT, name) for name in _EXPERIMENT.variants}
    return [name for name, count in counts.items() if failing.fails_under_load(count, len(blocks))]


def block(number: int, pair: tuple[Window, Window]) -> Block:
    """Makes a block of a window of each variant."""
    names = _EXPERIMENT.variants
    typical = [_trial(name, window) for name, window in zip(names, pair, strict=True)]
    return Block(block=number, attempt=1, order=names, typical=typical)


def _trial(variant: str, window: Window) -> Trial:
    """Makes the record of a window by its counts."""
    arrived, completed = sum(window.arrived), sum(window.completed)
    end = round(1000 * (SETTLE + WINDOW))
    before = max(0, -window.added)
    return Trial(
        variant=variant,
        phase="typical",
        position=1,
        begin=0,
        start=round(1000 * SETTLE),
        end=end,
        drained=end,
        users=arrived,
        rate=window.rate,
        started=arrived,
        completed=completed,
        ok=completed,
        failed={},
        failed_outside=0,
        throughput=completed / WINDOW,
        latency=_latency(completed, window.response),
        dropped=0,
        late_max=0.0,
        in_flight=InFlight(start=before, end=before + window.added),
        machine=_MACHINE,
        answers=_answers(window),
    )


def _latency(count: int, mean: float) -> Latency:
    return Latency(count=count, mean=mean, p50=None, p90=None, p95=None, p99=None, p99_9=None, max=None)


def _answers(window: Window) -> Answers:
    return Answers(
        latency=None,
        histogram=Histogram(first=0, counts=[1], is_exact=True),
        parts=Parts(seconds=0.5, ok=[], above={}),
        halves=Halves(arrived=window.arrived, completed=window.completed),
        kinds=[],
        forms=None,
    )


def tables(runs: int) -> Iterator[str]:
    """Writes the table of ``vtlab lab simulate``."""
    runs = min(runs, 10_000)
    yield ""
    yield f"Open load on one server that keeps up; 1 % of the requests take {LONG:g} s of CPU. Two variants are alike."
    yield f"Share of {runs:,} runs whose first block has a window that grows by its counts, and one that lags in both"
    yield f"halves, too; and of runs that call either variant overloaded at a look of up to {MOST_BLOCKS} blocks:"
    yield f"{'use':>6} {'grows':>10} {'and lags':>10} {'overloaded':>12}"
    for use in (0.6, 0.8, 0.9):
        shares = zip(astuple(simulate(use, runs)), (8, 8, 10), strict=True)
        yield " ".join([f"{100 * use:>4.0f} %", *(f"{100 * share:>{width}.1f} %" for share, width in shares)])
