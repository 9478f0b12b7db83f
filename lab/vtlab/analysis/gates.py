"""The gates: what a block must show before it counts. Every reason names the value and the limit.

A value that was not measured never passes silently. What only disturbs one trial rejects its whole block,
since the block is the unit of replication.

Overload (DESIGN 5.9). In open load, an arrival whose user is still busy is dropped. With a healthy
generator that is a finding, not a fault: the variant is overloaded, its trial counts and its latency has no
bound. Then its timeouts are the same finding and do not reject either; any other failure does. Failures
outside the window have no recorded reason and are not judged in an overloaded trial. Timeouts without
dropped arrivals do reject: with ``users`` at most rate x ``max_response``, as experiments should have it,
an overload drops arrivals before it times out. With a saturated generator dropped arrivals reject, because
the generator gates do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vtlab.analysis.laws import cpu_capacity as cpu_capacity
from vtlab.analysis.laws import demand_per_ok
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Instance, Trial
from vtlab.model.units import percent

#: Share of answers that may fail, and of arrivals that may be dropped before the variant counts as
#: overloaded.
MOST_LOST = 0.001
#: Share of the machine's cores that must be idle.
LEAST_IDLE = 0.05
#: Seconds that a ready thread of k6 waited for a core, on average over its time slices. 60 to 75 µs is usual, on an
#: idle machine too; 0.7 ms when k6 is squeezed into a tenth of a core (docs/method.md). Its delay over its own CPU
#: time is no measure: a k6 with little to do wakes thousands of times a second, each for microseconds, and waits as
#: long as it runs.
MOST_WAIT = 0.0005
#: Share of k6's quota periods in which it was throttled.
MOST_THROTTLED = 0.05
#: Longest lateness of the generator under open load, as a share of the window. A stall of that length makes
#: as large a share of the arrivals late. Latency counts from when an arrival was due: no speed-up is faked;
#: up to 1 % late arrivals the p99 is not yet one of them, beyond it the stall would be measured instead.
MOST_LATE = 0.01
#: Share of the CPU limit from which on the CPU counts as scarce in the warm-up.
SCARCE = 0.8
#: Gain of each of the last two warm-up cycles over the best before, in OK throughput and in the CPU budget.
MOST_GAIN = 0.03
#: Answers for a p99: ten must lie beyond it.
LEAST_FOR_P99 = 1000


@dataclass(frozen=True)
class Gain:
    """How much faster a warm-up cycle was than the best before it, as shares; None where that was not measured."""

    throughput: float | None
    #: Less CPU per request, as a share of what the CPU limit allows per request.
    cpu: float | None

    @property
    def most(self) -> float | None:
        """The larger of the two."""
        return None if self.throughput is None or self.cpu is None else max(self.throughput, self.cpu)


@dataclass(frozen=True)
class LevelResult:
    """Whether a variant has levelled off, and what its last two cycles gained over the best before them."""

    ok: bool
    gains: list[Gain]
    #: The largest gain that was judged: of CPU only where it is scarce. None where it was not measured.
    worst: float | None = None


def levelled(cycles: Sequence[Trial], cpu_limit: float) -> LevelResult:
    """Whether one variant's warm-up has levelled off: its last two ``cycles`` gained under 3 % over the best before.

    OK throughput X must not have risen by 3 %. Where the CPU is scarce, that is where one of the two used at least
    80 % of the limit (``cpu_limit``, cores), CPU per request D must not have fallen by 3 % of what the limit allows per
    request either, ΔD·X/limit; with a CPU-bound service that is the plain relative change. Where the CPU is not
    scarce, D goes on falling by tens of percent while the JIT compiler works on, and bounds nothing.

    Over the best before, not over the one before: while the compiler works, and on a shared machine always, cycles
    of 3 s scatter by more than 3 % around their level, and a rise from a slow cycle back to it is no warming up. At
    least three cycles are needed.
    """
    before, last = list(cycles)[:-2], list(cycles)[-2:]
    if not before:
        return LevelResult(False, [])
    best = max(t.throughput for t in before)
    # A JVM that starts may be too busy to be scraped: the best before is the best of those measured.
    least = min((d for d in (demand_per_ok([t], "cpu_cores") for t in before) if d is not None), default=None)
    gains = []
    for trial in last:
        d = demand_per_ok([trial], "cpu_cores")
        cpu = None if d is None or least is None else (least - d) * trial.throughput / cpu_limit
        gains.append(Gain(trial.throughput / best - 1 if best > 0 and trial.throughput > 0 else None, cpu))
    used = [u for u in (t.server.get("cpu_cores") for t in last) if u is not None]
    scarce = max(used, default=0.0) >= SCARCE * cpu_limit
    if any(g.most is None for g in gains):
        return LevelResult(False, gains)
    worst = max((g.most if scarce else g.throughput) or 0.0 for g in gains)
    return LevelResult(worst < MOST_GAIN, gains, worst)


def overloaded(trial: Trial, experiment: Experiment) -> bool:
    """Whether the variant, not the generator, failed to keep up with open load in this trial."""
    return (
        experiment.load.model == "open"
        and dropped_share(trial) > MOST_LOST
        and all(c.reason is None for c in _generator(trial, experiment))
    )


def dropped_share(trial: Trial) -> float:
    """Share of the scheduled arrivals that were dropped, over the whole trial."""
    scheduled = trial.started + trial.dropped
    return trial.dropped / scheduled if scheduled else 0.0


def reasons(block: Block, experiment: Experiment) -> list[str]:
    """Why this block does not count; empty when it does."""
    return [check.reason for check in _checks(block, experiment) if check.reason is not None]


def rows(blocks: Sequence[Block], experiment: Experiment) -> list[dict[str, Any]]:
    """One row per gate over those blocks: ``name``, ``limit``, ``worst`` (words, with its place), ``passed``.

    A gate that does not apply (lateness under closed load) has no row.
    """
    checks = [(block, check) for block in blocks for check in _checks(block, experiment)]
    found = []
    for gate in GATES:
        own = [(block, check) for block, check in checks if check.gate == gate]
        if not own:
            continue
        block, worst = max(own, key=lambda pair: (pair[1].reason is not None, pair[1].badness))
        place = f"block {block.block}" + (f", {worst.where}" if worst.where else "")
        found.append(
            {
                "name": gate,
                "limit": GATES[gate],
                "worst": f"{worst.shown} ({place})" if worst.badness or worst.reason else worst.shown,
                "passed": all(check.reason is None for _, check in own),
            }
        )
    return found


@dataclass(frozen=True)
class _Check:
    gate: str
    where: str
    #: Larger is worse; only compared within a gate.
    badness: float
    shown: str
    reason: str | None = None


#: Every gate with its limit in words, in the order of the report.
GATES: dict[str, str] = {
    "nothing broke": "no fault",
    "trials complete": "two per variant, mirrored",
    "users agreed on the phases": "always",
    "same instance": "no restart, no OOM kill",
    "warm-up levelled off": f"< {percent(MOST_GAIN)} over the best before",
    "drained": "0 in flight before each trial",
    "started = completed": "no request lost",
    "answered OK": f">= {percent(1 - MOST_LOST, 1)}",
    "answers for the primary metric": f">= 1 (p99: {LEAST_FOR_P99:,})",
    "idle cores": f">= {percent(LEAST_IDLE)}",
    "generator's wait for a core": f"<= {1000 * MOST_WAIT:g} ms each time",
    "generator throttled": f"<= {percent(MOST_THROTTLED)} of periods",
    "generator on time": f"<= {percent(MOST_LATE, 1)} of the window late",
    "server measured": "samples in every window",
}


def _checks(block: Block, experiment: Experiment) -> Iterator[_Check]:
    yield _Check("nothing broke", "", len(block.faults), "no fault")
    for fault in block.faults:
        yield _Check("nothing broke", "", 1, fault, fault)
    if block.faults and not block.trials:
        return
    if not block.agreed:
        sentence = "the load generator stalled: its users disagreed about when a phase began"
        yield _Check("users agreed on the phases", "", 1, "no", sentence)
    else:
        yield _Check("users agreed on the phases", "", 0, "yes")
    yield from _instances(block, experiment)
    level = list(_level(block, experiment))
    yield from level
    if block.trials or all(check.reason is None for check in level):
        yield from _complete(block, experiment)
    else:
        for variant in experiment.variants:
            last = [t for t in block.warmup if t.variant == variant][-1:]
            for trial in last:
                yield from _answered(trial, experiment)
                yield from _generator(trial, experiment)
    for trial in block.trials:
        for checks in _PER_TRIAL:
            yield from checks(trial, experiment)


def _where(trial: Trial) -> str:
    kind = {"measure": "trial", "warmup": "warm-up cycle", "single": "single-user phase"}[trial.phase]
    return f"{trial.variant}, {kind} {trial.position}"


def _instances(block: Block, experiment: Experiment) -> Iterator[_Check]:
    gate = "same instance"
    for variant in experiment.variants:
        own = [i for i in block.instances if i.variant == variant]
        bad: list[str] = []
        if not own:
            bad.append("no measurement of its instance before and after the block")
        if len(own) > 1:
            bad.append(f"{len(own)} instances in one block, 1 allowed: it was restarted")
        bad += [text for instance in own for text in _ended(instance)]
        yield from (_Check(gate, variant, 1, text, f"{variant}: {text}") for text in bad)
        if not bad:
            yield _Check(gate, variant, 0, "the same")


def _ended(instance: Instance) -> Iterator[str]:
    if instance.oom_kills:
        yield f"killed for lack of memory ({instance.oom_kills} OOM kills, 0 allowed): raise limits.memory"
    if not instance.alive:
        yield f"the instance that started the block ({instance.identity}) did not last: ended or restarted"


def _level(block: Block, experiment: Experiment) -> Iterator[_Check]:
    gate, least = "warm-up levelled off", experiment.windows.warmup_cycles
    cycles = {v: [t for t in block.warmup if t.variant == v] for v in experiment.variants}
    counts = {len(own) for own in cycles.values()}
    if len(counts) > 1:
        unequal = ", ".join(f"{v} {len(own)}" for v, own in cycles.items())
        yield _Check(gate, "", 1, "unequal", f"the variants had unequal numbers of warm-up cycles: {unequal}")
    for variant, own in cycles.items():
        if len(own) < least:
            text = f"{len(own)} warm-up cycles, at least {least} needed"
            yield _Check(gate, variant, 1, text, f"{variant}: {text}")
            continue
        limits = [cpu_capacity(i) for i in block.instances if i.variant == variant]
        result = levelled(own, min(limits, default=experiment.limits.cpu))
        if result.worst is None:
            text = "no measurement of OK throughput or CPU in the warm-up"
            yield _Check(gate, variant, 2, "no measurement", f"{variant}: {text}, so it cannot be seen to level off")
            continue
        sentence: str | None = None
        if not result.ok:
            steps = " and ".join(
                f"{percent(c.throughput or 0.0, 1)} (CPU fell by {percent(c.cpu or 0.0, 1)} of its limit)"
                for c in result.gains
            )
            sentence = (
                f"{variant}: not warmed up after {len(own)} cycles: in the last two throughput rose by"
                f" {steps}, over the best before; less than {percent(MOST_GAIN)} allowed"
            )
        yield _Check(gate, variant, result.worst, percent(result.worst, 1), sentence)


def _complete(block: Block, experiment: Experiment) -> Iterator[_Check]:
    gate = "trials complete"
    ran, trials = [t.variant for t in sorted(block.trials, key=lambda t: t.position)], experiment.windows.trials
    if ran != block.order:
        text = f"the trials ran as {', '.join(ran) or 'none'}, not in the order {', '.join(block.order)}"
        yield _Check(gate, "", 1, "incomplete", text)
    elif sorted(ran) != sorted(experiment.variants * trials) or (trials == 2 and ran != ran[::-1]):
        each = "mirrored with two trials" if trials == 2 else "one trial"
        text = f"the order {', '.join(ran) or 'none'} is not {each} of each variant"
        yield _Check(gate, "", 1, "not mirrored", text)
    else:
        yield _Check(gate, "", 0, "complete")


def _drained(trial: Trial, experiment: Experiment) -> Iterator[_Check]:
    gate, where = "drained", _where(trial)
    before = trial.server.get("in_flight_before")
    if before is None:
        sentence = f"{where}: no measurement of the requests in flight before it"
        yield _Check(gate, where, float("inf"), "no measurement", sentence)
    else:
        text = f"{where}: {before:g} requests were still in flight before it, 0 allowed"
        yield _Check(gate, where, abs(before), f"{before:g}", text if before != 0 else None)


def _lost(trial: Trial, experiment: Experiment) -> Iterator[_Check]:
    gate, where = "started = completed", _where(trial)
    lost = trial.started - trial.completed
    sentence = f"{where}: {trial.started:,} requests started, {trial.completed:,} completed" if lost else None
    yield _Check(gate, where, abs(lost), f"{lost} lost", sentence)


def _answered(trial: Trial, experiment: Experiment) -> Iterator[_Check]:
    gate, where = "answered OK", _where(trial)
    excused = overloaded(trial, experiment)
    failed = {why: n for why, n in trial.failed.items() if n and not (excused and why == "timeout")}
    window = sum(failed.values())
    outside = 0 if excused else trial.failed_outside
    why = ", ".join(f"{n:,} {name}" for name, n in sorted(failed.items()))
    answered = trial.ok + window
    waited_for = trial.completed - trial.given_up
    shares = [
        (window / answered if answered else 0.0, f"in its window ({why})"),
        ((window + outside) / waited_for if waited_for else 0.0, "over the whole trial"),
    ]
    share, place = shares[0] if shares[0][0] > MOST_LOST else max(shares)
    sentence: str | None = None
    if share > MOST_LOST:
        sentence = f"{where}: {percent(1 - share, 2)} answered OK {place}"
        sentence += f", at least {percent(1 - MOST_LOST, 1)} needed"
        if set(failed) == {"timeout"} and experiment.load.model == "open":
            sentence += "; lower the rate, or the users to rate x max_response, so that an overload shows as such"
    yield _Check(gate, where, share, percent(1 - share, 2), sentence)


def _enough(trial: Trial, experiment: Experiment) -> Iterator[_Check]:
    gate, where = "answers for the primary metric", _where(trial)
    if overloaded(trial, experiment):
        return
    sentence: str | None = None
    if not trial.ok or trial.throughput <= 0:
        sentence = f"{where}: no OK answer in the window"
    elif experiment.primary == "latency_p99" and not trial.latency.p99:
        sentence = f"{where}: {trial.ok:,} OK answers are too few for a p99, {LEAST_FOR_P99:,} needed"
    yield _Check(gate, where, 1 / (1 + trial.ok), f"{trial.ok:,}", sentence)


def _generator(trial: Trial, experiment: Experiment) -> Iterator[_Check]:
    where, machine = _where(trial), trial.machine
    idle, wait = machine.get("idle_cores"), machine.get("generator_wait")
    throttled = machine.get("generator_throttled")
    # Without a quota there is nothing that could be throttled; some kernels do not count the wait (schedstat).
    if idle is None or (wait is None and throttled is None):
        sentence = f"{where}: no measurement of the load generator, so it cannot be seen to have kept up"
        yield _Check("idle cores", where, float("inf"), "no measurement", sentence)
    for gate, worst, failed, value, text in (
        (
            "idle cores",
            None if idle is None else 1 - idle,
            idle is not None and idle < LEAST_IDLE,
            percent(idle or 0.0, 1),
            f"{{}} of the cores were idle, at least {percent(LEAST_IDLE)} needed",
        ),
        (
            "generator's wait for a core",
            wait,
            wait is not None and wait > MOST_WAIT,
            f"{1000 * (wait or 0.0):.2f} ms",
            f"the load generator waited {{}} for a core each time, at most {1000 * MOST_WAIT:g} ms allowed",
        ),
        (
            "generator throttled",
            throttled,
            throttled is not None and throttled > MOST_THROTTLED,
            percent(throttled or 0.0, 1),
            f"the load generator was throttled in {{}} of its periods, at most {percent(MOST_THROTTLED)} allowed",
        ),
    ):
        if worst is not None:
            sentence = f"{where}: {text.format(value)}: the load generator was saturated"
            yield _Check(gate, where, worst, value, sentence if failed else None)
    if experiment.load.model == "open" and trial.window > 0:
        longest, late = MOST_LATE * trial.window, trial.late_max
        text = f"the load generator stalled for {late:.3g} s, at most {longest:.3g} s allowed"
        text += f" ({percent(MOST_LATE, 1)} of the window)"
        stalled = f"{where}: {text}" if late > longest else None
        yield _Check("generator on time", where, late / trial.window, f"{late:.3g} s", stalled)


def _server(trial: Trial, experiment: Experiment) -> Iterator[_Check]:
    gate, where = "server measured", _where(trial)
    if trial.server.get("cpu_cores") is None:
        sentence = f"{where}: no measurement of the server: Prometheus has no samples of this window"
        yield _Check(gate, where, 1, "no samples", sentence)
    else:
        yield _Check(gate, where, 0, "in every window")


_PER_TRIAL: tuple[Callable[[Trial, Experiment], Iterator[_Check]], ...] = (
    _drained,
    _lost,
    _answered,
    _enough,
    _generator,
    _server,
)
