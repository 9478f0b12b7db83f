"""Steady state, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from tests.support.blocks import cycles
from vtlab.analysis.validity import jit_compiler, load_bound, steady_state


def test_steady_state_by_hand() -> None:
    # CPU-bound: the best before is 1000/s at 1 ms; then 1010 (1 %) and 1020 (2 %), D falls by as much.
    state = steady_state.steady_state(cycles((500, 1.0), (1000, 1.0), (1010, 1.0), (1020, 1.0)), 1.0)
    assert state.reached
    assert [g.throughput for g in state.gains] == [pytest.approx(0.01 - 1e-4), pytest.approx(0.02 - 1e-4)]
    assert state.gains[0].cpu == pytest.approx((1 / 1000 - 1 / 1010) * 1010)
    rising = steady_state.steady_state(cycles((1000, 1.0), (1040, 1.0), (1050, 1.0)), 1.0)
    assert not rising.reached
    assert rising.gains[1].most == pytest.approx(0.05)


@pytest.mark.parametrize("last", [300.0, 482.5, 495.0, 700.0])
def test_what_cycles_gain_while_the_compilers_rest_is_scatter(last: float) -> None:
    def state(*jits: float | None, before: bool = True) -> steady_state.SteadyState:
        cycle = cycles((467, 0.9), (481, 0.9), (last, 0.9))
        timed = [
            t.model_copy(update={"server": {**t.server, "jit_cpu": jit}}) for t, jit in zip(cycle, jits, strict=True)
        ]
        return steady_state.steady_state(timed, 1.0, compilers_had_cpu=before)

    by_throughput = last < 1.03 * 467
    # Of spring-petclinic, after 18,000 requests with more CPU.
    assert state(0.06, 0.04, 0.04).reached
    assert state(0.04, 0.04, 0.04).worst is None, "its level is not judged"
    assert state(0.04, 0.04, 0.04, before=False).reached is by_throughput, "it may have lacked CPU"
    for jits in ((0.04, 0.06, 0.04), (0.04, 0.04, 0.06), (0.04, None, 0.04)):
        assert state(*jits).reached is by_throughput


@pytest.mark.parametrize(("first", "reached"), [((True, True), True), ((True, False), False), ((False, True), False)])
def test_a_compiler_that_goes_first_and_rests_does_not_lack_cpu(first: tuple[bool, bool], reached: bool) -> None:
    cycle = cycles((467, 0.9), (481, 0.9), (482.5, 0.9))
    timed = [
        t.model_copy(update={"server": {**t.server, "jit_cpu": 0.04}, "compilers_first": is_first})
        for t, is_first in zip(cycle, (True, *first), strict=True)
    ]
    assert steady_state.WarmUp("platform", timed, timed, 1.0, None, 3).state.reached is reached


@pytest.mark.parametrize(
    ("limit", "users", "reached"), [(1.0, 4, True), (1.0, 9, True), (1.0, 10, False), (0.5, 5, False)]
)
def test_a_compiler_that_rests_beside_few_users_does_not_lack_cpu(limit: float, users: int, reached: bool) -> None:
    """A compiler with work has a tenth of 1 CPU beside nine threads that serve: twice as much as one at rest."""
    cycle = cycles((467, 0.9), (481, 0.9), (540, 0.9))
    timed = [t.model_copy(update={"server": {**t.server, "jit_cpu": 0.04}, "users": users}) for t in cycle]
    assert steady_state.WarmUp("platform", timed, timed, limit, None, 3).state.reached is reached


def test_one_answer_more_is_no_rise() -> None:
    few = cycles((0.2, 0.1), (0.2, 0.1), (0.3, 0.1))
    assert [t.ok for t in few] == [2, 2, 3]
    assert steady_state.steady_state(few, 1.0).reached
    assert not steady_state.steady_state(cycles((0.2, 0.1), (0.2, 0.1), (0.4, 0.1)), 1.0).reached


def test_scatter_around_the_level_is_no_warming_up() -> None:
    assert steady_state.steady_state(cycles((700, 1.0), (1030, 1.0), (960, 1.0), (1040, 1.0)), 1.0).reached
    assert not steady_state.steady_state(cycles((700, 1.0), (960, 1.0), (1030, 1.0), (1000, 1.0)), 1.0).reached


def test_cpu_that_is_not_scarce_may_wobble() -> None:
    # 0.30 cores fall by a third, which is 10 % of the one core, and no request waits for it ...
    waiting = cycles((200, 0.30), (200, 0.20), (200, 0.20))
    assert steady_state.steady_state(waiting, 1.0).reached
    assert steady_state.steady_state(waiting, 1.0).worst == 0, "the CPU was not judged, so it is not shown as if"
    # ... but everybody does when it is nearly all that there is.
    assert not steady_state.steady_state(waiting, 0.24).reached


def test_a_cpu_that_still_falls_is_no_steady_state_though_throughput_is() -> None:
    assert not steady_state.steady_state(cycles((200, 0.96), (200, 0.80), (200, 0.67)), 1.0).reached


def test_of_two_cycles_the_second_is_judged_by_the_first() -> None:
    level = steady_state.steady_state(cycles((200, 0.1), (205, 0.1)), 1.0)
    assert (level.reached, len(level.gains)) == (True, 1)
    assert not steady_state.steady_state(cycles((200, 0.1), (210, 0.1)), 1.0).reached
    assert not steady_state.steady_state(cycles((1000, 0.9), (1000, 0.85)), 1.0).reached, "CPU, where it is scarce"


def test_too_few_or_unmeasured_cycles_are_no_steady_state() -> None:
    assert not steady_state.steady_state(cycles((200, 0.1)), 1.0).reached
    assert not steady_state.steady_state([], 1.0).reached
    flat = cycles((200, 0.1), (200, 0.1), (200, 0.1))
    blind = [flat[0], flat[1].model_copy(update={"server": {}}), flat[2]]
    assert not steady_state.steady_state(blind, 1.0).reached
    # A first cycle that could not be scraped is no better than the others; what is left is judged.
    late = cycles((100, 0.9), (1000, 0.9), (1000, 0.9), (1000, 0.9))
    late[0] = late[0].model_copy(update={"server": {}})
    assert steady_state.steady_state(late, 1.0).reached
    late[2] = cycles((1000, 0.85))[0]
    assert not steady_state.steady_state(late, 1.0).reached, "5.6 % less CPU per request, and the CPU is scarce"
    assert not steady_state.steady_state([late[0], *late[2:]], 1.0).reached
    assert not steady_state.steady_state(cycles((0, 0.1), (0, 0.1), (0, 0.1)), 1.0).reached


BLOCKING = recorded.experiment(
    load={
        "full": {
            "users": 1000,
            "round": {"platform": "5s", "virtual": "1s"},
            "service_time": {"platform": "1s"},
        }
    }
)


@pytest.mark.parametrize(
    ("variant", "users", "most"),
    [
        ("virtual", 1000, 1000.0),
        # In the warm-up as many as are served at a time.
        ("platform", 200, 200.0),
        ("platform", 1000, 200.0),
        # Fewer than 1000, and nothing says what they queue for.
        ("virtual", 100, None),
    ],
)
def test_the_load_allows_so_many_requests_at_most(variant: str, users: int, most: float | None) -> None:
    trial = recorded.trial(variant, users=users)
    assert load_bound.most_throughput(trial, BLOCKING) == most
    unknown = recorded.experiment(load={"full": {"users": 1000}})
    assert load_bound.most_throughput(trial, unknown) is None
    waiting = recorded.experiment(load={"full": {**BLOCKING.load.model_dump(), "think_time": "1s"}})
    assert load_bound.most_throughput(trial, waiting) == (most if users == 1000 else None)


def test_a_cycle_that_the_load_alone_bounds_has_nothing_left_to_gain() -> None:
    # Of a run of blocking: of 1000/s that the users can have the second cycle has 999.
    slow_first = cycles((966.5, 0.47), (999, 0.37))
    assert not steady_state.steady_state(slow_first, 1.0).reached
    state = steady_state.steady_state(slow_first, 1.0, most=1000)
    assert (state.reached, state.worst) == (True, pytest.approx(0.001))
    # Of another: the compiler fills the core, and no answer is missing.
    compiling = cycles((199.5, 0.28), (200, 1.01), (200, 0.23))
    assert not steady_state.steady_state(compiling, 1.0).reached
    assert steady_state.steady_state(compiling, 1.0, most=200).reached
    # What the experiment says is wrong, or the last cycle is below it.
    for wrong in (900, 1040):
        assert not steady_state.steady_state(slow_first, 1.0, most=wrong).reached


def test_one_cycle_is_enough_where_the_load_bounds_it() -> None:
    (reached,) = cycles((975, 0.4))
    state = steady_state.steady_state([reached], 1.0, most=1000)
    assert (state.reached, state.gains, state.worst) == (True, [], pytest.approx(0.025))
    assert not steady_state.steady_state(cycles((965, 0.4)), 1.0, most=1000).reached
    assert not steady_state.steady_state([reached], 1.0).reached


@pytest.mark.parametrize(("ok", "by_parts", "tells"), [(34, False, True), (33, False, False), (2, True, True)])
def test_one_cycle_with_few_answers_tells_nothing_unless_it_counts_their_parts(
    ok: int, by_parts: bool, tells: bool
) -> None:
    (cycle,) = cycles((1000, 0.4))
    few = cycle.model_copy(update={"ok": ok, "by_parts": by_parts})
    assert steady_state.steady_state([few], 1.0, most=1000).reached == tells


GIVES_UP = {"wait_for_answers": False, "trials": 1}


@pytest.mark.parametrize(
    ("load", "windows", "is_known"),
    [
        ({}, {}, True),
        # Not known of a variant.
        ({"round": {"virtual": "1s"}}, {}, False),
        # Fewer users than in the trials have another round.
        ({}, GIVES_UP, False),
        ({"service_time": {"platform": "1s", "virtual": "1s"}}, GIVES_UP, True),
        ({"think_time": "1s"}, {}, False),
        ({"think_time": "1s", "service_time": {}}, {}, True),
        # 30 answers in a cycle.
        ({"users": 5, "round": {"platform": "1s", "virtual": "1s"}}, {}, False),
    ],
)
def test_one_cycle_is_expected_where_the_load_is_known_to_bound_it(
    load: dict[str, Any], windows: dict[str, Any], is_known: bool
) -> None:
    full, lengths = BLOCKING.load.model_dump() | load, BLOCKING.windows.model_dump() | windows
    exp = recorded.experiment(load={"full": full}, windows=lengths)
    expected = [steady_state.expected_cycles(exp, is_raised) for is_raised in (True, False)]
    assert expected == ([1, 1] if is_known else [2, 3])
    assert steady_state.expected_cycles(recorded.arrivals(), True) == 2


def test_a_compiler_takes_nothing_from_requests_that_the_load_alone_bounds() -> None:
    busy = {"cpu_cores": 1.0, "cpu_limit": 1.0, "jit_cpu": 0.66}
    bound, slower = (
        recorded.trial("platform", "warmup", users=200, window=6.0, ok=round(6 * x), server=busy)
        for x in (200.0, 190.0)
    )
    assert jit_compiler.is_compiled(bound, BLOCKING)
    assert not jit_compiler.is_compiled(slower, BLOCKING)
