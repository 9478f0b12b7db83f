"""The time that a run leaves idle at its end, and what it is used for."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support import recorded, replay
from tests.support.recorded_target import RecordedTarget
from tests.support.replay import RUN, SINGLE_USER_PHASE, as_recorded, measured, replaying
from tests.unit.test_measure_run import Timed
from vtlab.analysis import run_status, time_plan
from vtlab.analysis.statistics import moderated, stopping_rule
from vtlab.analysis.statistics.moderated import Prior
from vtlab.analysis.validity import checks
from vtlab.errors import BlockFault, Interrupted, VariantFailed
from vtlab.measuring.progress import Progress
from vtlab.model.blocks import further_set
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Block, Trial
from vtlab.model.run import Run
from vtlab.planning import idle_time, k6_timing, light_load, trial_order
from vtlab.planning.load_call import AS_PLANNED, CallPacing, LoadCall
from vtlab.runs import store
from vtlab.runs.measure import measure_run

__all__ = ["as_recorded"]

#: Seconds of the trials of a recorded block.
TRIALS = (RUN.blocks[0].trials[-1].drained - RUN.blocks[0].trials[0].begin) / 1000
Change = Callable[[LoadCall, K6Document], K6Document]


def within(seconds: float, *taken: float) -> Run:
    """A run that may take so many seconds, whose blocks so far took these."""
    made = recorded.run(blocks=len(taken))
    rule = stopping_rule.sequential_rule(1, within=seconds)
    blocks = [block.model_copy(update={"seconds": spent}) for block, spent in zip(made.blocks, taken, strict=True)]
    return replace(made, manifest=made.manifest.model_copy(update={"rule": rule, "blocks": 12}), blocks=blocks)


def attempt(number: int, seconds: float, **changes: float) -> Block:
    return recorded.block(number).model_copy(update={"seconds": seconds, **changes})


@pytest.mark.parametrize(
    ("seconds", "idle"),
    [
        (180.0, 0.0),  # the third block still fits
        (179.0, 59.0),  # it does not: so much is left
        (121.0, 1.0),
        (110.0, 0.0),
    ],
)
def test_a_run_is_idle_where_no_further_block_fits(seconds: float, idle: float) -> None:
    assert time_plan.idle_seconds(within(seconds, 60.0), attempt(2, 60.0)) == idle


def test_time_to_repeat_the_attempt_is_not_idle() -> None:
    # After the fourth block the next look takes two more, and there is time for one and a half.
    assert time_plan.idle_seconds(within(330.0, 60.0, 60.0, 60.0), attempt(4, 60.0)) == 30.0


def test_another_block_is_without_what_is_measured_once() -> None:
    first = attempt(1, 160.0, once_seconds=40.0, search_seconds=60.0)
    assert time_plan.idle_seconds(within(220.0), first) == 0.0, "60 s are left, and it takes 60 s"
    assert time_plan.idle_seconds(within(219.0), first) == 59.0


def test_without_a_budget_and_at_the_last_look_nothing_is_idle() -> None:
    fixed = replace(within(100.0), manifest=within(100.0).manifest.model_copy(update={"rule": None}))
    assert time_plan.idle_seconds(fixed, attempt(1, 90.0)) == 0.0
    assert time_plan.idle_seconds(within(1000.0, *[60.0] * 11), attempt(12, 60.0)) == 0.0


@pytest.mark.parametrize(
    ("order", "whole"),
    [("ab", "abba"), ("abba", "abbabaab"), ("abccba", "abccbacbaabc"), ("abbabaab", "abbabaabbaababba")],
)
def test_a_further_set_mirrors_the_block(order: str, whole: str) -> None:
    assert order + "".join(further_set(order)) == whole
    for variant in set(order):
        drift = [place for place, turn in enumerate(whole) if turn == variant]
        assert np.mean(drift) == (len(whole) - 1) / 2, "a linear drift cancels"


def test_a_set_takes_as_long_as_the_trials_and_new_connections() -> None:
    trials = RUN.blocks[0].trials
    known = idle_time.set_seconds(trials, k6_timing.START_UP)
    assert known == pytest.approx(k6_timing.START_UP + TRIALS + 1.0 + 2 * 0.005 * trials[0].users)
    assert idle_time.set_seconds(trials, 12.0) == pytest.approx(known + 12.0 - k6_timing.START_UP), "a Job in a cluster"


def test_a_trial_with_dumps_takes_its_longer_window() -> None:
    trials = [t for t in RUN.blocks[0].trials if t.variant == "platform"]
    longest = max(trials, key=lambda t: t.drained - t.begin)
    usual, longer = (
        idle_time.dump_seconds(trials, CallPacing(measure=round(1000 * window)), RUN.experiment, k6_timing.START_UP)
        for window in (longest.window, 20.0)
    )
    assert usual == idle_time.set_seconds([longest], k6_timing.START_UP)
    assert longer == pytest.approx(usual + 20.0 - longest.window)


class Idle:
    """Replays blocks; a further set has the throughputs of the first, times a factor for each variant."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float, only_in: int | None = None) -> None:
        """``seconds``: idle after each block, or after that one alone."""

        def idle(_: Run, block: Block) -> float:
            return seconds + idle_time.ENDING if only_in in (None, block.block) else 0.0

        monkeypatch.setattr(time_plan, "idle_seconds", idle)
        self.factors: Mapping[str, float] = {}

    def change(self, call: LoadCall, document: K6Document) -> K6Document:
        if not call.trial_order or call.first_position == 1:
            return document
        first = {t.variant: t for t in document.trials}
        after = document.trials[-1].drained - document.trials[0].begin
        trials = [
            recorded.later(self._changed(first[variant]), after * turn).model_copy(update={"position": position})
            for turn, (position, variant) in enumerate(enumerate(call.trial_order, call.first_position), 1)
        ]
        return document.model_copy(update={"trials": trials})

    def _changed(self, trial: Trial) -> Trial:
        return recorded.scaled(trial, self.factors.get(trial.variant, 1.0))


