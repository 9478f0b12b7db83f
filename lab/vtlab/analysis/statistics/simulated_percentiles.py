"""Simulated percentiles between two modes (``vtlab lab simulate``): a share of the requests is slow, and p99 is now the
one mode and now the other, by chance.

Variants are alike. Windows have answers of 10 ms, and slow ones of 800 ms; how many are slow is binomial. The floor and
the span are those of ``vtlab.analysis.statistics.percentiles``, computed once for each number of slow answers; the
span is that over all windows of a variant.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vtlab.analysis.statistics import moderated, percentiles, simulation
from vtlab.analysis.statistics.moderated import Prior
from vtlab.analysis.statistics.paired import ABOVE, BELOW, Array, floor, position
from vtlab.analysis.statistics.simulated_priors import PRIOR
from vtlab.model.histogram import bucket, quantile
from vtlab.model.records import Answers, Halves, Histogram, Parts

ANSWERS, FAST, SLOW = 3000, 0.010, 0.800
#: Differences of a percentile up to this share are too small to matter.
MARGIN = 0.20
SHARES = (0.005, 0.008, 0.01, 0.012, 0.015, 0.02)
#: Standard deviation of a block's log ratio that the JVMs add.
SD = 0.05


@dataclass(frozen=True)
class Window:
    """What a window with a number of slow answers says of its p99: log, its deviation, and the span of its interval."""

    log: float
    error: float
    span: float


@functools.cache
def window(slow: int, total: int = ANSWERS) -> Window:
    """Describes the window with so many slow answers, or several windows that are joined."""
    first, last = bucket(FAST), bucket(SLOW)
    counts = [0] * (last - first + 1)
    counts[0], counts[-1] = total - slow, slow
    answers = Answers(
        latency=None,
        histogram=Histogram(first=first, counts=counts, is_exact=True),
        parts=Parts(seconds=0.5, ok=[], above={}),
        halves=Halves(arrived=(0, 0), completed=(0, 0)),
        kinds=[],
        forms=None,
    )
    p99 = quantile(answers.histogram, 0.99)
    return Window(math.log(p99), percentiles.log_error(answers, "p99"), percentiles.span(answers, "p99"))


@dataclass(frozen=True)
class Shares:
    """Shares of the simulated runs: judged ``better`` and ``worse`` by the interval alone, and by the rules."""

    better_alone: float
    worse_alone: float
    better: float
    worse: float
    #: Without an outcome by the rules.
    none: float


def simulate(share: float, blocks: int, runs: int) -> Shares:
    """Simulates runs of two variants that are alike, with that share of slow answers."""
    random = np.random.default_rng([simulation.SEED, blocks, round(10_000 * share)])
    slow = random.binomial(ANSWERS, share, (runs, blocks, 2))
    known = [window(number) for number in range(int(slow.max()) + 1)]
    logs, errors = (np.array([getattr(w, name) for w in known])[slow] for name in ("log", "error"))
    ratios = logs[..., 1] - logs[..., 0] + SD * random.normal(0, 1, (runs, blocks))
    alone = _places(ratios, 0.0)
    judged = _places(ratios, floor(np.sqrt(np.sum(errors**2, axis=-1))))
    totals, places_of_totals = np.unique(slow.sum(axis=1), return_inverse=True)
    spans = np.array([window(int(total), blocks * ANSWERS).span for total in totals])[places_of_totals]
    refused = (spans.reshape(runs, 2) > percentiles.MOST_SPAN).any(axis=-1)
    places = [(alone == BELOW), (alone == ABOVE), (judged == BELOW) & ~refused, (judged == ABOVE) & ~refused, refused]
    return Shares(*(float(np.mean(place)) for place in places))


def _places(ratios: Array, least: Array | float) -> Array:
    found = moderated.intervals(ratios, Prior(SD, PRIOR.df), least, 0.05)
    return np.asarray(position(np.exp(found.low), np.exp(found.high), MARGIN))


def tables(runs: int) -> Iterator[str]:
    """Writes the lines that ``vtlab lab simulate`` prints of percentiles between two modes."""
    yield ""
    yield f"p99 of {ANSWERS:,} answers of {FAST:g} s, a share of which takes {SLOW:g} s; two variants that are alike."
    yield "By the interval alone; with the floor, and no outcome where that over a variant's windows spans 1.5. In %."
    yield " slow   n  better alone  worse alone  better   worse  no outcome"
    for share in SHARES:
        for n in (2, 3, 6):
            s = simulate(share, n, runs)
            yield (
                f"{100 * share:5.1f}{n:4d}{100 * s.better_alone:14.2f}{100 * s.worse_alone:13.2f}{100 * s.better:8.2f}"
                f"{100 * s.worse:8.2f}{100 * s.none:12.2f}"
            )
