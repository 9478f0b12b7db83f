"""Simulated intervals with a prior (``vtlab lab simulate``): how often they cover the truth, and how wide they are.

The prior has a standard deviation s₀. The blocks have a true one that is a multiple of it: a service that scatters more
than most is where a prior claims too much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from vtlab.analysis.statistics import moderated, simulation, stopping_rule
from vtlab.analysis.statistics.moderated import Prior
from vtlab.analysis.statistics.paired import ABOVE, BELOW, INSIDE, Array, position

#: The narrowest prior that ``maintain.priors`` fits: one of the most degrees of freedom.
PRIOR = Prior(sd=0.02, df=2.5)
MULTIPLES = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
BLOCKS = (2, 3, 4, 6)
CLAIMS = (1, 3, 6)
#: Share of the blocks in which a variant is slow, of those with two modes.
SLOW_SHARE = 0.3

Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _skewed(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return 1 - random.standard_exponential(shape)


def _two_modes(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Draws from two modes, four standard deviations of a mode apart, scaled to a deviation of 1."""
    slow, width = random.random(shape) < SLOW_SHARE, 4.0
    values = width * (slow - SLOW_SHARE) + random.normal(0, 1, shape)
    return np.asarray(values / math.sqrt(1 + width**2 * SLOW_SHARE * (1 - SLOW_SHARE)))


#: Log ratios of blocks with mean 0 and deviation 1.
KINDS: dict[str, Draw] = {
    "Gaussian": lambda random, shape: random.normal(0, 1, shape),
    "skewed: an exponential tail": _skewed,
    f"two modes: {SLOW_SHARE:.0%} of the blocks are slow": _two_modes,
}


@dataclass(frozen=True)
class Covered:
    """Share of the intervals that cover the truth, and the median of their half-width in s₀."""

    coverage: float
    half: float
    #: The same of intervals without a prior.
    half_without: float


def covered(draw: Draw, multiple: float, blocks: int, runs: int, prior: Prior = PRIOR) -> Covered:
    """Simulates intervals of 95 % over so many blocks, whose true deviation is a multiple of the prior's."""
    random = np.random.default_rng([simulation.SEED, blocks, round(100 * multiple)])
    logs = multiple * prior.sd * draw(random, (runs, blocks))
    found = moderated.intervals(logs, prior, 0.0, 0.05)
    without = moderated.intervals(logs, None, 0.0, 0.05)
    halves = [float(np.median(i.high - i.low)) / 2 / prior.sd for i in (found, without)]
    return Covered(float(np.mean((found.low <= 0) & (found.high >= 0))), *halves)


def wrong_runs(draw: Draw, multiple: float, claims: int, runs: int, prior: Prior | None) -> tuple[float, float]:
    """Simulates runs with so many claims, whose true ratios are all on the edge of the margin, up to the look that
    settles all of them: the share in which any claim is settled, which never holds there, and the mean number of
    blocks."""
    random = np.random.default_rng([simulation.SEED, claims, round(100 * multiple), 7])
    rule = stopping_rule.sequential_rule(claims)
    edge, most = math.log(simulation.EDGE), rule.looks[-1]
    logs = edge + multiple * PRIOR.sd * draw(random, (runs, claims, most))
    wrong, blocks, running = np.zeros(runs, dtype=bool), np.full(runs, most), np.arange(runs)
    for look in rule.looks:
        found = moderated.intervals(logs[running, :, :look], prior, 0.0, stopping_rule.level(rule, look))
        places = position(np.exp(found.low), np.exp(found.high))
        is_settled = np.isin(places, (ABOVE, BELOW, INSIDE))
        ended = is_settled.all(axis=-1) | (look == most)
        wrong[running[ended]] = is_settled[ended].any(axis=-1)
        blocks[running[ended]] = look
        running = running[~ended]
    return float(np.mean(wrong)), float(np.mean(blocks))


def settled(ratio: float, multiple: float, blocks: int, runs: int, prior: Prior | None) -> float:
    """Simulates the share of Gaussian runs with that true ratio whose single claim the first look after so many blocks
    settles."""
    random = np.random.default_rng([simulation.SEED, blocks, round(100 * multiple), round(1000 * ratio)])
    logs = math.log(ratio) + multiple * PRIOR.sd * random.normal(0, 1, (runs, blocks))
    found = moderated.intervals(logs, prior, 0.0, stopping_rule.level(stopping_rule.sequential_rule(1), blocks))
    places = position(np.exp(found.low), np.exp(found.high))
    return float(np.mean(np.isin(places, (ABOVE, BELOW, INSIDE))))


def tables(runs: int) -> Iterator[str]:
    """Writes the lines that ``vtlab lab simulate`` prints of intervals with a prior."""
    yield ""
    yield f"Intervals of 95% with a prior: s0 {PRIOR.sd:.1%}, d0 {PRIOR.df:g}. The true SD is a multiple of s0."
    yield "half: the median half-width of the interval in s0, with the prior and without."
    for name, draw in KINDS.items():
        yield from ["", name, " SD/s0   n  coverage     half  without"]
        for multiple in MULTIPLES:
            for n in BLOCKS:
                c = covered(draw, multiple, n, runs)
                yield f"{multiple:6.2f}{n:4d}{100 * c.coverage:10.2f}{c.half:9.2f}{c.half_without:9.2f}"
    yield from _runs_tables(runs)


def _runs_tables(runs: int) -> Iterator[str]:
    yield from ["", "Runs with several claims, all on the edge of the margin, looked at until all are settled."]
    yield "wrong: at least one claim is settled, and none of these holds; with the prior and without."
    yield " SD/s0  claims    wrong   blocks  without   blocks"
    for multiple in MULTIPLES[1:-1]:
        for claims in CLAIMS:
            found = [wrong_runs(KINDS["Gaussian"], multiple, claims, runs, prior) for prior in (PRIOR, None)]
            figures = "".join(f"{100 * wrong:9.2f}{blocks:9.2f}" for wrong, blocks in found)
            yield f"{multiple:6.2f}{claims:8d}{figures}"
    yield from [
        "",
        "Share of single claims that n blocks settle, in %, with the prior and without.",
        " SD/s0 ratio   n  settled  without",
    ]
    for multiple in (0.5, 1.0, 1.5):
        for ratio in (1.0, 1.1, 1.2, 1.5):
            for n in (2, 3, 4):
                shares = [100 * settled(ratio, multiple, n, runs, prior) for prior in (PRIOR, None)]
                yield f"{multiple:6.2f}{ratio:6.2f}{n:4d}{shares[0]:9.2f}{shares[1]:9.2f}"
