"""The validity checks: what a block must show before it counts. Every reason names the value and the limit.

A value that was not measured never passes silently. What disturbs one trial rejects its whole block, since the block is
the unit of replication.

Overload. In open load, an arrival whose user is still busy is dropped. With a healthy load generator that is a finding,
not a fault: the variant is overloaded, its trial counts and its latency has no bound. Its timeouts are the same finding
and do not reject the block either; any other failure does. Failures outside the window have no recorded reason and are
not judged in an overloaded trial. Timeouts without dropped arrivals do reject: with ``users`` at most rate x
``max_response``, as experiments should have it, an overload drops arrivals before it times out. With a saturated
load generator dropped arrivals reject, because the checks of the load generator do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from vtlab.analysis.laws import cpu_capacity, demand_per_ok
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Instance, Trial
from vtlab.model.run import CheckResult
from vtlab.model.units import percent

#: Share of answers that may fail, and of arrivals that may be dropped before the variant counts as
#: overloaded.
MOST_LOST = 0.001
#: Share of the machine's cores that must be idle.
LEAST_IDLE = 0.05
#: Seconds that a ready thread of k6 waited for a core, on average over its time slices. 60 to 75 µs is usual, on an
#: idle machine too; 0.7 ms when k6 is squeezed into a tenth of a core (docs/method.md). Its delay over its own CPU
#: time does not show it: a k6 with little to do wakes thousands of times a second, each for microseconds, and waits as
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

_SATURATED = "the load generator was saturated"
_NOT_MEASURED = "no measurement"


# The table


@dataclass(frozen=True)
class Value:
    """What a check reads off one subject. ``number`` is None where it was not measured, which never passes."""

    number: float | None
    #: The value in the report's table.
    text: str
    #: The sentence that rejects the block, should the number be worse than the limit.
    reason: str
    #: Where in the block: ``virtual, trial 2``; empty for the whole block.
    where: str = ""


Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Check(Generic[Subject]):
    """One row of ``CHECKS``."""

    name: str
    #: The limit in words.
    rule: str
    #: What of a block is judged: its faults, its variants, its trials.
    subjects: Callable[[Block, Experiment], Iterable[Subject]]
    #: None where the check does not apply.
    value: Callable[[Subject, Experiment], Value | None]
    limit: float = 0
    worse: Callable[[float, float], bool] = operator.gt

    def passes(self, value: Value) -> bool:
        """Whether the value was measured and is not worse than the limit."""
        return value.number is not None and not self.worse(value.number, self.limit)


def reasons(block: Block, experiment: Experiment) -> list[str]:
    """Why this block does not count; empty when it does."""
    return [
        f"{value.where}: {value.reason}" if value.where else value.reason
        for check in CHECKS
        for value in _values(check, block, experiment)
        if not check.passes(value)
    ]


def results(blocks: Sequence[Block], experiment: Experiment) -> list[CheckResult]:
    """The worst of those blocks by each check that applies to them; lateness does not under closed load."""
    judged = []
    for check in CHECKS:
        values = [(block, value) for block in blocks for value in _values(check, block, experiment)]
        if not values:
            continue
        block, worst = max(values, key=lambda pair: _badness(check, pair[1]))
        passed = check.passes(worst)
        where = ", ".join(filter(None, [f"block {block.block}", worst.where]))
        text = worst.text if passed and not worst.number else f"{worst.text} ({where})"
        judged.append(CheckResult(check.name, check.rule, text, passed))
    return judged


def _badness(check: Check[Any], value: Value) -> tuple[bool, float]:
    """Larger is worse: values beyond the limit first, and of these what was not measured."""
    if value.number is None:
        return True, float("inf")
    beyond = abs(value.number) if check.worse is operator.ne else value.number
    return not check.passes(value), -beyond if check.worse is operator.lt else beyond


def _values(check: Check[Any], block: Block, experiment: Experiment) -> Iterator[Value]:
    # A block that broke before its first trial has nothing else to judge.
    if block.faults and not block.trials and check is not CHECKS[0]:
        return
    for subject in check.subjects(block, experiment):
        value = check.value(subject, experiment)
        if value is not None:
            yield value


# Steady state


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
class SteadyState:
    """Whether a variant has reached it, and what its last two cycles gained over the best before them."""

    reached: bool
    gains: list[Gain]
    #: The largest gain that was judged: of CPU only where it is scarce. None where it was not measured.
    worst: float | None = None


def steady_state(cycles: Sequence[Trial], cpu_limit: float) -> SteadyState:
    """Whether one variant is warm: its last two warm-up ``cycles`` gained less than 3 % over the best before.

    OK throughput X must not have risen by 3 %. Where the CPU is scarce, that is where one of the two used at least
    80 % of the limit (``cpu_limit``, cores), CPU per request D must not have fallen by 3 % of what the limit allows per
    request either, ΔD·X/limit; with a CPU-bound service that is the plain relative change. Where the CPU is not
    scarce, D keeps falling by tens of percent while the JIT compiler works on, and bounds nothing.

    Over the best before, not over the one before: while the compiler works, and on a shared machine always, cycles
    of 3 s scatter by more than 3 % around their level, and a rise from a slow cycle back to it is not warming up. At
    least three cycles are needed.
    """
    before, last = list(cycles)[:-2], list(cycles)[-2:]
    if not before:
        return SteadyState(False, [])
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
        return SteadyState(False, gains)
    worst = max((g.most if scarce else g.throughput) or 0.0 for g in gains)
    return SteadyState(worst < MOST_GAIN, gains, worst)


@dataclass(frozen=True)
class _WarmUp:
    """One variant's warm-up in one block."""

    variant: str
    cycles: list[Trial]
    instances: list[Instance]


