"""Typical load in a run: its place in a block, what it does when a variant breaks, and what the run keeps of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import recorded, replay
from tests.support.recorded_target import RecordedTarget
from tests.support.replay import RUN, SINGLE_USER_PHASE, as_recorded, measured, moments_at_once, one_block, replaying
from vtlab.analysis.validity import checks
from vtlab.errors import BlockFault, VariantFailed
from vtlab.measuring.attempt import Attempt
from vtlab.measuring.progress import Progress
from vtlab.measuring.schedule import Schedule
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.manifest import Manifest, TypicalPlan
from vtlab.model.records import Block, Failure, Trial
from vtlab.model.run import Run
from vtlab.planning import typical_load
from vtlab.planning.load_call import CallPacing, LoadCall, TypicalCall
from vtlab.runs import estimates, store
from vtlab.runs.measure import measure_run

__all__ = ["as_recorded"]

#: As the attempts at RUN plan it: six tenths of what platform serves.
RATE = 29.8


def with_load(typical: Any = None, **changes: Any) -> Experiment:
    """Returns the experiment of RUN with typical load beside its full load."""
    load = {"full": {"users": 20}, "typical": typical or {"share": 0.6}}
    return replay.experiment(**{"load": load, **changes})


def runs(exp: Experiment | None = None, blocks: int = 1) -> Run:
    """Returns a run with typical load to be replayed."""
    return replay.with_typical(replay.run(exp or with_load(), blocks=blocks))


def calls(target: RecordedTarget) -> list[TypicalCall]:
    """Returns the typical load of each call of k6 that had some."""
    return [call.typical for call in target.journal.loads if call.typical]


def manifest_of(folder: Path) -> Manifest:
    return store.read(folder).manifest


def plan_of(folder: Path) -> TypicalPlan:
    planned = manifest_of(folder).typical
    assert planned
    return planned


def test_typical_load_comes_after_the_trials_and_before_a_single_user(tmp_path: Path) -> None:
    run = runs(blocks=2)
    (first, second), printed = measured(target := replaying(run.blocks, loads_at_once=False), tmp_path, run)
    both = "platform virtual of platform virtual"
    assert [event for event in target.journal.events if "cycles" not in event] == [
        "end of the warm-up",
        "trials virtual platform platform virtual of platform virtual",
        "typical load for virtual platform of platform virtual",
        f"a single user for {SINGLE_USER_PHASE} of platform virtual",
        f"light load for {both}",
        "end of the warm-up",
        "trials platform virtual virtual platform of platform virtual",
        "typical load for platform virtual of platform virtual",
    ]
    assert [first.typical, second.typical] == [block.typical for block in run.blocks]
    assert printed.count("typical load: 29.8/s, 60 % of platform's throughput") == 1
    assert "block 1 of 2: typical load, 29.8/s" in printed


def test_its_calls_have_the_plan_and_no_pacing_of_the_trials(tmp_path: Path) -> None:
    run = runs(with_load(windows={**replay.LONG_WINDOWS, "measure": "1500ms"}), blocks=2)
    _, _ = measured(target := replaying(run.blocks, loads_at_once=False), tmp_path, run)
    assert any(call.pacing.rounds for call in target.journal.loads), "windows hold few rounds"
    typical = [call for call in target.journal.loads if call.typical]
    assert [call.pacing for call in typical] == [CallPacing(run.manifest.seed)] * 2
    assert all(call.wait_for_answers and call.is_probed for call in typical)
    planned = plan_of(tmp_path)
    one, other = calls(target)
    assert replace(one, order=other.order) == other == typical_load.call(planned, other.order)
    assert one.rate == RATE


@pytest.mark.parametrize(("disturbed_calls", "rejected"), [(1, [False]), (3, [False]), (4, [True, False])])
def test_a_disturbed_typical_load_is_measured_again_on_the_same_jvms(
    tmp_path: Path, disturbed_calls: int, rejected: list[bool]
) -> None:
    """Seen: attempts at blocks of petclinic were rejected after five minutes each, for 1 to 2 % of a window."""
    run = runs()
    changed: list[LoadCall] = []

    def disturbed(call: LoadCall, document: K6Document) -> K6Document:
        if not call.typical or len(changed) == disturbed_calls:
            return document
        changed.append(call)
        first, *others = document.typical
        waited = recorded.changed_trial(first, server={"core_wait": 0.02})
        return recorded.copied(document, {"typical": [waited, *others], "agreed": False})

    target = replaying(run.blocks * 2, loads_at_once=False, change=disturbed)
    blocks, printed = measured(target, tmp_path, run)
    assert len(calls(target)) == disturbed_calls + 1
    assert [bool(checks.reasons(block, run.experiment)) for block in blocks] == rejected
    assert [len(block.typical) for block in blocks] == [2] * len(blocks)
    assert printed.count("typical load is measured once more: ") == min(disturbed_calls, 3)


@pytest.mark.parametrize(("loads_at_once", "moments"), [(True, ["typical load"]), (False, [])])
def test_where_the_machine_is_idle_the_variants_have_it_at_the_same_time(
    tmp_path: Path, loads_at_once: bool, moments: list[str]
) -> None:
    target = replaying(runs().blocks, loads_at_once=loads_at_once)
    block, _ = one_block(target, tmp_path, with_load())
    assert [moment for moment in moments_at_once(target) if moment == "typical load"] == moments
    assert plan_of(tmp_path).is_at_once == loads_at_once
    assert {phase.variant for phase in block.typical} == {"platform", "virtual"}


def test_the_first_attempt_with_trials_plans_it_whether_it_counts_or_not(tmp_path: Path) -> None:
    run = runs(blocks=2)
    broken = recorded.copied(run.blocks[0], {"trials": [], "typical": []})
    squeezed = recorded.spoiled(run.blocks[0], "generator")
    faster = [recorded.scaled(t, 2) for t in run.blocks[0].trials]
    later = recorded.copied(run.blocks[0], {"trials": faster})
    fault = {"trials": BlockFault("k6 ended with exit code 107")}
    blocks, printed = measured(target := replaying([broken, squeezed, later, run.blocks[1]], fault), tmp_path, run)
    assert [len(block.typical) for block in blocks] == [0, 2, 2, 2]
    assert [call.rate for call in calls(target)] == [RATE] * 3, "fixed for the run"
    assert printed.count("typical load: ") == 1
    planned = plan_of(tmp_path)
    assert (planned.rate, planned.of) == (RATE, "platform")
    assert planned.throughput == pytest.approx(49.75)


def test_the_run_keeps_rate_and_percentiles(tmp_path: Path) -> None:
    run = runs()
    measured(replaying(run.blocks), tmp_path, run)
    kept = manifest_of(tmp_path)
    assert kept.percentiles == {"full": "p90", "typical": "p95"}
    assert kept.experiment.load_.typical == with_load({"rate": RATE}).load_.typical
    written = {name: json.loads((tmp_path / name).read_text()) for name in ("experiment.json", "plan.json")}
    assert written["experiment.json"]["load"]["typical"]["rate"] == RATE
    assert written["plan.json"]["typical"]["rate"] == RATE
    same = {"experiment", "typical", "percentiles"}
    assert kept.model_dump(exclude=same) == run.manifest.model_dump(exclude=same)


def sent_late_by_k6(trial: Trial) -> Trial:
    """Returns the trial with a tenth of its arrivals 0.4 s late."""
    return recorded.changed_trial(trial, late_max=0.4, late_arrivals=round(trial.started / 10))


def sent_late(block: Block) -> Block:
    """Returns the block with virtual's typical load sent late."""
    changed = [sent_late_by_k6(t) if t.variant == "virtual" else t for t in block.typical]
    return recorded.copied(block, {"typical": changed})


