"""Simulated runs with realistic noise, and the outcomes that the statistics reach on them (``vtlab lab simulate``).

The noise of a trial's throughput, on the log scale (standard deviations in ``Noise``): what the machine does to a
block (both variants alike), a drift within it, an effect of each JVM (compilation, layout), correlated noise from trial
to trial (AR(1)) and independent noise. Orders are mirrored and drawn like a real run's (ABBA or BAAB). Answers come
evenly and the window begins at a random moment, so a trial counts a whole number of them. The formulae and the rules
are those of ``vtlab.analysis.statistics``.

The true ratio is the one whose logarithm is the mean over all JVMs: also of a service some of whose JVMs are slow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vtlab.analysis.statistics import moderated, paired
from vtlab.analysis.statistics.paired import ABOVE, ACROSS, BELOW, INSIDE, Array

SEED = 20_261_123
#: Runs, or reports, that are simulated at a time: more do not fit in the processor's caches.
CHUNK = 4000
#: A block's standard deviation where none is named.
SD = 0.02
#: Answers that a window would count at the true ratio 1.
ANSWERS = 1000.5
#: Share of the JVMs that are slow, of a variant with such a mode, and what they do of the others' throughput.
SLOW_SHARE, SLOW = 0.3, 0.85

EDGE = 1 + paired.MARGIN
RATIOS = (1.0, EDGE, 1.1, 1.2, 1.5, 5.0)
BLOCKS = (2, 3, 4, 6, 9, 12)


@dataclass(frozen=True)
class Noise:
    """Standard deviations on the log scale: 0.03 is about 3 %."""

    block: float = 0.10
    #: Deviation of the slope over a block's four trials, per trial.
    drift: float = 0.02
    jvm: float = 0.02
    #: Stationary, and its correlation from one trial to the next.
    trial: float = 0.02
    correlation: float = 0.6
    white: float = 0.01
    #: Whether the JVM's effect of the variant compared is exponential with a tail of slow ones, and has all of the
    #: variance that the two variants' JVMs have otherwise.
    skewed: bool = False
    #: A share of the JVMs of the variant compared, of the first variant, is slow.
    of_is_slow: bool = False
    over_is_slow: bool = False

    @property
    def sd(self) -> float:
        """The standard deviation of a block's log ratio, without slow modes. Block and drift cancel."""
        c = self.correlation
        # Of the contrast (1, -1, -1, 1)/2 of an AR(1) process.
        correlated = self.trial**2 * (4 - 2 * c - 4 * c**2 + 2 * c**3) / 4
        return math.sqrt(2 * self.jvm**2 + correlated + self.white**2)

    def with_sd(self, sd: float) -> Noise:
        """Scales the noise to that standard deviation of a block's log ratio (slow modes come on top)."""
        factor = sd / self.sd
        return replace(self, jvm=self.jvm * factor, trial=self.trial * factor, white=self.white * factor)


KINDS = {
    "Gaussian": Noise(),
    "skewed: one variant has an exponential tail of slow JVMs": Noise(skewed=True),
    "two modes: 30 % of one variant's JVMs are 15 % slower": Noise(of_is_slow=True),
    "two modes of both: 30 % of all JVMs are 15 % slower": Noise(of_is_slow=True, over_is_slow=True),
}
#: Without any noise but that of counting.
SILENT = Noise(block=0, drift=0, jvm=0, trial=0, white=0)


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
    #: Whose blocks have all the same log ratio, so that the interval would have no width without the floor.
    alike: float
    #: Standard deviation of a block's log ratio: root mean square.
    sd: float


def counts(
    random: np.random.Generator, shape: tuple[int, ...], ratio: Array | float, noise: Noise, answers: float = ANSWERS
) -> tuple[Array, Array]:
    """Draws the answers that the trials of ``of`` and ``over`` count: two arrays of that shape of blocks, x 2 trials
    each."""
    ar = np.empty((*shape, 4))
    ar[..., 0] = random.normal(0, noise.trial, shape)
    for i in range(1, 4):
        fresh = random.normal(0, noise.trial * math.sqrt(1 - noise.correlation**2), shape)
        ar[..., i] = noise.correlation * ar[..., i - 1] + fresh
    drift = random.normal(0, noise.drift, (*shape, 1)) * np.arange(4)
    trials = random.normal(0, noise.block, (*shape, 1)) + drift + ar + random.normal(0, noise.white, (*shape, 4))
    # of first and last (ABBA), or over (BAAB).
    outer = random.random((*shape, 1)) < 0.5
    ends, middle = trials[..., [0, 3]], trials[..., [1, 2]]
    of_jvm, over_jvm = _jvms(random, (*shape, 1), noise)
    of = np.where(outer, ends, middle) + of_jvm + np.log(ratio)
    over = np.where(outer, middle, ends) + over_jvm
    # The window begins at a random moment between two answers.
    of_counts, over_counts = (np.floor(answers * np.exp(log) + random.random(log.shape)) for log in (of, over))
    return np.maximum(of_counts, 1), np.maximum(over_counts, 1)