def _warm_ups(block: Block, experiment: Experiment) -> list[_WarmUp]:
    return [
        _WarmUp(
            variant,
            [t for t in block.warmup if t.variant == variant],
            [i for i in block.instances if i.variant == variant],
        )
        for variant in experiment.variants
    ]


def _cycles(block: Block, experiment: Experiment) -> Iterator[Value]:
    """One value for each thing that is wrong with the numbers of warm-up cycles; one if nothing is."""
    warm_ups, least = _warm_ups(block, experiment), experiment.windows.warmup_cycles
    if len({len(warm_up.cycles) for warm_up in warm_ups}) > 1:
        unequal = ", ".join(f"{w.variant} {len(w.cycles)}" for w in warm_ups)
        yield Value(1, "unequal", f"the variants had unequal numbers of warm-up cycles: {unequal}")
    for warm_up in warm_ups:
        count = len(warm_up.cycles)
        text = f"{count} warm-up cycles, at least {least} needed"
        yield Value(least - count, f"{count}" if count >= least else text, text, warm_up.variant)


def _enough_cycles(block: Block, experiment: Experiment) -> list[_WarmUp]:
    return [w for w in _warm_ups(block, experiment) if len(w.cycles) >= experiment.windows.warmup_cycles]


def _steady_state(warm_up: _WarmUp, experiment: Experiment) -> Value:
    limit = min(map(cpu_capacity, warm_up.instances), default=experiment.limits.cpu)
    state = steady_state(warm_up.cycles, limit)
    if state.worst is None:
        reason = f"{_NOT_MEASURED} of OK throughput or CPU in the warm-up, so its steady state cannot be seen"
        return Value(None, _NOT_MEASURED, reason, warm_up.variant)
    steps = " and ".join(
        f"{percent(gain.throughput or 0.0, 1)} (CPU fell by {percent(gain.cpu or 0.0, 1)} of its limit)"
        for gain in state.gains
    )
    reason = (
        f"no steady state after {len(warm_up.cycles)} warm-up cycles: in the last two throughput rose by {steps},"
        f" over the best before; less than {percent(MOST_GAIN)} allowed"
    )
    return Value(state.worst, percent(state.worst, 1), reason, warm_up.variant)


def _warm(block: Block, experiment: Experiment) -> bool:
    return all(check.passes(value) for check in (_CYCLES, _STEADY_STATE) for value in _values(check, block, experiment))


# The whole block


def _faults(block: Block, _: Experiment) -> Iterator[Value]:
    yield Value(0, "no fault", "")
    for fault in block.faults:
        yield Value(1, fault, fault)


def _agreed(block: Block, _: Experiment) -> Iterator[Value]:
    reason = "the load generator stalled: its users disagreed about when a phase began"
    yield Value(not block.agreed, "yes" if block.agreed else "no", reason)


def _same_instance(block: Block, experiment: Experiment) -> Iterator[Value]:
    for variant in experiment.variants:
        problems = list(_instance_problems([i for i in block.instances if i.variant == variant]))
        yield from (Value(1, problem, problem, variant) for problem in problems)
        if not problems:
            yield Value(0, "the same", "", variant)


def _instance_problems(instances: Sequence[Instance]) -> Iterator[str]:
    if not instances:
        yield f"{_NOT_MEASURED} of its instance before and after the block"
    if len(instances) > 1:
        yield f"{len(instances)} instances in one block, 1 allowed: it was restarted"
    for instance in instances:
        if instance.oom_kills:
            yield f"killed for lack of memory ({instance.oom_kills} OOM kills, 0 allowed): raise limits.memory"
        if not instance.alive:
            yield f"the instance that started the block ({instance.identity}) did not last: ended or restarted"