def sets(target: RecordedTarget) -> list[str]:
    """Orders of the further sets, with the number of the first of their trials."""
    calls = (call for call in target.journal.loads if call.trial_order and call.first_position > 1)
    return [f"{call.first_position} {''.join(variant[0] for variant in call.trial_order)}" for call in calls]


def letters(block: Block) -> str:
    return "".join(t.variant[0] for t in block.trials)


def test_a_further_set_is_measured_in_the_last_block_and_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    idle = Idle(monkeypatch, 100.0, only_in=2)
    blocks, printed = measured(target := replaying(RUN.blocks, change=idle.change), tmp_path, RUN)
    assert [letters(block) for block in blocks] == ["vppv", "pvvpvppv"]
    assert sets(target) == ["5 vppv"]
    last = blocks[1]
    assert [trial.position for trial in last.trials] == list(range(1, 9))
    assert [trial.variant for trial in last.trials] == last.order
    assert checks.reasons(last, RUN.experiment) == []
    assert "no further block fits into the time: measuring a second set of trials" in printed
    assert "block 2 of 2: measuring in the order virtual, platform, platform, virtual" in printed
    assert last.once_seconds >= 1, "another block would not have them"


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
def test_the_clock_alone_decides_and_the_set_is_part_of_its_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ratio: float
) -> None:
    run = recorded.with_ratio(replay.run(blocks=2), ratio)
    idle = Idle(monkeypatch, 100.0, only_in=2)
    idle.factors = {"virtual": 0.9}
    blocks, _ = measured(target := replaying(run.blocks, change=idle.change), tmp_path, run)
    assert sets(target) == ["5 vppv"]
    (capacity, *_) = run_status.claims_so_far(run, blocks)
    rates = {
        variant: [t.throughput for t in blocks[1].trials if t.variant == variant] for variant in ("platform", "virtual")
    }
    assert [len(of) for of in rates.values()] == [4, 4]
    assert len(capacity.log_ratios) == 2, "a block with two sets is one block"
    assert capacity.log_ratios[1] == pytest.approx(math.log(np.mean(rates["virtual"]) / np.mean(rates["platform"])))


def test_a_set_that_does_not_fit_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = idle_time.set_seconds(RUN.blocks[1].trials, k6_timing.START_UP)
    for folder, seconds, expected in (("less", needed - 0.1, []), ("enough", needed, ["5 vppv"])):
        idle = Idle(monkeypatch, seconds, only_in=2)
        target = replaying(RUN.blocks, change=idle.change, takes_dumps=False)
        measured(target, tmp_path / folder, RUN)
        assert sets(target) == expected


def test_what_is_measured_once_after_the_trials_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = replay.run().blocks
    once = light_load.extra_phase_seconds(RUN.experiment, True, True)
    needed = once + idle_time.set_seconds(block.trials, k6_timing.START_UP)
    for folder, seconds, expected in (("less", needed - 0.1, []), ("enough", needed, ["5 pvvp"])):
        target = replaying([block], change=Idle(monkeypatch, seconds).change)
        measured(target, tmp_path / folder, replay.run())
        assert sets(target) == expected
    events = target.journal.events
    assert events.index("trials platform virtual virtual platform of platform virtual") < events.index(
        f"a single user for {SINGLE_USER_PHASE} of platform virtual"
    )


