"""Planted cases on a machine that others use."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.support import recorded, short_runs, stalls
from tests.support.short_lab import Jvms, Lab
from tests.support.short_runs import analysed
from vtlab.model.records import Block, Trial
from vtlab.model.run import Run

JVMS = Jvms()


class Replayed:
    """Stands for a lab: each attempt at a block is the recorded one, with changes."""

    def __init__(self, run: Run, **machine: float) -> None:
        self._blocks = {block.block: block for block in run.blocks}
        self._machine = machine
        self.attempts = 0

    def are_running(self, _: Jvms) -> bool:
        return True

    def measured(self, _: Any, number: int, __: int) -> Block:
        self.attempts += 1

        def used(trial: Trial) -> Trial:
            return trial.model_copy(update={"machine": trial.machine | self._machine})

        block = self._blocks[number]
        return block.model_copy(update={"trials": [used(trial) for trial in block.trials]})


@pytest.fixture(autouse=True)
def _without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "REPEATED", [])
    monkeypatch.setattr(stalls, "PAUSES", (0.0,))


def conclude(run: Run, lab: Replayed, ratio: float) -> None:
    with analysed(cast(Lab, lab), JVMS, run.experiment, 2) as analysis:
        assert len(analysis.accepted) == 2
        capacity = short_runs.outcome(analysis, "capacity")
        assert capacity.ratio == pytest.approx(ratio, rel=0.05)


def test_what_is_right_beside_others_is_right() -> None:
    """Seen: a host took 1.0 to 1.4 % in each attempt, and a case that was named right failed."""
    run = recorded.run(blocks=2)
    lab = Replayed(run, steal=0.014)
    conclude(run, lab, 1.98)
    assert lab.attempts == 4 + 2


def test_what_is_missed_beside_others_is_skipped() -> None:
    run = recorded.run(blocks=2)
    with pytest.raises(pytest.skip.Exception, match=r"where others used the machine: .* gave 1\.4 % of the cores"):
        conclude(run, Replayed(run, steal=0.014), 1.0)


def test_what_is_missed_on_a_quiet_machine_fails() -> None:
    run = recorded.run(blocks=2)
    lab = Replayed(run)
    with pytest.raises(AssertionError):
        conclude(run, lab, 1.0)
    assert lab.attempts == 2


def test_a_block_that_the_generator_spoilt_fails() -> None:
    run = recorded.run(blocks=2)
    with pytest.raises(AssertionError, match="the load generator waited"):
        conclude(run, Replayed(run, generator_wait=0.01), 1.98)
