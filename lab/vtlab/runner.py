"""Measures the blocks of a run on a target and keeps every finished block."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from vtlab import results
from vtlab.analysis import standing, variant_results
from vtlab.analysis.laws.alone import shortest_response
from vtlab.analysis.laws.demands import cpu_share
from vtlab.analysis.laws.phases import of_variant
from vtlab.analysis.validity import checks, failing, steady_state, warmth
from vtlab.analysis.validity.steady_state import LEAST_AFTER_RAISED, LEAST_CYCLES
from vtlab.errors import BlockFault, InvalidRun, VariantFailed
from vtlab.host import processes
from vtlab.model import units
from vtlab.model.experiment import ClosedLoad, Experiment, OpenLoad
from vtlab.model.records import Block, DiagnosisMode, Facts, Failure, K6Document, Manifest, Trial
from vtlab.model.run import BlockSeries, Run
from vtlab.planning import dumping, load, plan
from vtlab.progress import Progress
from vtlab.report import class_archives, words
from vtlab.targets.target import StartedBlock, Target

#: Calls of k6 with more CPU than the limit, at most.
RAISED_CALLS = 6


def measure(
    folder: Path, target: Target, progress: Progress, name: str, wait: Callable[[float], None] = time.sleep
) -> None:
    """Measures what the run in ``folder`` still lacks. InvalidRun when too many blocks are rejected."""
    run = results.read(folder)
    manifest, experiment = run.manifest, run.experiment
    judged = [(block, checks.reasons(block, experiment)) for block in run.blocks]
    accepted = [block for block, reasons in judged if not reasons]
    rejected = [(block, reasons) for block, reasons in judged if reasons]
    planned = f"at most {manifest.blocks}" if manifest.rule else str(manifest.blocks)
    while left := standing.blocks_left(run):
        if len(rejected) > manifest.max_rejected:
            raise InvalidRun(
                f"{name}: {len(rejected)} blocks were rejected, {len(accepted)} of {planned} count; the last: "
                + "; ".join(rejected[-1][1][:3]),
                f"see the reasons in the report (vtlab report {folder}); is something else running there?",
            )
        number = len(accepted) + 1
        tries = 1 + sum(block.block == number for block, _ in rejected)
        title = f"{name}: block {number} of {planned}"
        attempt = Attempt(experiment, manifest.seed, progress, title, number, tries, wait)
        order = plan.order(experiment.variants, manifest.seed, number, experiment.windows.trials)
        # Of a variant that failed before it was alone there is nothing yet.
        alone = {phase.variant for block in accepted for phase in block.single}
        lit = {phase.variant for block in accepted for phase in block.light}
        began = time.monotonic()
        block, samples = attempt.measure(
            target,
            order,
            with_single=not alone.issuperset(experiment.variants),
            beside=[variant for variant in experiment.variants if variant not in lit],
            before=accepted,
            diagnosis=manifest.diagnosis,
        )
        block.seconds = round(time.monotonic() - began, 3)
        # Ctrl-C must not cost a block that is measured.
        with processes.uninterrupted():
            results.append_block(folder, block)
            if samples:
                results.append_series(folder, block, samples)
        run = replace(run, blocks=[*run.blocks, block])
        reasons = checks.reasons(block, experiment)
        if reasons:
            rejected.append((block, reasons))
            # The disturbance may last a moment: each rejection waits longer than the one before.
            wait(min(2.0 * len(rejected), 10.0))
        else:
            accepted.append(block)
        failures = [] if reasons else failing.failures(block, experiment)
        progress.block_done(name, block, reasons, failures, len(accepted), planned)
        if not reasons:
            _say_where_it_stands(run, progress, name, left - 1)


def _say_where_it_stands(run: Run, progress: Progress, name: str, planned: int) -> None:
    """That a run ends here, or goes on to its next look; ``planned``: blocks that were still expected."""
    left, reached = standing.blocks_left(run), standing.decision(run)
    if left > planned:
        progress.go_on(left - planned)
    elif left < planned:
        progress.give_up(planned - left)
    if reached and (reached.ended or left > planned):
        progress.say(f"{name}: {words.look(reached)}")
    elif not left and planned:
        progress.say(f"{name}: no further blocks: a variant failed in each of the first {standing.ENDING}")


def seconds_beside(run: Run) -> float:
    """About how long what is measured once, beside the trials, will take in the next block."""
    accepted = [block for block in run.blocks if not checks.reasons(block, run.experiment)]
    variants = set(run.experiment.variants)
    has_single = variants <= {phase.variant for block in accepted for phase in block.single}
    has_light = variants <= {phase.variant for block in accepted for phase in block.light}
    always = run.manifest.diagnosis == "always"
    return load.beside_seconds(run.experiment, not has_single, not has_light, always)


def seconds_longer(run: Run) -> float | None:
    """How much longer than planned the windows of one block are; None where the first warm-up is to tell."""
    if not isinstance(run.experiment.load, OpenLoad):
        return 0.0
    measured = [block.trials for block in run.blocks if block.trials]
    if not measured:
        return None
    return max(0.0, sum(t.window - units.seconds(run.experiment.window_of(t.variant)) for t in measured[-1]))


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


def last_cycles(warmup: Sequence[Trial], variants: Sequence[str]) -> list[Trial]:
    """The last warm-up cycle of each of these variants."""
    return [[trial for trial in warmup if trial.variant == variant][-1] for variant in variants]


def are_compiled(warmup: Sequence[Trial], variants: Sequence[str], experiment: Experiment) -> bool:
    """Whether the JIT compilers of these variants took nothing from the requests in their last warm-up cycle."""
    return all(warmth.is_compiled(trial, experiment) for trial in last_cycles(warmup, variants))


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
        self._experiment = experiment
        self._wait = wait
        self._seed = seed
        self._pace = load.pace(experiment, seed)
        self._progress = progress
        self._title = name + (f", attempt {attempt}" if attempt > 1 else "")
        self._block = Block(block=number, attempt=attempt, order=[])
        #: The variants that take part.
        self._variants: list[str] = []

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
        block, experiment = self._block, self._experiment
        block.order = list(order)
        samples: BlockSeries = {}
        try:
            self._step(f"starting {' and '.join(experiment.variants)}")
            started = target.start(experiment, block.block, block.attempt)
        except BlockFault as fault:
            block.faults.append(str(fault))
            return block, samples
        block.instances, block.failures = started.instances, list(started.failures)
        block.differences = list(started.differences)
        for failure in block.failures:
            self._say(failure)
        for instance in block.instances if block.block == 1 else ():
            if unused := class_archives.unused(instance):
                self._progress.say(f"{self._title}: {unused}")
        self._variants = [instance.variant for instance in block.instances]
        try:
            single = experiment.windows.single_user_phase
            alone = single if with_single and units.milliseconds(single) else None
            gives_up = not beside and not alone and isinstance(experiment.load, ClosedLoad)
            self._warm_up(started, order, gives_up)
            self._measure_trials(started, order, alone, gives_up)
            if block.trials:
                samples = started.series(block.trials[0].begin, block.trials[-1].drained)
                beside = [variant for variant in beside if variant in self._variants]
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

    def _warm_up(self, started: StartedBlock, order: Sequence[str], gives_up: bool) -> None:
        """Equal warm-up cycles for all variants, until all have reached their steady state and their JIT compilers
        rest. Those without a steady state leave; of those that still compile the checks judge the trials.

        Where the pace of the trials is known before, they follow in the same call of k6, whose users are connected.
        They count where the cycles before them show the steady state: else there are further cycles, and trials later.
        ``gives_up``: what these leave unanswered at last is not waited for.
        """
        windows, block = self._experiment.windows, self._block
        cycles = self._warm_up_raised(started)
        cheap_cycles, own_cycles = windows.warmup_cycles, LEAST_CYCLES
        if cycles:
            cheap_cycles, own_cycles = 0, LEAST_AFTER_RAISED
        least = cycles + cheap_cycles + own_cycles
        most = least + windows.max_cycles
        follow = self._are_followed_by_trials()
        while self._variants:
            trials = [variant for variant in order if variant in self._variants] if follow else []
            document = self._warm_up_cycles(
                started, cycles, cheap_cycles, own_cycles, f"{least} to {most}", trials, gives_up
            )
            if document is None:
                continue
            cycles += cheap_cycles + own_cycles
            unsteady = {variant for variant in self._variants if not self._is_steady(variant)}
            for variant in [name for name in self._variants if name in unsteady and cycles >= most]:
                self._leave(started, variant)
            compiled = are_compiled(block.warmup, self._variants, self._experiment)
            is_over = unsteady.isdisjoint(self._variants) and (cycles >= most or compiled)
            if is_over and {t.variant for t in document.trials} <= set(self._variants):
                self._pace = load.pace(self._experiment, self._seed, last_cycles(block.warmup, self._variants))
                self._say_pace()
                self._keep(started, document)
                return
            if _is_given_up(document):
                # What follows must not meet these requests.
                self._wait(self._longest_round())
            if is_over:
                # Of those that left there are trials, too.
                return
            cheap_cycles, own_cycles, follow = 0, 1, False

    def _warm_up_raised(self, started: StartedBlock) -> int:
        """The cheap cycles with more CPU than the limit, where the machine has it: how many there were. Until the JIT
        compilers rest, unless they will take nothing from the trials, whose bound is the load."""
        cycles, count = 0, self._experiment.windows.warmup_cycles
        most = count if self._experiment.is_paced else RAISED_CALLS * count
        with more_cpu(started, self._experiment) as is_raised:
            while is_raised and self._variants and cycles < most:
                if self._warm_up_cycles(started, cycles, count, 0, "those with more CPU") is None:
                    continue
                cycles += count
                if are_compiled(self._block.warmup, self._variants, self._experiment):
                    break
        return cycles

    def _are_followed_by_trials(self) -> bool:
        experiment = self._experiment
        return experiment.is_paced and experiment.windows.wait_for_answers and not experiment.between

    def _longest_round(self) -> float:
        """Seconds; 0 where no round is known."""
        closed = self._experiment.load
        rounds = closed.round.values() if isinstance(closed, ClosedLoad) else ()
        return max(map(units.seconds, rounds), default=0.0)

    def _warm_up_cycles(
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
        block = self._block
        measuring = f", then measuring in the order {', '.join(order)}" if order else ""
        self._step(f"warm-up, cycle {before + 1} of {planned}{measuring}")
        call = partial(
            started.load,
            order=order,
            warmup_cycles=cheap,
            own_cycles=own,
            single=None,
            wait_for_answers=not gives_up,
            pace=self._pace,
        )
        document = self._survived(started, before, "the warm-up", call)
        if document is None:
            return None
        block.warmup += [
            trial.model_copy(update={"position": position})
            for position, trial in enumerate(document.warmup, len(block.warmup) + 1)
        ]
        block.agreed = block.agreed and document.agreed
        silent = {trial.variant for trial in document.warmup if not trial.ok}
        for variant in [name for name in self._variants if name in silent]:
            self._leave(started, variant)
        return document

    def _say_pace(self) -> None:
        """That windows last longer than the experiment's, and what they show."""
        pace = self._pace
        if pace.measure is None and pace.shown is None:
            return
        shown = load.OVERLOAD if pace.shown is None else pace.shown
        length = "" if pace.measure is None else f" of {pace.measure / 1000:.0f} s"
        self._progress.say(f"{self._title}: windows{length} show an overload from {units.percent(shown)} on")

    def _is_steady(self, variant: str) -> bool:
        warm_up = steady_state.warm_up_of(self._block, self._experiment, variant)
        return len(warm_up.judged) >= warm_up.least and warm_up.state.reached

    def _measure_trials(self, started: StartedBlock, order: Sequence[str], single: str | None, gives_up: bool) -> None:
        """The trials, where none followed the warm-up, and the single-user phases after them: a JVM that serves one
        user compiles anew, and would do so in the trials. Where what is unanswered may be given up a JVM ends with its
        last trial: they come before.

        ``gives_up``: nothing comes after these. What the last one leaves unanswered is not waited for then."""
        if self._experiment.windows.wait_for_answers:
            if not self._block.trials:
                self._measure_together(started, order, None, wait_for_answers=not gives_up)
            if single and self._block.trials:
                self._measure_together(started, [], single)
            return
        if single:
            self._measure_together(started, [], single)
        for position, variant in enumerate(order, 1):
            # Another one may break meanwhile.
            while variant in self._variants:
                self._step(f"measuring {variant}")
                document = self._survived(
                    started,
                    0,
                    f"trial {position}",
                    partial(started.trial_without_drain, variant, position, self._pace),
                )
                if document is not None:
                    self._keep(started, document)
                    break

    def _measure_together(
        self, started: StartedBlock, order: Sequence[str], single: str | None, wait_for_answers: bool = True
    ) -> None:
        while self._variants:
            left = [variant for variant in order if variant in self._variants]
            self._step(f"measuring in the order {', '.join(left)}" if left else "measuring a single user")
            document = self._survived(
                started,
                0,
                "the trials",
                partial(
                    started.load,
                    order=left,
                    warmup_cycles=0,
                    single=single,
                    wait_for_answers=wait_for_answers,
                    pace=self._pace,
                ),
            )
            if document is not None:
                self._keep(started, document)
                return

    @contextmanager
    def _beside_the_trials(self) -> Iterator[None]:
        """The trials are measured: what is beside them costs no block."""
        try:
            yield
        except BlockFault as fault:
            self._progress.say(f"{self._title}: not measured beside the trials: {fault}")

    def _measure_light(self, started: StartedBlock, variants: Sequence[str], before: Sequence[Block]) -> None:
        """Phases of light load, of the first block that counts."""
        block, experiment = self._block, self._experiment
        # Variants that give up what is unanswered have ended with their trials.
        if not variants or not experiment.windows.wait_for_answers or checks.reasons(block, experiment):
            return
        under_load = {variant: of_variant([block], experiment, variant) for variant in variants}
        # Where a variant had none of this in an earlier block, it may have been alone there.
        alone = {variant: of_variant([*before, block], experiment, variant) for variant in variants}
        self._step("light load")
        light = load.light(
            {variant: shortest_response(m) or 0.0 for variant, m in alone.items()},
            {variant: m.throughput or 0.0 for variant, m in under_load.items()},
            {variant: cpu_share(m) or 0.0 for variant, m in under_load.items()},
        )
        call = partial(started.load, order=[], warmup_cycles=0, single=None, light=light, pace=self._pace)
        document = self._survived(started, 0, "light load", call)
        block.light = document.light if document else []

    def _diagnose(
        self, started: StartedBlock, variants: Sequence[str], before: Sequence[Block], mode: DiagnosisMode
    ) -> None:
        """Thread dumps of these variants, or of those that nothing measured explains."""
        block, experiment = self._block, self._experiment
        wanted = [
            variant
            for variant in variants
            if variant in self._variants
            and (mode == "always" or variant_results.is_unexplained([*before, block], experiment, variant))
        ]
        if not wanted:
            return
        self._step(f"thread dumps of {' and '.join(wanted)}")
        trials = {variant: [trial for trial in block.trials if trial.variant == variant] for variant in wanted}
        block.diagnosis = started.diagnose(
            {variant: dumping.pace(self._pace, experiment, trials[variant]) for variant in wanted}
        )
        missing = [variant for variant in wanted if variant not in block.diagnosis]
        if missing and mode == "always":
            self._say_no_dumps(missing, "vtlab could not ask the JVM, or the JVM ended")

    def _say_no_dumps(self, variants: Sequence[str], reason: str) -> None:
        self._progress.say(f"{self._title}: no thread dumps of {' and '.join(variants)}: {reason}")

    def _keep(self, started: StartedBlock, document: K6Document) -> None:
        """Takes over the trials and single-user phases of a call. The last variant ends with what it has not answered,
        if it was given up."""
        self._block.single += document.single
        self._block.thresholds |= document.thresholds
        rounds = self._pace.rounds
        self._block.trials += [
            trial.model_copy(update={"round": rounds[trial.variant] / 1000}) if trial.variant in rounds else trial
            for trial in document.trials
        ]
        self._block.agreed = self._block.agreed and document.agreed
        if _is_given_up(document) and self._experiment.windows.wait_for_answers:
            started.drop(document.trials[-1].variant)

    def _survived(
        self, started: StartedBlock, cycles: int, moment: str, call: Callable[[], K6Document]
    ) -> K6Document | None:
        """What a call of k6 measured; None where a variant broke, which then leaves the block. ``cycles``: those of the
        warm-up before the call."""
        try:
            return call()
        except VariantFailed as broken:
            when = _moment(broken.phase, cycles, len(self._variants)) or moment
            failure = Failure(variant=broken.variant, reason=broken.reason, moment=when)
            self._block.failures.append(failure)
            self._say(failure)
            self._leave(started, broken.variant)
            return None

    def _leave(self, started: StartedBlock, variant: str) -> None:
        self._variants.remove(variant)
        started.drop(variant)

    def _step(self, text: str) -> None:
        self._progress.step(f"{self._title}: {text}")

    def _say(self, failure: Failure) -> None:
        self._progress.say(f"{self._title}: {failure.variant} failed, {failure.moment}: {failure.reason}")


def _is_given_up(document: K6Document) -> bool:
    """Whether the last trial left requests unanswered, which are still in flight."""
    return bool(document.trials) and document.trials[-1].given_up > 0


def _moment(phase: str | None, cycles: int, variants: int) -> str | None:
    """In words the phase that k6's tag names, after so many warm-up cycles of so many variants; None without one."""
    if not phase:
        return None
    if phase.startswith("w"):
        return f"warm-up cycle {cycles + math.ceil(int(phase[1:]) / variants)}"
    return {"a": "the login", "s": "the single-user phase", "l": "light load"}.get(phase[0], f"trial {phase}")


def manifest_of(planned: plan.PlannedRun, facts: Facts, **fields: Any) -> Manifest:
    """The manifest of a planned run."""
    return Manifest(name=planned.name, experiment=planned.experiment, **facts.model_dump(), **fields)
