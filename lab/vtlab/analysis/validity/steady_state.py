"""The steady state of a variant, by its warm-up cycles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from vtlab.analysis.laws.demands import cpu_capacity
from vtlab.analysis.laws.phases import demand_per_ok
from vtlab.analysis.validity.check import judging_cycles
from vtlab.analysis.validity.jit_compiler import MOST_JIT, SCARCE, is_compiler_at_rest
from vtlab.analysis.validity.load_bound import AT_BOUND, is_at_most, most_throughput
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Block, Trial

#: Gain of each of the last two warm-up cycles over the best before, in OK throughput and in the CPU budget.
MOST_GAIN = AT_BOUND
#: Last cycles in which the JIT compiler must have rested for the next trials to count whatever these cycles gained.
AT_REST = 2
#: A compiler that works uses this many times as much CPU as one at rest may, where it has its share.
WORKING = 2.0
#: Answers of a single cycle that tell that the load bounds it: one of them is no more than that gain.
LEAST_ANSWERS = math.ceil(1 / MOST_GAIN)
#: Warm-up cycles that must have run with the trials' own load under their CPU limit: two are judged by one before, or,
#: where a first part with more CPU has warmed the code, one by the other. What the load allows judges a single one.
LEAST_CYCLES, LEAST_AFTER_RAISED, LEAST_BY_LOAD = 3, 2, 1


@dataclass(frozen=True)
class Gain:
    """Gain of a warm-up cycle over the best before it, as shares; None where that was not measured."""

    throughput: float | None
    #: Less CPU per request, as a share of what the CPU limit allows per request.
    cpu: float | None

    @property
    def most(self) -> float | None:
        """The larger of the two."""
        return None if self.throughput is None or self.cpu is None else max(self.throughput, self.cpu)


@dataclass(frozen=True)
class SteadyState:
    """Steady state of a variant: whether it is reached, and the gain of the last two cycles over the best before."""

    reached: bool
    gains: list[Gain]
    #: The largest gain that was judged: of CPU only where it is scarce. None where it was not measured, and where the
    #: compiler tells instead.
    worst: float | None = None


def steady_state(
    cycles: Sequence[Trial], cpu_limit: float, most: float | None = None, compilers_had_cpu: bool = False
) -> SteadyState:
    """Judges whether one variant is warm: its last two warm-up ``cycles`` gained less than 3 % over the best before. Or
    the JIT compiler rested in both, and not for lack of CPU (``compilers_had_cpu``). What cycles gain then is scatter:
    to wait for little of it takes cycles, and makes the ratio no truer (``simulated_warm_ups``). The trend of the
    trials is judged later.

    OK throughput X must not have risen by that and one answer, for a slow variant counts few. Where the CPU is scarce,
    that is where one of the two used at least 80 % of the limit (``cpu_limit``, cores), CPU per request D must not have
    fallen by as much of what the limit allows per request either, ΔD·X/limit; with a CPU-bound service that is the
    plain relative change. Where the CPU is not scarce, D keeps falling by tens of percent while the JIT compiler works
    on, and bounds nothing.

    Over the best before, not over the one before: while the compiler works, and on a shared machine always, cycles
    of 3 s scatter by more than 3 % around their level, and a rise from a slow cycle back to it is not warming up. Of
    two cycles the second is judged by the first; one tells nothing without ``most``.

    ``most``: what the load allows (``most_throughput``). A last cycle within 3 % of it has nothing left to gain,
    however slow the cycles before it were, and whatever the JIT compiler still does.
    """
    if len(cycles) == 1 and most is not None and _tells(cycles[0], most):
        return SteadyState(True, [], _below(cycles[0], most))
    judged = 1 if len(cycles) == 2 else 2
    before, last = list(cycles)[:-judged], list(cycles)[-judged:]
    if not before:
        return SteadyState(False, [])
    gains = _gains(before, last, cpu_limit)
    if any(gain.most is None for gain in gains):
        return SteadyState(False, gains)
    if compilers_had_cpu and all(map(is_compiler_at_rest, cycles[-AT_REST:])):
        return SteadyState(True, gains)
    used = [cores for t in last if (cores := t.server.get("cpu_cores")) is not None]
    is_scarce = max(used, default=0.0) >= SCARCE * cpu_limit
    worst = max((gain.most if is_scarce else gain.throughput) or 0.0 for gain in gains)
    if most is not None and is_at_most(last[-1], most):
        worst = min(worst, _below(last[-1], most))
    return SteadyState(worst < MOST_GAIN, gains, worst)


def _gains(before: Sequence[Trial], last: Sequence[Trial], cpu_limit: float) -> list[Gain]:
    """Compares each of the last cycles with the best before them."""
    best = max(t.throughput for t in before)
    # A JVM that starts may be too busy to be scraped: the best before is the best of those measured.
    least = min((d for d in (demand_per_ok([t], "cpu_cores") for t in before) if d is not None), default=None)
    gains = []
    for trial in last:
        demand = demand_per_ok([trial], "cpu_cores")
        cpu = None if demand is None or least is None else (least - demand) * trial.throughput / cpu_limit
        gains.append(Gain(_rise(trial, best), cpu))
    return gains


def _below(trial: Trial, most: float) -> float:
    return max(0.0, 1 - trial.throughput / most)


def least_cycles(is_raised: bool) -> int:
    """Counts how many cycles must judge a variant that no load bounds. ``is_raised``: after a part with more CPU."""
    return LEAST_AFTER_RAISED if is_raised else LEAST_CYCLES


def expected_cycles(experiment: Experiment, is_raised: bool) -> int:
    """Counts how many cycles will judge every variant if all goes well: one where the experiment says what the load
    allows the users of each, and that is enough answers to tell."""
    load, windows = experiment.load, experiment.windows
    if not isinstance(load, ClosedLoad) or (load.service_time and load.mean_think_time):
        return least_cycles(is_raised)
    # A trial that gives up what is unanswered has fewer users in these cycles (``k6/lib/plan.ts``).
    known, users = (
        (load.round, load.users)
        if windows.wait_for_answers
        else (load.service_time, min(load.users, windows.warmup_users))
    )
    most = LEAST_ANSWERS / units.seconds(windows.warmup_load)
    bounded = all(name in known and users / units.seconds(known[name]) >= most for name in experiment.variants)
    return LEAST_BY_LOAD if bounded else least_cycles(is_raised)


def _tells(cycle: Trial, most: float | None) -> bool:
    """Tells whether this cycle alone shows that the load was its bound."""
    return is_at_most(cycle, most) and (cycle.by_parts or cycle.ok >= LEAST_ANSWERS)


def _rise(trial: Trial, best: float) -> float | None:
    """Computes the rise of throughput over the best before; one answer more is none."""
    if best <= 0 or not trial.ok or trial.throughput <= 0:
        return None
    rise = trial.throughput / best - 1
    return rise if rise <= 0 else max(0.0, rise - trial.throughput / trial.ok / best)


@dataclass(frozen=True)
class WarmUp:
    """One variant's warm-up in one block."""

    variant: str
    cycles: list[Trial]
    #: Cycles that judge its steady state.
    judged: list[Trial]
    #: Cores that it may use.
    cpu_limit: float
    #: Throughput that the load allows the last of them.
    most: float | None
    #: How many cycles must judge it.
    least: int

    @property
    def state(self) -> SteadyState:
        """The steady state by the cycles that judge it."""
        return steady_state(self.judged, self.cpu_limit, self.most, self._compilers_had_cpu())

    def _compilers_had_cpu(self) -> bool:
        """Tells whether the JIT compiler could have worked in the last cycles: it went before the threads that serve,
        these were few beside it, or it had rested before in a part with more CPU."""
        raised = [trial for trial in self.cycles if trial.raised_cpu is not None]
        last = self.judged[-AT_REST:]
        had_share = bool(last) and all(t.compilers_first or self._has_share_beside(t.users) for t in last)
        return had_share or (bool(raised) and is_compiler_at_rest(raised[-1]))

    def _has_share_beside(self, users: int) -> bool:
        """Tells whether a compiler with work has much more CPU than one at rest, as one thread beside those that serve
        so many users."""
        return self.cpu_limit / (users + 1) >= WORKING * MOST_JIT


def judged_warm_ups(block: Block, experiment: Experiment, variants: Sequence[str]) -> list[WarmUp]:
    """Lists the warm-ups of those variants that have enough cycles to be judged."""
    warm_ups = [warm_up_of(block, experiment, variant) for variant in variants]
    return [warm_up for warm_up in warm_ups if len(warm_up.judged) >= warm_up.least]


def warm_up_of(block: Block, experiment: Experiment, variant: str) -> WarmUp:
    """Collects what one variant's warm-up in this block is judged by."""
    cycles = [t for t in block.warmup if t.variant == variant]
    limits = [cpu_capacity(i) for i in block.instances if i.variant == variant]
    judged = judging_cycles(cycles, experiment)
    most = most_throughput(judged[-1], experiment) if judged else None
    is_raised = any(trial.raised_cpu is not None for trial in cycles)
    least = LEAST_BY_LOAD if judged and _tells(judged[-1], most) else least_cycles(is_raised)
    return WarmUp(variant, cycles, judged, min(limits, default=experiment.limits.cpu), most, least)
