"""Recorded runs as if they had what users feel: typical load beside full load, and what windows tell of answers and
probes. Latencies are log-normal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist

from tests.support import recorded
from vtlab.model import histogram
from vtlab.model.manifest import TypicalPlan
from vtlab.model.records import Answers, Block, Halves, Histogram, InFlight, Kind, Latency, Parts, Probe, Trial
from vtlab.model.run import Run
from vtlab.planning import percentiles, typical_load

#: Probes in a second, and seconds of one that has no answer.
PROBES, PROBE_TIMEOUT = 5, 15.0
#: Seconds of a part, and the most of them in a window.
PART, MOST_PARTS = 0.5, 60
#: Milliseconds from the end of what was recorded of a block to its typical load.
PAUSE = 1000


def spread(count: int, median: float, tail: float = 1.2) -> list[float]:
    """Returns so many latencies, the shortest first, with p99 = ``tail`` x median."""
    normal = NormalDist()
    width = math.log(tail) / normal.inv_cdf(0.99)
    return [median * math.exp(width * normal.inv_cdf((n + 0.5) / count)) for n in range(count)]


def latency(values: Sequence[float]) -> Latency:
    """Returns the percentiles of latencies, the shortest first; none with fewer than 10 beyond it."""
    count = len(values)

    def at(share: float) -> float | None:
        if count * (1 - share) < 10 - 1e-9:
            return None
        below, part = divmod(share * (count - 1), 1)
        low, high = values[int(below)], values[min(count - 1, int(below) + 1)]
        return low + part * (high - low)

    return Latency(
        count=count,
        mean=math.fsum(values) / count if count else None,
        p50=at(0.5),
        p90=at(0.9),
        p95=at(0.95),
        p99=at(0.99),
        p99_9=at(0.999),
        max=values[-1] if count else None,
    )


def counted(values: Sequence[float]) -> Histogram:
    """Returns the histogram of latencies."""
    if not values:
        return Histogram(first=0, counts=[], is_exact=True)
    buckets = [histogram.bucket(value) for value in values]
    counts = [buckets.count(bucket) for bucket in range(min(buckets), max(buckets) + 1)]
    return Histogram(first=min(buckets), counts=counts, is_exact=True)


def answers(values: Sequence[float], window: float, kinds: Sequence[str] = ()) -> Answers:
    """Returns what a window tells of these latencies, the shortest first, which are spread evenly over its parts; and
    over kinds of requests, the slowest of which is the last."""
    seconds = PART * max(1, math.ceil(window / (MOST_PARTS * PART)))
    count, whole = math.ceil(window / seconds), latency(values)
    parts = [values[part::count] for part in range(count)]
    limits = {"p50": whole.p50, "p90": whole.p90, "p95": whole.p95, "p99": whole.p99}
    above = {
        name: [sum(value > limit for value in part) for part in parts]
        for name, limit in limits.items()
        if limit is not None
    }
    share = math.ceil(len(values) / len(kinds)) if kinds else 0
    of_kinds = [values[n * share : (n + 1) * share] for n in range(len(kinds))]
    return Answers(
        latency=None,
        histogram=counted(values),
        parts=Parts.model_validate({"seconds": seconds, "ok": [len(part) for part in parts], "above": above}),
        halves=_halves(len(values)),
        kinds=[
            Kind(name=name, failed=0, halves=_halves(len(some)), latency=latency(some))
            for name, some in zip(kinds, of_kinds, strict=True)
        ],
        forms=None,
    )


def _halves(count: int) -> Halves:
    both = (count // 2, count - count // 2)
    return Halves(arrived=both, completed=both)


def probe(window: float, times: Sequence[float | None] | None = None, healthy: bool = True) -> Probe:
    """Returns the probes of a window. ``times``: seconds of each, ``PROBE_TIMEOUT`` without an answer, None where it
    was skipped; all 4 ms, if not given. ``healthy``: whether there is a liveness endpoint."""
    times = [0.004] * math.ceil(PROBES * window) if times is None else list(times)
    sent = [time for time in times if time is not None]
    unanswered = sum(time >= PROBE_TIMEOUT for time in sent)
    return Probe(
        sent=len(sent),
        skipped=len(times) - len(sent),
        healthy=(len(sent) - unanswered) * healthy,
        unanswered=unanswered,
        over_second=sum(time > 1 for time in sent),
        longest=max(sent, default=None),
        times=list(times),
    )


def detailed(trial: Trial, tail: float = 1.2, kinds: Sequence[str] = ()) -> Trial:
    """Returns the trial with answers around its median, and probes."""
    values = spread(trial.ok, trial.latency.p50 or trial.latency.mean or 0.0, tail) if trial.ok else []
    details = {"answers": answers(values, trial.window, kinds), "probe": probe(trial.window)}
    return recorded.changed_trial(trial, latency=latency(values), **details)


def typical(like: Trial, planned: TypicalPlan, median: float, begin: int = 0, tail: float = 1.2) -> Trial:
    """Returns a phase of that typical load, of the variant of a trial, which kept up; its figures on the server's side
    are as many times smaller as its rate is. ``begin``: epoch milliseconds."""
    ok = round(planned.rate * planned.window)
    start = begin + round(1000 * planned.settle)
    end = start + round(1000 * planned.window)
    waiting = round(planned.rate * median)
    sent = ok + round(planned.rate * planned.settle)
    share = planned.rate / like.throughput
    server = {name: like.server.get(name) for name in ("cpu_cores", "server_throughput", "throughput", "started")}
    phase = recorded.changed_trial(
        like,
        phase="typical",
        begin=begin,
        start=start,
        end=end,
        drained=end + round(1000 * median),
        users=planned.users,
        rate=planned.rate,
        started=sent,
        completed=sent,
        ok=ok,
        failed={},
        failed_outside=0,
        given_up=0,
        throughput=ok / planned.window,
        by_parts=False,
        between=None,
        in_flight=InFlight(start=waiting, end=waiting),
        latency=recorded.latency(ok, median),
        server={name: value if value is None else value * share for name, value in server.items()},
    )
    return detailed(phase, tail)


def run(recording: str = "threads", /, blocks: int = 6) -> Run:
    """Returns a recorded run with typical load: six tenths of what platform serves, at which a request takes as long as
    alone. Trials tell of their answers and probes, too."""
    whole = recorded.run(recording, blocks=blocks)
    exp = recorded.experiment(recording, load={"full": whole.experiment.document()["load"]["full"]})
    planned = typical_load.plan(exp, whole.blocks[:1], None, loads_at_once=False)
    assert planned
    shown = {
        "experiment": exp.with_typical_rate(planned.rate),
        "typical": planned,
        "percentiles": percentiles.of_loads(exp, whole.blocks[0], planned),
    }
    about = recorded.copied(whole.manifest, shown)
    return replace(whole, manifest=about, experiment=about.experiment, blocks=with_typical(whole, planned))


def with_typical(run: Run, planned: TypicalPlan) -> list[Block]:
    """Returns the blocks of a run with that typical load, and with trials that tell of their answers and probes."""
    alone = [phase for block in run.blocks for phase in block.single]
    medians = {name: min(t.latency.mean or 0.0 for t in alone if t.variant == name) for name in run.experiment.variants}
    return [_with_typical(block, planned, medians) for block in run.blocks]


def _with_typical(block: Block, planned: TypicalPlan, medians: Mapping[str, float]) -> Block:
    phases: list[Trial] = []
    begin = max(t.drained for t in (*block.trials, *block.single, *block.light)) + PAUSE
    for position, variant in enumerate(dict.fromkeys(block.order), 1):
        like = next(t for t in block.trials if t.variant == variant)
        phase = typical(like, planned, medians[variant], begin)
        phases.append(recorded.copied(phase, {"position": position}))
        begin = phase.drained + PAUSE
    return recorded.copied(block, {"typical": phases, "trials": [detailed(trial) for trial in block.trials]})
