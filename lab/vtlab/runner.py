"""Measures the blocks of a run on a target and keeps every finished block."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from vtlab import results
from vtlab.analysis import checks
from vtlab.analysis.laws import cpu_capacity
from vtlab.errors import BlockFault, InvalidRun
from vtlab.host import processes
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Facts, Instance, K6Document, Manifest, Trial
from vtlab.model.run import BlockSeries
from vtlab.planning import plan
from vtlab.progress import Progress


class StartedBlock(Protocol):
    """One attempt at one block, whose variants run. A BlockFault from any call rejects the block."""

    @property
    def instances(self) -> list[Instance]:
        """What runs, one for each variant."""

    def load(self, *, order: Sequence[str], warmup_cycles: int, single: str | None) -> K6Document:
        """One call of k6: warm-up cycles, then the single-user phases, then the trials in that order."""

    def trial_without_drain(self, variant: str, position: int) -> K6Document:
        """One call of k6: a trial after which this variant gets no more load in this block. At its return nothing of it
        is in flight: that was waited for, or given up and ended with the variant."""

    def check_instances(self) -> list[Instance]:
        """Whether the instances are the ones that started. They stay until the target's next start, or its end."""

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        """The samples of that time for the charts."""


class Target(Protocol):
    """Where variants run: this machine, or a cluster."""

    def start(self, experiment: Experiment, block: int, attempt: int) -> StartedBlock:
        """Fresh instances of every variant, ready, their limits verified. BlockFault where one does not start."""


def measure(
    folder: Path, target: Target, progress: Progress, name: str, wait: Callable[[float], None] = time.sleep
) -> None:
    """Measures what the run in ``folder`` still lacks. InvalidRun when too many blocks are rejected."""
    run = results.read(folder)
    manifest, experiment = run.manifest, run.experiment
    judged = [(block, checks.reasons(block, experiment)) for block in run.blocks]
    accepted = sum(not reasons for _, reasons in judged)
    rejected = [(block, reasons) for block, reasons in judged if reasons]
    while accepted < manifest.blocks:
        if len(rejected) > manifest.max_rejected:
            raise InvalidRun(
                f"{name}: {len(rejected)} blocks were rejected, {accepted} of {manifest.blocks} count; the last: "
                + "; ".join(rejected[-1][1][:3]),
                f"see the reasons in the report (vtlab report {folder}); is something else running there?",
            )
        number = accepted + 1
        tries = 1 + sum(block.block == number for block, _ in rejected)
        block, samples = attempt(target, manifest, experiment, number, tries, progress, name)
        # Ctrl-C must not cost a block that is measured.
        with processes.uninterrupted():
            results.append_block(folder, block)
            if samples:
                results.append_series(folder, block, samples)
        reasons = checks.reasons(block, experiment)
        if reasons:
            rejected.append((block, reasons))
            # Whatever disturbed the block may last a moment; give it a growing one.
            wait(min(2.0 * len(rejected), 10.0))
        else:
            accepted += 1
        progress.block_done(name, block, reasons, accepted, manifest.blocks)


def attempt(
    target: Target,
    manifest: Manifest,
    experiment: Experiment,
    number: int,
    attempt: int,
    progress: Progress,
    name: str,
) -> tuple[Block, BlockSeries]:
    title = f"{name}: block {number} of {manifest.blocks}" + (f", attempt {attempt}" if attempt > 1 else "")
    order = plan.order(experiment.variants, manifest.seed, number, experiment.windows.trials)
    block = Block(block=number, attempt=attempt, order=order)
    samples: BlockSeries = {}
    try:
        progress.step(f"{title}: starting {' and '.join(experiment.variants)}")
        started = target.start(experiment, number, attempt)
    except BlockFault as fault:
        block.faults.append(str(fault))
        return block, samples
    block.instances = started.instances
    try:
        level = _warm_up(started, experiment, block, progress, title)
        if level:
            progress.step(f"{title}: measuring in the order {', '.join(order)}")
            single = experiment.windows.single_user_phase if number == 1 else None
            for document in _trials(started, experiment, order, single):
                block.single += document.single
                block.trials += document.trials
                block.agreed = block.agreed and document.agreed
            samples = started.series(block.trials[0].begin, block.trials[-1].drained)
    except BlockFault as fault:
        block.faults.append(str(fault))
    try:
        block.instances = started.check_instances()
    except BlockFault as fault:
        block.faults.append(str(fault))
    return block, samples


def _warm_up(started: StartedBlock, experiment: Experiment, block: Block, progress: Progress, title: str) -> bool:
    """Equal warm-up cycles for all variants, until all have reached their steady state. False when they do not."""
    windows = experiment.windows
    cycles, more = 0, windows.warmup_cycles
    while True:
        progress.step(f"{title}: warm-up, cycle {cycles + 1} of {windows.warmup_cycles} to {windows.max_cycles}")
        document = started.load(order=[], warmup_cycles=more, single=None)
        cycles += more
        block.warmup += [
            _renumbered(trial, position) for position, trial in enumerate(document.warmup, len(block.warmup) + 1)
        ]
        block.agreed = block.agreed and document.agreed
        if all(checks.steady_state(_of(block.warmup, i.variant), cpu_capacity(i)).reached for i in block.instances):
            return True
        # No answer was OK: more of the same does not help, and the validity checks say why.
        if cycles >= windows.max_cycles or not all(trial.ok for trial in document.warmup):
            return False
        more = 1


def _trials(
    started: StartedBlock, experiment: Experiment, order: Sequence[str], single: str | None
) -> Iterator[K6Document]:
    """The single-user phases and the trials: by one call of k6, or, where what is unanswered may be given up, by one
    for each trial."""
    if experiment.windows.wait_for_answers:
        yield started.load(order=order, warmup_cycles=0, single=single)
        return
    if single:
        yield started.load(order=[], warmup_cycles=0, single=single)
    for position, variant in enumerate(order, 1):
        yield started.trial_without_drain(variant, position)


def _renumbered(trial: Trial, position: int) -> Trial:
    return trial.model_copy(update={"position": position})


def _of(trials: Sequence[Trial], variant: str) -> list[Trial]:
    return [trial for trial in trials if trial.variant == variant]


def manifest_of(planned: plan.PlannedRun, facts: Facts, **fields: Any) -> Manifest:
    """The manifest of a planned run."""
    return Manifest(name=planned.name, experiment=planned.experiment, **facts.model_dump(), **fields)
