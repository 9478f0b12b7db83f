"""What a block has beside its trials: light load, thread dumps; and which trials are waited for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import recorded, replay
from tests.support.recorded_target import RecordedTarget
from tests.support.replay import (
    DIAGNOSIS,
    GIVING_UP,
    RUN,
    as_recorded,
    light_loads,
    measured,
    moments_at_once,
    one_block,
    replaying,
)
from vtlab.analysis.validity import checks, failing
from vtlab.errors import BlockFault, VariantFailed
from vtlab.model.records import Block, Failure, Trial
from vtlab.model.run import Run
from vtlab.planning import trial_order
from vtlab.runs.estimates import extra_phase_seconds

__all__ = ["as_recorded"]


def waits(target: RecordedTarget) -> list[bool]:
    """Tells of each call after the warm-up whether it waits for all answers."""
    return [call.wait_for_answers for call in target.journal.loads if not call.cycles]


def beside(target: RecordedTarget) -> list[str]:
    """What was measured beside the trials."""
    return [event for event in target.journal.events if event.startswith(("light", "thread"))]


def test_light_load_comes_once_in_a_run_and_of_a_block_that_counts(tmp_path: Path) -> None:
    squeezed = recorded.spoiled(RUN.blocks[0], "generator")
    blocks, _ = measured(target := replaying([squeezed, *RUN.blocks]), tmp_path, RUN)
    assert beside(target) == ["light load for platform virtual of platform virtual"]
    assert [len(block.light) for block in blocks] == [0, len(RUN.blocks[0].light), 0]
    (light,) = light_loads(target)
    response = max(t.latency.mean or 0.0 for t in RUN.blocks[0].single)
    assert light.settle > 1000 * response > 200, "longer than a request alone"
    assert all(max(rates) > 0 for rates in light.rates.values())


def test_a_variant_without_light_load_has_it_in_the_next_block(tmp_path: Path) -> None:
    first = RUN.blocks[0]
    second = RUN.blocks[1].model_copy(update={"light": first.light})
    broken = VariantFailed("virtual", "it ended with exit code 1", "1")
    target = replaying([first, second], {"trials": broken})
    blocks, _ = measured(target, tmp_path, RUN)
    assert beside(target) == ["light load for platform of platform", "light load for virtual of platform virtual"]
    assert [{t.variant for t in block.light} for block in blocks] == [{"platform"}, {"virtual"}]


def test_light_load_in_a_later_block_settles_by_the_single_user_before(tmp_path: Path) -> None:
    second = RUN.blocks[1].model_copy(update={"light": RUN.blocks[0].light})
    target = replaying([RUN.blocks[0], second], {"light load": BlockFault("k6 ended with exit code 107")})
    blocks, _ = measured(target, tmp_path, RUN)
    assert [len(block.single) for block in blocks] == [len(RUN.blocks[0].single), 0]
    first, second = light_loads(target)
    assert first.settle == second.settle


def test_a_fault_of_k6_beside_the_trials_costs_no_block(tmp_path: Path) -> None:
    target = replaying(RUN.blocks, {"light load": BlockFault("k6 ended with exit code 107")})
    block, said = one_block(target, tmp_path)
    assert (block.light, block.diagnosis, block.faults, block.failures) == ([], {}, [], [])
    assert "a part beside the trials is missing: k6 ended with exit code 107" in said


def test_a_variant_that_breaks_under_light_load_fails(tmp_path: Path) -> None:
    target = replaying(RUN.blocks, {"light load": VariantFailed("virtual", "out of heap memory (256m)", "l3")})
    block, said = one_block(target, tmp_path)
    assert block.failures == [Failure(variant="virtual", reason="out of heap memory (256m)", moment="light load")]
    assert target.journal.events[-1] == "drop virtual"
    assert {t.variant for t in block.trials} == {"platform", "virtual"}, "it had its trials"
    assert "virtual failed, light load: out of heap memory (256m)" in said


def test_only_a_variant_that_nothing_explains_is_diagnosed(tmp_path: Path) -> None:
    run = recorded.with_ratio(replay.run(blocks=2), 1.4)
    blocks, _ = measured(target := replaying(run.blocks), tmp_path, run)
    assert beside(target) == ["light load for platform virtual of platform virtual", "thread dumps of virtual"]
    assert [list(block.diagnosis) for block in blocks] == [["virtual"], []]


@pytest.mark.parametrize(
    ("idle", "changes", "loads_at_once", "moments"),
    [
        (0.63, {}, True, ["single user", "light load"]),
        (0.63, {}, False, []),
        (0.62, {}, True, []),
        (0.63, {"needs": ["downstream"]}, True, []),
        (0.63, {"needs": ["jdk21"]}, True, ["single user", "light load"]),
        (0.63, {"load": {"full": {"users": 20, "think_time": "1ms"}}}, True, ["light load"]),
    ],
)
def test_variants_that_share_nothing_are_measured_at_once_beside_the_trials_where_the_machine_is_idle(
    tmp_path: Path, idle: float, changes: dict[str, Any], loads_at_once: bool, moments: list[str]
) -> None:
    exp = replay.experiment(**changes)
    (good,) = replay.run(exp).blocks
    # In the warm-up the JIT compilers are busy.
    warmup = [t.model_copy(update={"machine": {**t.machine, "idle_cores": 0.1}}) for t in good.warmup]
    trials = [t.model_copy(update={"machine": {**t.machine, "idle_cores": idle}}) for t in good.trials]
    target = replaying([good.model_copy(update={"warmup": warmup, "trials": trials})], loads_at_once=loads_at_once)
    block, _ = one_block(target, tmp_path, exp)
    assert moments_at_once(target) == moments
    assert {t.variant for t in block.single} == {t.variant for t in block.light} == {"platform", "virtual"}


def test_idle_phases_are_at_once_whatever_variants_share(tmp_path: Path) -> None:
    exp = replay.experiment(needs=["downstream"])
    run = recorded.with_trials(replay.run(exp), lambda _, t: recorded.changed_trial(t, server={"cpu_cores": 0.9}))
    one_block(target := replaying(run.blocks), tmp_path, exp)
    (light,) = light_loads(target)
    assert light.is_idle, "what a request costs is known under load"
    assert moments_at_once(target) == ["light load"]


def test_the_last_trial_is_not_waited_for_where_nothing_comes_after_it(tmp_path: Path) -> None:
    # With as many users as in the trials the warm-up would tell how long the answers take.
    warmup = [t.model_copy(update={"users": 10}) for t in replay.cycles(3)]
    blocks = [block.model_copy(update={"warmup": warmup}) for block in RUN.blocks]
    _, _ = measured(target := replaying(blocks), tmp_path, RUN)
    # The first block has a single user and light load after its trials, the second has them alone.
    assert waits(target) == [True, True, True, False]


def test_an_open_load_is_waited_for_always(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = recorded.under_open_load(replay.run(blocks=2))
    monkeypatch.setattr(trial_order, "order", lambda variants, seed, block, trials: run.blocks[block - 1].order)
    _, _ = measured(target := replaying(run.blocks), tmp_path, run)
    assert waits(target) == [True] * 4, "trials, a single user and light load, then trials alone"


def test_every_variant_is_diagnosed_once_where_that_was_asked_for(tmp_path: Path) -> None:
    run = always(replay.run(blocks=2))
    blocks, text = measured(target := replaying(run.blocks), tmp_path, run)
    assert beside(target)[-1] == "thread dumps of platform virtual"
    assert [list(block.diagnosis) for block in blocks] == [["platform", "virtual"], []]
    assert "no thread dumps" not in text


def test_it_is_said_which_variant_has_no_thread_dumps(tmp_path: Path) -> None:
    run = always(replay.run())
    diagnosed = [block.model_copy(update={"diagnosis": {"virtual": DIAGNOSIS}}) for block in run.blocks]
    _, text = measured(RecordedTarget(diagnosed), tmp_path, run)
    assert "no thread dumps of platform: vtlab could not ask the JVM, or the JVM ended" in text


def test_a_trial_with_dumps_of_many_requests_is_longer_at_the_pace_of_the_others(tmp_path: Path) -> None:
    users = 1000

    def in_flight(_: Block, trial: Trial) -> Trial:
        response = recorded.latency(trial.ok, users / trial.throughput)
        return recorded.changed_trial(trial, users=users, latency=response)

    exp = replay.experiment(load={"full": {"users": users}})
    run = always(recorded.with_trials(replay.run(exp), in_flight))
    measured(target := replaying(run.blocks), tmp_path, run)
    (dumped,) = target.journal.dumps
    assert {name: pacing.measure for name, pacing in dumped.items()} == pytest.approx(
        {"platform": 20_000, "virtual": 20_000}, rel=0.1
    )
    assert {pacing.seed for pacing in dumped.values()} == {run.manifest.seed}


def test_the_time_of_the_trials_with_dumps_is_expected(tmp_path: Path) -> None:
    once = replay.run(blocks=0)
    assert extra_phase_seconds(always(once)) > extra_phase_seconds(once)


def always(run: Run) -> Run:
    """That run, with thread dumps of every variant."""
    return replace(run, manifest=run.manifest.model_copy(update={"diagnosis": "always"}))


@pytest.mark.parametrize(
    "fault", [VariantFailed("virtual", "it ended with exit code 1"), BlockFault("k6 ended with exit code 107")]
)
def test_what_breaks_under_thread_dumps_costs_neither_block_nor_variant(tmp_path: Path, fault: BlockFault) -> None:
    run = recorded.with_ratio(replay.run(), 1.4)
    target = replaying(run.blocks, {"thread dumps": fault})
    (block,), _ = measured(target, tmp_path, run)
    assert target.faults == {}, "it was raised"
    assert (checks.reasons(block, run.experiment), failing.failures(block, run.experiment)) == ([], [])
    assert block.diagnosis == {}


def test_without_a_drain_nothing_is_measured_beside_the_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_order, "order", lambda *_: ["virtual", "platform"])
    run = replay.run(replay.experiment(windows=GIVING_UP))
    (block,), text = measured(target := replaying(run.blocks), tmp_path, always(run))
    assert light_loads(target) == []
    assert "no thread dumps of platform and virtual: each ends with its trials" in text
    assert len(block.trials) == 2