@pytest.mark.parametrize(
    ("spoils", "reason"),
    [
        (lambda t: t.model_copy(update={"machine": {**t.machine, "steal": 0.9}}), "the hypervisor gave 90.0 %"),
        (lambda t: recorded.scaled(t, 1.5), "throughput rose"),
    ],
)
def test_a_set_that_would_cost_the_block_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoils: Callable[[Trial], Trial], reason: str
) -> None:
    idle = Idle(monkeypatch, 100.0, only_in=2)
    monkeypatch.setattr(idle, "_changed", spoils)
    blocks, printed = measured(replaying(RUN.blocks, change=idle.change), tmp_path, RUN)
    assert [letters(block) for block in blocks] == ["vppv", "pvvp"]
    assert blocks[1].order == RUN.blocks[1].order
    assert checks.reasons(blocks[1], RUN.experiment) == []
    (said,) = [line for line in printed.splitlines() if "the second set does not count" in line]
    assert reason in said


@pytest.mark.parametrize(
    "fault", [BlockFault("k6 ended with exit code 107"), VariantFailed("virtual", "out of heap memory (256m)", "5")]
)
def test_a_fault_in_a_further_set_costs_no_block_and_a_variant_that_breaks_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BlockFault
) -> None:
    Idle(monkeypatch, 100.0, only_in=2)

    def breaking(call: LoadCall, document: K6Document) -> K6Document:
        if call.trial_order and call.first_position > 1:
            raise fault
        return document

    blocks, printed = measured(replaying(RUN.blocks, change=breaking), tmp_path, RUN)
    assert [letters(block) for block in blocks] == ["vppv", "pvvp"]
    assert checks.reasons(blocks[1], RUN.experiment) == []
    failures = [(f.variant, f.moment) for f in blocks[1].failures]
    assert failures == ([("virtual", "trial 5")] if isinstance(fault, VariantFailed) else [])
    assert str(fault.args[0] if failures == [] else "virtual failed, trial 5") in printed


def test_ctrl_c_in_what_a_block_counts_without_ends_the_run_and_costs_no_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Idle(monkeypatch, 100.0, only_in=1)

    def stopped(call: LoadCall, document: K6Document) -> K6Document:
        if call.trial_order and call.first_position > 1:
            raise Interrupted("stopped by SIGINT", "")
        return document

    store.create(tmp_path, RUN.manifest)
    target = replaying(RUN.blocks, change=stopped)
    with pytest.raises(Interrupted, match="SIGINT"), Progress(replay.console()[0]) as progress:
        measure_run(tmp_path, store.read(tmp_path), target, progress, wait=lambda _: None)
    (block,) = store.read(tmp_path).blocks
    assert letters(block) == "vppv"
    assert checks.reasons(block, RUN.experiment) == []
    after = target.journal.events[
        target.journal.events.index("trials virtual platform platform virtual of platform virtual") + 1 :
    ]
    assert [event for event in after if "light load" in event or "dumps" in event or "single" in event] == []


def test_a_threshold_holds_where_it_holds_in_both_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    idle = Idle(monkeypatch, 100.0, only_in=2)

    def limited(call: LoadCall, document: K6Document) -> K6Document:
        changed = idle.change(call, document)
        is_first = call.first_position == 1
        conditions = {"p(95)<300": is_first, "p(99)<900": not is_first, "max<9000": True}
        thresholds = {"virtual": {"http_req_duration": conditions}} if call.trial_order else {}
        return changed.model_copy(update={"thresholds": thresholds})

    blocks, _ = measured(replaying(RUN.blocks, change=limited), tmp_path, RUN)
    assert blocks[1].thresholds["virtual"]["http_req_duration"] == {
        "p(95)<300": False,
        "p(99)<900": False,
        "max<9000": True,
    }


def test_a_block_that_does_not_count_and_an_open_load_have_no_further_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = Idle(monkeypatch, 100.0)
    squeezed = recorded.spoiled(RUN.blocks[0], "generator")
    target = replaying([squeezed, *replay.run().blocks], change=idle.change)
    measured(target, tmp_path / "squeezed", replay.run())
    assert sets(target) == ["5 pvvp"], "the second attempt counts"
    run = recorded.under_open_load(replay.run(blocks=2))
    monkeypatch.setattr(trial_order, "order", lambda variants, seed, block, trials: run.blocks[block - 1].order)
    measured(target := replaying(run.blocks, change=idle.change), tmp_path / "open", run)
    assert sets(target) == []


def dumps(target: RecordedTarget) -> list[str]:
    return [event for event in target.journal.events if event.startswith("thread dumps")]