def late_above(rate: float) -> Callable[[LoadCall, K6Document], K6Document]:
    """Returns what makes virtual's arrivals late at any typical load above this rate."""

    def change(call: LoadCall, document: K6Document) -> K6Document:
        if not call.typical or call.typical.rate <= 1.01 * rate:
            return document
        changed = [sent_late_by_k6(t) if t.variant == "virtual" else t for t in document.typical]
        return document.model_copy(update={"typical": changed})

    return change


def test_a_rate_that_k6_cannot_send_in_time_is_halved_until_a_block_counts(tmp_path: Path) -> None:
    """Seen: 2,380/s for spring-petclinic-rest on two cores; three attempts were rejected, and there was no decision."""
    run = runs(blocks=2)
    first, second = run.blocks
    target = replaying([first, sent_late(second), second], loads_at_once=False, change=late_above(RATE / 2))
    blocks, printed = measured(target, tmp_path, run)
    assert [call.rate for call in calls(target)] == [RATE] * 2 + [RATE / 2] * 4, "twice where k6 is late"
    assert [bool(checks.reasons(block, run.experiment)) for block in blocks] == [False, True, False]
    assert printed.count("block 1 of 2: typical load: 14.9/s from now on, as k6 sent 29.8/s too late") == 1
    kept = manifest_of(tmp_path)
    assert kept.experiment.load_.typical == with_load({"rate": RATE / 2}).load_.typical
    assert plan_of(tmp_path).throughput == pytest.approx(49.75), "of which the rate is a share"
    assert kept.percentiles["typical"] == "p90", "half the answers"


