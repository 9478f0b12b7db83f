"""The target that replays a recorded run."""

from __future__ import annotations

import pytest

from tests.support import recorded, replay
from tests.support.recorded_target import Playback, RecordedTarget, describe, moment_of
from vtlab.errors import VariantFailed
from vtlab.planning.load_call import LightLoad, LoadCall, TypicalCall
from vtlab.targets.protocol import StartedBlock, Target

RUN = recorded.run(blocks=2)
TRIALS = LoadCall(trial_order=RUN.blocks[0].order)


def start(target: Target) -> StartedBlock:
    return target.start(RUN.experiment, 1, 1)


def test_blocks_and_their_warm_up_cycles_are_replayed_in_their_order() -> None:
    target = RecordedTarget(RUN.blocks)
    for replayed in RUN.blocks:
        block = start(target)
        cycles = [block.load(LoadCall(trial_load_cycles=1)).warmup for _ in range(2)]
        assert [cycle for call in cycles for cycle in call] == replayed.warmup[:4]
        assert block.load(TRIALS).trials == replayed.trials
    assert target.journal.loads[2] == TRIALS


def test_a_variant_that_was_dropped_has_no_further_phases() -> None:
    block = start(RecordedTarget(RUN.blocks))
    block.drop("virtual")
    assert {phase.variant for phase in block.load(LoadCall(single_user_phase="9s")).single} == {"platform"}


def test_typical_load_is_that_of_the_variants_of_the_call() -> None:
    run = replay.with_typical(RUN)
    block = start(RecordedTarget(run.blocks))
    call = LoadCall(typical=TypicalCall(["platform"], 29.8, 72, 1000, 15_000))
    document = block.load(call)
    assert document.typical == [phase for phase in run.blocks[0].typical if phase.variant == "platform"]
    assert document.phases == document.typical
    assert (moment_of(call), describe(call)) == ("typical load", "typical load for platform")


def test_a_planned_fault_is_raised_once() -> None:
    block = start(RecordedTarget(RUN.blocks, faults={"trials": VariantFailed("virtual", "it ended")}))
    block.load(LoadCall(trial_load_cycles=1))
    with pytest.raises(VariantFailed, match="it ended"):
        block.load(TRIALS)
    assert block.load(TRIALS).trials == RUN.blocks[0].trials


def test_cycles_with_more_cpu_are_marked() -> None:
    block = start(RecordedTarget(RUN.blocks, Playback(raised_cores=1.5)))
    assert block.raise_cpu() == 1.5
    raised = block.load(LoadCall(warmup_cycles=1)).warmup
    block.restore_cpu()
    restored = block.load(LoadCall(warmup_cycles=1)).warmup
    assert [{cycle.raised_cpu for cycle in call} for call in (raised, restored)] == [{1.5}, {None}]


def test_trials_at_the_same_time_are_refused() -> None:
    block = start(RecordedTarget(RUN.blocks))
    light = LightLoad({"platform": (0.0, 0.0)})
    assert block.load(LoadCall(light_load=light, is_at_once=True)).trials == []
    with pytest.raises(ValueError, match="same time"):
        block.load(LoadCall(trial_order=["platform"], is_at_once=True))
