"""The warm-up of a block: cheap cycles with more CPU than the limit, then cycles with the trials' load."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from vtlab.analysis.validity import failing, jit_compiler, steady_state
from vtlab.analysis.validity.steady_state import expected_cycles, least_cycles
from vtlab.k6 import rows
from vtlab.measuring.block_state import BlockState, is_given_up
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Trial
from vtlab.planning import open_windows, round_pacing
from vtlab.planning.load_call import LoadCall
from vtlab.targets.protocol import StartedBlock

#: The most calls of k6 with more CPU than the limit, and seconds after which none begins.
RAISED_CALLS, RAISED_SECONDS = 12, 75.0
#: The most further cycles of a variant that fails in them.
FAILING_CYCLES = 8


@contextmanager
def more_cpu(started: StartedBlock, experiment: Experiment) -> Iterator[bool]:
    """Gives the variants more CPU than their limit, where the machine has it; yields whether that is so.

    The JIT compiler is ready sooner, and does not have to share the limit with the requests. More CPU serves variants
    unequally, so cycles must have as many requests for each (``windows.warmup_requests``).
    """
    windows = experiment.windows
    is_counted = windows.warmup_requests > 0 and isinstance(experiment.load, ClosedLoad)
    is_raised = bool(is_counted and windows.warmup_cycles and started.instances) and started.raise_cpu() is not None
    try:
        yield is_raised
    finally:
        if is_raised:
            started.restore_cpu()


def last_of_each(trials: Sequence[Trial], variants: Sequence[str]) -> list[Trial]:
    """Returns the last of these trials, or warm-up cycles, of each of these variants."""
    return [[trial for trial in trials if trial.variant == variant][-1] for variant in variants]


def are_compiled(warmup: Sequence[Trial], variants: Sequence[str], experiment: Experiment) -> bool:
    """Tells whether the JIT compilers of these variants took nothing from the requests in their last warm-up cycle."""
    return all(jit_compiler.is_compiled(trial, experiment) for trial in last_of_each(warmup, variants))


@dataclass(frozen=True)
class CycleCounts:
    """Numbers of warm-up cycles of each variant."""

    #: Before the cycles with the trials' load: with more CPU or cheap.
    raised: int
    #: Cheap ones without more CPU, and ones with the trials' load, of the first call of k6.
    cheap: int
    trial_load: int
    #: The most of a variant that fails and is not steady.
    most_of_failing: int
    #: The most in all.
    most: int

    @property
    def planned(self) -> str:
        """The planned number in words."""
        return f"{self.raised + self.cheap + self.trial_load} to {self.most}"


class WarmUp:
    """The warm-up of one block."""

    def __init__(self, state: BlockState, wait: Callable[[float], None]) -> None:
        self._state = state
        self._wait = wait
        #: Cycles with more CPU than the limit; None before these.
        self._raised: int | None = None

    def begin(self, started: StartedBlock, within: float = RAISED_SECONDS) -> list[Trial]:
        """Runs the cheap cycles with more CPU than the limit, where the machine has it. Returns the last of each
        variant; none where there is no more CPU. ``within``: seconds after which no further call of k6 begins."""
        self._raised = self._run_raised(started, within)
        state = self._state
        return last_of_each(state.block.warmup, state.variants) if self._raised else []

    def run(self, started: StartedBlock, order: Sequence[str], may_end: bool) -> None:
        """Runs equal warm-up cycles for all variants, until all have reached their steady state and their JIT compilers
        rest, or there may be no more. Where a compiler still works then, the checks judge the trials. What ``begin``
        has run is not run again.

        Where the pacing of the trials is known before, they follow in the same call of k6, whose users are connected.
        They count where the cycles before them show the steady state: else they are cycles, too, and trials come later.
        ``may_end``: nothing comes after these. What the last one leaves unanswered may be given up then.
        """
        try:
            raised = self._run_raised(started, RAISED_SECONDS) if self._raised is None else self._raised
            counts = self._counts(raised)
            self._run_until_steady(started, counts, order if self._are_followed_by_trials() else (), may_end)
        finally:
            started.end_warm_up()

    def _counts(self, raised: int) -> CycleCounts:
        experiment = self._state.experiment
        cheap = 0 if raised else experiment.windows.warmup_cycles
        least, further = raised + cheap + least_cycles(bool(raised)), experiment.windows.max_cycles
        expected = expected_cycles(experiment, bool(raised))
        return CycleCounts(raised, cheap, expected, least + min(further, FAILING_CYCLES), least + further)

    def _run_until_steady(
        self, started: StartedBlock, counts: CycleCounts, order: Sequence[str], may_end: bool
    ) -> None:
        """Runs cycles until the variants are steady. ``order``: trials after the first cycles; empty without any."""
        state, done = self._state, counts.raised
        cheap, trial_load = counts.cheap, counts.trial_load
        while state.variants:
            trials = [variant for variant in order if variant in state.variants]
            gives_up = may_end and bool(trials) and round_pacing.gives_up(state.experiment, trials[-1])
            is_apart = bool(cheap) and rows.need_calls_of_their_own(state.experiment)
            call = LoadCall(
                warmup_cycles=cheap,
                trial_load_cycles=0 if is_apart else trial_load,
                trial_order=trials,
                wait_for_answers=not gives_up,
                pacing=state.pacing,
            )
            document = self._run_cycles(started, call, done, counts.planned)
            if document is None:
                continue
            done += call.cycles
            if done >= counts.most_of_failing:
                self._drop_failing(started)
            is_over = self._is_over(done, counts)
            if is_over and not self._unsteady() and {trial.variant for trial in document.trials} <= set(state.variants):
                self._adapt_pacing()
                if document.trials:
                    state.store_phases(started, document)
                return
            if is_given_up(document):
                # What follows must not meet these requests.
                self._wait(self._longest_round())
            elif not is_over:
                done += self._take_as_cycles(document.trials)
            if self._is_over(done, counts):
                # No trial of this call counts: it followed cycles that were not steady, or its variant has left.
                return
            cheap, trial_load, order = 0, trial_load if is_apart else 1, ()

    def _is_over(self, done: int, counts: CycleCounts) -> bool:
        """Tells whether no cycle follows so many: none may, or all variants are warm."""
        return done >= counts.most or (not self._unsteady() and self._are_compiled())

    def _take_as_cycles(self, trials: Sequence[Trial]) -> int:
        """Takes over trials that followed an unsteady warm-up as cycles of it, which they look like; returns how many
        of each variant. Takes none where a trial of a variant that takes part has no OK answer: it tells nothing."""
        state = self._state
        taken = [trial for trial in trials if trial.variant in state.variants]
        if not taken or not all(trial.ok for trial in taken):
            return 0
        state.block.warmup += state.as_cycles(taken)
        return len(taken) // len(state.variants)

    def _drop_failing(self, started: StartedBlock) -> None:
        """Ends the part of variants that are unsteady and fail, as by errors: their failure is a result."""
        state = self._state
        failed = failing.failed(state.block, state.experiment)
        for variant in [name for name in self._unsteady() if name in failed]:
            state.drop_variant(started, variant)

    def _are_compiled(self) -> bool:
        return are_compiled(self._state.block.warmup, self._state.variants, self._state.experiment)

    def _run_raised(self, started: StartedBlock, within: float) -> int:
        """Runs the cheap cycles with more CPU than the limit, where the machine has it; returns how many there were.
        They go on until the JIT compilers rest, unless these will take nothing from the trials, whose bound is the
        load."""
        state = self._state
        cycles, count = 0, state.experiment.windows.warmup_cycles
        most = count if state.experiment.is_paced else RAISED_CALLS * count
        end = time.monotonic() + within
        with more_cpu(started, state.experiment) as is_raised:
            while is_raised and state.variants and cycles < most:
                call = LoadCall(warmup_cycles=count, pacing=state.pacing)
                if self._run_cycles(started, call, cycles, "those with more CPU") is None:
                    continue
                cycles += count
                if self._are_compiled() or time.monotonic() > end:
                    break
        return cycles

    def _are_followed_by_trials(self) -> bool:
        """Tells whether the trials are independent of the cycles before them."""
        experiment = self._state.experiment
        is_independent = experiment.windows.wait_for_answers and not experiment.reset
        return experiment.is_paced and is_independent and not rows.need_calls_of_their_own(experiment)

    def _longest_round(self) -> float:
        """Returns the seconds of the longest declared round; 0 where none is declared."""
        load = self._state.experiment.load
        rounds = load.round.values() if isinstance(load, ClosedLoad) else ()
        return max(map(units.seconds, rounds), default=0.0)

    def _run_cycles(self, started: StartedBlock, call: LoadCall, done: int, planned: str) -> K6Document | None:
        """Runs further cycles, after ``done`` of the ``planned`` ones, and the trials of the call. Returns None where a
        variant broke, which left. A variant without an OK answer leaves, too: more of the same does not help, and the
        checks say why."""
        state, block = self._state, self._state.block
        measuring = f", then measuring in the order {', '.join(call.trial_order)}" if call.trial_order else ""
        state.step(f"warm-up, cycle {done + 1} of {planned}{measuring}")
        document = state.run_or_drop_variant(started, "the warm-up", partial(started.load, call), done)
        if document is None:
            return None
        block.warmup += [
            trial.model_copy(update={"position": position})
            for position, trial in enumerate(document.warmup, len(block.warmup) + 1)
        ]
        silent = {trial.variant for trial in document.warmup if not trial.ok}
        for variant in [name for name in state.variants if name in silent]:
            state.drop_variant(started, variant)
        return document

    def _adapt_pacing(self) -> None:
        """Paces the calls from now on by the last cycles, and tells the user where windows are longer for that."""
        state = self._state
        warmed = last_of_each(state.block.warmup, state.variants)
        state.pacing = pacing = round_pacing.pacing(state.experiment, state.seed, warmed)
        if pacing.measure is None and pacing.shown_overload is None:
            return
        overload = open_windows.OVERLOAD if pacing.shown_overload is None else pacing.shown_overload
        length = "" if pacing.measure is None else f" of {pacing.measure / 1000:.0f} s"
        state.say(f"windows{length} show an overload of {units.percent(overload)} or more")

    def _unsteady(self) -> list[str]:
        """Lists the variants that are not in their steady state, or lack cycles to judge it."""
        block, experiment = self._state.block, self._state.experiment
        warm_ups = [steady_state.warm_up_of(block, experiment, variant) for variant in self._state.variants]
        return [w.variant for w in warm_ups if len(w.judged) < w.least or not w.state.reached]
