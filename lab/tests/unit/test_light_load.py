"""Light load: its rates and windows, how long it takes, and when variants have it at the same time."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import recorded
from vtlab.analysis.laws import demands
from vtlab.planning import light_load
from vtlab.planning.light_load import LoadedVariant
from vtlab.planning.load_call import LightLoad

#: Seconds of a request alone, requests per second under load, share of the CPU limit used for them.
VARIANT = st.tuples(st.floats(0, 20), st.floats(0, 50_000), st.floats(0, 1.2))
IDLE = (0.0, 0.0)


def light(*variants: tuple[float, float, float], at_once: bool = False) -> LightLoad:
    return light_load.plan({f"v{i}": LoadedVariant(*variant) for i, variant in enumerate(variants)}, at_once)


@given(st.lists(VARIANT, min_size=2, max_size=8), st.booleans())
def test_light_load_takes_half_a_minute_at_most(variants: list[tuple[float, float, float]], at_once: bool) -> None:
    planned = light(*variants, at_once=at_once)
    took = [
        passed(part, {f"v{i}": response for i, (response, _, _) in enumerate(variants)})
        for part in calls(planned, at_once)
    ]
    assert max(took) <= (light_load.AT_ONCE_SECONDS if at_once else light_load.SEQUENTIAL_SECONDS)
    assert planned.measure >= 1000 * light_load.SHORTEST_WINDOW - 1
    assert len(planned.rates) == len(variants)
    assert planned.settle > 0


@pytest.mark.parametrize(
    ("variants", "least"),
    [
        # 200 ms, by 200 threads or without limit, and the shipped experiment, whose platform threads answer 200/s.
        (((0.2, 1000, 0.2), (0.2, 1000, 0.2)), 1.3),
        (((1.005, 200, 0.07), (1.005, 1000, 0.35)), 0.5),
        (((0.002, 300, 0.1), (0.002, 400, 0.1)), 1.7),
    ],
)
def test_the_windows_of_two_variants_are_as_long_as_half_a_minute_allows(
    variants: tuple[tuple[float, float, float], ...], least: float
) -> None:
    planned = light(*variants)
    assert [len(rates) for rates in planned.rates.values()] == [5, 5]
    assert planned.measure >= 1000 * least
    took = passed(planned, {f"v{i}": response for i, (response, _, _) in enumerate(variants)})
    assert 24 < took <= 30


def calls(planned: LightLoad, at_once: bool) -> list[LightLoad]:
    """Splits light load into the part of each call of k6."""
    return [replace(planned, rates={name: rates}) for name, rates in planned.rates.items()] if at_once else [planned]


@pytest.mark.parametrize("variants", [((1.005, 200, 0.07), (1.005, 1000, 0.35)), ((0.102, 99, 0.1), (0.102, 99, 0.1))])
def test_at_once_windows_are_no_shorter_than_one_after_the_other(
    variants: tuple[tuple[float, float, float], ...],
) -> None:
    assert light(*variants, at_once=True).measure >= light(*variants).measure


def passed(planned: LightLoad, responses: dict[str, float]) -> float:
    """Seconds of a call of k6 for light load, as its clock has it (k6/lib/clock.ts): users end at the first point of a
    grid at which all have their answers, look half a point later, and begin at the next."""
    users = max(math.ceil(rate * planned.settle / 1000) for rates in planned.rates.values() for rate in rates)
    grid = 250 if users <= 100 else 500 * math.ceil(users / 500)

    def point(time: float) -> float:
        return math.ceil(time / grid) * grid

    # k6 comes up for two seconds, and a little.
    begin = end = point(2111 + grid)
    for name, rates in planned.rates.items():
        for rate in rates:
            last = 1010 * responses[name] + 20 if rate else 0
            end = point(begin + (planned.settle if rate else min(300, planned.settle)) + planned.measure + last)
            begin = point(end + 1 + grid / 2)
    return (end + 300) / 1000


@given(st.lists(VARIANT, min_size=2, max_size=8))
def test_light_load_is_light(variants: list[tuple[float, float, float]]) -> None:
    for (_, throughput, cpu), rates in zip(variants, light(*variants).rates.values(), strict=True):
        assert max(rates) <= light_load.SHARE_OF_THROUGHPUT * throughput
        if throughput:
            assert max(rates) / throughput * cpu <= 0.3, "of the CPU"
        assert list(rates) == list(rates)[::-1], "a drift of the machine cancels"
        assert 0.0 in rates


@given(st.lists(VARIANT, min_size=2, max_size=8))
def test_where_there_are_rates_an_answer_comes_while_they_settle(variants: list[tuple[float, float, float]]) -> None:
    planned = light(*variants)
    if any(max(rates) for rates in planned.rates.values()):
        assert planned.settle >= 1000 * max(response for response, _, _ in variants)


@pytest.mark.parametrize("cpu", [demands.BUSY, 0.99])
def test_only_what_is_busy_is_idle(cpu: float) -> None:
    planned = light((0.01, 900, cpu), (0.01, 300, demands.BUSY - 0.01))
    assert planned.rates["v0"] == IDLE, "its CPU demand is known under load"
    assert planned.rates["v1"] == (0.0, 150.0, 50.0, 150.0, 0.0)


def test_where_requests_take_too_long_for_it_there_are_idle_phases_alone() -> None:
    slow = light((5.0, 200, 0.1), (5.0, 40, 0.1))
    assert slow.rates == {"v0": IDLE, "v1": IDLE}
    assert light((0.01, 200, 0.1), (0.01, 0.0, 0.1)).rates["v1"] == IDLE, "nor without an OK answer"


def test_load_at_once_needs_a_machine_whose_idle_cores_are_known() -> None:
    exp = recorded.experiment()
    known, unknown = (
        [t.model_copy(update={"machine": {"idle_cores": idle}}) for t in recorded.block().trials[:2]]
        for idle in (0.63, None)
    )
    assert light_load.may_run_at_once(exp, known)
    assert not light_load.may_run_at_once(exp, unknown)
    assert not light_load.may_run_at_once(exp, [known[0], unknown[1]])