def test_thread_dumps_that_the_run_lacks_are_taken_in_idle_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = Idle(monkeypatch, 100.0, only_in=2)
    blocks, printed = measured(target := replaying(RUN.blocks, change=idle.change), tmp_path, RUN)
    assert dumps(target) == ["thread dumps of platform virtual"]
    assert target.journal.events[-1] == dumps(target)[0], "after all that counts"
    assert [list(block.diagnosis) for block in blocks] == [[], ["platform", "virtual"]]
    assert "no further block fits into the time: taking the missing thread dumps" in printed


def test_a_variant_with_dumps_has_no_others_and_those_that_fit_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorded.with_ratio(replay.run(blocks=2), 1.4)
    idle = Idle(monkeypatch, 100.0, only_in=2)
    _, _ = measured(target := replaying(run.blocks, change=idle.change), tmp_path / "two", run)
    assert dumps(target) == ["thread dumps of virtual", "thread dumps of platform"]
    trials = {v: [t for t in RUN.blocks[1].trials if t.variant == v] for v in ("platform", "virtual")}
    each = max(idle_time.dump_seconds(of, AS_PLANNED, RUN.experiment, k6_timing.START_UP) for of in trials.values())
    idle = Idle(monkeypatch, 1.5 * each, only_in=2)
    _, _ = measured(target := replaying(RUN.blocks, change=idle.change), tmp_path / "one", RUN)
    assert dumps(target) == ["thread dumps of platform"]
    assert sets(target) == []


def test_dumps_come_before_a_further_set_where_both_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = idle_time.set_seconds(RUN.blocks[1].trials, k6_timing.START_UP)
    idle = Idle(monkeypatch, needed + 1.0, only_in=2)
    _, _ = measured(target := replaying(RUN.blocks, change=idle.change), tmp_path, RUN)
    assert (sets(target), dumps(target)) == ([], ["thread dumps of platform virtual"])


def test_where_no_dumps_can_be_taken_none_are_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    idle = Idle(monkeypatch, 100.0)
    run = recorded.with_ratio(replay.run(), 1.4)
    _, printed = measured(replaying(run.blocks, change=idle.change, takes_dumps=False), tmp_path, run)
    assert "thread dumps" not in printed


def test_a_run_with_time_for_further_blocks_and_one_without_a_budget_do_neither(tmp_path: Path) -> None:
    for name, rule in (("budget", stopping_rule.sequential_rule(1, 0.5, within=1e6)), ("fixed", None)):
        manifest = RUN.manifest.model_copy(update={"rule": rule, "blocks": 12 if rule else 2})
        run = replace(RUN, manifest=manifest)
        _, printed = measured(target := replaying(RUN.blocks), tmp_path / name, run)
        assert (sets(target), dumps(target)) == ([], [])
        assert "no further block fits" not in printed


class Slow(Timed):
    """Takes 40 seconds for each call, so that a block of a start, a warm-up and trials takes 90, and the first one 80
    more; with further sets as ``Idle`` has them."""

    def __init__(self, idle: Idle) -> None:
        super().__init__(RUN.blocks)
        self._idle = idle

    def _take(self, call: LoadCall, document: K6Document) -> K6Document:
        self.clock += 30
        return self._idle.change(call, super()._take(call, document))


@pytest.mark.parametrize(("left", "expected"), [(85.0, ["5 vppv"]), (30.0, [])])
def test_a_run_that_ends_by_its_time_uses_what_is_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: float, expected: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as unused:
        target = Slow(Idle(unused, 0.0))
    monkeypatch.setattr(time, "monotonic", lambda: target.clock)
    rule = stopping_rule.sequential_rule(1, 0.001, within=170.0 + 90.0 + left)
    run = replace(RUN, manifest=RUN.manifest.model_copy(update={"rule": rule, "blocks": 12}))
    blocks, printed = measured(target, tmp_path, run)
    assert [block.repeated_seconds for block in blocks] == [90.0, 90.0]
    assert sets(target) == expected
    assert "no further blocks: 3 would take longer than --max-time allows" in printed


@pytest.mark.parametrize("blocks", [2, 3, 4, 6])
@pytest.mark.parametrize("prior", [None, Prior(1.0, 2.5)])
def test_intervals_cover_as_often_where_the_last_block_scatters_less(blocks: int, prior: Prior | None) -> None:
    """Where JVMs do not differ at all, a block with two sets has 0.7 of the deviation of the others."""
    random = np.random.default_rng(43)
    drawn = random.standard_normal((40_000, blocks))
    drawn[:, -1] *= math.sqrt(0.5)
    found = moderated.intervals(drawn, prior, 0.0, 0.05)
    assert np.mean((found.low <= 0) & (found.high >= 0)) >= 0.947
