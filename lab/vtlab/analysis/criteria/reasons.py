"""Reasons for which a criterion has no outcome, or one without regard to its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vtlab.analysis.criteria import floors
from vtlab.analysis.criteria.criterion import CAPACITY, Criterion, loads_of, windows
from vtlab.analysis.criteria.judged import Judged, Pair
from vtlab.analysis.laws.phases import mean_level, ratio
from vtlab.analysis.statistics import percentiles
from vtlab.analysis.validity import failing, generator, littles_law, overload
from vtlab.model.outcome import Judgement
from vtlab.model.records import typical_trials
from vtlab.model.units import in_blocks, percent

NOT_MEASURED = "not measured"
NOT_STEADY = "latency is not steady within a window"
ONE_BLOCK = "one block gives a provisional interval only"
#: Share of its CPU limit below which a variant's CPU is not judged.
LEAST_CPU = 0.10


@dataclass(frozen=True)
class Reason:
    """Reason, and what the outcome is for it; None: there is none."""

    text: str
    judgement: Judgement | None = None
    fails: tuple[str, ...] = ()


def against(judged: Judged, criterion: Criterion, pair: Pair) -> Reason | None:
    """Explains why the interval of a criterion does not judge a pair; None where it does."""
    if not judged.blocks:
        return Reason("no block counts")
    if reason := failing_reason(judged, pair):
        return reason
    match criterion.key.criterion:
        case "median" | "tail":
            return _latency(judged, criterion, pair)
        case "cpu":
            return _idle_cpu(judged, pair)
        case "memory":
            return _unequal_capacity(judged, pair)
    return None


def failing_reason(judged: Judged, pair: Pair) -> Reason | None:
    """Explains what a variant's failing decides: a variant that failed in fewer blocks than it needs to fail leaves
    all undecided."""
    n = len(judged.blocks)
    counts = {name: judged.failed_blocks(name) for name in pair.names}
    fails = tuple(name for name, count in counts.items() if failing.fails_under_load(count, n))
    in_words = " and ".join(f"{name} failed {in_blocks(count, n)}" for name, count in counts.items() if count)
    if fails:
        return Reason(in_words, "fails", fails)
    return Reason(in_words, "undecided") if in_words else None


def overloaded_blocks(judged: Judged, variant: str) -> int:
    """Counts the blocks in which a variant was overloaded at typical load."""
    return overload.blocks_at_typical_load(judged.blocks, judged.experiment, variant)


def _lags(judged: Judged, variant: str) -> bool:
    """Tells whether a variant's queue grew in a window at typical load, which is an overload or chance."""
    trials = [t for block in judged.blocks for t in typical_trials(block, judged.experiment) if t.variant == variant]
    return any(overload.overloaded(t, judged.experiment) for t in trials)


def is_overloaded(judged: Judged, variant: str) -> bool:
    """Tells whether typical load overloads a variant: in at least two blocks and more than half of them."""
    return failing.fails_under_load(overloaded_blocks(judged, variant), len(judged.blocks))


def _latency(judged: Judged, criterion: Criterion, pair: Pair) -> Reason | None:
    if criterion.key.load == "typical":
        if reason := _overload(judged, pair):
            return reason
        if any(_lags(judged, name) for name in pair.names):
            return Reason(NOT_STEADY, "undecided")
    if criterion.key.criterion == "tail" and criterion.percentile is None:
        return Reason("the windows have too few answers for a p90")
    trials = [t for b in pair.sound_blocks(judged) for t in windows(b, judged.experiment, criterion.key)]
    trials_of_pair = [t for t in trials if t.variant in pair.names]
    if any(not t.latency.count and t.ok for t in trials_of_pair):
        return Reason(NOT_STEADY)
    if floors.widest_span(trials_of_pair, criterion) > percentiles.MOST_SPAN:
        return Reason("it lies between two modes, or too few answers lie beyond it")
    is_p99 = criterion.key.criterion == "tail" and criterion.percentile == "p99"
    if is_p99 and any(map(generator.blurs_p99, trials_of_pair)):
        return Reason("k6 sent more arrivals late than half of those beyond p99", "undecided")
    if any(littles_law.missing_users(t, judged.experiment) is not None for t in trials_of_pair if t.phase == "measure"):
        return Reason("the answers do not account for all users")
    return None


def _overload(judged: Judged, pair: Pair) -> Reason | None:
    """Explains what overload decides: a queue that grows has a latency without a bound."""
    n = len(judged.blocks)
    counts = {name: overloaded_blocks(judged, name) for name in pair.names}
    in_words = " and ".join(f"{name} was overloaded {in_blocks(c, n)}" for name, c in counts.items() if c)
    over, of = (is_overloaded(judged, name) for name in pair.names)
    if over and of:
        return Reason(in_words)
    if over and not _lags(judged, pair.of):
        return Reason(in_words, "better")
    if of and not _lags(judged, pair.over):
        return Reason(in_words, "worse")
    return Reason(in_words, "undecided") if in_words else None


def _unequal_capacity(judged: Judged, pair: Pair) -> Reason | None:
    """Explains that a variant served more: more requests were in its heap."""
    if "full" not in loads_of(judged.experiment):
        return None
    trials = [t for b in pair.sound_blocks(judged) for t in b.trials]
    over, of = (ratio((t.throughput, 1) for t in trials if t.variant == name) for name in pair.names)
    if over is None or of is None or _agree(over, of):
        return None
    return Reason("the capacities differ by more than their margin")


def _agree(one: float, other: float) -> bool:
    """Tells whether two throughputs agree within the margin of capacity."""
    return one > 0 and other > 0 and abs(math.log(one / other)) <= math.log1p(CAPACITY.share)


def _idle_cpu(judged: Judged, pair: Pair) -> Reason | None:
    """Explains that a variant leaves its CPU idle: what it uses without requests would be most of the figure."""
    for name in pair.names:
        trials = [t for b in pair.sound_blocks(judged) for t in typical_trials(b, judged.experiment)]
        used = mean_level([t for t in trials if t.variant == name], "cpu_cores")
        if used is not None and used < LEAST_CPU * judged.experiment.limits.cpu:
            return Reason(f"{name} uses less than {percent(LEAST_CPU)} of its CPU limit")
    return None