def _jvms(random: np.random.Generator, shape: tuple[int, ...], noise: Noise) -> tuple[Array, Array]:
    """Draws the effects of the JVMs of ``of`` and ``over``, of mean 0."""
    if noise.skewed:
        effects, base_effects = math.sqrt(2) * noise.jvm * (1 - random.standard_exponential(shape)), np.zeros(shape)
    else:
        effects, base_effects = random.normal(0, noise.jvm, shape), random.normal(0, noise.jvm, shape)
    for effect, has_slow in ((effects, noise.of_is_slow), (base_effects, noise.over_is_slow)):
        if has_slow:
            effect += math.log(SLOW) * ((random.random(shape) < SLOW_SHARE) - SLOW_SHARE)
    return effects, base_effects


@dataclass(frozen=True)
class Judged:
    """Runs as a report judges them: arrays over the runs."""

    t: moderated.Intervals
    #: ``statistics.position`` of the interval.
    position: NDArray[np.int8]
    #: Whether all blocks have one log ratio.
    alike: NDArray[np.bool_]
    #: Sum of squares of the log ratios about their true mean.
    squares: Array


def _judge(counts: Array, base_counts: Array, ratio: Array | float) -> Judged:
    logs = paired.log_ratio(counts, base_counts)
    floor = paired.floor(paired.resolution(counts, base_counts))
    t = moderated.intervals(logs, None, floor, 1 - paired.CONFIDENCE)
    squares = np.sum(np.square(logs - np.log(ratio)), axis=-1)
    return Judged(t, paired.position(np.exp(t.low), np.exp(t.high)), np.ptp(logs, axis=-1) == 0, squares)


def simulate(n: int, ratio: float, noise: Noise, runs: int, answers: float = ANSWERS) -> Result:
    """Simulates runs of ``n`` >= 2 blocks with a true ``ratio`` of throughputs."""
    # The rows of a table share no random numbers.
    random = np.random.default_rng([SEED, n, round(1000 * ratio), round(1000 * answers)])
    truth = math.log(ratio)
    positions, covered, alike, squares = dict.fromkeys((ABOVE, BELOW, INSIDE, ACROSS), 0), 0, 0, 0.0
    for size in chunks(runs):
        judged = _judge(*counts(random, (size, n), ratio, noise, answers), ratio)
        covered += int(np.count_nonzero((judged.t.low <= truth) & (truth <= judged.t.high)))
        alike += int(np.count_nonzero(judged.alike))
        squares += float(np.sum(judged.squares))
        for place in positions:
            positions[place] += int(np.count_nonzero(judged.position == place))
    share = {place: number / runs for place, number in positions.items()}
    holds = true_position(ratio)
    return Result(
        coverage=covered / runs,
        better=share[ABOVE],
        worse=share[BELOW],
        same=share[INSIDE],
        undecided=share[ACROSS],
        false=sum(share[place] for place in (ABOVE, BELOW, INSIDE) if place != holds),
        alike=alike / runs,
        sd=math.sqrt(squares / (runs * n)),
    )


def true_position(ratio: float) -> int:
    """Returns the position of an interval whose outcome holds for a true ratio; ``ACROSS`` on the edge of the
    margin."""
    if ratio in (EDGE, 1 / EDGE):
        return ACROSS
    return ABOVE if ratio > EDGE else BELOW if ratio < 1 / EDGE else INSIDE


def chunks(runs: int) -> Iterator[int]:
    """Yields the sizes of the parts in which the runs are simulated."""
    for begin in range(0, runs, CHUNK):
        yield min(CHUNK, runs - begin)


def tables(runs: int, sd: float = SD) -> Iterator[str]:
    """Writes the lines that ``vtlab lab simulate`` prints: the same on every machine."""
    yield f"{runs:,} simulated runs a row; interval {paired.CONFIDENCE:.0%}, margin {paired.MARGIN:.0%},"
    yield f"one-sided level {paired.LEVEL:.1%}, fixed number of blocks n. Shares of runs, in %."
    yield "false: an outcome that does not hold; on the edge of the margin (1.05) none does."
    yield from _noise_table(runs, sd)
    yield from _counting_table(runs)


def _noise_table(runs: int, sd: float) -> Iterator[str]:
    for name, noise in KINDS.items():
        yield from ["", f"{name}. SD of a block {sd:.2%}" + (" without the modes" if noise.of_is_slow else ""), _HEAD]
        for ratio in RATIOS:
            for n in BLOCKS:
                yield _row(ratio, n, simulate(n, ratio, noise.with_sd(sd), runs))


def _counting_table(runs: int) -> Iterator[str]:
    yield ""
    yield "Few answers per window, and counting noise only."
    yield "alike: all blocks have the same ratio, so only the floor gives the interval a width."
    yield f"answers {_HEAD}   alike"
    for answers in (3.4, 10.4, 100.4):
        for ratio in (1.0, EDGE, 1.2):
            for n in (2, 3, 6):
                result = simulate(n, ratio, SILENT, runs, answers=answers)
                yield f"{answers:7.1f} {_row(ratio, n, result)}{_percent(result.alike)}"


_HEAD = " ratio   n  coverage  better   worse    same  undecided   false      SD"


def _row(ratio: float, n: int, r: Result) -> str:
    return (
        f"{ratio:6.2f}{n:4d}{_percent(r.coverage, 10)}{_percent(r.better)}{_percent(r.worse)}"
        f"{_percent(r.same)}{_percent(r.undecided, 11)}{_percent(r.false)}{_percent(r.sd)}"
    )


def _percent(share: float, width: int = 8) -> str:
    return f"{100 * share:{width}.2f}"
