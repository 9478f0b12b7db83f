"""Runs whose blocks are replayed, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support import builders
from vtlab.analysis.validity import checks
from vtlab.errors import BlockFault, VariantFailed
from vtlab.measuring.progress import Progress
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Diagnosis
from vtlab.model.run import Run
from vtlab.planning import trial_order
from vtlab.planning.load_call import CallPacing, LightLoad
from vtlab.runs import store
from vtlab.runs.measure import measure_run
from vtlab.targets.recorded import Moment, Playback, RecordedBlock, RecordedTarget, moment_of

RUN = builders.run(blocks=2)
#: How long one user is alone.
ALONE = RUN.experiment.windows.single_user_phase
#: Windows of an experiment whose trials give up what is unanswered.
GIVING_UP = {
    "warmup_users": 200,
    "warmup_load": "6s",
    "warmup_cycles": 0,
    "measure": "30s",
    "trials": 1,
    "wait_for_answers": False,
}


@pytest.fixture(autouse=True)
def as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of each block is the one that it had."""
    monkeypatch.setattr(trial_order, "order", lambda variants, seed, block, trials: RUN.blocks[block - 1].order)


#: What the dumps of a variant show, where some were taken.
DIAGNOSIS = Diagnosis(dumps=20, threads=40.0, places=[])


def recorded(
    blocks: Sequence[Block], faults: Mapping[Moment, BlockFault] | None = None, **playback: Any
) -> RecordedTarget:
    """A target that replays these blocks, of whose variants thread dumps can be taken."""
    diagnosed = [
        block.model_copy(update={"diagnosis": {instance.variant: DIAGNOSIS for instance in block.instances}})
        for block in blocks
    ]
    return RecordedTarget(diagnosed, Playback(**playback), faults)


def light_loads(target: RecordedTarget) -> list[LightLoad]:
    """The light load of each call that had some."""
    return [call.light_load for call in target.journal.loads if call.light_load]


def pacings(target: RecordedTarget) -> list[CallPacing]:
    """The pacing of each call of k6."""
    return [call.pacing for call in target.journal.loads]


def at_once(target: RecordedTarget) -> list[str]:
    """At which moments the variants were loaded at the same time."""
    return [moment_of(call) for call in target.journal.loads if call.is_at_once]


class FailingEveryBlock(RecordedTarget):
    """A target whose virtual variant breaks in the first trial of every block."""

    def start(self, experiment: Experiment, block: int, attempt: int) -> RecordedBlock:
        self.faults = {"trials": VariantFailed("virtual", "out of heap memory (256m)", "1")}
        return super().start(experiment, block, attempt)


def console() -> tuple[Console, StringIO]:
    text = StringIO()
    return Console(file=text, width=200), text


def one_block(target: RecordedTarget, tmp_path: Path, exp: Experiment | None = None) -> tuple[Block, str]:
    """What became of a run of one block, which counts, and what was said."""
    run = builders.run(exp, blocks=1)
    store.create(tmp_path, run.manifest)
    said, text = console()
    with Progress(said, [1]) as progress:
        measure_run(tmp_path, store.read(tmp_path), target, progress)
    (block,) = store.read(tmp_path).blocks
    assert checks.reasons(block, run.experiment) == []
    return block, text.getvalue()


def measured(target: RecordedTarget, folder: Path, run: Run) -> tuple[list[Block], str]:
    """The blocks of a run, and what was said."""
    store.create(folder, run.manifest)
    said, text = console()
    with Progress(said, [1] * run.manifest.blocks) as progress:
        measure_run(folder, store.read(folder), target, progress, wait=lambda _: None)
    return store.read(folder).blocks, text.getvalue()


#: The cheap cycles have so many requests for each variant.
COUNTED = {"warmup_users": 200, "warmup_load": "6s", "warmup_cycles": 2, "warmup_requests": 6000, "measure": "30s"}
