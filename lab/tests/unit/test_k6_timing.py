"""The times of k6's plan that vtlab estimates with are those of ``k6/lib``."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtlab import shipped
from vtlab.planning import k6_timing

SOURCES = {path.name: path.read_text(encoding="utf-8") for path in sorted((shipped.ROOT / "k6" / "lib").glob("*.ts"))}


def constant(name: str) -> float:
    """The value of a constant of k6/lib, which stands there once."""
    (value,) = [match for text in SOURCES.values() for match in re.findall(rf"\bconst {name} = ([\d_.]+);", text)]
    return float(value.replace("_", ""))


@pytest.mark.parametrize(
    ("seconds", "name"),
    [
        (k6_timing.BETWEEN_PHASES, "BETWEEN"),
        (k6_timing.USER_RAMP_UP, "GENTLY"),
        (k6_timing.WARM_UP_RAMP_UP, "WARMUP_RAMP"),
        (k6_timing.IDLE_SETTLE, "IDLE_SETTLE"),
    ],
)
def test_a_time_is_that_of_k6(seconds: float, name: str) -> None:
    assert 1000 * seconds == pytest.approx(constant(name))


@given(st.integers(1, 10_000))
def test_the_grid_is_that_of_k6(users: int) -> None:
    pattern = r"grid: users <= ([\d_]+) \? ([\d_]+) : ([\d_]+) \* Math\.ceil\(users / ([\d_]+)\)"
    few, fine, coarse, group = (int(number.replace("_", "")) for number in re.findall(pattern, SOURCES["plan.ts"])[0])
    assert 1000 * k6_timing.grid(users) == (fine if users <= few else coarse * -(-users // group))