@pytest.mark.parametrize(("seconds_left", "halvings"), [(1e9, 3), (1.0, 2)])
def test_an_attempt_halves_the_rate_twice_at_most_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds_left: float, halvings: int
) -> None:
    monkeypatch.setattr(Schedule, "budget_left", lambda _: seconds_left)
    run = runs()
    rates = [RATE / 2**halved for halved in range(halvings + 1)]
    target = replaying(run.blocks * 2, loads_at_once=False, change=late_above(rates[-1]))
    blocks, _ = measured(target, tmp_path, run)
    assert [bool(checks.reasons(block, run.experiment)) for block in blocks] == [True, False]
    assert [call.rate for call in calls(target)] == pytest.approx(
        [*(rate for rate in rates[:-1] for _ in range(2)), rates[-1]], rel=0.01
    )
    assert plan_of(tmp_path).rate == pytest.approx(rates[-1], rel=0.01)


def test_arrivals_that_are_late_for_a_moment_cost_no_block(tmp_path: Path) -> None:
    """Seen: a hypervisor stopped k6 for 90 ms, and spring-petclinic's block of five minutes was rejected."""
    run = runs()
    late = sent_late(run.blocks[0]).typical

    def stopped(call: LoadCall, document: K6Document) -> K6Document:
        is_first = call.typical is not None and len(calls(target)) == 1
        return document.model_copy(update={"typical": late}) if is_first else document

    target = replaying(run.blocks, change=stopped)
    blocks, printed = measured(target, tmp_path, run)
    assert [checks.reasons(block, run.experiment) for block in blocks] == [[]]
    assert [call.rate for call in calls(target)] == [RATE] * 2
    assert printed.count("typical load is measured once more: virtual: the load generator ") == 1


def test_a_run_that_was_interrupted_after_a_late_attempt_has_the_rate_of_its_end(tmp_path: Path) -> None:
    run = runs()
    late = sent_late(run.blocks[0])

    def stop(_: float) -> None:
        raise KeyboardInterrupt

    store.create(tmp_path, run.manifest)
    with Progress(replay.console()[0]) as progress:
        with pytest.raises(KeyboardInterrupt):
            measure_run(tmp_path, store.read(tmp_path), replaying([late]), progress, wait=stop)
        kept = plan_of(tmp_path).rate
        measure_run(tmp_path, store.read(tmp_path), target := replaying(run.blocks), progress)
    assert kept < RATE / 2
    assert [call.rate for call in calls(target)] == [kept]


def test_a_rate_that_something_else_disturbed_is_not_halved(tmp_path: Path) -> None:
    run = runs()
    late = sent_late(run.blocks[0])
    stolen = [recorded.changed_trial(phase, machine={"steal": 0.04}) for phase in late.typical]
    disturbed = recorded.copied(late, {"typical": stolen})
    measured(target := replaying([disturbed, *run.blocks]), tmp_path, run)
    assert [call.rate for call in calls(target)] == [RATE] * 5, "four times on the JVMs of the first attempt"


def test_a_rate_that_was_named_is_not_halved(tmp_path: Path) -> None:
    exp = with_load({"rate": 12.5, "gaps": "even"})
    run = runs(exp)
    target = replaying([sent_late(run.blocks[0]), run.blocks[0]])
    measured(target, tmp_path, run)
    assert [call.rate for call in calls(target)] == [12.5] * 3


def test_a_run_that_goes_on_has_the_typical_load_that_it_began_with(tmp_path: Path) -> None:
    run = runs(blocks=2)
    faster = [recorded.scaled(t, 2) for t in run.blocks[1].trials]
    second = recorded.copied(run.blocks[1], {"trials": faster})
    store.create(tmp_path, run.manifest)
    with Progress(replay.console()[0]) as progress:
        with pytest.raises(IndexError):
            measure_run(tmp_path, store.read(tmp_path), replaying(run.blocks[:1]), progress)
        before = plan_of(tmp_path)
        measure_run(tmp_path, store.read(tmp_path), target := replaying([second]), progress)
    assert [call.rate for call in calls(target)] == [RATE]
    assert plan_of(tmp_path) == before
    assert len(store.read(tmp_path).blocks) == 2


def test_a_signal_while_a_block_is_stored_costs_neither_block_nor_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[str] = []
    monkeypatch.setattr(store, "replace_manifest", lambda *_: stored.append("plan"))
    monkeypatch.setattr(store, "append_block", lambda *_: stored.append("block"))
    run = runs()
    with Progress(replay.console()[0]) as progress:
        measure_run(tmp_path, run_without_blocks(run), replaying(run.blocks), progress)
    assert stored == ["plan", "block"], "a block that is kept has the plan of its run"


def run_without_blocks(run: Run) -> Run:
    return replace(run, blocks=[])


