"""The times of k6's plan that vtlab estimates with are those of ``k6/lib/constants.ts``."""

from __future__ import annotations

import re

import pytest

from vtlab import shipped
from vtlab.model import histogram
from vtlab.planning import k6_timing

CONSTANTS = shipped.ROOT / "k6" / "lib" / "constants.ts"


def constant(name: str) -> int:
    """The value of a constant of k6/lib: milliseconds, or a number of users."""
    return int(re.findall(rf"^export const {name} = (\d+);$", CONSTANTS.read_text(encoding="utf-8"), re.MULTILINE)[0])


@pytest.mark.parametrize(
    ("length", "users", "seconds"), [(1.0, 1, 1.25), (1.01, 1, 1.5), (1.0, 500, 1.5), (1.0, 501, 2.0)]
)
def test_the_next_phase_begins_a_point_of_the_grid_after_the_last_user_has_ended(
    length: float, users: int, seconds: float
) -> None:
    assert k6_timing.phase_seconds(length, users) == seconds


@pytest.mark.parametrize(("users", "seconds"), [(1, 2.5), (375, 2.5), (500, 3.0), (1000, 5.0)])
def test_many_users_take_longer_to_start(users: int, seconds: float) -> None:
    assert k6_timing.start_up(users) == seconds


@pytest.mark.parametrize(
    ("seconds", "name"),
    [
        (k6_timing.BETWEEN_PHASES, "BETWEEN_PHASES"),
        (k6_timing.USER_RAMP_UP, "RAMP_UP_PER_USER"),
        (k6_timing.LONGEST_WARM_UP_RAMP_UP, "LONGEST_WARM_UP_RAMP_UP"),
        (k6_timing.IDLE_SETTLE, "IDLE_SETTLE"),
        (k6_timing.FINE_GRID, "FINE_GRID"),
        (k6_timing.GRID_STEP, "GRID_STEP"),
    ],
)
def test_a_time_is_that_of_k6(seconds: float, name: str) -> None:
    assert 1000 * seconds == pytest.approx(constant(name))


@pytest.mark.parametrize(
    ("users", "name"),
    [(k6_timing.FINE_GRID_USERS, "FINE_GRID_USERS"), (k6_timing.GRID_STEP_USERS, "GRID_STEP_USERS")],
)
def test_a_number_of_users_is_that_of_k6(users: int, name: str) -> None:
    assert users == constant(name)


def test_the_buckets_of_latency_are_those_of_k6() -> None:
    assert constant("BUCKETS_PER_DECADE") == histogram.BUCKETS_PER_DECADE
    # The same numbers as in k6/tests/pure.felt.test.mjs, in seconds.
    seconds = (0, 5e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1, 60)
    assert [histogram.bucket(value) for value in seconds] == [0, 0, 0, 100, 200, 300, 400, 600, 777]
