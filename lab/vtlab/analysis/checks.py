"""The checks of a block, of two kinds. Every reason names the value and the limit.

*Machine*: the load generator, the machine and the lab's own parts. What disturbs one trial rejects its whole block,
since the block is the unit of replication, and the block is measured again. A value that was not measured never passes
silently.

*Service*: errors, time-outs, out of memory, a restart, no steady state, requests that do not drain, no answer. That is
the result of the variant in this block: it failed, and the block counts. What is missing of a variant because it failed
does not reject the block.

A third kind, *mark*, neither rejects nor fails: it tells which figures of a variant do not hold.

Overload. Under open load a variant that does not keep up has more requests in flight at the end of its window than at
the beginning, by more than chance, or its users are all busy and arrivals are dropped. With a healthy load generator it
is overloaded: its trial counts, and its latency has no bound. Its time-outs are the same finding and do not fail it;
any other error does. Failures outside the window have no recorded reason and are not judged in an overloaded trial.
With a saturated load generator dropped arrivals reject, because the checks of the load generator do.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from vtlab.analysis.laws import cpu_capacity, demand_per_ok, response_alone
from vtlab.model import units
from vtlab.model.experiment import ClosedLoad, Experiment
from vtlab.model.records import Block, Counts, Failure, Instance, Trial
from vtlab.model.run import CheckResult
from vtlab.model.units import percent
from vtlab.planning.plan import mirrored

Kind = Literal["machine", "service", "mark"]

#: Share of arrivals that may be dropped before the variant counts as overloaded.
MOST_DROPPED = 0.001
#: Requests in flight that may be added within a window, as a share of its arrivals, and in standard deviations of the
#: difference of two counts by chance.
MOST_ADDED = 0.01
ADDED_BY_CHANCE = 3.0
#: Share of the machine's cores that must be idle.
LEAST_IDLE = 0.05
#: Seconds that a ready thread of k6 waited for a core, on average over its time slices. 60 to 75 µs is usual, on an
#: idle machine too; 0.7 ms when k6 is squeezed into a tenth of a core (docs/explanation/method-details.md). Its delay
#: over its own CPU time does not show it: a k6 with little to do wakes thousands of times a second, each for
#: microseconds, and waits as long as it runs.
MOST_WAIT = 0.0005
#: Share of k6's quota periods in which it was throttled.
MOST_THROTTLED = 0.05
#: Longest lateness of the generator under open load, as a share of the window, and the share of the arrivals that all
#: its stalls together may make late. A stall of that length makes as large a share of the arrivals late. Latency
#: counts from when an arrival was due: no speed-up is faked; up to 1 % late arrivals the p99 is not yet one of them,
#: beyond it the stall would be measured instead.
MOST_LATE = 0.01
#: Share of the CPU limit from which on the CPU counts as scarce in the warm-up.
SCARCE = 0.8
#: Gain of each of the last two warm-up cycles over the best before, in OK throughput and in the CPU budget.
MOST_GAIN = 0.03
#: Warm-up cycles that must have run with the trials' own load under their CPU limit: two are judged by one before, or,
#: where a first part with more CPU has warmed the code, one by the other.
LEAST_CYCLES, LEAST_AFTER_RAISED = 3, 2
#: Answers for a p99: ten must lie beyond it.
LEAST_FOR_P99 = 1000
#: Share of the cores' time that the hypervisor may give to others.
MOST_STEAL = 0.01
#: Share of the window in which a thread of the server may stand ready without a core, other than by its quota.
MOST_CORE_WAIT = 0.01
#: Cores that the JIT compiler's threads may use where requests lack the CPU that they take: in the warm-up's last cycle
#: for it to end, and in a trial's window. There it marks the block and does not reject it: in ``cpu`` bursts of 0.1 to
#: 0.2 cores come long after the compiler rested, in most blocks.
MOST_JIT = 0.05
#: Rise of a variant's throughput from its first to its last trial of a block. While it rises by g, the mean of its two
#: trials is g/2 below the last: here as much as the margin. The two trials of ``cpu`` differ by a standard deviation
#: of 3 %, so that fewer than 1 in 1,000 healthy variants rises as much. A fall is no warming up.
MOST_RISE = 0.10
#: Users that Little's law may leave unaccounted for, as a share, beside those that a window's edges cut off.
MOST_MISSING = 0.10
#: Rounds of a user that a window must hold, where the experiment says nothing of rounds; and how many times longer than
#: alone a request takes that waits for others.
LEAST_ROUNDS, QUEUED = 2, 2.0
#: Answers are alike where so many are not longer than that many times the median: then users keep their places.
ALIKE = 1.2

_SATURATED = "the load generator was saturated"
_NOT_MEASURED = "no measurement"


# The table


@dataclass(frozen=True)
class Value:
    """What a check reads off one subject. ``number`` is None where it was not measured, which never passes."""

    number: float | None
    #: The value in the report's table.
    text: str
    #: What rejects the block or fails the variant, should the number be worse than the limit.
    reason: str
    #: Whose; empty for the whole block.
    variant: str = ""
    #: Where in the block: ``trial 2``; empty for all of it.
    moment: str = ""
    #: Replaces the check's limit.
    limit: float | None = None

    @property
    def where(self) -> str:
        """``virtual, trial 2``; empty for the whole block."""
        return ", ".join(filter(None, (self.variant, self.moment)))


Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Check(Generic[Subject]):
    """One row of ``CHECKS``."""

    name: str
    kind: Kind
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
        limit = self.limit if value.limit is None else value.limit
        return value.number is not None and not self.worse(value.number, limit)


def reasons(block: Block, experiment: Experiment) -> list[str]:
    """Why this block does not count; empty when it does."""
    return [f"{v.where}: {v.reason}" if v.where else v.reason for v in _beyond("machine", block, experiment)]


def failures(block: Block, experiment: Experiment) -> list[Failure]:
    """What failed variants in this block, the cause before what followed from it; at least one for each that failed."""
    return [
        Failure(variant=value.variant, reason=value.reason, moment=value.moment or "in the block")
        for value in _beyond("service", block, experiment)
    ]


def failed(block: Block, experiment: Experiment) -> set[str]:
    """The variants that failed in this block."""
    return {failure.variant for failure in failures(block, experiment)}


def _beyond(kind: Kind, block: Block, experiment: Experiment) -> Iterator[Value]:
    """The values that the checks of a kind do not let pass."""
    for check in CHECKS:
        if check.kind == kind:
            yield from (value for value in _values(check, block, experiment) if not check.passes(value))


def generator_limits(block: Block, experiment: Experiment) -> list[str]:
    """What of the load generator or its machine was at its end in a block's trials, in words."""
    return [
        f"{check.name} {value.text}"
        for check in _GENERATOR
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

    OK throughput X must not have risen by 3 % and one answer, for a slow variant counts few. Where the CPU is scarce,
    that is where one of the two used at least 80 % of the limit (``cpu_limit``, cores), CPU per request D must not have
    fallen by 3 % of what the limit allows per request either, ΔD·X/limit; with a CPU-bound service that is the plain
    relative change. Where the CPU is not scarce, D keeps falling by tens of percent while the JIT compiler works on,
    and bounds nothing.

    Over the best before, not over the one before: while the compiler works, and on a shared machine always, cycles
    of 3 s scatter by more than 3 % around their level, and a rise from a slow cycle back to it is not warming up. Of
    two cycles the second is judged by the first; one tells nothing.
    """
    judged = 1 if len(cycles) == 2 else 2
    before, last = list(cycles)[:-judged], list(cycles)[-judged:]
    if not before:
        return SteadyState(False, [])
    best = max(t.throughput for t in before)
    # A JVM that starts may be too busy to be scraped: the best before is the best of those measured.
    least = min((d for d in (demand_per_ok([t], "cpu_cores") for t in before) if d is not None), default=None)
    gains = []
    for trial in last:
        d = demand_per_ok([trial], "cpu_cores")
        cpu = None if d is None or least is None else (least - d) * trial.throughput / cpu_limit
        gains.append(Gain(_rise(trial, best), cpu))
    used = [u for u in (t.server.get("cpu_cores") for t in last) if u is not None]
    scarce = max(used, default=0.0) >= SCARCE * cpu_limit
    if any(g.most is None for g in gains):
        return SteadyState(False, gains)
    worst = max((g.most if scarce else g.throughput) or 0.0 for g in gains)
    return SteadyState(worst < MOST_GAIN, gains, worst)


def _rise(trial: Trial, best: float) -> float | None:
    """Of throughput over the best before; one answer more is none."""
    if best <= 0 or not trial.ok or trial.throughput <= 0:
        return None
    rise = trial.throughput / best - 1
    return rise if rise <= 0 else max(0.0, rise - trial.throughput / trial.ok / best)


def is_compiled(trial: Trial, experiment: Experiment) -> bool:
    """Whether the JIT compiler took nothing from the requests: it rested, or the CPU was not scarce. True where its CPU
    time is not known."""
    return not _is_scarce(trial, experiment) or (trial.server.get("jit_cpu") or 0.0) <= MOST_JIT


def _is_scarce(trial: Trial, experiment: Experiment) -> bool:
    limit = trial.server.get("cpu_limit") or experiment.limits.cpu
    return (trial.server.get("cpu_cores") or 0.0) >= SCARCE * limit


def own_load(cycles: Sequence[Trial], experiment: Experiment) -> list[Trial]:
    """Of one variant's warm-up cycles those that judge its steady state: those with the load and the CPU limit of its
    trials, which come after the cheaper ones."""
    return [t for t in list(cycles)[experiment.windows.warmup_cycles :] if t.raised_cpu is None]


def least_cycles(cycles: Sequence[Trial]) -> int:
    """How many cycles must judge the steady state of a variant with this warm-up."""
    return LEAST_CYCLES if all(t.raised_cpu is None for t in cycles) else LEAST_AFTER_RAISED


@dataclass(frozen=True)
class _WarmUp:
    """One variant's warm-up in one block."""

    variant: str
    cycles: list[Trial]
    #: Those that judge its steady state.
    judged: list[Trial]
    #: Cores that it may use.
    cpu_limit: float

    @property
    def state(self) -> SteadyState:
        """By the cycles that judge it."""
        return steady_state(self.judged, self.cpu_limit)


def _warm_up(block: Block, experiment: Experiment, variant: str) -> _WarmUp:
    cycles = [t for t in block.warmup if t.variant == variant]
    limits = [cpu_capacity(i) for i in block.instances if i.variant == variant]
    return _WarmUp(variant, cycles, own_load(cycles, experiment), min(limits, default=experiment.limits.cpu))


def _cycles(block: Block, experiment: Experiment) -> Iterator[Value]:
    """One value for each thing that is wrong with the numbers of warm-up cycles; one if nothing is."""
    warm_ups = [_warm_up(block, experiment, variant) for variant in _sound(block, experiment)]
    if len({len(warm_up.cycles) for warm_up in warm_ups}) > 1:
        unequal = ", ".join(f"{w.variant} {len(w.cycles)}" for w in warm_ups)
        yield Value(1, "unequal", f"the variants had unequal numbers of warm-up cycles: {unequal}")
    for warm_up in warm_ups:
        count = len(warm_up.cycles)
        least = experiment.windows.warmup_cycles + least_cycles(warm_up.cycles)
        text = f"{count} warm-up cycles, at least {least} needed"
        yield Value(least - count, f"{count}" if count >= least else text, text, warm_up.variant)


def _warm_up_measured(block: Block, experiment: Experiment) -> Iterator[Value]:
    for variant in _sound(block, experiment):
        warm_up = _warm_up(block, experiment, variant)
        if any(map(_answered_late, warm_up.cycles)):
            continue
        known = all(gain.cpu is not None for gain in warm_up.state.gains)
        reason = f"{_NOT_MEASURED} of its CPU in the warm-up, so its steady state cannot be seen"
        yield Value(0 if known else None, "every cycle" if known else _NOT_MEASURED, reason, variant)


def _enough_cycles(block: Block, experiment: Experiment) -> list[_WarmUp]:
    warm_ups = [_warm_up(block, experiment, variant) for variant in experiment.variants]
    return [w for w in warm_ups if len(w.judged) >= least_cycles(w.cycles)]


def _steady_state(warm_up: _WarmUp, _: Experiment) -> Value | None:
    if any(map(_answered_late, warm_up.cycles)):
        return None
    state, moment = warm_up.state, "the warm-up"
    if any(gain.throughput is None for gain in state.gains):
        reason = f"no OK answer in some of {len(warm_up.cycles)} warm-up cycles"
        return Value(math.inf, "no OK answer", reason, warm_up.variant, moment)
    if state.worst is None:
        return None
    steps = " and ".join(
        f"{percent(gain.throughput or 0.0, 1)} (CPU fell by {percent(gain.cpu or 0.0, 1)} of its limit)"
        for gain in state.gains
    )
    last = "the last two" if len(state.gains) == 2 else "the last"
    reason = (
        f"no steady state after {len(warm_up.cycles)} warm-up cycles: in {last} throughput rose by {steps},"
        f" over the best before; less than {percent(MOST_GAIN)} allowed"
    )
    return Value(state.worst, percent(state.worst, 1), reason, warm_up.variant, moment)


# The whole block


def _faults(block: Block, _: Experiment) -> Iterator[Value]:
    yield Value(0, "no fault", "")
    for fault in block.faults:
        yield Value(1, fault, fault)


def _agreed(block: Block, _: Experiment) -> Iterator[Value]:
    reason = "the load generator stalled: its users disagreed about when a phase began"
    yield Value(not block.agreed, "yes" if block.agreed else "no", reason)


def _lasted(block: Block, experiment: Experiment) -> Iterator[Value]:
    for failure in block.failures:
        yield Value(1, failure.reason, failure.reason, failure.variant, failure.moment)
    broke = {failure.variant for failure in block.failures}
    for variant in (name for name in experiment.variants if name not in broke):
        problems = list(_instance_problems([i for i in block.instances if i.variant == variant]))
        yield from (Value(1, problem, problem, variant, "by the end of the block") for problem in problems)
        if not problems:
            yield Value(0, "the same", "", variant)


def _instance_problems(instances: Sequence[Instance]) -> Iterator[str]:
    if len(instances) > 1:
        yield f"{len(instances)} instances in one block, 1 allowed: it was restarted"
    for instance in instances:
        if instance.oom_kills:
            yield f"killed for lack of memory ({instance.oom_kills} OOM kills, 0 allowed): raise limits.memory"
        elif not instance.alive:
            yield f"the instance that started the block ({instance.identity}) did not last: ended or restarted"


def _known(block: Block, experiment: Experiment) -> Iterator[Value]:
    for variant in _sound(block, experiment):
        known = any(instance.variant == variant for instance in block.instances)
        reason = f"{_NOT_MEASURED} of its instance before and after the block"
        yield Value(0 if known else None, "all" if known else _NOT_MEASURED, reason, variant)


def _sound(block: Block, experiment: Experiment) -> list[str]:
    """The variants that did not fail in this block: only of these can something be missing."""
    broken = failed(block, experiment)
    return [variant for variant in experiment.variants if variant not in broken]


def _complete(block: Block, experiment: Experiment) -> Iterator[Value]:
    sound, explained = _sound(block, experiment), (_LENGTH, _CYCLES, _MEASURED)
    if not block.trials and any(
        not check.passes(value) for check in explained for value in _values(check, block, experiment)
    ):
        return
    in_order = [t.variant for t in sorted(block.trials, key=lambda t: t.position) if t.variant in sound]
    planned, trials = [variant for variant in block.order if variant in sound], experiment.windows.trials
    in_words = ", ".join(in_order) or "none"
    if in_order != planned:
        reason = f"the trials ran as {in_words}, not in the order {', '.join(planned)}"
        yield Value(1, "incomplete", reason)
    elif sorted(in_order) != sorted(sound * trials) or in_order != mirrored(in_order[: len(sound)], trials):
        form = {1: "one trial", 2: "mirrored with two trials", 4: "mirrored with four trials"}[trials]
        yield Value(1, "not mirrored", f"the order {in_words} is not {form} of each variant")
    else:
        yield Value(0, "complete", "")


# A trial


def _trials(block: Block, _: Experiment) -> list[Trial]:
    return block.trials


def _sound_trials(block: Block, experiment: Experiment) -> list[Trial]:
    sound = _sound(block, experiment)
    return [t for t in block.trials if t.variant in sound]


def _under_load(block: Block, experiment: Experiment) -> list[Trial]:
    """The trials; of a variant that had none the last warm-up cycle, which may tell why."""
    idle = [variant for variant in experiment.variants if not any(t.variant == variant for t in block.trials)]
    cycles = [_warm_up(block, experiment, variant).cycles for variant in idle]
    return [*block.trials, *(each[-1] for each in cycles if each)]


def _of_scripts(block: Block, experiment: Experiment) -> list[Trial]:
    """Those of a user's script."""
    return [trial for trial in _under_load(block, experiment) if trial.checks or trial.requests]


def _moment(trial: Trial) -> str:
    return f"trial {trial.position}" if trial.phase == "measure" else "the last warm-up cycle"


def _lost(trial: Trial, _: Experiment) -> Value:
    lost = trial.started - trial.completed
    reason = f"{trial.started:,} requests started, {trial.completed:,} completed"
    return Value(lost, f"{lost} lost", reason, trial.variant, _moment(trial))


def _answered(trial: Trial, experiment: Experiment) -> Value:
    excused = overloaded(trial, experiment)
    errors = {why: n for why, n in trial.failed.items() if n and not (excused and why == "timeout")}
    window = sum(errors.values())
    outside = 0 if excused else trial.failed_outside
    answered = trial.ok + window
    waited_for = trial.completed - trial.given_up
    why = ", ".join(f"{n:,} {name}" for name, n in sorted(errors.items()))
    shares = [
        (window / answered if answered else 0.0, f"in the window ({why})" if why else "in the window"),
        ((window + outside) / waited_for if waited_for else 0.0, "over the whole trial"),
    ]
    most = experiment.max_errors
    share, when = shares[0] if shares[0][0] > most else max(shares)
    reason = f"{percent(share, 2)} of the answers were errors {when}, at most {percent(most, 2)} allowed"
    return Value(share, percent(share, 2), reason, trial.variant, _moment(trial), limit=most)


def _script_checks(trial: Trial, experiment: Experiment) -> Value:
    """Of a user's own script; nothing failed where there is none."""
    return _of_script(trial.checks, "the script's checks", trial, experiment)


def _script_requests(trial: Trial, experiment: Experiment) -> Value:
    return _of_script(trial.requests, "the script's requests", trial, experiment)


def _of_script(counts: Counts | None, what: str, trial: Trial, experiment: Experiment) -> Value:
    most = experiment.max_errors
    share = counts.share_failed if counts else 0.0
    reason = f"{percent(share, 2)} of {what} failed, at most {percent(most, 2)} allowed"
    return Value(share, percent(share, 2), reason, trial.variant, _moment(trial), limit=most)


def _answered_late(trial: Trial) -> bool:
    """Whether every answer was OK and none came within the window: the window is too short, which is no failure."""
    failed = sum(trial.failed.values()) + trial.failed_outside + trial.given_up
    return not trial.ok and not failed and trial.completed > 0


def _long_enough(block: Block, experiment: Experiment) -> Iterator[Value]:
    """One value of each variant: of the first window that is too short, if one is."""
    for variant in experiment.variants:
        late = next((t for t in (*block.warmup, *block.trials) if t.variant == variant and _answered_late(t)), None)
        if late is None:
            yield Value(0, "every window", "", variant)
            continue
        key = "measure" if late.phase == "measure" else "warmup_load"
        reason = f"every answer came after the window of {late.window:g} s: raise windows.{key}"
        moment = _moment(late) if late.phase == "measure" else "the warm-up"
        yield Value(1, "answers take longer", reason, variant, moment)


def _some_answer(trial: Trial, _: Experiment) -> Value | None:
    if _answered_late(trial):
        return None
    return Value(trial.ok, f"{trial.ok:,}", "no OK answer in the window", trial.variant, _moment(trial))


def _enough(trial: Trial, experiment: Experiment) -> Value | None:
    if experiment.primary != "latency_p99" or overloaded(trial, experiment):
        return None
    reason = f"{trial.ok:,} OK answers are too few for a p99, {LEAST_FOR_P99:,} needed"
    number = trial.ok if trial.latency.p99 else 0
    return Value(number, f"{trial.ok:,}", reason, trial.variant, _moment(trial))


def _whole_rounds(block: Block, experiment: Experiment) -> Iterator[Value]:
    """Rounds of a user in each window, where the experiment says nothing of them (``load.round``) and a request takes
    about as long as alone. Where it waits for others the service is busy throughout, and a part of a round counts
    right."""
    load = experiment.load
    if not isinstance(load, ClosedLoad) or load.round:
        return
    for trial in _sound_trials(block, experiment):
        alone = response_alone([t for t in block.single if t.variant == trial.variant])
        mean = trial.latency.mean
        if trial.phase != "measure" or mean is None or alone is None or mean > QUEUED * alone:
            continue
        seconds = mean + load.mean_think_time
        rounds = trial.window / seconds
        reason = (
            f"a window of {trial.window:.3g} s holds {rounds:.1f} rounds of a user, who takes {seconds:.3g} s,"
            f" {LEAST_ROUNDS} needed: lengthen windows.measure to at least {math.ceil(LEAST_ROUNDS * seconds)}s"
        )
        yield Value(rounds, f"{rounds:,.1f}", reason, trial.variant, _moment(trial))


# What a variant leaves in flight


@dataclass(frozen=True)
class _Before:
    """What one trial found in flight in the servers, and the phases that can have left it there."""

    trial: Trial
    #: The last phase before the trial of each variant that may go on with requests whose client gave them up.
    left: list[Trial]


def _before(block: Block, _: Experiment) -> list[_Before]:
    phases = sorted((*block.warmup, *block.single, *block.trials), key=lambda phase: phase.begin)
    found = []
    for trial in block.trials:
        last = {phase.variant: phase for phase in phases if phase.begin < trial.begin}
        left = [phase for phase in last.values() if phase.failed.get("timeout") or phase.failed_outside]
        found.append(_Before(trial, left))
    return found


def _drained(block: Block, experiment: Experiment) -> Iterator[Value]:
    for before in _before(block, experiment):
        in_flight = before.trial.server.get("in_flight_before")
        if in_flight is None:
            continue
        reason = f"{in_flight:g} of its requests were still in flight when the next trial began, 0 allowed"
        for variant in [phase.variant for phase in before.left] or [before.trial.variant]:
            yield Value(in_flight, f"{in_flight:g}", reason, variant, f"before trial {before.trial.position}")


def _drain_measured(block: Block, experiment: Experiment) -> Iterator[Value]:
    """Not judged where a variant that failed or was overloaded may have left something: that is its result already."""
    broken = failed(block, experiment)
    for before in _before(block, experiment):
        trial = before.trial
        if trial.variant in broken or any(p.variant in broken or overloaded(p, experiment) for p in before.left):
            continue
        known = trial.server.get("in_flight_before") is not None
        reason = f"{_NOT_MEASURED} of the requests in flight before it"
        text = "before every trial" if known else _NOT_MEASURED
        yield Value(0 if known else None, text, reason, trial.variant, _moment(trial))


# The generator and the machine


def _idle_cores(trial: Trial, _: Experiment) -> Value:
    idle, machine = trial.machine.get("idle_cores"), trial.machine
    # Without a quota nothing can be throttled; some kernels do not count the wait (schedstat).
    if idle is None or (machine.get("generator_wait") is None and machine.get("generator_throttled") is None):
        reason = f"{_NOT_MEASURED} of the load generator, so it cannot be seen to have kept up"
        return Value(None, _NOT_MEASURED, reason, trial.variant, _moment(trial))
    share = percent(idle, 1)
    reason = f"{share} of the cores were idle, at least {percent(LEAST_IDLE)} needed: {_SATURATED}"
    return Value(idle, share, reason, trial.variant, _moment(trial))


def _generator_wait(trial: Trial, _: Experiment) -> Value | None:
    wait = trial.machine.get("generator_wait")
    if wait is None:
        return None
    text = f"{1000 * wait:.2f} ms"
    reason = (
        f"the load generator waited {text} for a core each time, at most {1000 * MOST_WAIT:g} ms allowed: {_SATURATED}"
    )
    return Value(wait, text, reason, trial.variant, _moment(trial))


def _generator_throttled(trial: Trial, _: Experiment) -> Value | None:
    throttled = trial.machine.get("generator_throttled")
    if throttled is None:
        return None
    share = percent(throttled, 1)
    reason = (
        f"the load generator was throttled in {share} of its periods, at most {percent(MOST_THROTTLED)} allowed:"
        f" {_SATURATED}"
    )
    return Value(throttled, share, reason, trial.variant, _moment(trial))


def _late(trial: Trial, experiment: Experiment) -> Value | None:
    if experiment.load.model != "open" or trial.window <= 0:
        return None
    text = f"{trial.late_max:.3g} s"
    reason = (
        f"the load generator stalled for {text}, at most {MOST_LATE * trial.window:.3g} s allowed"
        f" ({percent(MOST_LATE, 1)} of the window)"
    )
    return Value(trial.late_max / trial.window, text, reason, trial.variant, _moment(trial))


def _late_arrivals(trial: Trial, experiment: Experiment) -> Value | None:
    if experiment.load.model != "open" or not trial.started:
        return None
    share = trial.late_arrivals / trial.started
    reason = (
        f"the load generator sent {percent(share, 1)} of the arrivals late, at most {percent(MOST_LATE, 1)} allowed:"
        f" {_SATURATED}"
    )
    return Value(share, percent(share, 1), reason, trial.variant, _moment(trial))


def _server(trial: Trial, _: Experiment) -> Value:
    if trial.server.get("cpu_cores") is None:
        reason = f"{_NOT_MEASURED} of the server: Prometheus has no samples of this window"
        return Value(None, "no samples", reason, trial.variant, _moment(trial))
    return Value(0, "in every window", "", trial.variant, _moment(trial))


def _steal(trial: Trial, _: Experiment) -> Value | None:
    steal = trial.machine.get("steal")
    if steal is None:
        return None
    share = percent(steal, 1)
    reason = f"the hypervisor gave {share} of the cores' time to others, at most {percent(MOST_STEAL)} allowed"
    return Value(steal, share, reason, trial.variant, _moment(trial))


def _core_wait(trial: Trial, _: Experiment) -> Value | None:
    wait = trial.server.get("core_wait")
    if wait is None:
        return None
    share = percent(wait, 1)
    reason = (
        f"the server stood ready without a core for {share} of the window, at most {percent(MOST_CORE_WAIT)} allowed:"
        " something else used the cores"
    )
    return Value(wait, share, reason, trial.variant, _moment(trial))


# Warmth


def _jit(trial: Trial, experiment: Experiment) -> Value | None:
    cores = trial.server.get("jit_cpu")
    if cores is None or not _is_scarce(trial, experiment):
        return None
    reason = (
        f"the JIT compiler still used {cores:.3f} cores, more than {MOST_JIT:g}, where the CPU was scarce: the warm-up"
        " was too short"
    )
    return Value(cores, f"{cores:.3f} cores", reason, trial.variant, _moment(trial))


def _trend(block: Block, experiment: Experiment) -> Iterator[Value]:
    """Of throughput from the first half of a variant's trials to the other, less what the counts allow. Under open load
    throughput is that of the arrivals."""
    if not isinstance(experiment.load, ClosedLoad):
        return
    for variant in _sound(block, experiment):
        trials = sorted((t for t in block.trials if t.variant == variant), key=lambda t: t.position)
        half = len(trials) // 2
        first, last = trials[:half], trials[len(trials) - half :]
        answers = [sum(t.ok for t in part) for part in (first, last)]
        if not all(answers):
            continue
        rise = math.fsum(t.throughput for t in last) / math.fsum(t.throughput for t in first) - 1
        parts = "trial" if half == 1 else f"{half} trials"
        reason = (
            f"throughput rose by {percent(rise, 1)} from its first to its last {parts}, at most {percent(MOST_RISE)}"
            " allowed: it was still warming up"
        )
        yield Value(rise - sum(1 / count for count in answers), percent(rise, 1), reason, variant)


# Which figures hold


def missing_users(trial: Trial, experiment: Experiment) -> float | None:
    """Users that the answers of a closed trial do not account for; None where they account for all within 10 % and what
    the window's edges cut off, or under open load. Below 0 where they account for more users than there are.

    Little's law: N = X·(R+Z). A user whose answer is an error waits for it as others do, one that times out waits for
    ``max_response``.
    """
    load = experiment.load
    if not isinstance(load, ClosedLoad) or trial.window <= 0 or _is_unsettled(trial):
        return None
    think, longest = load.mean_think_time, units.seconds(experiment.max_response)
    timeouts = trial.failed.get("timeout", 0)
    errors = sum(trial.failed.values()) - timeouts
    waited = (trial.ok + errors) * ((trial.latency.mean or 0.0) + think) + timeouts * (longest + think)
    missing = trial.users - waited / trial.window
    return missing if abs(missing) > (MOST_MISSING + _cut_off(trial, load)) * trial.users else None


def _is_unsettled(trial: Trial) -> bool:
    """Whether throughput was steady in the window and latency was not, which is then not recorded."""
    return trial.ok > 0 and not trial.latency.count


def _cut_off(trial: Trial, load: ClosedLoad) -> float:
    """The share of the users that a healthy window may count too few or too many, because it cuts rounds at its edges.

    The answers in it account for what users waited before it, and not for what they wait at its end. These differ by a
    round of each user at most where all begin together, as without a known round. Where rounds differ they do by
    chance: a user has waited for one round on average with as much standard deviation, at either edge. Users who are
    spread over a round and keep their places wait as long at both, but for the share by which that round was another.
    """
    latency = trial.latency
    seconds = (latency.mean or 0.0) + load.mean_think_time
    alike = latency.p50 is not None and latency.p90 is not None and latency.p90 <= ALIKE * latency.p50
    by_chance = 0.0 if alike and not load.is_think_time_exponential else 3 * math.sqrt(2 / trial.users)
    together = 0.0 if trial.variant in load.round else 1.0
    if trial.round is not None and seconds:
        together = min(together, abs(trial.round / seconds - 1))
    return seconds / trial.window * max(by_chance, together)


def _little(trial: Trial, experiment: Experiment) -> Value | None:
    if not isinstance(experiment.load, ClosedLoad) or _is_unsettled(trial):
        return None
    missing = missing_users(trial, experiment)
    if missing is None:
        return Value(0, "all users", "", trial.variant, _moment(trial))
    off = abs(missing) / trial.users
    text = f"{abs(missing):,.0f} users {'missing' if missing > 0 else 'too many'}"
    reason = f"the answers account for {trial.users - missing:,.0f} of {trial.users:,} users"
    return Value(off, text, reason, trial.variant, _moment(trial))


def growths(trials: Sequence[Trial], experiment: Experiment) -> list[float]:
    """The growth of each of a variant's trials in which it fell behind; none where that is chance.

    A queue that comes and goes, as of a CPU that is used to nine tenths, adds more to some windows than the limit of
    one trial and takes as much away in others. Without dropped arrivals a variant falls behind only where all its
    trials together add more than their limit. The two trials of a block have the same arrivals.

    Where they do, that it falls behind is no chance, and each trial counts that added more than its share of arrivals:
    with 5 % too much load hardly one does not. (Of four that fall behind alike one often stays below its own limit. A
    single trial that added a lot makes the others count only if they grew, too.)
    """
    allowed = [(t, limits) for t in trials if (limits := _most_added(t, experiment))]
    added = sum(_added(t) for t, _ in allowed)
    alike = min(experiment.windows.trials, len(trials))
    by_chance = math.sqrt(alike * math.fsum(chance**2 for _, (_, chance) in allowed))
    is_growing = added > math.fsum(share for _, (share, _) in allowed) + by_chance
    grown = [_growth(t, experiment, share if is_growing else math.inf) for t, (share, _) in allowed]
    return [g for g in grown if g is not None]


def growth(trial: Trial, experiment: Experiment) -> float | None:
    """Requests per second by which a variant falls behind an open load: those in flight that its window added, or,
    where arrivals were dropped, those that were due and not completed. None where it keeps up, and where the generator
    did not.

    It falls behind where the window added more than 1 % of its arrivals and three standard deviations of what chance
    adds (the number in flight varies by √(rate·R), the difference of two by √2 of that), or arrivals were dropped.
    """
    limits = _most_added(trial, experiment)
    return None if limits is None else _growth(trial, experiment, sum(limits))


def fell_behind(trial: Trial, experiment: Experiment) -> bool:
    """Whether an open trial added more than its limit, or dropped arrivals, whatever the reason."""
    limits = _most_added(trial, experiment)
    return limits is not None and (_added(trial) > sum(limits) or dropped_share(trial) > MOST_DROPPED)


def _growth(trial: Trial, experiment: Experiment, most: float) -> float | None:
    has_dropped = dropped_share(trial) > MOST_DROPPED
    if _added(trial) <= most and not has_dropped:
        return None
    values = [(check, check.value(trial, experiment)) for check in _GENERATOR]
    if any(value is not None and not check.passes(value) for check, value in values):
        return None
    if not has_dropped:
        return _added(trial) / trial.window
    # Arrivals are dropped before the window, too: how many in it is not counted.
    completed = trial.ok + sum(trial.failed.values())
    return max(0.0, _rate(trial, experiment) - completed / trial.window)


def _most_added(trial: Trial, experiment: Experiment) -> tuple[float, float] | None:
    """Requests that the window of an open load may add to those in flight: a share of its arrivals, and by chance."""
    if isinstance(experiment.load, ClosedLoad) or trial.window <= 0:
        return None
    rate = _rate(trial, experiment)
    response = units.seconds(experiment.max_response) if trial.latency.mean is None else trial.latency.mean
    return MOST_ADDED * rate * trial.window, ADDED_BY_CHANCE * math.sqrt(2 * rate * response)


def _added(trial: Trial) -> int:
    return trial.in_flight.end - trial.in_flight.start


def _rate(trial: Trial, experiment: Experiment) -> float:
    load = experiment.load
    return 0.0 if isinstance(load, ClosedLoad) else trial.rate or load.rate


def overloaded(trial: Trial, experiment: Experiment) -> bool:
    """Whether the variant, not the generator, failed to keep up with open load in this trial."""
    return growth(trial, experiment) is not None


def dropped_share(trial: Trial) -> float:
    """Share of the scheduled arrivals that were dropped, over the whole trial."""
    scheduled = trial.started + trial.dropped
    return trial.dropped / scheduled if scheduled else 0.0


def _block_check(
    name: str, kind: Kind, rule: str, values: Callable[[Block, Experiment], Iterator[Value]], limit: float = 0
) -> Check[Value]:
    """A check whose values need the whole block. Without a limit what is wrong counts 1 and more, what is right 0."""
    return Check(name, kind, rule, values, lambda value, _: value, limit)


_LENGTH = _block_check("windows", "machine", "as long as an answer takes", _long_enough)
_CYCLES = _block_check("warm-up cycles", "machine", "enough, and equal for all variants", _cycles)
_MEASURED = _block_check("warm-up measured", "machine", "in every cycle that is judged", _warm_up_measured)
_GENERATOR: tuple[Check[Trial], ...] = (
    Check("idle cores", "machine", f">= {percent(LEAST_IDLE)}", _under_load, _idle_cores, LEAST_IDLE, operator.lt),
    Check(
        "generator's wait for a core",
        "machine",
        f"<= {1000 * MOST_WAIT:g} ms each time",
        _under_load,
        _generator_wait,
        MOST_WAIT,
    ),
    Check(
        "generator throttled",
        "machine",
        f"<= {percent(MOST_THROTTLED)} of periods",
        _under_load,
        _generator_throttled,
        MOST_THROTTLED,
    ),
    Check(
        "generator on time", "machine", f"<= {percent(MOST_LATE, 1)} of the window late", _under_load, _late, MOST_LATE
    ),
    Check(
        "arrivals on time",
        "machine",
        f"<= {percent(MOST_LATE, 1)} of them 20 ms late",
        _under_load,
        _late_arrivals,
        MOST_LATE,
    ),
)
#: Every check, in the order of the report.
CHECKS: tuple[Check[Any], ...] = (
    _block_check("nothing broke", "machine", "no fault", _faults),
    _block_check("users agreed on the phases", "machine", "always", _agreed),
    _block_check("instances known", "machine", "one of each variant", _known),
    _LENGTH,
    _CYCLES,
    _MEASURED,
    _block_check("trials complete", "machine", "all of each variant, mirrored where there are two or four", _complete),
    _block_check("drain measured", "machine", "before each trial", _drain_measured),
    Check("started = completed", "machine", "no request lost", _trials, _lost, 0, operator.ne),
    Check("answers for a p99", "machine", f">= {LEAST_FOR_P99:,}", _sound_trials, _enough, 1, operator.lt),
    Check(
        "rounds in a window",
        "machine",
        f">= {LEAST_ROUNDS} of a user, without load.round and queues",
        _whole_rounds,
        lambda value, _: value,
        LEAST_ROUNDS,
        operator.lt,
    ),
    *_GENERATOR,
    Check("steal", "machine", f"<= {percent(MOST_STEAL)} of the cores' time", _under_load, _steal, MOST_STEAL),
    Check(
        "server's wait for a core",
        "machine",
        f"<= {percent(MOST_CORE_WAIT)} of the window, outside throttled periods",
        _under_load,
        _core_wait,
        MOST_CORE_WAIT,
    ),
    Check("server measured", "machine", "samples in every window", _sound_trials, _server),
    Check(
        "JIT compiler",
        "mark",
        f"<= {MOST_JIT:g} cores in every window in which the CPU is scarce",
        _sound_trials,
        _jit,
        MOST_JIT,
    ),
    _block_check(
        "trend", "machine", f"<= {percent(MOST_RISE)} from a variant's first trials to its last", _trend, MOST_RISE
    ),
    _block_check("same instance", "service", "no restart, no OOM kill", _lasted),
    Check("errors", "service", "<= max_errors of the answers", _under_load, _answered),
    Check("script's checks", "service", "<= max_errors of them failed", _of_scripts, _script_checks),
    Check("script's requests", "service", "<= max_errors of them failed", _of_scripts, _script_requests),
    Check("answers", "service", ">= 1 in every window", _trials, _some_answer, 1, operator.lt),
    Check(
        "steady state",
        "service",
        f"< {percent(MOST_GAIN)} over the best before",
        _enough_cycles,
        _steady_state,
        MOST_GAIN,
        operator.ge,
    ),
    _block_check("drained", "service", "0 in flight before each trial", _drained),
    Check(
        "Little's law",
        "mark",
        f"throughput x (latency + think time) within {percent(MOST_MISSING)} of the users, beside cut rounds",
        _trials,
        _little,
        MOST_MISSING,
    ),
)


_KINDS: dict[Kind, str] = {
    "machine": "the block is measured again",
    "service": "the variant failed in this block",
    "mark": "the block counts, and the report shows it",
}


def page() -> str:
    """``docs/reference/validity-checks.md``."""
    rows = [f"| {check.name} | {check.rule} | {_KINDS[check.kind]} |" for check in CHECKS]
    return "\n".join([_INTRODUCTION, "| check | limit | beyond it |", "|---|---|---|", *rows, ""])


_INTRODUCTION = """# The validity checks

Generated from `lab/vtlab/analysis/checks.py` by `make generate`: do not edit this page.

A block counts if the load generator, the machine and the lab were as they should be. What the service does is a result:
a variant fails in a block, and the block counts. Figures that were not measured (steal, the wait for a core and the JIT
compiler's CPU: in a cluster, or in older results) are not judged.
[The method in detail](../explanation/method-details.md#the-validity-checks) has the reasons.
"""
