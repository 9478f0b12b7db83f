"""One attempt at one block on a target: warm-up, trials, and the phases that are measured once in a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from vtlab.analysis.laws.phases import measured_variant
from vtlab.analysis.validity import checks, steady_state, warm_up_checks
from vtlab.errors import BlockFault, Interrupted
from vtlab.measuring import load_search, searched_pair
from vtlab.measuring.attempt_plan import AttemptPlan
from vtlab.measuring.block_state import BlockState
from vtlab.measuring.load_search import LoadSearch, SearchTime
from vtlab.measuring.progress import Progress
from vtlab.measuring.repeats import Repeats
from vtlab.measuring.thread_dumps import ThreadDumps
from vtlab.measuring.typical_phase import TypicalPhase
from vtlab.measuring.warm_up import RAISED_SECONDS, WarmUp, last_of_each
from vtlab.model import units
from vtlab.model.blocks import further_set
from vtlab.model.curve import Curve
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.load import ClosedLoad
from vtlab.model.manifest import TypicalPlan
from vtlab.model.records import Block, Trial
from vtlab.model.run import BlockSeries
from vtlab.planning import idle_time, light_load, round_pacing
from vtlab.planning.light_load import LoadedVariant
from vtlab.planning.load_call import LightLoad, LoadCall
from vtlab.report.words import class_archives, figures
from vtlab.targets.protocol import StartedBlock, Target

#: Keeps the curve and the trials of a search for the run; returns its experiment with the load that was chosen.
KeepLoad = Callable[[Curve, Sequence[Trial]], Experiment]


class Attempt:
    """One attempt at one block. A variant that breaks leaves it, and the others are measured further: its failure is a
    result, and so are their figures. Where a variant that stands is still warming up there are no trials."""

    def __init__(
        self,
        plan: AttemptPlan,
        progress: Progress,
        title: str,
        wait: Callable[[float], None] = time.sleep,
        keep_load: KeepLoad | None = None,
    ) -> None:
        """Prepares an attempt. ``title``: the title of the block, for messages. ``keep_load``: where it is to search a
        load."""
        self._plan, self._progress = plan, progress
        self._keep_load, self._wait = keep_load, wait
        self._began = time.monotonic()
        #: Interruption (Ctrl-C or another signal) in an optional phase: raised once the block is stored.
        self.interrupted: Interrupted | None = None
        #: Variants that still need light load and thread dumps.
        self._unmeasured = list(plan.unmeasured_variants)
        block = Block(block=plan.block, attempt=plan.attempt, order=list(plan.order))
        title += f", attempt {plan.attempt}" if plan.attempt > 1 else ""
        self._state = BlockState(plan.experiment, plan.seed, progress, title, block)
        self._warm_up = WarmUp(self._state, wait)
        self._dumps = ThreadDumps(plan, self._state)
        self._repeats = Repeats(self._state, self._seconds_left)
        self._typical = TypicalPhase(self._state, self._repeats, plan.typical)

    @property
    def typical(self) -> TypicalPlan | None:
        """Returns the run's typical load, also where this attempt planned it."""
        return self._typical.planned

    def measure(self, target: Target) -> tuple[Block, BlockSeries]:
        """Measures the block; returns it and its samples for the charts."""
        state, plan = self._state, self._plan
        block, samples = state.block, BlockSeries()
        with self._faults_recorded():
            started = self._start(target)
            if plan.experiment.is_searched:
                started = self._search(target, started)
        if block.faults:
            return block, samples
        plan = self._plan
        with self._faults_recorded():
            self._measure_phases(started)
            if block.trials:
                samples = started.series(block.trials[0].begin, block.trials[-1].drained)
                self._unmeasured = [variant for variant in self._unmeasured if variant in state.variants]
                self._measure_optional(partial(self._measure_light, started))
        with self._faults_recorded():
            block.instances = started.check_instances()
        # From here on nothing counts: a variant that the dumps break has not failed.
        if block.light and not block.faults:
            self._measure_optional(partial(self._dumps.diagnose, started, self._unmeasured))
        elif plan.diagnosis == "always" and self._unmeasured and not plan.experiment.windows.wait_for_answers:
            self._dumps.say_none(self._unmeasured, "each ends with its trials (windows.wait_for_answers: false)")
        fitting = self._dumps.fitting(started, self._idle_seconds())
        if fitting and not self.interrupted and not checks.reasons(block, state.experiment):
            state.say("no further block fits into the time: taking the missing thread dumps")
            self._measure_optional(partial(self._dumps.take, started, fitting))
        return block, samples

    def _measure_optional(self, measure: Callable[[], None]) -> None:
        """Measures what the block counts without: a fault is told. Ctrl-C ends this and all other optional phases, and
        the run once the block is kept."""
        if self.interrupted:
            return
        try:
            with self._faults_told():
                measure()
        except Interrupted as error:
            self.interrupted = error

    @contextmanager
    def _faults_recorded(self) -> Iterator[None]:
        """Records a fault, which rejects the block."""
        try:
            yield
        except BlockFault as fault:
            self._state.block.faults.append(str(fault))

    @contextmanager
    def _faults_told(self) -> Iterator[None]:
        """Reports a fault to the user and goes on: the trials are measured, so that the fault costs no block."""
        try:
            with self._once():
                yield
        except BlockFault as fault:
            self._state.say(f"a part beside the trials is missing: {fault}")

    @contextmanager
    def _once(self) -> Iterator[None]:
        """Counts the time, which another block of the run will not take."""
        began = time.monotonic()
        try:
            yield
        finally:
            block = self._state.block
            block.once_seconds = round(block.once_seconds + time.monotonic() - began, 3)

    def _start(self, target: Target) -> StartedBlock:
        """Starts the variants, and takes over what is known of them before any load."""
        state, plan = self._state, self._plan
        state.step(f"starting {' and '.join(plan.experiment.variants)}")
        started = target.start(plan.experiment, plan.block, plan.attempt)
        self._take_over_start(started)
        return started

    def _search(self, target: Target, started: StartedBlock) -> StartedBlock:
        """Searches the load of the run on the variants of this block, as the first part of it. Starts them anew where
        the search may have left traces in them; returns those that the block goes on with."""
        state, experiment = self._state, self._plan.experiment
        searched_pair.refuse_missing(state)
        is_kept = not experiment.workload.is_writing
        raised = self._warm_up.begin(started, RAISED_SECONDS if is_kept else load_search.RAISED_WITHIN)
        searched_pair.refuse_missing(state)
        time_limit = SearchTime(load_search.WITHIN, self._progress.schedule.budget_left())
        search = LoadSearch(started, experiment, self._show_search, time_limit, raised)
        curve = search.run()
        state.block.search_seconds = curve.seconds
        searched_pair.refuse_without_levels(curve, experiment)
        assert self._keep_load
        planned = self._keep_load(curve, search.trials)
        self._plan = replace(self._plan, experiment=planned, curve=curve)
        state.plan(planned)
        started.set_load(planned)
        traces = searched_pair.traces(started, experiment, curve, search.trials)
        return self._start_anew(target, traces) if traces else started

    def _show_search(self, text: str) -> None:
        self._state.step(f"searching load: {text}")

    def _start_anew(self, target: Target, why: str) -> StartedBlock:
        """Starts fresh variants for the block: all until here was for the search."""
        state = self._state
        state.say(f"the block gets fresh JVMs: {why}")
        state.start_over()
        state.block.search_seconds = round(time.monotonic() - self._began, 3)
        self._warm_up = WarmUp(state, self._wait)
        return self._start(target)

    def _take_over_start(self, started: StartedBlock) -> None:
        """Takes over what is known of the variants before any load."""
        state, block = self._state, self._state.block
        block.instances, block.failures = started.instances, list(started.failures)
        # The pre-flight is made once.
        block.differences = block.differences or list(started.differences)
        block.once_seconds = started.preflight_seconds
        for failure in block.failures:
            state.say_failed(failure)
        for instance in block.instances if block.block == 1 else ():
            if unused := class_archives.unused_note(instance):
                state.say(unused)
        state.variants = [instance.variant for instance in block.instances]

    def _measure_phases(self, started: StartedBlock) -> None:
        """Measures warm-up, trials and typical load, and the single-user phases of a run's first block.

        Single users come last: a JVM that serves one compiles anew, and would do so under load. Where what is
        unanswered may be given up a JVM ends with its last trial: there they come before.
        """
        state, plan = self._state, self._plan
        phase = plan.experiment.windows.single_user_phase
        single = phase if plan.with_single_user and units.milliseconds(phase) else None
        # Nothing comes after the trials: what the last one leaves unanswered may be given up then.
        may_end = not plan.unmeasured_variants and not single and plan.experiment.typical_beside is None
        self._warm_up.run(started, plan.order, may_end)
        if not warm_up_checks.are_warm(state.block, state.experiment):
            # The block does not count.
            return
        if not plan.experiment.windows.wait_for_answers:
            if single:
                self._measure_single(started, single)
            self._measure_without_drain(started)
            return
        if not state.block.trials:
            self._measure_trials(started, may_end)
        if self._were_warm_up():
            self._measure_trials(started, may_end)
        self._repeats.while_disturbed(
            "trials",
            partial(self._measure_trials, started, may_end),
            self._disturbed_trials,
            lambda: idle_time.set_seconds(state.block.trials, started.call_seconds) + self._typical.seconds(),
        )
        if state.block.trials:
            self._typical.plan(plan, started.loads_at_once)
            self._typical.measure(plan, partial(self._measure_while_variants_break, started))
            if self._fits_further_set(started):
                self._measure_optional(partial(self._measure_further_set, started))
        if single and state.block.trials and not self.interrupted:
            self._measure_single(started, single)

    def _measure_without_drain(self, started: StartedBlock) -> None:
        """Measures each trial by a separate call, after which its variant has no part in the block."""
        state = self._state
        for position, variant in enumerate(self._plan.order, 1):
            # Another one may break meanwhile.
            while variant in state.variants:
                state.step(f"measuring {variant}")
                call = partial(started.trial_without_drain, variant, position, state.pacing)
                document = self._run_or_drop_variant(started, f"trial {position}", call)
                if document is not None:
                    state.store_phases(started, document)
                    break

    def _were_warm_up(self) -> bool:
        """Tells whether the trials became so much faster that they count as cycles of the warm-up, and are to be
        measured once more. Not where the steady state would not be reached with them, nor where the last variant ended
        with its last trial."""
        state = self._state
        block, experiment = state.block, state.experiment
        if any(trial.given_up for trial in block.trials) or not warm_up_checks.is_rising(block, experiment):
            return False
        cycles = [*block.warmup, *state.as_cycles(block.trials)]
        longer = block.model_copy(update={"warmup": cycles})
        warm_ups = [steady_state.warm_up_of(longer, experiment, variant) for variant in state.variants]
        if not all(warm_up.state.reached for warm_up in warm_ups):
            return False
        block.warmup, block.trials = cycles, []
        state.say("the trials became faster: they count as warm-up and run again")
        return True

    def _disturbed_trials(self, _: int) -> str | None:
        """Says how the machine disturbed the trials; None also where the last variant ended with its last trial."""
        block = self._state.block
        is_over = any(trial.given_up for trial in block.trials)
        return None if is_over else self._repeats.disturbance("measure")

    def _measure_trials(self, started: StartedBlock, may_end: bool) -> None:
        state = self._state

        def call() -> LoadCall:
            order = [variant for variant in self._plan.order if variant in state.variants]
            warmed = last_of_each(state.block.warmup, order)
            gives_up = may_end and round_pacing.gives_up(state.experiment, order[-1], warmed)
            return LoadCall(trial_order=order, wait_for_answers=not gives_up, pacing=state.pacing)

        self._measure_while_variants_break(started, call)

    def _fits_further_set(self, started: StartedBlock) -> bool:
        """Tells whether this block is the last of its run, and as many trials again fit into the time. The clock alone
        decides, whatever the trials show: but the block must count so far, and have all its trials. Windows of an open
        load would have the same arrivals again."""
        block, experiment = self._state.block, self._state.experiment
        needed = idle_time.set_seconds(block.trials, started.call_seconds)
        return (
            self._idle_beside_the_rest(started) >= needed
            and isinstance(experiment.load, ClosedLoad)
            and set(self._state.variants) == set(block.order)
            and not any(trial.given_up for trial in block.trials)
            and not checks.reasons(block, experiment)
        )

    def _measure_further_set(self, started: StartedBlock) -> None:
        """Measures as many trials again. They count where the block counts with them."""
        state, block = self._state, self._state.block
        state.say("no further block fits into the time: measuring a second set of trials")
        order, first = further_set(block.order), len(block.trials) + 1
        call = LoadCall(trial_order=order, first_position=first, pacing=state.pacing)
        state.step(_step_of(call))
        document = self._run_or_drop_variant(started, "the trials", partial(started.load, call))
        if document is None:
            return
        longer = state.with_trials(document, [*block.order, *order])
        if reasons := checks.reasons(longer, state.experiment):
            state.say(f"the second set does not count: {reasons[0]}")
            return
        block.order, block.trials = longer.order, longer.trials
        block.thresholds, block.agreed = longer.thresholds, longer.agreed

    def _idle_seconds(self) -> float:
        """Returns the seconds that the run leaves idle if this block is its last."""
        so_far = self._state.block.model_copy(update={"seconds": time.monotonic() - self._began})
        return self._plan.idle(so_far) - idle_time.ENDING

    def _idle_beside_the_rest(self, started: StartedBlock) -> float:
        """Returns these seconds without those of the phases that are still to come; thread dumps come first where they
        fit alone."""
        idle = self._idle_seconds()
        if self._plan.with_single_user or self._unmeasured:
            return idle - self._extra_seconds()
        dumps = sum(self._dumps.missing_seconds(started).values())
        return idle - dumps if dumps <= idle else idle

    def _seconds_left(self) -> float:
        """Returns the seconds that the call has, without the phases after typical load."""
        return self._progress.schedule.budget_left() - self._extra_seconds() - idle_time.ENDING

    def _extra_seconds(self) -> float:
        """Estimates how long the phases after typical load take, which not every block has."""
        plan = self._plan
        is_always = plan.diagnosis == "always"
        return light_load.extra_phase_seconds(plan.experiment, plan.with_single_user, bool(self._unmeasured), is_always)

    def _measure_single(self, started: StartedBlock, single: str) -> None:
        def call() -> LoadCall:
            is_at_once = self._may_run(light_load.may_single_users_run_at_once, started)
            return LoadCall(single_user_phase=single, pacing=self._state.pacing, is_at_once=is_at_once)

        with self._once():
            self._measure_while_variants_break(started, call)

    def _measure_while_variants_break(self, started: StartedBlock, planned: Callable[[], LoadCall]) -> None:
        """Measures trials, typical load or single users, again without a variant that broke. ``planned``: the call for
        the variants that are left."""
        state = self._state
        while state.variants:
            call = planned()
            state.step(_step_of(call))
            moment = "typical load" if call.typical else "the trials"
            document = self._run_or_drop_variant(started, moment, partial(started.load, call))
            if document is not None:
                state.store_phases(started, document)
                return

    def _run_or_drop_variant(
        self, started: StartedBlock, moment: str, call: Callable[[], K6Document]
    ) -> K6Document | None:
        """Runs a call of k6 after the warm-up, as ``BlockState.run_or_drop_variant`` does. Where a variant ended it,
        waits for as long as an answer of the others took: their next trial must not meet what they still serve."""
        state = self._state
        document = state.run_or_drop_variant(started, moment, call)
        if document is None and state.variants:
            warmed = last_of_each(state.block.warmup, state.variants)
            self._wait(max(cycle.latency.max or 0.0 for cycle in warmed))
        return document

    def _may_run(self, at_once: Callable[[Experiment, Sequence[Trial]], bool], started: StartedBlock) -> bool:
        """Tells whether the variants that are left can be loaded at the same time."""
        state = self._state
        # By the trials, where there are any: in the warm-up before them the JIT compilers were busy.
        loaded = last_of_each(state.block.trials or state.block.warmup, state.variants)
        return started.loads_at_once and at_once(state.experiment, loaded)

    def _measure_light(self, started: StartedBlock) -> None:
        """Measures phases of light load, in the first block that counts."""
        state, block, experiment = self._state, self._state.block, self._state.experiment
        # Variants that give up what is unanswered have ended with their trials.
        if not self._unmeasured or not experiment.windows.wait_for_answers or checks.reasons(block, experiment):
            return
        state.step("light load")
        is_at_once = self._may_run(light_load.may_run_at_once, started)
        light = self._planned_light(is_at_once)
        # Idle phases alone need no CPU, and nothing that variants share.
        is_silent = light.is_idle and not (experiment.workload.k6 or experiment.workload.login)
        is_at_once = is_at_once or (started.loads_at_once and is_silent)
        call = LoadCall(light_load=light, pacing=state.pacing, is_at_once=is_at_once)
        document = state.run_or_drop_variant(started, "light load", partial(started.load, call))
        block.light = document.light if document else []

    def _planned_light(self, is_at_once: bool) -> LightLoad:
        block, experiment = self._state.block, self._state.experiment
        # A variant that lacks light load may have been alone in an earlier block.
        all_blocks = [*self._plan.blocks_before, block]
        loaded = {
            variant: LoadedVariant.measured(
                under_load=measured_variant([block], experiment, variant),
                alone=measured_variant(all_blocks, experiment, variant),
            )
            for variant in self._unmeasured
        }
        return light_load.plan(loaded, is_at_once)


def _step_of(call: LoadCall) -> str:
    """Describes what a call after the warm-up measures."""
    if call.typical:
        return f"typical load, {figures.rate(call.typical.rate)}"
    return f"measuring in the order {', '.join(call.trial_order)}" if call.trial_order else "measuring a single user"
