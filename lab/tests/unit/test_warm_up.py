"""The warm-up of a block: its cycles, more CPU in the first of them, and what it tells of the pace of the trials."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import recorded, replay
from tests.support.recorded_target import RecordedTarget
from tests.support.replay import (
    COUNTED,
    RUN,
    SINGLE_USER_PHASE,
    as_recorded,
    console,
    measured,
    one_block,
    pacings,
    replaying,
)
from vtlab.analysis.validity import checks
from vtlab.errors import BlockFault, InvalidRun, VariantFailed
from vtlab.measuring import warm_up
from vtlab.measuring.progress import Progress
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Block, Failure, Trial
from vtlab.planning import round_pacing, trial_order
from vtlab.planning.load_call import CallPacing, LoadCall
from vtlab.runs import store
from vtlab.runs.measure import measure_run

__all__ = ["as_recorded"]

#: The recorded experiment: the pace of its trials is known before the warm-up.
PACED = recorded.experiment(windows=COUNTED)


def test_a_block_whose_variant_still_warms_up_ends_before_its_trials(tmp_path: Path) -> None:
    """It is measured again: that vtlab waits no longer says nothing against the variant. Seen: unchanged
    spring-petclinic, compiled slowly on a slow machine, was to be left off."""
    windows = COUNTED | {"warmup_requests": 0, "max_cycles": 2}
    run = replay.run(replay.experiment(windows=windows), warm_up=7)
    (good,) = run.blocks
    unsteady = recorded.spoiled(good, "unsteady")
    in_turn = sorted(unsteady.warmup, key=lambda t: t.begin)
    target = replaying([unsteady.model_copy(update={"warmup": in_turn, "trials": good.trials}), good])
    (block, again), printed = replay.measured(target, tmp_path, run)
    assert target.journal.events[:4] == [
        "2 cheap and 3 trial-load cycles of platform virtual",
        "1 trial-load cycles of platform virtual",
        "1 trial-load cycles of platform virtual",
        "end of the warm-up",
    ]
    assert [t.position for t in block.warmup] == list(range(1, 15))
    assert (block.trials, block.single, block.failures) == ([], [], [])
    assert checks.reasons(again, run.experiment) == []
    assert "block 1 rejected: virtual: no steady state after 7 warm-up cycles" in printed


def test_a_variant_that_fails_and_is_not_steady_leaves_and_the_block_counts(tmp_path: Path) -> None:
    """Errors are a result, which more cycles would not change: it has eight further ones, however many may follow."""
    windows = COUNTED | {"warmup_requests": 0, "max_cycles": 16}
    run = replay.run(replay.experiment(windows=windows), warm_up=13)
    (good,) = run.blocks
    unsteady = recorded.spoiled(good, "unsteady")
    failing = [
        cycle.model_copy(update={"failed": {"status-500": cycle.ok // 7}}) if cycle.variant == "virtual" else cycle
        for cycle in sorted(unsteady.warmup, key=lambda t: t.begin)
    ]
    target = replaying([unsteady.model_copy(update={"warmup": failing, "trials": good.trials})])
    block, printed = one_block(target, tmp_path, run.experiment)
    events = target.journal.events
    assert events[:10] == [
        "2 cheap and 3 trial-load cycles of platform virtual",
        *["1 trial-load cycles of platform virtual"] * 8,
        "drop virtual",
    ]
    assert "trials platform platform of platform" in events
    assert {trial.variant for trial in block.trials} == {"platform"}
    assert "virtual failed" in printed


def test_a_run_whose_variant_still_warms_up_in_each_block_names_the_cycles(tmp_path: Path) -> None:
    run = replay.run(replay.experiment(windows=COUNTED | {"warmup_requests": 0, "max_cycles": 2}), warm_up=7)
    unsteady = recorded.spoiled(run.blocks[0], "unsteady")
    in_turn = unsteady.model_copy(update={"warmup": sorted(unsteady.warmup, key=lambda t: t.begin)})
    run = replace(run, manifest=recorded.copied(run.manifest, {"max_rejected": 0}))
    with pytest.raises(InvalidRun) as caught:
        replay.measured(replaying([in_turn]), tmp_path, run)
    assert caught.value.fix.endswith("; or raise windows.max_cycles in a file (vtlab init)")


@pytest.mark.parametrize(("last_that_compiles", "further"), [(5, 1), (6, 2), (7, 2)])
def test_the_warm_up_goes_on_while_a_compiler_works(tmp_path: Path, last_that_compiles: int, further: int) -> None:
    """The JIT compiler rests before the trials; where it does not, the checks judge its CPU in them."""
    windows = COUNTED | {"warmup_requests": 0, "max_cycles": 2}
    experiment = replay.experiment(windows=windows)
    (good,) = replay.run(experiment).blocks
    warmup = []
    for place, trial in enumerate(replay.cycles(7)):
        compiles = trial.variant == "virtual" and place // 2 < last_that_compiles
        warmup.append(
            trial.model_copy(update={"server": trial.server | {"jit_cpu": 0.2 if compiles else 0.01, "cpu_cores": 0.9}})
        )
    target = replaying([good.model_copy(update={"warmup": warmup})])
    block, said = one_block(target, tmp_path, experiment)
    assert target.journal.events[1 : further + 1] == ["1 trial-load cycles of platform virtual"] * further
    assert target.journal.events[further + 1] == "end of the warm-up"
    assert len(block.warmup) == 2 * (5 + further)
    assert "rejected" not in said


def test_the_cheap_cycles_have_more_cpu_and_those_that_judge_have_the_limit(tmp_path: Path) -> None:
    exp = replay.experiment(windows=COUNTED)
    target = replaying(replay.run(exp, warm_up=4).blocks, raised_cores=1.5)
    block, _ = one_block(target, tmp_path, exp)
    assert target.journal.events[:6] == [
        "raise platform virtual",
        "2 cheap and 0 trial-load cycles of platform virtual",
        "restore",
        "2 trial-load cycles of platform virtual",
        "end of the warm-up",
        "trials virtual platform platform virtual of platform virtual",
    ]
    assert [t.raised_cpu for t in block.warmup] == [1.5] * 4 + [None] * 4
    assert [t.position for t in block.warmup] == list(range(1, 9))


def test_the_compilers_go_first_until_the_trials(tmp_path: Path) -> None:
    exp = replay.experiment(windows=COUNTED)
    target = replaying(replay.run(exp, warm_up=4).blocks, raised_cores=1.5)
    one_block(target, tmp_path, exp)
    assert target.journal.events[3:6] == [
        "2 trial-load cycles of platform virtual",
        "end of the warm-up",
        "trials virtual platform platform virtual of platform virtual",
    ]


def compiling(blocks: Sequence[Block], calls: int, used: float = 1.5) -> RecordedTarget:
    """A target whose JIT compilers lack CPU until so many calls have given them more."""
    busy = {"cpu_cores": used, "cpu_limit": 1.5, "jit_cpu": 0.5}
    raised: list[LoadCall] = []

    def change(call: LoadCall, document: K6Document) -> K6Document:
        if any(cycle.raised_cpu for cycle in document.warmup):
            raised.append(call)
        if len(raised) >= calls:
            return document
        warmup = [cycle.model_copy(update={"server": {**cycle.server, **busy}}) for cycle in document.warmup]
        return document.model_copy(update={"warmup": warmup})

    return replaying(blocks, raised_cores=1.5, change=change)


@pytest.mark.parametrize(
    ("calls", "made", "used"),
    [
        (1, 1, 1.5),
        (2, 2, 1.5),
        (3, 3, 1.5),
        # k6 leaves more than the limit idle: under the limit the requests will lack what the compilers take.
        (3, 3, 1.1),
        (3, 1, 0.7),
    ],
)
def test_the_cycles_with_more_cpu_go_on_until_the_compilers_rest(
    tmp_path: Path, calls: int, made: int, used: float
) -> None:
    exp = replay.experiment(windows=COUNTED)
    target = compiling(replay.run(exp, warm_up=2 * made + 2).blocks, calls, used)
    block, printed = one_block(target, tmp_path, exp)
    assert target.journal.events.count("2 cheap and 0 trial-load cycles of platform virtual") == made
    assert [t.raised_cpu for t in block.warmup] == [1.5] * 4 * made + [None] * 4
    assert f"warm-up, cycle {2 * made + 1} of {2 * made + 2} to" in printed


def test_the_cycles_with_more_cpu_end_though_the_compilers_do_not_rest(tmp_path: Path) -> None:
    exp = replay.experiment(windows=COUNTED)
    target = compiling(replay.run(exp, warm_up=2 * warm_up.RAISED_CALLS + 12).blocks, 99)
    one_block(target, tmp_path, exp)
    assert target.journal.events.count("2 cheap and 0 trial-load cycles of platform virtual") == warm_up.RAISED_CALLS


def test_no_cycles_with_more_cpu_begin_after_their_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exp = replay.experiment(windows=COUNTED)
    target = compiling(replay.run(exp, warm_up=2 * 3 + 12).blocks, 99)
    moments = iter([0.0, 30.0, 70.0, 80.0])
    monkeypatch.setattr(warm_up, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    one_block(target, tmp_path, exp)
    assert target.journal.events.count("2 cheap and 0 trial-load cycles of platform virtual") == 3


def test_compilers_are_not_waited_for_where_the_load_is_the_bound(tmp_path: Path) -> None:
    target = compiling(replay.run(PACED, warm_up=4).blocks, 9)
    one_block(target, tmp_path, PACED)
    assert target.journal.events.count("2 cheap and 0 trial-load cycles of platform virtual") == 1


CHEAP_CYCLES = COUNTED["warmup_cycles"]


def paced(cycles: int, slow: str = "", upto: int = 0) -> Block:
    """Returns a block of ``PACED``. ``slow``: a variant that is far from its load in its first ``upto`` cycles."""
    (good,) = replay.run(PACED).blocks
    warmup = [
        t.model_copy(update={"users": COUNTED["warmup_users"]}) if place // 2 < CHEAP_CYCLES else t
        for place, t in enumerate(replay.cycles(cycles))
    ]
    halved = [
        recorded.scaled(t, 0.5 + 0.1 * (place // 2)) if t.variant == slow and place // 2 < upto else t
        for place, t in enumerate(warmup)
    ]
    return good.model_copy(update={"warmup": halved})


def test_trials_whose_pace_is_known_follow_the_warm_up_in_the_same_call(tmp_path: Path) -> None:
    target = replaying([paced(3)], raised_cores=1.5)
    block, _ = one_block(target, tmp_path, PACED)
    order = "virtual platform platform virtual"
    assert target.journal.events[:6] == [
        "raise platform virtual",
        "2 cheap and 0 trial-load cycles of platform virtual",
        "restore",
        f"1 trial-load cycles then trials {order} of platform virtual",
        "end of the warm-up",
        f"a single user for {SINGLE_USER_PHASE} of platform virtual",
    ]
    assert [t.variant for t in block.trials] == order.split()
    assert set(pacings(target)) == {CallPacing(replay.run(PACED).manifest.seed)}


def test_trials_after_a_warm_up_that_was_too_short_are_cycles_of_it(tmp_path: Path) -> None:
    """They look like the trials that count, and cost as much: two further cycles, and k6's start for them, are not
    needed where these show the steady state."""
    target = replaying([paced(3, "virtual", 4)], raised_cores=1.5)
    block, _ = one_block(target, tmp_path, PACED)
    order = "virtual platform platform virtual"
    assert target.journal.events[3:6] == [
        f"1 trial-load cycles then trials {order} of platform virtual",
        "end of the warm-up",
        f"trials {order} of platform virtual",
    ]
    assert [t.variant for t in block.trials] == order.split(), "those of the last call alone"
    assert [(t.phase, t.position) for t in block.warmup[6:]] == [("warmup", position) for position in range(7, 11)]
    assert [t.variant for t in block.warmup[6:]] == order.split()


def test_trials_in_which_a_variant_is_not_steady_yet_are_followed_by_further_cycles(tmp_path: Path) -> None:
    """It is 30, 20 and 10 % below its load in its cycle and its trials: it still becomes faster."""

    def still_slow(call: LoadCall, document: K6Document) -> K6Document:
        if call.cycles != 1 or not call.trial_order:
            return document
        slow = iter((0.8, 0.9))
        trials = [recorded.scaled(t, next(slow)) if t.variant == "virtual" else t for t in document.trials]
        return document.model_copy(update={"trials": trials})

    target = replaying([paced(5, "virtual", 3)], raised_cores=1.5, change=still_slow)
    block, _ = one_block(target, tmp_path, PACED)
    order = "virtual platform platform virtual"
    assert target.journal.events[3:7] == [
        f"1 trial-load cycles then trials {order} of platform virtual",
        "1 trial-load cycles of platform virtual",
        "end of the warm-up",
        f"trials {order} of platform virtual",
    ]
    assert len(block.warmup) == 2 * (2 + 1 + 2 + 1)


def test_trials_without_an_answer_are_no_cycles(tmp_path: Path) -> None:
    def silent(call: LoadCall, document: K6Document) -> K6Document:
        if not call.cycles or not call.trial_order:
            return document
        first, *others = document.trials
        return document.model_copy(update={"trials": [first.model_copy(update={"ok": 0}), *others]})

    target = replaying([paced(5, "virtual", 4)], raised_cores=1.5, change=silent)
    block, _ = one_block(target, tmp_path, PACED)
    assert target.journal.events[4:6] == ["1 trial-load cycles of platform virtual"] * 2
    assert len(block.warmup) == 2 * 5


def test_phases_with_other_numbers_of_users_who_read_rows_have_calls_of_their_own(tmp_path: Path) -> None:
    # Who joins within a call would begin at rows that others have read.
    windows = COUNTED | {"warmup_requests": 0}
    reading = replay.experiment(windows=windows).model_copy(update={"data": "owners.csv"})
    target = replaying(replay.run(reading, warm_up=5).blocks)
    one_block(target, tmp_path, reading)
    assert target.journal.events[:3] == [
        "2 cheap and 0 trial-load cycles of platform virtual",
        "3 trial-load cycles of platform virtual",
        "end of the warm-up",
    ]
    paced_reading = PACED.model_copy(update={"data": "owners.csv"})
    target = replaying([paced(3)], raised_cores=1.5)
    one_block(target, tmp_path / "paced", paced_reading)
    assert target.journal.events[3:6] == [
        "1 trial-load cycles of platform virtual",
        "end of the warm-up",
        "trials virtual platform platform virtual of platform virtual",
    ]


CHEAP = ["raise platform virtual", "2 cheap and 0 trial-load cycles of platform virtual", "restore"]


def given_up(call: LoadCall, document: K6Document) -> K6Document:
    """Leaves three requests of the last trial unanswered where they are not waited for."""
    if call.wait_for_answers or not document.trials:
        return document
    *before, last = document.trials
    return document.model_copy(update={"trials": [*before, last.model_copy(update={"given_up": 3})]})


def test_trials_that_are_level_below_the_load_judge_as_without_a_bound(tmp_path: Path) -> None:
    """At 70 % of what the load allows a cycle is no better judge than where nothing bounds a variant: it takes three,
    and the two trials are such ones."""
    block = paced(3)

    def low(trials: Sequence[Trial]) -> list[Trial]:
        return [recorded.scaled(t, 0.7) if t.variant == "virtual" else t for t in trials]

    made = block.model_copy(update={"warmup": low(block.warmup), "trials": low(block.trials)})
    target = replaying([made])
    one_block(target, tmp_path, PACED)
    order = "virtual platform platform virtual"
    assert target.journal.events[1:4] == [
        f"2 cheap and 1 trial-load cycles then trials {order} of platform virtual",
        "end of the warm-up",
        f"trials {order} of platform virtual",
    ]


def test_what_the_trials_gave_up_ends_with_its_variant_or_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = "virtual platform platform virtual"
    monkeypatch.setattr(trial_order, "order", lambda *_: order.split())
    monkeypatch.setattr(round_pacing, "WORTH_WAITING", 0.1)
    run = replay.run(PACED, blocks=3)
    store.create(tmp_path, run.manifest)
    waited: list[float] = []
    target = replaying([paced(3), paced(3), paced(5, "virtual", 4)], raised_cores=1.5, change=given_up)
    with Progress(console()[0]) as progress:
        measure_run(tmp_path, store.read(tmp_path), target, progress, wait=waited.append)
    # The first block has single users and light load after its trials: it waits for all answers.
    last = order.split()[-1]
    followed = f"1 trial-load cycles then trials {order} of platform virtual"
    second = [*CHEAP, followed, f"drop {last}", "end of the warm-up"]
    further = ["1 trial-load cycles of platform virtual"] * 2
    third = [*CHEAP, followed, *further, "end of the warm-up", f"trials {order} of platform virtual", f"drop {last}"]
    assert target.journal.events[-len(second + third) :] == second + third
    assert waited == [0.4], "a round of the slower users, before the further cycles of the third block"


def test_a_variant_that_breaks_in_trials_after_the_warm_up_leaves_and_the_other_is_measured(tmp_path: Path) -> None:
    broken = VariantFailed("virtual", "out of heap memory (256m)", "3")
    target = replaying([paced(4)], {"warm-up and trials": broken}, raised_cores=1.5)
    block, _ = one_block(target, tmp_path, PACED)
    assert block.failures == [Failure(variant="virtual", reason="out of heap memory (256m)", moment="trial 3")]
    assert {t.variant for t in block.trials} == {"platform"}


@pytest.mark.parametrize(
    ("cores", "windows"),
    [
        (None, COUNTED),
        (1.5, COUNTED | {"warmup_requests": 0}),
        (1.5, COUNTED | {"warmup_cycles": 0}),
    ],
)
def test_without_more_cpu_or_equal_requests_all_cycles_have_the_limit(
    tmp_path: Path, cores: float | None, windows: dict[str, Any]
) -> None:
    exp = replay.experiment(windows=windows)
    target = replaying(replay.run(exp, warm_up=5).blocks, raised_cores=cores)
    block, _ = one_block(target, tmp_path, exp)
    cheap = f"{windows['warmup_cycles']} cheap and " if windows["warmup_cycles"] else ""
    assert (
        next(said for said in target.journal.events if "cycles" in said)
        == f"{cheap}3 trial-load cycles of platform virtual"
    )
    assert "restore" not in target.journal.events
    assert {t.raised_cpu for t in block.warmup} == {None}


def test_open_load_has_no_more_cpu_in_its_warm_up(tmp_path: Path) -> None:
    exp = recorded.arrivals(windows=COUNTED)
    run = recorded.under_open_load(replay.run(warm_up=5))
    one_block(target := replaying(run.blocks), tmp_path, exp)
    assert target.journal.events[0] == "2 cheap and 3 trial-load cycles of platform virtual"


def test_a_variant_that_breaks_with_more_cpu_leaves_and_the_limit_comes_back(tmp_path: Path) -> None:
    exp = replay.experiment(windows=COUNTED)
    (good,) = replay.run(exp).blocks
    warmup = [t for t in replay.cycles(4) if t.variant == "platform"]
    broken = VariantFailed("virtual", "out of heap memory (256m)", "w2")
    target = replaying([good.model_copy(update={"warmup": warmup})], {"warm-up": broken}, raised_cores=1.5)
    block, _ = one_block(target, tmp_path, exp)
    assert block.failures == [Failure(variant="virtual", reason="out of heap memory (256m)", moment="warm-up cycle 1")]
    assert target.journal.events[:6] == [
        "raise platform virtual",
        "2 cheap and 0 trial-load cycles of platform virtual",
        "drop virtual",
        "2 cheap and 0 trial-load cycles of platform",
        "restore",
        "2 trial-load cycles of platform",
    ]


def test_a_limit_that_does_not_come_back_rejects_the_block(tmp_path: Path) -> None:
    stuck = BlockFault("platform: its control group has 1.5 cores, 1 cores were set")
    exp = replay.experiment(windows=COUNTED)
    run = replay.run(exp)
    target = replaying(run.blocks, {"restore CPU": stuck}, raised_cores=1.5)
    store.create(tmp_path, run.manifest.model_copy(update={"max_rejected": 0}))
    with pytest.raises(InvalidRun, match="its control group has"), Progress(console()[0]) as progress:
        measure_run(tmp_path, store.read(tmp_path), target, progress, wait=lambda _: None)
    (block,) = store.read(tmp_path).blocks
    assert block.trials == []


def test_open_load_settles_and_has_a_longer_window_as_the_warm_up_tells(tmp_path: Path) -> None:
    run = recorded.under_open_load(replay.run())
    ((block,), _) = measured(target := replaying(run.blocks), tmp_path, run)
    warming, *others = pacings(target)
    assert warming == CallPacing(run.manifest.seed)
    assert others == [round_pacing.pacing(run.experiment, run.manifest.seed, block.warmup[-2:])] * 3, (
        "trials, a single user, light load"
    )
    longest = max(t.latency.max or 0.0 for t in block.warmup[-2:])
    assert others[0].settle == round(1000 * longest), "the longest answer of the warm-up"


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (150, r"arrivals: block 1 of 1: windows of 3\d s show an overload of 5 % or more"),
        (40, r"windows of 60 s show an overload of [6-9] % or more"),
    ],
)
def test_a_longer_window_is_said_with_what_it_shows(tmp_path: Path, rate: float, said: str) -> None:
    run = recorded.under_open_load(replay.run(), rate=rate)
    _, text = measured(replaying(run.blocks), tmp_path, run)
    assert re.search(said, text)


def test_closed_load_is_spread_over_the_rounds_that_the_warm_up_showed(tmp_path: Path) -> None:
    run = replay.run(replay.experiment(windows={**replay.LONG_WINDOWS, "measure": "3s"}))
    ((block,), _) = measured(target := replaying(run.blocks), tmp_path, run)
    warming, *others = pacings(target)
    assert warming == CallPacing(run.manifest.seed)
    rounds = others[0].rounds
    assert rounds == pytest.approx({"platform": 400, "virtual": 204}, rel=0.01)
    assert set(others) == {others[0]}, "trials and light load"
    assert {t.variant: t.round for t in block.trials} == {name: ms / 1000 for name, ms in rounds.items()}
    assert {t.round for t in (*block.warmup, *block.single)} == {None}


def test_closed_load_has_the_windows_of_its_experiment(tmp_path: Path) -> None:
    measured(target := replaying(RUN.blocks), tmp_path, RUN)
    assert set(pacings(target)) == {CallPacing(RUN.manifest.seed)}