def _complete(block: Block, experiment: Experiment) -> Iterator[Value]:
    if not block.trials and not _warm(block, experiment):
        return
    order, trials = [t.variant for t in sorted(block.trials, key=lambda t: t.position)], experiment.windows.trials
    in_words = ", ".join(order) or "none"
    if order != block.order:
        reason = f"the trials ran as {in_words}, not in the order {', '.join(block.order)}"
        yield Value(1, "incomplete", reason)
    elif sorted(order) != sorted(experiment.variants * trials) or (trials == 2 and order != order[::-1]):
        form = "mirrored with two trials" if trials == 2 else "one trial"
        yield Value(1, "not mirrored", f"the order {in_words} is not {form} of each variant")
    else:
        yield Value(0, "complete", "")


# A trial


def _trials(block: Block, _: Experiment) -> list[Trial]:
    return block.trials


def _under_load(block: Block, experiment: Experiment) -> list[Trial]:
    """The trials; where the warm-up went wrong before them, its last cycles, which may tell why."""
    if block.trials or _warm(block, experiment):
        return block.trials
    return [warm_up.cycles[-1] for warm_up in _warm_ups(block, experiment) if warm_up.cycles]


def _where(trial: Trial) -> str:
    kind = {"measure": "trial", "warmup": "warm-up cycle", "single": "single-user phase"}[trial.phase]
    return f"{trial.variant}, {kind} {trial.position}"


def _drained(trial: Trial, _: Experiment) -> Value:
    before = trial.server.get("in_flight_before")
    if before is None:
        return Value(None, _NOT_MEASURED, f"{_NOT_MEASURED} of the requests in flight before it", _where(trial))
    return Value(before, f"{before:g}", f"{before:g} requests were still in flight before it, 0 allowed", _where(trial))


def _lost(trial: Trial, _: Experiment) -> Value:
    lost = trial.started - trial.completed
    reason = f"{trial.started:,} requests started, {trial.completed:,} completed"
    return Value(lost, f"{lost} lost", reason, _where(trial))


def _answered(trial: Trial, experiment: Experiment) -> Value:
    excused = overloaded(trial, experiment)
    failed = {why: n for why, n in trial.failed.items() if n and not (excused and why == "timeout")}
    window = sum(failed.values())
    outside = 0 if excused else trial.failed_outside
    answered = trial.ok + window
    waited_for = trial.completed - trial.given_up
    why = ", ".join(f"{n:,} {name}" for name, n in sorted(failed.items()))
    shares = [
        (window / answered if answered else 0.0, f"in its window ({why})"),
        ((window + outside) / waited_for if waited_for else 0.0, "over the whole trial"),
    ]
    share, when = shares[0] if shares[0][0] > MOST_LOST else max(shares)
    reason = f"{percent(1 - share, 2)} answered OK {when}, at least {percent(1 - MOST_LOST, 1)} needed"
    if set(failed) == {"timeout"} and experiment.load.model == "open":
        reason += "; lower the rate, or the users to rate x max_response, so that an overload shows as such"
    return Value(share, percent(1 - share, 2), reason, _where(trial))


def _enough(trial: Trial, experiment: Experiment) -> Value | None:
    if overloaded(trial, experiment):
        return None
    number, reason = trial.ok, "no OK answer in the window"
    if not trial.ok or trial.throughput <= 0:
        number = 0
    elif experiment.primary == "latency_p99" and not trial.latency.p99:
        number = 0
        reason = f"{trial.ok:,} OK answers are too few for a p99, {LEAST_FOR_P99:,} needed"
    return Value(number, f"{trial.ok:,}", reason, _where(trial))


def _idle_cores(trial: Trial, _: Experiment) -> Value:
    idle, machine = trial.machine.get("idle_cores"), trial.machine
    # Without a quota nothing can be throttled; some kernels do not count the wait (schedstat).
    if idle is None or (machine.get("generator_wait") is None and machine.get("generator_throttled") is None):
        reason = f"{_NOT_MEASURED} of the load generator, so it cannot be seen to have kept up"
        return Value(None, _NOT_MEASURED, reason, _where(trial))
    share = percent(idle, 1)
    reason = f"{share} of the cores were idle, at least {percent(LEAST_IDLE)} needed: {_SATURATED}"
    return Value(idle, share, reason, _where(trial))


def _generator_wait(trial: Trial, _: Experiment) -> Value | None:
    wait = trial.machine.get("generator_wait")
    if wait is None:
        return None
    text = f"{1000 * wait:.2f} ms"
    reason = (
        f"the load generator waited {text} for a core each time, at most {1000 * MOST_WAIT:g} ms allowed: {_SATURATED}"
    )
    return Value(wait, text, reason, _where(trial))