def test_a_named_rate_is_that_of_the_run(tmp_path: Path) -> None:
    exp = with_load({"rate": 12.5, "gaps": "even"})
    _, printed = one_block(target := replaying(runs(exp).blocks), tmp_path, exp)
    assert [call.rate for call in calls(target)] == [12.5]
    assert manifest_of(tmp_path).experiment == exp
    assert (plan_of(tmp_path).of, plan_of(tmp_path).rate) == ("", 12.5)
    assert "throughput" not in printed


def test_a_variant_that_breaks_under_typical_load_fails_and_the_other_has_it_again(tmp_path: Path) -> None:
    broken = VariantFailed("virtual", "out of heap memory (256m)", "t1")
    target = replaying(runs().blocks, {"typical load": broken})
    block, printed = one_block(target, tmp_path, with_load())
    assert block.failures == [Failure(variant="virtual", reason="out of heap memory (256m)", moment="typical load")]
    assert [call.order for call in calls(target)] == [["virtual", "platform"], ["platform"]]
    assert [phase.variant for phase in block.typical] == ["platform"]
    assert {trial.variant for trial in block.trials} == {"platform", "virtual"}, "it had its trials"
    assert {phase.variant for phase in (*block.single, *block.light)} == {"platform"}
    assert "virtual failed, typical load: out of heap memory (256m)" in printed


def test_a_fault_of_k6_under_typical_load_rejects_the_block_and_costs_no_plan(tmp_path: Path) -> None:
    run = runs(blocks=1)
    target = replaying([*run.blocks, *run.blocks], {"typical load": BlockFault("k6 ended with exit code 107")})
    (first, second), _ = measured(target, tmp_path, run)
    assert checks.reasons(first, run.experiment) == ["k6 ended with exit code 107"]
    assert (first.typical, first.single, first.light) == ([], [], [])
    assert [phase.variant for phase in second.typical] == ["virtual", "platform"]
    assert plan_of(tmp_path).rate == RATE


def test_a_variant_that_left_has_no_typical_load(tmp_path: Path) -> None:
    target = replaying(runs().blocks, {"trials": VariantFailed("platform", "it ended with exit code 1", "1")})
    block, _ = one_block(target, tmp_path, with_load())
    assert [call.order for call in calls(target)] == [["virtual"]]
    assert [phase.variant for phase in block.typical] == ["virtual"]
    assert plan_of(tmp_path).of == "virtual", "six tenths of what the next one serves"


def test_trials_that_run_again_have_it_after_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def were_warm_up(attempt: Attempt) -> bool:
        is_first = len(target.journal.loads) == 2
        if is_first:
            attempt._state.block.trials = []
        return is_first

    monkeypatch.setattr(Attempt, "_were_warm_up", were_warm_up)
    _, _ = one_block(target := replaying(runs().blocks), tmp_path, with_load())
    kinds = [event.split()[0] for event in target.journal.events if event.startswith(("trials", "typical"))]
    assert kinds == ["trials", "trials", "typical"]


def test_the_last_trial_is_waited_for_where_typical_load_comes_after_it(tmp_path: Path) -> None:
    # With as many users as in the trials the warm-up would tell how long the answers take.
    warmup = [t.model_copy(update={"users": 10}) for t in replay.cycles(3)]

    def second(exp: Experiment) -> list[bool]:
        run = runs(exp, blocks=2)
        blocks: list[Block] = [block.model_copy(update={"warmup": warmup}) for block in run.blocks]
        _, _ = measured(target := replaying(blocks), tmp_path / exp.load_.model_dump_json()[-9:-2], run)
        return [call.wait_for_answers for call in target.journal.loads if call.trial_order]

    assert second(replay.experiment()) == [True, False]
    assert second(with_load()) == [True, True]


def test_an_experiment_without_typical_load_keeps_the_percentile_of_full_load(tmp_path: Path) -> None:
    one_block(target := replaying(RUN.blocks), tmp_path)
    assert calls(target) == []
    kept = manifest_of(tmp_path)
    assert (kept.typical, kept.percentiles, kept.experiment) == (None, {"full": "p90"}, RUN.experiment)


def test_its_time_is_that_of_every_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "block_seconds", lambda *_: 60.0)
    run = run_without_blocks(runs(blocks=2))
    first, second = estimates.remaining_block_seconds(tmp_path, run)
    assert second == 60 + 2 * 18 + 2.5
    assert first == second + estimates.extra_phase_seconds(run)
    planned = typical_load.plan(with_load(), RUN.blocks[:1], None, loads_at_once=False)
    assert planned
    known = replace(run, manifest=recorded.copied(run.manifest, {"typical": planned}))
    assert estimates.remaining_block_seconds(tmp_path, known)[1] == 60 + typical_load.seconds_of(planned, 2)
    without = run_without_blocks(replay.run(blocks=2))
    assert estimates.remaining_block_seconds(tmp_path, without)[1] == 60
