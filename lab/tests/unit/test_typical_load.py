"""Typical load: its rate, users and windows, when variants have it at the same time, and how long it takes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import recorded
from vtlab.model.curve import Curve, Point
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import TypicalPlan
from vtlab.model.records import Block
from vtlab.planning import k6_timing, typical_load

FULL = {"users": 20}
#: Without single users, as in the first block.
BLOCK = recorded.copied(recorded.block(), {"single": []})


def experiment(typical: Any = None, **changes: Any) -> Experiment:
    """Returns an experiment whose warm-up cycles tell nothing of its requests."""
    load = {"full": FULL, "typical": typical or {"share": 0.6}}
    windows = {**recorded.recorded().experiment.document()["windows"], "warmup_query": {"duration": "1ms"}}
    return recorded.experiment(**{"load": load, "windows": windows, "expected": None, **changes})


def served(throughput: float, mean: float = 0.2, idle: float = 0.9, block: Block = BLOCK) -> Block:
    """Returns a block whose trials have that throughput, mean latency and share of idle cores."""
    changes = {"throughput": throughput, "latency": recorded.latency(1000, mean), "machine": {"idle_cores": idle}}
    return recorded.copied(block, {"trials": [recorded.changed_trial(t, **changes) for t in block.trials]})


def planned(block: Block, exp: Experiment | None = None, at_once: bool = False) -> TypicalPlan:
    """Returns the plan by that block."""
    made = typical_load.plan(exp or experiment(), [block], None, at_once)
    assert made
    return made


def test_the_rate_is_a_share_of_what_the_first_variant_serves() -> None:
    first, *_ = [t for t in BLOCK.trials if t.variant == "platform"]
    trials = [recorded.changed_trial(t, throughput=60.0 if t == first else t.throughput) for t in BLOCK.trials]
    chosen = typical_load.rate_of(experiment(), recorded.copied(BLOCK, {"trials": trials}))
    assert chosen
    (other,) = (t.throughput for t in BLOCK.trials if t.variant == "platform" and t != first)
    assert (chosen.of, chosen.throughput) == ("platform", pytest.approx((60 + other) / 2))
    assert chosen.rate == pytest.approx(0.6 * (60 + other) / 2, rel=0.005), "three significant digits"
    assert planned(served(2345.6), experiment({"share": 0.5})).rate == 1170.0


@pytest.mark.parametrize("how", ["errors", "oom"])
def test_where_the_first_variant_fails_it_is_a_share_of_the_next(how: str) -> None:
    chosen = typical_load.rate_of(experiment(), recorded.broken(BLOCK, "platform", how))
    assert chosen
    assert chosen.of == "virtual"
    assert chosen.rate == pytest.approx(60, rel=0.02)


def test_without_a_variant_that_serves_there_is_none_but_a_named_rate() -> None:
    broken = recorded.broken(recorded.broken(BLOCK, "platform", "errors"), "virtual", "errors")
    assert typical_load.plan(experiment(), [broken], None, True) is None
    assert typical_load.plan(experiment(), [served(0.0)], None, True) is None
    named = planned(broken, experiment({"rate": 29.87654}))
    assert (named.rate, named.of, named.throughput) == (29.87654, "", None)
    assert typical_load.plan(recorded.experiment(load={"full": FULL, "typical": "none"}), [BLOCK], None, True) is None


@pytest.mark.parametrize(
    ("throughput", "mean", "users"), [(100, 0.2, 144), (100, 1.0, 240), (1, 0.2, 20), (5000, 0.2, 1000)]
)
def test_users_have_two_seconds_and_twice_an_answer_for_an_arrival(throughput: float, mean: float, users: int) -> None:
    assert planned(served(throughput, mean)).users == users


@pytest.mark.parametrize(("throughput", "users"), [(5000, (1000, 500)), (100, (144, 72)), (10, (20, 20))])
def test_at_half_the_rate_a_user_has_as_many_seconds_for_an_arrival(throughput: float, users: tuple[int, int]) -> None:
    """Seen: k6 kept 1000 users for 342/s, and stalled while it collected their garbage."""
    plan = planned(served(throughput, 0.2))
    assert (plan.users, typical_load.lowered(plan).users) == users


@pytest.mark.parametrize(
    ("throughput", "window"), [(10_000, 5.0), (1000, 5.0), (700, 7.5), (600, 8.5), (334, 15.0), (10, 15.0)]
)
def test_a_window_has_three_thousand_answers_within_bounds(throughput: float, window: float) -> None:
    made = planned(served(throughput, 0.05), at_once=True)
    assert made.window == window
    assert made.rate * made.window >= 3000 or made.window == 15.0


@pytest.mark.parametrize(("mean", "settle"), [(0.005, 1.0), (0.9, 1.0), (1.4, 1.5), (25.0, 10.0)])
def test_load_settles_for_as_long_as_an_answer_takes(mean: float, settle: float) -> None:
    assert planned(served(10, mean)).settle == pytest.approx(settle)


def curve(mean: float) -> Curve:
    """Returns a curve in which a single user of each variant had that mean latency."""
    point = {"throughput": 5.0, "p99": None, "failed": 0.0}
    points = [
        Point(variant=name, users=users, mean=mean * users, **point)
        for name in ("platform", "virtual")
        for users in (1, 2)
    ]
    return Curve(points=points, ended="levelled off", seconds=9, chosen=2)


def test_an_answer_takes_as_long_as_the_shortest_that_is_known_of_it() -> None:
    exp, block = experiment(), served(50, 0.5)

    def known(*blocks: Block, exp: Experiment = exp, curve: Curve | None = None) -> float | None:
        return typical_load.response(exp, blocks, curve, "platform")

    assert known(block) == 0.5
    assert known(block, curve=curve(0.3)) == 0.3
    declared = experiment(load={"full": {**FULL, "service_time": {"platform": "250ms"}}, "typical": {"share": 0.6}})
    assert known(block, exp=declared) == 0.25
    assert known(recorded.block(), block) == pytest.approx(0.2, rel=0.02), "the single users of a block before"
    same = recorded.experiment(load={"full": FULL}, expected=None)
    assert known(block, exp=same) == pytest.approx(0.37, rel=0.02), "warm-up cycles with the same request"
    assert known(recorded.copied(block, {"trials": []})) is None
    silent = served(50, 0.5)
    nothing = [recorded.changed_trial(t, latency=recorded.latency(0, 0.0)) for t in silent.trials]
    unknown = planned(recorded.copied(silent, {"trials": nothing}), experiment({"rate": 10}))
    assert unknown.users == 10 * (2 + 2 * 5), "as long as an answer may take"


def test_it_counts_the_answers_of_a_scripts_iteration() -> None:
    exp = experiment(requests=None, k6="load.js", windows={"measure": "5s"})
    trials = [recorded.changed_trial(t, throughput=200.0, ok=200, answers=recorded.answers(1000)) for t in BLOCK.trials]
    made = planned(recorded.copied(BLOCK, {"trials": trials}), exp, at_once=True)
    assert (made.rate, made.per_iteration, made.window) == (120.0, 5.0, 5.0)
    assert not made.is_at_once, "nobody knows what a script shares"
    of_requests = planned(recorded.copied(BLOCK, {"trials": trials}))
    assert (of_requests.per_iteration, of_requests.window) == (1.0, 15.0)


@pytest.mark.parametrize(
    ("idle", "changes", "is_at_once"),
    [
        # Six tenths of what used 49 % of the cores, for each of two variants.
        (0.51, {}, True),
        (0.50, {}, False),
        (0.9, {"needs": ["jdk21"]}, True),
        (0.9, {"needs": ["database"]}, False),
        (0.9, {"reset": "POST /reset"}, False),
        (0.9, {"load": {"full": FULL, "typical": {"rate": 900}}}, True),
        (0.7, {"load": {"full": FULL, "typical": {"rate": 900}}}, False),
    ],
)
def test_variants_that_share_nothing_have_it_at_once_where_they_leave_the_cores_idle(
    idle: float, changes: dict[str, Any], is_at_once: bool
) -> None:
    exp = experiment(**changes)
    assert planned(served(100, idle=idle), exp, at_once=True).is_at_once == is_at_once
    assert not planned(served(100, idle=idle), exp, at_once=False).is_at_once


def test_at_once_the_use_of_the_cores_is_known_of_all_variants() -> None:
    block = served(100)
    unknown = [recorded.changed_trial(t, machine={"idle_cores": None}) for t in block.trials]
    assert not typical_load.may_run_at_once(experiment(), unknown, 60)
    alone = [trial for trial in block.trials if trial.variant == "virtual"]
    assert not typical_load.may_run_at_once(experiment(), alone, 60)
    assert typical_load.may_run_at_once(experiment(), block.trials, 60)


@given(st.floats(0.5, 20_000), st.floats(0.001, 1.5), st.sampled_from([0.2, 0.9]))
def test_it_adds_little_to_a_block(throughput: float, mean: float, idle: float) -> None:
    made = planned(served(throughput, mean, idle), at_once=True)
    took = passed(made, 2, mean)
    expected = typical_load.seconds_of(made, 2, mean)
    assert took <= expected <= typical_load.seconds_of(made, 2)
    if made.is_at_once:
        assert expected <= 22
    elif mean <= 0.9 and k6_timing.start_up(made.users) == k6_timing.START_UP:
        assert expected <= 2 * (made.window + 3) + 2.5
    else:
        # Shorter, for the seconds of a window with 3,000 answers, where there are shorter ones.
        wanted = min(15.0, max(5.0, math.ceil(2 * 3000 / made.rate) / 2))
        assert expected <= 2 * (wanted + 3) + 2.5 or made.window <= 5.5
    assert 5.0 <= made.window <= 15.0
    assert made.settle >= mean + 0.1 - 1e-9


def passed(made: TypicalPlan, variants: int, response: float) -> float:
    """Seconds of the calls of k6 for a plan, as its clock has it (k6/lib/clock.ts): users end at the first point of a
    grid at which all have their answers, look half a point later, and begin at the next."""
    grid = 250 if made.users <= 100 else 500 * math.ceil(made.users / 500)

    def point(time: float) -> float:
        return math.ceil(round(time / grid, 6)) * grid

    # k6 comes up for two seconds, and a little; for longer with many users.
    come_up = max(2111, 600 + 4 * made.users * (variants if made.is_at_once else 1))
    begin = end = point(come_up + grid)
    for _ in range(1 if made.is_at_once else variants):
        end = point(begin + 1000 * (made.settle + made.window) + 1010 * response + 20)
        begin = point(end + 1 + grid / 2)
    return (end + 300) / 1000


@pytest.mark.parametrize(
    ("throughput", "mean", "idle", "window", "seconds"),
    [
        # blocking, behind-a-pool, downstream and blocking-100ms of the lab, by the answers of their first block.
        (200, 1.0, 0.9, 13.5, 21.84),
        (100, 0.5, 0.2, 15.0, 38.0),
        (500, 0.6, 0.2, 8.0, 27.84),
        (2000, 0.3, 0.2, 5.0, 20.0),
    ],
)
def test_windows_are_shorter_where_the_time_is(
    throughput: float, mean: float, idle: float, window: float, seconds: float
) -> None:
    made = planned(served(throughput, mean, idle), at_once=True)
    assert (made.window, typical_load.seconds_of(made, 2, mean)) == (window, seconds)


def test_a_slow_service_has_the_shortest_windows() -> None:
    made = planned(served(100, 8.0))
    assert (made.window, made.settle) == (5.0, pytest.approx(8.1))


def test_a_call_has_milliseconds() -> None:
    made = planned(served(100, 1.23456))
    call = typical_load.call(made, ["virtual"])
    assert (call.order, call.rate, call.users) == (["virtual"], 60.0, made.users)
    assert (call.settle, call.measure) == (1335, round(1000 * made.window))


def test_before_it_is_planned_its_time_is_estimated() -> None:
    assert typical_load.expected_seconds(recorded.experiment(load={"full": FULL, "typical": "none"}), None) == 0
    assert typical_load.expected_seconds(experiment(), None) == 2 * 18 + 2.5
    assert typical_load.expected_seconds(experiment({"rate": 500}), None) == 2 * 9 + 2.5
    made = planned(served(100))
    assert typical_load.expected_seconds(experiment(), made) == typical_load.seconds_of(made, 2)