def _generator_throttled(trial: Trial, _: Experiment) -> Value | None:
    throttled = trial.machine.get("generator_throttled")
    if throttled is None:
        return None
    share = percent(throttled, 1)
    reason = (
        f"the load generator was throttled in {share} of its periods, at most {percent(MOST_THROTTLED)} allowed:"
        f" {_SATURATED}"
    )
    return Value(throttled, share, reason, _where(trial))


def _late(trial: Trial, experiment: Experiment) -> Value | None:
    if experiment.load.model != "open" or trial.window <= 0:
        return None
    text = f"{trial.late_max:.3g} s"
    reason = (
        f"the load generator stalled for {text}, at most {MOST_LATE * trial.window:.3g} s allowed"
        f" ({percent(MOST_LATE, 1)} of the window)"
    )
    return Value(trial.late_max / trial.window, text, reason, _where(trial))


def _server(trial: Trial, _: Experiment) -> Value:
    if trial.server.get("cpu_cores") is None:
        reason = f"{_NOT_MEASURED} of the server: Prometheus has no samples of this window"
        return Value(None, "no samples", reason, _where(trial))
    return Value(0, "in every window", "", _where(trial))


def overloaded(trial: Trial, experiment: Experiment) -> bool:
    """Whether the variant, not the generator, failed to keep up with open load in this trial."""
    if experiment.load.model != "open" or dropped_share(trial) <= MOST_LOST:
        return False
    values = [(check, check.value(trial, experiment)) for check in _GENERATOR]
    return all(value is None or check.passes(value) for check, value in values)


def dropped_share(trial: Trial) -> float:
    """Share of the scheduled arrivals that were dropped, over the whole trial."""
    scheduled = trial.started + trial.dropped
    return trial.dropped / scheduled if scheduled else 0.0


def _block_check(name: str, rule: str, values: Callable[[Block, Experiment], Iterator[Value]]) -> Check[Value]:
    """A check whose values need the whole block: what is wrong counts 1 and more, what is right 0."""
    return Check(name, rule, values, lambda value, _: value)


_CYCLES = _block_check("warm-up cycles", "enough, and equal for all variants", _cycles)
_STEADY_STATE = Check(
    "steady state",
    f"< {percent(MOST_GAIN)} over the best before",
    _enough_cycles,
    _steady_state,
    MOST_GAIN,
    operator.ge,
)
_GENERATOR: tuple[Check[Trial], ...] = (
    Check("idle cores", f">= {percent(LEAST_IDLE)}", _under_load, _idle_cores, LEAST_IDLE, operator.lt),
    Check(
        "generator's wait for a core",
        f"<= {1000 * MOST_WAIT:g} ms each time",
        _under_load,
        _generator_wait,
        MOST_WAIT,
    ),
    Check(
        "generator throttled",
        f"<= {percent(MOST_THROTTLED)} of periods",
        _under_load,
        _generator_throttled,
        MOST_THROTTLED,
    ),
    Check("generator on time", f"<= {percent(MOST_LATE, 1)} of the window late", _under_load, _late, MOST_LATE),
)
#: Every check, in the order of the report.
CHECKS: tuple[Check[Any], ...] = (
    _block_check("nothing broke", "no fault", _faults),
    _block_check("users agreed on the phases", "always", _agreed),
    _block_check("same instance", "no restart, no OOM kill", _same_instance),
    _CYCLES,
    _STEADY_STATE,
    _block_check("trials complete", "two per variant, mirrored", _complete),
    Check("drained", "0 in flight before each trial", _trials, _drained, 0, operator.ne),
    Check("started = completed", "no request lost", _trials, _lost, 0, operator.ne),
    Check("answered OK", f">= {percent(1 - MOST_LOST, 1)}", _under_load, _answered, MOST_LOST),
    Check(
        "answers for the primary metric",
        f">= 1 (p99: {LEAST_FOR_P99:,})",
        _trials,
        _enough,
        1,
        operator.lt,
    ),
    *_GENERATOR,
    Check("server measured", "samples in every window", _trials, _server),
)


def page() -> str:
    """``docs/validity-checks.md``."""
    rows = [f"| {check.name} | {check.rule} |" for check in CHECKS]
    return "\n".join([_INTRODUCTION, "| validity check | limit |", "|---|---|", *rows, ""])


_INTRODUCTION = """# The validity checks

Generated from `lab/vtlab/analysis/checks.py` by `make generate`: do not edit this page.

A block counts if it passes every check that applies to it. [method.md](method.md) has the reasons.
"""
