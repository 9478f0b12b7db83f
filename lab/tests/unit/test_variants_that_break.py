"""Variants that break or never settle: the others are measured, and a run ends when that is settled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import recorded, replay
from tests.support.recorded_target import Moment, RecordedBlock, RecordedTarget
from tests.support.replay import (
    GIVING_UP,
    RUN,
    SINGLE_USER_PHASE,
    FailingEveryBlock,
    as_recorded,
    console,
    one_block,
    replaying,
)
from vtlab.analysis import run_status
from vtlab.analysis.statistics import stopping_rule
from vtlab.analysis.validity import failing
from vtlab.errors import VariantFailed
from vtlab.measuring.progress import Progress
from vtlab.measuring.schedule import RunTime
from vtlab.measuring.warm_up import last_of_each
from vtlab.model.experiment import Experiment
from vtlab.model.records import Failure
from vtlab.planning import trial_order
from vtlab.runs import store
from vtlab.runs.measure import measure_run

__all__ = ["as_recorded"]


def test_a_variant_that_does_not_start_fails_and_the_other_is_measured(tmp_path: Path) -> None:
    failure = Failure(variant="virtual", reason="it ended with exit code 1: no", moment="while it started")
    target = replaying(RUN.blocks, start_failures=[failure])
    block, said = one_block(target, tmp_path)
    assert block.failures == [failure]
    assert {t.variant for t in (*block.warmup, *block.single, *block.trials)} == {"platform"}
    assert target.journal.events == [
        "3 trial-load cycles of platform",
        "end of the warm-up",
        "trials platform platform of platform",
        f"a single user for {SINGLE_USER_PHASE} of platform",
        "light load for platform of platform",
    ]
    assert "block 1 of 1: virtual failed, while it started: it ended with exit code 1: no" in said


def test_a_variant_that_breaks_in_the_warm_up_leaves_and_the_other_is_measured(tmp_path: Path) -> None:
    target = replaying(RUN.blocks, {"warm-up": VariantFailed("virtual", "out of heap memory (256m)", "w4")})
    block, said = one_block(target, tmp_path)
    assert block.failures == [
        Failure(variant="virtual", reason="out of heap memory (256m)", moment="warm-up cycle 2")
    ], "the fourth phase of two variants"
    assert {t.variant for t in (*block.warmup, *block.trials)} == {"platform"}
    assert target.journal.events == [
        "3 trial-load cycles of platform virtual",
        "drop virtual",
        "3 trial-load cycles of platform",
        "end of the warm-up",
        "trials platform platform of platform",
        f"a single user for {SINGLE_USER_PHASE} of platform",
        "light load for platform of platform",
    ]
    assert "virtual failed, warm-up cycle 2: out of heap memory (256m)" in said
    assert "platform 49.8/s" in said


@pytest.mark.parametrize(("phase", "moment"), [("2", "trial 2"), ("s1", "the single-user phase"), (None, "the trials")])
def test_a_variant_that_breaks_in_a_trial_leaves_and_the_other_has_its_trials(
    phase: str | None, moment: str, tmp_path: Path
) -> None:
    target = replaying(RUN.blocks, {"trials": VariantFailed("platform", "it ended with exit code 137 (killed)", phase)})
    block, _ = one_block(target, tmp_path)
    assert [(f.variant, f.moment) for f in block.failures] == [("platform", moment)]
    assert [t.variant for t in block.trials] == ["virtual", "virtual"]
    assert block.order == RUN.blocks[0].order, "as planned"


def test_without_a_drain_a_variant_that_breaks_meanwhile_does_not_cost_the_other_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_order, "order", lambda *_: ["virtual", "platform"])

    exp = replay.experiment(windows=GIVING_UP)
    broken = VariantFailed("platform", "it ended with exit code 1")
    target = replaying(replay.run(exp).blocks, {"trials": broken})
    block, _ = one_block(target, tmp_path, exp)
    assert target.journal.events[-3:] == ["trial 1 of virtual", "drop platform", "trial 1 of virtual"]
    assert [t.variant for t in block.trials] == ["virtual"]
    assert [(f.variant, f.moment) for f in block.failures] == [("platform", "trial 1")]


def test_a_variant_without_an_ok_answer_leaves_at_once(tmp_path: Path) -> None:
    silent = [
        t.model_copy(update={"ok": 0, "throughput": 0.0, "failed": {"status-404": 900}})
        if t.variant == "virtual"
        else t
        for t in RUN.blocks[0].warmup
    ]
    target = replaying([RUN.blocks[0].model_copy(update={"warmup": silent})])
    block, said = one_block(target, tmp_path)
    assert target.journal.events[1:4] == ["drop virtual", "end of the warm-up", "trials platform platform of platform"]
    assert {f.variant for f in failing.failures(block, RUN.experiment)} == {"virtual"}
    assert "virtual failed" in said


def test_both_variants_may_break(tmp_path: Path) -> None:
    failure = Failure(variant="virtual", reason="it ended with exit code 1", moment="while it started")
    broken = VariantFailed("platform", "it ended with exit code 1", "w1")
    block, _ = one_block(replaying(RUN.blocks, {"warm-up": broken}, start_failures=[failure]), tmp_path)
    assert [f.variant for f in block.failures] == ["virtual", "platform"]
    assert (block.warmup, block.trials) == ([], [])


def test_a_variant_that_fails_in_the_first_three_blocks_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = replay.run(blocks=6)
    store.create(tmp_path, run.manifest)
    monkeypatch.setattr(trial_order, "order", lambda *_: RUN.blocks[0].order)
    said, text = console()

    target = FailingEveryBlock([RUN.blocks[0]] * 6)
    with Progress(said) as progress:
        progress.begin_runs([RunTime([1.0] * 6)])
        measure_run(tmp_path, store.read(tmp_path), target, progress, wait=lambda _: None)
        assert progress.schedule.blocks == 0
    measured = store.read(tmp_path)
    assert [block.block for block in measured.blocks] == [1, 2, 3]
    assert "no further blocks: a variant failed in each of the first 3" in text.getvalue()
    assert run_status.blocks_left(measured) == 0
    assert run_status.blocks_left(replace(measured, blocks=measured.blocks[:2])) == 4


@pytest.mark.parametrize(("noise", "looks"), [(0.001, [2]), (0.02, [2, 3])])
def test_a_run_with_looks_ends_when_it_is_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: float, looks: list[int]
) -> None:
    rule = stopping_rule.sequential_rule(1, precision=0.25)
    run = recorded.with_ratio(replay.run(blocks=12, rule=rule), 2.0, noise, seed=2)
    monkeypatch.setattr(trial_order, "order", lambda variants, seed, block, trials: run.blocks[block - 1].order)
    store.create(tmp_path, run.manifest)
    said, text = console()
    with Progress(said) as progress:
        progress.begin_runs([RunTime([100, 100], is_least=True), RunTime([50])])
        measure_run(tmp_path, store.read(tmp_path), replaying(run.blocks), progress)
        assert progress.schedule.blocks == 1, "the run after it"
    measured = store.read(tmp_path)
    assert len(measured.blocks) == looks[-1]
    assert all(block.seconds is not None for block in measured.blocks)
    assert run_status.blocks_left(measured) == 0
    assert "threads: block 2: starting" in text.getvalue()
    assert f"threads: settled after {looks[-1]} blocks" in text.getvalue()
    between = "threads: not settled after 2 blocks, checked again after 3"
    assert (between in text.getvalue()) == (len(looks) > 1)


def test_a_run_with_looks_ends_with_three_failures_of_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = replay.run(blocks=12, rule=stopping_rule.sequential_rule(1))
    store.create(tmp_path, run.manifest)
    monkeypatch.setattr(trial_order, "order", lambda *_: RUN.blocks[0].order)
    said, text = console()

    target = FailingEveryBlock([RUN.blocks[0]] * 12)
    with Progress(said) as progress:
        progress.begin_runs([RunTime([1.0] * 2, is_least=True)])
        measure_run(tmp_path, store.read(tmp_path), target, progress, wait=lambda _: None)
        assert progress.schedule.blocks == 0
    assert len(store.read(tmp_path).blocks) == 3
    assert text.getvalue().count("no further blocks: a variant failed in each of the first 3") == 1


def test_what_the_others_serve_when_a_variant_ends_a_call_does_not_meet_their_next_trial(tmp_path: Path) -> None:
    """A server goes on with the requests of a k6 that was ended, and its next trial would find them in flight."""
    run = replay.run()
    store.create(tmp_path, run.manifest)
    waited: list[float] = []
    target = replaying(run.blocks, {"trials": VariantFailed("virtual", "out of heap memory (96m)", "2")})
    with Progress(console()[0]) as progress:
        measure_run(tmp_path, store.read(tmp_path), target, progress, wait=waited.append)
    (last,) = last_of_each(run.blocks[0].warmup, ["platform"])
    assert waited == [last.latency.max]


class TooSmallAHeap(RecordedTarget):
    """A target whose virtual variant has too small a heap, which shows in another way in each block: its JVM ends in
    the warm-up, then in the trials; then its request threads alone are out of memory, it answers errors at once and
    Prometheus nothing."""

    def __init__(self) -> None:
        block = RUN.blocks[0]
        lives_on: dict[str, Any] = {
            "failed": {"status-500": 900},
            "machine": {"idle_cores": 0.01},
            "server": {"cpu_cores": None},
        }
        trials = [recorded.changed_trial(t, **lives_on) if t.variant == "virtual" else t for t in block.trials]
        super().__init__([block, block, block.model_copy(update={"trials": trials})])

    def start(self, experiment: Experiment, block: int, attempt: int) -> RecordedBlock:
        moments: dict[int, Moment] = {1: "warm-up", 2: "trials"}
        out_of_memory = VariantFailed("virtual", "out of heap memory (96m)")
        self.faults = {moments[block]: out_of_memory} if block in moments else {}
        return super().start(experiment, block, attempt)


def test_however_a_variant_runs_out_of_memory_no_attempt_is_repeated_and_the_other_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = replay.run(blocks=6)
    store.create(tmp_path, run.manifest)
    monkeypatch.setattr(trial_order, "order", lambda *_: RUN.blocks[0].order)
    with Progress(console()[0]) as progress:
        measure_run(tmp_path, store.read(tmp_path), TooSmallAHeap(), progress, wait=lambda _: None)
    measured = store.read(tmp_path)
    assert [(block.block, block.attempt) for block in measured.blocks] == [(1, 1), (2, 1), (3, 1)]
    assert all(failing.failed(block, measured.experiment) == {"virtual"} for block in measured.blocks)
    verdict = recorded.analysed(measured).verdict
    (decision,) = verdict.decisions
    assert (decision.advice, decision.loser, decision.fault) == ("leave it off", "virtual", "fails")
    assert verdict.variants["platform"].throughput == pytest.approx(49.75, rel=0.01)
