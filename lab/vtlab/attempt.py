"""Measures one attempt at one block on a target: warm-up, trials, and what is measured beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from vtlab.analysis import variant_results
from vtlab.analysis.laws.alone import shortest_response
from vtlab.analysis.laws.demands import cpu_share
from vtlab.analysis.laws.phases import of_variant
from vtlab.analysis.validity import checks, steady_state, warmth
from vtlab.errors import BlockFault
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, DiagnosisMode, Trial
from vtlab.model.run import BlockSeries
from vtlab.planning import dumping, load
from vtlab.progress import Progress
from vtlab.report.words import class_archives
from vtlab.targets.target import StartedBlock, Target
from vtlab.under_way import UnderWay
from vtlab.warm_up import WarmUpCycles, last_of_each


class Attempt:
    """One attempt at one block. A variant that breaks leaves it, and the others are measured further: its failure is a
    result, and so are their figures. A variant without a steady state gets no trials."""

    def __init__(
        self,
        experiment: Experiment,
        seed: int,
        progress: Progress,
        name: str,
        number: int,
        attempt: int,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        title = name + (f", attempt {attempt}" if attempt > 1 else "")
        self._under_way = UnderWay(experiment, seed, progress, title, Block(block=number, attempt=attempt, order=[]))
        self._warm_up = WarmUpCycles(self._under_way, wait)

    def measure(
        self,
        target: Target,
        order: Sequence[str],
        with_single: bool,
        beside: Sequence[str] = (),
        before: Sequence[Block] = (),
        diagnosis: DiagnosisMode = "unexplained",
    ) -> tuple[Block, BlockSeries]:
        """The block and its samples for the charts. ``beside``: the variants of which no block has what is measured
        beside the trials: light load, and thread dumps, always or where nothing else explains the trials. ``before``:
        the run's blocks so far."""
        block, experiment = self._under_way.block, self._under_way.experiment
        block.order = list(order)
        samples: BlockSeries = {}
        try:
            self._under_way.step(f"starting {' and '.join(experiment.variants)}")
            started = target.start(experiment, block.block, block.attempt)
        except BlockFault as fault:
            block.faults.append(str(fault))
            return block, samples
        block.instances, block.failures = started.instances, list(started.failures)
        block.differences, block.once_seconds = list(started.differences), started.preflight_seconds
        for failure in block.failures:
            self._under_way.say_failed(failure)
        for instance in block.instances if block.block == 1 else ():
            if unused := class_archives.unused_note(instance):
                self._under_way.say(unused)
        self._under_way.variants = [instance.variant for instance in block.instances]
        try:
            single = experiment.windows.single_user_phase
            alone = single if with_single and units.milliseconds(single) else None
            may_end = not beside and not alone
            self._warm_up.run(started, order, may_end)
            self._measure_trials(started, order, alone, may_end)
            if block.trials:
                samples = started.series(block.trials[0].begin, block.trials[-1].drained)
                beside = [variant for variant in beside if variant in self._under_way.variants]
                with self._beside_the_trials():
                    self._measure_light(started, beside, before)
        except BlockFault as fault:
            block.faults.append(str(fault))
        try:
            block.instances = started.check_instances()
        except BlockFault as fault:
            block.faults.append(str(fault))
        # From here on nothing counts: a variant that the dumps break has not failed.
        if block.light and not block.faults:
            with self._beside_the_trials():
                self._diagnose(started, beside, before, diagnosis)
        elif diagnosis == "always" and beside and not experiment.windows.wait_for_answers:
            self._say_no_dumps(beside, "each ends with its trials (windows.wait_for_answers: false)")
        return block, samples

    def _measure_trials(self, started: StartedBlock, order: Sequence[str], single: str | None, may_end: bool) -> None:
        """The trials, where none followed the warm-up, and the single-user phases after them: a JVM that serves one
        user compiles anew, and would do so in the trials. Where what is unanswered may be given up a JVM ends with its
        last trial: they come before.

        ``may_end``: nothing comes after these. What the last one leaves unanswered may be given up then."""
        if self._under_way.experiment.windows.wait_for_answers:
            if not self._under_way.block.trials:
                self._measure_together(started, order, None, may_end)
            if self._were_warm_up():
                self._measure_together(started, order, None, may_end)
            if single and self._under_way.block.trials:
                self._measure_single(started, single)
            return
        if single:
            self._measure_single(started, single)
        for position, variant in enumerate(order, 1):
            # Another one may break meanwhile.
            while variant in self._under_way.variants:
                self._under_way.step(f"measuring {variant}")
                document = self._under_way.survived(
                    started,
                    0,
                    f"trial {position}",
                    partial(started.trial_without_drain, variant, position, self._under_way.pace),
                )
                if document is not None:
                    self._under_way.keep(started, document)
                    break

    def _were_warm_up(self) -> bool:
        """Whether the trials became so much faster that they count as cycles of the warm-up, and are to be measured
        once more. Not where the steady state would not be reached with them, nor where the last variant ended with its
        last trial."""
        under_way = self._under_way
        block, experiment = under_way.block, under_way.experiment
        if any(trial.given_up for trial in block.trials) or not warmth.is_rising(block, experiment):
            return False
        cycles = [
            *block.warmup,
            *(
                trial.model_copy(update={"phase": "warmup", "position": position})
                for position, trial in enumerate(block.trials, len(block.warmup) + 1)
            ),
        ]
        longer = block.model_copy(update={"warmup": cycles})
        warm_ups = [steady_state.warm_up_of(longer, experiment, variant) for variant in under_way.variants]
        if not all(warm_up.state.reached for warm_up in warm_ups):
            return False
        block.warmup, block.trials = cycles, []
        under_way.say("the trials became faster, so they are warm-up, and are measured once more")
        return True

    def _measure_single(self, started: StartedBlock, single: str) -> None:
        with self._once():
            self._measure_together(started, [], single)

    def _measure_together(
        self, started: StartedBlock, order: Sequence[str], single: str | None, may_end: bool = False
    ) -> None:
        under_way = self._under_way
        while under_way.variants:
            left = [variant for variant in order if variant in under_way.variants]
            warmed = last_of_each(under_way.block.warmup, left)
            gives_up = may_end and load.gives_up(under_way.experiment, left[-1], warmed)
            under_way.step(f"measuring in the order {', '.join(left)}" if left else "measuring a single user")
            at_once = not left and self._may(load.single_at_once, started)
            document = under_way.survived(
                started,
                0,
                "the trials",
                partial(
                    started.load,
                    order=left,
                    warmup_cycles=0,
                    single=single,
                    wait_for_answers=not gives_up,
                    pace=under_way.pace,
                    at_once=at_once,
                ),
            )
            if document is not None:
                under_way.keep(started, document)
                return

    def _may(self, at_once: Callable[[Experiment, Sequence[Trial]], bool], started: StartedBlock) -> bool:
        """Whether the variants that are left can be loaded at the same time."""
        under_way = self._under_way
        # By the trials, where there are any: in the warm-up before them the JIT compilers were busy.
        loaded = last_of_each(under_way.block.trials or under_way.block.warmup, under_way.variants)
        return started.loads_at_once and at_once(under_way.experiment, loaded)

    @contextmanager
    def _once(self) -> Iterator[None]:
        """Another block of the run will not take this time."""
        began = time.monotonic()
        try:
            yield
        finally:
            block = self._under_way.block
            block.once_seconds = round(block.once_seconds + time.monotonic() - began, 3)

    @contextmanager
    def _beside_the_trials(self) -> Iterator[None]:
        """The trials are measured: what is beside them costs no block."""
        try:
            with self._once():
                yield
        except BlockFault as fault:
            self._under_way.say(f"not measured beside the trials: {fault}")

    def _measure_light(self, started: StartedBlock, variants: Sequence[str], before: Sequence[Block]) -> None:
        """Phases of light load, of the first block that counts."""
        block, experiment = self._under_way.block, self._under_way.experiment
        # Variants that give up what is unanswered have ended with their trials.
        if not variants or not experiment.windows.wait_for_answers or checks.reasons(block, experiment):
            return
        under_load = {variant: of_variant([block], experiment, variant) for variant in variants}
        # Where a variant had none of this in an earlier block, it may have been alone there.
        alone = {variant: of_variant([*before, block], experiment, variant) for variant in variants}
        self._under_way.step("light load")
        at_once = self._may(load.at_once, started)
        light = load.light(
            {variant: shortest_response(m) or 0.0 for variant, m in alone.items()},
            {variant: m.throughput or 0.0 for variant, m in under_load.items()},
            {variant: cpu_share(m) or 0.0 for variant, m in under_load.items()},
            at_once,
        )
        # Idle phases alone need no CPU, and nothing that variants share.
        is_silent = light.is_idle and not (experiment.workload.k6 or experiment.workload.login)
        at_once = at_once or (started.loads_at_once and is_silent)
        call = partial(
            started.load,
            order=[],
            warmup_cycles=0,
            single=None,
            light=light,
            pace=self._under_way.pace,
            at_once=at_once,
        )
        document = self._under_way.survived(started, 0, "light load", call)
        block.light = document.light if document else []

    def _diagnose(
        self, started: StartedBlock, variants: Sequence[str], before: Sequence[Block], mode: DiagnosisMode
    ) -> None:
        """Thread dumps of these variants, or of those that nothing measured explains."""
        block, experiment = self._under_way.block, self._under_way.experiment
        wanted = [
            variant
            for variant in variants
            if variant in self._under_way.variants
            and (mode == "always" or variant_results.is_unexplained([*before, block], experiment, variant))
        ]
        if not wanted:
            return
        self._under_way.step(f"thread dumps of {' and '.join(wanted)}")
        trials = {variant: [trial for trial in block.trials if trial.variant == variant] for variant in wanted}
        block.diagnosis = started.diagnose(
            {variant: dumping.pace(self._under_way.pace, experiment, trials[variant]) for variant in wanted}
        )
        missing = [variant for variant in wanted if variant not in block.diagnosis]
        if missing and mode == "always":
            self._say_no_dumps(missing, "vtlab could not ask the JVM, or the JVM ended")

    def _say_no_dumps(self, variants: Sequence[str], reason: str) -> None:
        self._under_way.say(f"no thread dumps of {' and '.join(variants)}: {reason}")
