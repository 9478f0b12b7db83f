"""Runs whose blocks are replayed: a target without a service, and what the lab makes of its blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support import recorded
from tests.support.recorded_target import Moment, Playback, RecordedBlock, RecordedTarget, moment_of
from vtlab.analysis.validity import checks
from vtlab.errors import BlockFault, VariantFailed
from vtlab.measuring.progress import Progress
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Diagnosis, Trial
from vtlab.model.run import Run
from vtlab.planning import trial_order
from vtlab.planning.load_call import CallPacing, LightLoad
from vtlab.runs import store
from vtlab.runs.measure import measure_run

#: Windows in which the users' rounds do not matter.
LONG_WINDOWS = {**recorded.recorded().experiment.document()["windows"], "measure": "5s"}
#: Windows whose cheap cycles have so many requests for each variant.
COUNTED = {"warmup_users": 200, "warmup_load": "6s", "warmup_cycles": 2, "warmup_requests": 6000, "measure": "30s"}
#: Windows of an experiment whose trials give up what is unanswered.
GIVING_UP = {
    "warmup_users": 200,
    "warmup_load": "6s",
    "warmup_cycles": 0,
    "measure": "30s",
    "trials": 1,
    "wait_for_answers": False,
}
#: Thread dumps of a variant, where some are taken.
DIAGNOSIS = Diagnosis(dumps=20, threads=40.0, places=[])


def experiment(**changes: Any) -> Experiment:
    """Returns the recorded experiment, where nobody knows the length of a round before the warm-up; without typical
    load, unless ``changes`` name one."""
    load = {"full": {"users": recorded.recorded().experiment.load.users}}
    changes = {"load": load, "windows": LONG_WINDOWS, **changes}
    return recorded.experiment(**{**changes, "load": {"typical": "none", **changes["load"]}})


def cycles(count: int) -> list[Trial]:
    """Returns so many warm-up cycles of both variants, in turn: the last recorded ones again and again."""
    last = recorded.block().warmup[-2:]
    length = last[-1].drained - last[0].begin
    return [recorded.later(trial, n * length) for n in range(count) for trial in last]


def run(exp: Experiment | None = None, blocks: int = 1, warm_up: int = 3, **manifest: Any) -> Run:
    """Returns a run to be replayed, whose blocks have so many warm-up cycles, and single users. The first one has the
    light load of the other recorded run."""
    made = recorded.run(blocks=blocks, experiment=exp or experiment(), **manifest)
    phases = {"warmup": cycles(warm_up), "single": recorded.block().single}
    light = recorded.recorded("pool").blocks[0].light
    replayed = [b.model_copy(update={**phases, "light": light if b.block == 1 else []}) for b in made.blocks]
    return replace(made, blocks=replayed)


def with_typical(made: Run, rate: float = 29.8) -> Run:
    """Returns the run whose blocks have a phase of typical load of each variant, which serves it as its trials serve
    theirs."""

    def after_trials(block: Block) -> list[Trial]:
        variants = dict.fromkeys(block.order)
        first = [next(t for t in block.trials if t.variant == variant) for variant in variants]
        about = {"phase": "typical", "rate": rate, "between": None}
        length = block.trials[-1].drained - block.trials[0].begin
        later = (recorded.later(trial, length) for trial in first)
        return [recorded.copied(t, {**about, "position": position}) for position, t in enumerate(later, 1)]

    return replace(made, blocks=[recorded.copied(b, {"typical": after_trials(b)}) for b in made.blocks])


RUN = run(blocks=2)
#: Duration of a single-user phase.
SINGLE_USER_PHASE = RUN.experiment.windows.single_user_phase


@pytest.fixture(autouse=True)
def as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives each block the order of trials that it was recorded with."""
    monkeypatch.setattr(trial_order, "order", lambda variants, seed, block, trials: RUN.blocks[block - 1].order)


def replaying(
    blocks: Sequence[Block], faults: Mapping[Moment, BlockFault] | None = None, **playback: Any
) -> RecordedTarget:
    """Returns a target that replays these blocks, and takes thread dumps of any variant."""
    diagnosed = [
        block.model_copy(update={"diagnosis": {instance.variant: DIAGNOSIS for instance in block.instances}})
        for block in blocks
    ]
    return RecordedTarget(diagnosed, Playback(**playback), faults)


class FailingEveryBlock(RecordedTarget):
    """A target whose virtual variant breaks in the first trial of every block."""

    def start(self, experiment: Experiment, block: int, attempt: int) -> RecordedBlock:
        self.faults = {"trials": VariantFailed("virtual", "out of heap memory (256m)", "1")}
        return super().start(experiment, block, attempt)


def light_loads(target: RecordedTarget) -> list[LightLoad]:
    """Returns the light load of each call that had some."""
    return [call.light_load for call in target.journal.loads if call.light_load]


def pacings(target: RecordedTarget) -> list[CallPacing]:
    """Returns the pacing of each call of k6."""
    return [call.pacing for call in target.journal.loads]


def moments_at_once(target: RecordedTarget) -> list[Moment]:
    """Returns the moments at which the variants were loaded at the same time."""
    return [moment_of(call) for call in target.journal.loads if call.is_at_once]


def console() -> tuple[Console, StringIO]:
    """Returns a wide console, and the text that is printed on it."""
    text = StringIO()
    return Console(file=text, width=200), text


def measured(target: RecordedTarget, folder: Path, run: Run, budget: float | None = None) -> tuple[list[Block], str]:
    """Measures a run, in a call that may take ``budget`` seconds; returns its blocks and what was printed."""
    store.create(folder, run.manifest)
    screen, text = console()
    with Progress(screen) as progress:
        progress.schedule.set_budget(budget)
        measure_run(folder, store.read(folder), target, progress, wait=lambda _: None)
    return store.read(folder).blocks, text.getvalue()


def one_block(target: RecordedTarget, folder: Path, exp: Experiment | None = None) -> tuple[Block, str]:
    """Measures a run of one block, which counts; returns the block and what was printed."""
    planned = run(exp)
    (block,), printed = measured(target, folder, planned)
    assert checks.reasons(block, planned.experiment) == []
    return block, printed
