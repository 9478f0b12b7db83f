"""The time that a call will still take, by the lengths of its blocks and by its budget."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.film import Clock
from vtlab.measuring.schedule import RunTime, Schedule, TimeLeft

SECONDS = st.floats(0, 10_000)
RUNS = st.lists(
    st.builds(RunTime, st.lists(st.none() | SECONDS, max_size=4), st.none() | SECONDS, st.booleans()), max_size=3
)
#: What happens after so many seconds: a block ends that counts, or not; its run needs so many more, or ends.
EVENTS = st.lists(st.tuples(SECONDS, st.sampled_from(["counts", "does not count", "expect", "end"]), st.integers(0, 3)))


@given(RUNS, st.none() | SECONDS, EVENTS)
@example([RunTime([None], 0.0)], None, [(1.0, "counts", 0), (0.0, "expect", 0), (0.0, "expect", 1)])
def test_the_time_left_is_never_negative_and_never_more_than_the_budget(
    runs: Sequence[RunTime], budget: float | None, events: Sequence[tuple[float, str, int]]
) -> None:
    clock = Clock()
    schedule = Schedule(clock)
    schedule.set_budget(budget)
    schedule.begin(runs)
    for seconds, event, blocks in events:
        clock.now += seconds
        if event == "expect":
            schedule.expect(blocks)
        elif event == "end":
            schedule.end_run()
        else:
            schedule.end_block(event == "counts")
        left = schedule.time_left()
        most = math.inf if budget is None else max(0.0, budget - clock.now)
        if all(run.budget is not None for run in runs):
            most = min(most, sum(run.budget or 0.0 for run in runs))
        assert left is None or 0 <= left.seconds <= most


def test_before_any_run_is_planned_only_a_budget_tells_the_time_left() -> None:
    clock = Clock()
    schedule = Schedule(clock)
    assert schedule.time_left() is None
    schedule.set_budget(480)
    clock.now = 100
    assert schedule.time_left() == TimeLeft(380, "at most")
    clock.now = 500
    assert schedule.time_left() == TimeLeft(0, "at most")


def test_the_time_of_planned_blocks_goes_by_and_follows_what_they_really_take() -> None:
    clock = Clock()
    schedule = Schedule(clock)
    schedule.begin([RunTime([100, 60]), RunTime([60])])
    clock.now = 40
    assert schedule.time_left() == TimeLeft(180, "about")
    clock.now = 150
    assert schedule.time_left() == TimeLeft(120, "about"), "a long block costs the others nothing yet"
    schedule.end_block(True)
    assert schedule.time_left() == TimeLeft(180, "about"), "but they will be long, too"


def test_a_run_that_may_go_on_takes_at_least_its_blocks_and_at_most_its_budget() -> None:
    clock = Clock()
    schedule = Schedule(clock)
    schedule.begin([RunTime([60, 60], is_least=True)])
    assert schedule.time_left() == TimeLeft(120, "at least")
    schedule.begin([RunTime([60, 60], 480, is_least=True)])
    clock.now = 80
    assert schedule.time_left() == TimeLeft(400, "at most")
    schedule.begin([RunTime([60, 60], 480, is_least=True), RunTime([60, 60], is_least=True)])
    assert schedule.time_left() == TimeLeft(240, "at least")


def test_an_attempt_that_ended_early_does_not_shorten_the_rest() -> None:
    clock = Clock()
    schedule = Schedule(clock)
    schedule.begin([RunTime([3600, 3600])])
    clock.now = 10
    schedule.end_block(False)
    assert schedule.time_left() == TimeLeft(7200, "about")
    schedule.expect(0)
    assert schedule.time_left() == TimeLeft(0, "about"), "a run that has ended takes no more time"
    assert schedule.blocks == 0


def test_blocks_after_a_look_take_as_long_as_the_last_one() -> None:
    clock = Clock()
    schedule = Schedule(clock)
    schedule.begin([RunTime([100, 60], is_least=True)])
    for clock.now in (100, 160):
        schedule.end_block(True)
    schedule.expect(2)
    assert schedule.time_left() == TimeLeft(120, "at least")


def test_blocks_of_unknown_length_take_as_long_as_the_first_one() -> None:
    clock = Clock()
    schedule = Schedule(clock)
    schedule.begin([RunTime([None, None]), RunTime([None])])
    assert schedule.time_left() is None
    clock.now = 1800
    schedule.end_block(True)
    assert schedule.time_left() == TimeLeft(3600, "about")


@pytest.mark.parametrize("ends", [1, 2])
def test_each_run_has_a_budget_of_its_own(ends: int) -> None:
    clock = Clock()
    schedule = Schedule(clock)
    schedule.begin([RunTime([60], 100, is_least=True), RunTime([60], 200, is_least=True)])
    clock.now = 30
    assert schedule.time_left() == TimeLeft(270, "at most")
    for _ in range(ends):
        schedule.end_run()
    clock.now = 60
    assert schedule.time_left() == (TimeLeft(170, "at most") if ends == 1 else TimeLeft(0, "about"))
