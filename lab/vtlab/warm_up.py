"""The warm-up of a block: cheap cycles with more CPU than the limit, then cycles with the trials' own load."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from vtlab.analysis.validity import jit_compiler, steady_state
from vtlab.analysis.validity.steady_state import expected_cycles, least_cycles
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Trial
from vtlab.planning import load
from vtlab.targets.target import StartedBlock
from vtlab.under_way import UnderWay, is_given_up

#: Calls of k6 with more CPU than the limit, at most, and seconds after which none begins.
RAISED_CALLS, RAISED_SECONDS = 12, 75.0


@contextmanager
def more_cpu(started: StartedBlock, experiment: Experiment) -> Iterator[bool]:
    """Within it the variants have more CPU than their limit, where the machine has it: whether that is so.

    The JIT compiler is ready sooner, and does not have to share the limit with the requests. More CPU serves variants
    unequally, so cycles must have as many requests for each (``windows.warmup_requests``).
    """
    windows = experiment.windows
    is_counted = windows.warmup_requests is not None and isinstance(experiment.load, ClosedLoad)
    is_raised = bool(is_counted and windows.warmup_cycles and started.instances) and started.raise_cpu() is not None
    try:
        yield is_raised
    finally:
        if is_raised:
            started.restore_cpu()


def last_of_each(trials: Sequence[Trial], variants: Sequence[str]) -> list[Trial]:
    """The last of these trials, or warm-up cycles, of each of these variants."""
    return [[trial for trial in trials if trial.variant == variant][-1] for variant in variants]


def are_compiled(warmup: Sequence[Trial], variants: Sequence[str], experiment: Experiment) -> bool:
    """Whether the JIT compilers of these variants took nothing from the requests in their last warm-up cycle."""
    return all(jit_compiler.is_compiled(trial, experiment) for trial in last_of_each(warmup, variants))


class WarmUpCycles:
    """Those of one block under way."""

    def __init__(self, under_way: UnderWay, wait: Callable[[float], None]) -> None:
        self._under_way = under_way
        self._wait = wait

    def run(self, started: StartedBlock, order: Sequence[str], may_end: bool) -> None:
        """Equal warm-up cycles for all variants, until all have reached their steady state and their JIT compilers
        rest. Those without a steady state leave; of those that still compile the checks judge the trials.

        Where the pace of the trials is known before, they follow in the same call of k6, whose users are connected.
        They count where the cycles before them show the steady state: else there are further cycles, and trials later.
        ``may_end``: nothing comes after these. What the last one leaves unanswered may be given up then.
        """
        try:
            self._run(started, order, may_end)
        finally:
            started.end_warm_up()

    def _run(self, started: StartedBlock, order: Sequence[str], may_end: bool) -> None:
        under_way = self._under_way
        experiment, block = under_way.experiment, under_way.block
        windows = experiment.windows
        cycles = self._raised(started)
        is_raised, cheap_cycles = bool(cycles), 0 if cycles else windows.warmup_cycles
        own_cycles = expected_cycles(experiment, is_raised)
        before = cycles + cheap_cycles
        planned, most = before + own_cycles, before + least_cycles(is_raised) + windows.max_cycles
        follow = self._are_followed_by_trials()
        while under_way.variants:
            trials = [variant for variant in order if variant in under_way.variants] if follow else []
            gives_up = may_end and bool(trials) and load.gives_up(experiment, trials[-1])
            document = self._cycles(started, cycles, cheap_cycles, own_cycles, f"{planned} to {most}", trials, gives_up)
            if document is None:
                continue
            cycles += cheap_cycles + own_cycles
            unsteady = {variant for variant in under_way.variants if not self._is_steady(variant)}
            for variant in [name for name in under_way.variants if name in unsteady and cycles >= most]:
                under_way.leave(started, variant)
            compiled = are_compiled(block.warmup, under_way.variants, experiment)
            is_over = unsteady.isdisjoint(under_way.variants) and (cycles >= most or compiled)
            if is_over and {t.variant for t in document.trials} <= set(under_way.variants):
                under_way.pace = load.pace(experiment, under_way.seed, last_of_each(block.warmup, under_way.variants))
                self._say_pace()
                under_way.keep(started, document)
                return
            if is_given_up(document):
                # What follows must not meet these requests.
                self._wait(self._longest_round())
            if is_over:
                # Of those that left there are trials, too.
                return
            cheap_cycles, own_cycles, follow = 0, 1, False

    def _raised(self, started: StartedBlock) -> int:
        """The cheap cycles with more CPU than the limit, where the machine has it: how many there were. Until the JIT
        compilers rest, unless they will take nothing from the trials, whose bound is the load."""
        cycles, count = 0, self._under_way.experiment.windows.warmup_cycles
        most = count if self._under_way.experiment.is_paced else RAISED_CALLS * count
        end = time.monotonic() + RAISED_SECONDS
        with more_cpu(started, self._under_way.experiment) as is_raised:
            while is_raised and self._under_way.variants and cycles < most:
                if self._cycles(started, cycles, count, 0, "those with more CPU") is None:
                    continue
                cycles += count
                compiled = are_compiled(
                    self._under_way.block.warmup, self._under_way.variants, self._under_way.experiment
                )
                if compiled or time.monotonic() > end:
                    break
        return cycles

    def _are_followed_by_trials(self) -> bool:
        """Whether nothing of the trials depends on the cycles before them."""
        experiment = self._under_way.experiment
        return experiment.is_paced and experiment.windows.wait_for_answers and not experiment.between

    def _longest_round(self) -> float:
        """Seconds; 0 where no round is known."""
        closed = self._under_way.experiment.load
        rounds = closed.round.values() if isinstance(closed, ClosedLoad) else ()
        return max(map(units.seconds, rounds), default=0.0)

    def _cycles(
        self,
        started: StartedBlock,
        before: int,
        cheap: int,
        own: int,
        planned: str,
        order: Sequence[str] = (),
        gives_up: bool = False,
    ) -> K6Document | None:
        """One call of k6 for so many further cycles, of which there are to be ``planned``, and trials in this order
        after them. None where a variant broke, which left. So does one without an OK answer: more of the same does not
        help, and the checks say why."""
        block = self._under_way.block
        measuring = f", then measuring in the order {', '.join(order)}" if order else ""
        self._under_way.step(f"warm-up, cycle {before + 1} of {planned}{measuring}")
        call = partial(
            started.load,
            order=order,
            warmup_cycles=cheap,
            own_cycles=own,
            single=None,
            wait_for_answers=not gives_up,
            pace=self._under_way.pace,
        )
        document = self._under_way.survived(started, before, "the warm-up", call)
        if document is None:
            return None
        block.warmup += [
            trial.model_copy(update={"position": position})
            for position, trial in enumerate(document.warmup, len(block.warmup) + 1)
        ]
        block.agreed = block.agreed and document.agreed
        silent = {trial.variant for trial in document.warmup if not trial.ok}
        for variant in [name for name in self._under_way.variants if name in silent]:
            self._under_way.leave(started, variant)
        return document

    def _say_pace(self) -> None:
        """That windows last longer than the experiment's, and what they show."""
        pace = self._under_way.pace
        if pace.measure is None and pace.shown is None:
            return
        shown = load.OVERLOAD if pace.shown is None else pace.shown
        length = "" if pace.measure is None else f" of {pace.measure / 1000:.0f} s"
        self._under_way.say(f"windows{length} show an overload from {units.percent(shown)} on")

    def _is_steady(self, variant: str) -> bool:
        warm_up = steady_state.warm_up_of(self._under_way.block, self._under_way.experiment, variant)
        return len(warm_up.judged) >= warm_up.least and warm_up.state.reached
