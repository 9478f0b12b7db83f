"""Runs that tell what users feel, made by hand: answers and probes of every window, and typical load beside full load.

``felt`` takes a recorded run and gives each window answers around its recorded mean. ``unlike``: platform threads keep
half of the probes waiting, and one kind of request takes ten times as long as the other.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.support import recorded
from vtlab.model.experiment import Experiment
from vtlab.model.histogram import bucket
from vtlab.model.manifest import TypicalPlan
from vtlab.model.records import Answers, Block, Halves, Histogram, Kind, Latency, Parts, Probe, Trial
from vtlab.model.run import Run

RATE, WINDOW = 29.3, 15.0
PLAN = TypicalPlan(rate=RATE, of="platform", throughput=48.8, users=94, settle=1.0, window=WINDOW, is_at_once=False)
#: Each percentile that a latency has, with its share.
_SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}


def histogram(times: Sequence[float]) -> Histogram:
    """Counts times, in seconds."""
    counts = Counter(map(bucket, times))
    if not counts:
        return Histogram(first=0, counts=[], is_exact=True)
    first, last = min(counts), max(counts)
    return Histogram(first=first, counts=[counts[b] for b in range(first, last + 1)], is_exact=True)


def latency(times: Sequence[float]) -> Latency:
    """Computes what k6 tells of times."""
    values = sorted(times)
    n = len(values)

    def at(share: float) -> float | None:
        # As in k6: linear between two values, and none where fewer than ten are longer.
        place, below = share * (n - 1), math.floor(share * (n - 1))
        above = min(below + 1, n - 1)
        is_told = n * (1 - share) >= 10 - 1e-9
        return values[below] + (place - below) * (values[above] - values[below]) if is_told else None

    shares: dict[str, Any] = {name: at(share) for name, share in _SHARES.items()}
    return Latency(count=n, mean=math.fsum(values) / n if n else None, max=values[-1] if n else None, **shares)


def answers(times: Sequence[float], window: float, kinds: Mapping[str, Sequence[float]] | None = None) -> Answers:
    """Makes the answers of a window, evenly spread over its parts."""
    parts, told, n = round(2 * window), latency(times), len(times)
    limits = {name: getattr(told, name) for name in ("p50", "p90", "p95", "p99")}
    cut = [times[part * n // parts : (part + 1) * n // parts] for part in range(parts)]
    above: Any = {name: [sum(t > limit for t in part) for part in cut] for name, limit in limits.items() if limit}
    halves = Halves(arrived=(n // 2, n - n // 2), completed=(n // 2, n - n // 2))
    return Answers(
        latency=None,
        histogram=histogram(times),
        parts=Parts(seconds=0.5, ok=[len(part) for part in cut], above=above),
        halves=halves,
        kinds=[Kind(name=name, failed=0, halves=halves, latency=latency(of)) for name, of in (kinds or {}).items()],
        forms=None,
    )


def probe(times: Sequence[float | None], healthy: bool = True) -> Probe:
    """Makes the probes of a window from their times; None: skipped, 15 s: no answer."""
    sent = [t for t in times if t is not None]
    return Probe(
        sent=len(sent),
        skipped=len(times) - len(sent),
        healthy=sum(t < 15 for t in sent) if healthy else 0,
        unanswered=sum(t >= 15 for t in sent),
        over_second=sum(t > 1 for t in sent),
        longest=max(sent, default=None),
        times=list(times),
    )


def experiment(**changes: Any) -> Experiment:
    """Returns the experiment of a recorded run with typical load beside its full load."""
    full = recorded.recorded().experiment.document()["load"]["full"]
    return recorded.experiment(load={"full": full, "typical": {"rate": RATE}}, **changes)


def felt(run: Run | None = None, seed: int = 7, unlike: bool = False) -> Run:
    """Returns a run whose windows tell what users feel; 3 blocks of ``recorded.run`` unless a run is given. Of a run
    under open load the trials are its typical load."""
    base = run or recorded.run(blocks=3, experiment=experiment(), typical=PLAN)
    blocks = [_block(block, random.Random(f"{seed}/{block.block}"), unlike) for block in base.blocks]
    return replace(base, blocks=blocks)


def _block(block: Block, rng: random.Random, unlike: bool) -> Block:
    trials = [_felt(t, rng, 0.22, unlike) for t in block.trials]
    typical = [] if any(t.rate for t in trials) else [_felt(t, rng, 0.06, unlike, 0.2012) for t in _typical(block)]
    return block.model_copy(update={"trials": trials, "typical": typical})


def _typical(block: Block) -> list[Trial]:
    """Returns a phase of typical load of each variant, after the trials."""
    after = max(t.drained for t in block.trials)
    typical = []
    for position, trial in enumerate({t.variant: t for t in block.trials}.values(), 1):
        begin = after + 18_000 * (position - 1)
        moments = {"begin": begin, "start": begin + 1000, "end": begin + 16_000, "drained": begin + 16_800}
        ok = round(RATE * WINDOW)
        about = {"phase": "typical", "position": position, "users": PLAN.users, "rate": RATE, "between": None}
        counts = {"ok": ok, "started": ok + 30, "completed": ok + 30, "throughput": ok / WINDOW}
        typical.append(recorded.changed_trial(trial, **about, **moments, **counts))
    return typical


def _felt(trial: Trial, rng: random.Random, spread: float, unlike: bool, mean: float | None = None) -> Trial:
    """Returns the trial with answers whose mean is the recorded one, and with probes."""
    wide = spread * (1.8 if trial.variant == "virtual" else 1.0)
    times = [math.exp(rng.gauss(0, wide)) * (10 if unlike and n % 5 == 0 else 1) for n in range(trial.ok)]
    scale = (mean or trial.latency.mean or 0.2) / (math.fsum(times) / len(times))
    times = [round(scale * t, 6) for t in times]
    kinds = {"GET /owners": [t for n, t in enumerate(times) if n % 5], "GET /report": times[::5]} if unlike else {}
    slow = unlike and trial.variant == "platform" and trial.phase == "measure"
    probes: list[float | None] = [
        round(rng.uniform(2, 15.5), 6) if slow and rng.random() < 0.5 else 0.004 * math.exp(rng.gauss(0, 0.4))
        for _ in range(round(5 * trial.window))
    ]
    if slow:
        probes[-2:] = [15.0, None]
    told, made = latency(times), answers(times, trial.window, kinds)
    # What was dropped was due in both halves.
    due = made.halves.arrived
    halves = made.halves.model_copy(update={"arrived": tuple(n + trial.dropped // 2 for n in due)})
    return recorded.changed_trial(
        trial,
        latency=told,
        answers=made.model_copy(update={"halves": halves}),
        probe=probe([t and min(t, 15.0) for t in probes]),
    )


def behind(trial: Trial) -> Trial:
    """Returns a window at typical load in which a variant falls behind: arrivals are dropped, and in both halves less
    is completed than arrives."""
    made = trial.answers
    assert made is not None
    halves = made.halves.model_copy(update={"completed": tuple(n - 30 for n in made.halves.arrived)})
    return recorded.changed_trial(trial, dropped=60, answers=made.model_copy(update={"halves": halves}))
