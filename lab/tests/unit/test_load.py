"""Light load and the pace of k6's calls."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import builders
from vtlab.analysis import laws
from vtlab.model.records import Trial
from vtlab.planning import load
from vtlab.planning.load import LightLoad, Pace

#: Seconds of a request alone, requests per second under load, share of the CPU limit used for them.
VARIANT = st.tuples(st.floats(0, 20), st.floats(0, 50_000), st.floats(0, 1.2))
IDLE = (0.0, 0.0)


def light(*variants: tuple[float, float, float]) -> LightLoad:
    responses, throughputs, cpu = ({f"v{i}": variant[part] for i, variant in enumerate(variants)} for part in range(3))
    return load.light(responses, throughputs, cpu)


@given(st.lists(VARIANT, min_size=2, max_size=8))
def test_light_load_takes_half_a_minute_at_most(variants: list[tuple[float, float, float]]) -> None:
    planned = light(*variants)
    phases = sum(len(rates) for rates in planned.rates.values())
    assert phases * ((planned.settle + planned.measure) / 1000 + load.BETWEEN) <= load.LIGHT_SECONDS
    assert planned.measure >= 1000 * load.LEAST_WINDOW - 1
    assert len(planned.rates) == len(variants)
    assert planned.settle > 0


@given(st.lists(VARIANT, min_size=2, max_size=8))
def test_light_load_is_light(variants: list[tuple[float, float, float]]) -> None:
    for (_, throughput, cpu), rates in zip(variants, light(*variants).rates.values(), strict=True):
        assert max(rates) <= load.OF_THROUGHPUT * throughput
        if throughput:
            assert max(rates) / throughput * cpu <= 0.3, "of the CPU"
        assert list(rates) == list(rates)[::-1], "a drift of the machine cancels"
        assert 0.0 in rates


@given(st.lists(VARIANT, min_size=2, max_size=8))
def test_where_there_are_rates_an_answer_comes_while_they_settle(variants: list[tuple[float, float, float]]) -> None:
    planned = light(*variants)
    if any(max(rates) for rates in planned.rates.values()):
        assert planned.settle >= 1000 * max(response for response, _, _ in variants)


@pytest.mark.parametrize("cpu", [laws.BUSY, 0.99])
def test_only_what_is_busy_is_idle(cpu: float) -> None:
    planned = light((0.01, 900, cpu), (0.01, 300, laws.BUSY - 0.01))
    assert planned.rates["v0"] == IDLE, "its CPU demand is known under load"
    assert planned.rates["v1"] == (0.0, 50.0, 150.0, 150.0, 50.0, 0.0)


def test_where_requests_take_too_long_for_it_there_are_idle_phases_alone() -> None:
    slow = light((5.0, 200, 0.1), (5.0, 40, 0.1))
    assert slow.rates == {"v0": IDLE, "v1": IDLE}
    assert light((0.01, 200, 0.1), (0.01, 0.0, 0.1)).rates["v1"] == IDLE, "nor without an OK answer"


# --- pace --------------------------------------------------------------------

OPEN = builders.arrivals()


def cycle(mean: float | None, longest: float | None) -> Trial:
    trial = builders.trial(exp=OPEN, phase="warmup")
    latency = trial.latency.model_copy(update={"mean": mean, "max": longest})
    return trial.model_copy(update={"latency": latency})


def test_closed_load_and_a_warm_up_without_answers_change_nothing() -> None:
    assert load.pace(builders.experiment(), 7, [cycle(1.0, 1.5)]) == Pace(7)
    assert load.pace(OPEN, 7) == Pace(7)
    assert load.pace(OPEN, 7, [cycle(None, None)]) == Pace(7)


def test_a_window_is_long_enough_to_show_an_overload_of_5_percent() -> None:
    # 150 sqrt(2 R / rate), of the slower variant.
    needed = 1000 * 150 * math.sqrt(2 * 8.0 / 150)
    pace = load.pace(OPEN, 7, [cycle(1.0, 1.5), cycle(8.0, 9.5)])
    assert pace.measure == round(needed)
    assert pace.settle == 9500, "as long as the longest answer"
    assert load.pace(OPEN, 7, [cycle(1.0, 1.5)]).measure is None, "the experiment's 30 s are enough"


def test_the_window_shows_5_percent_beyond_what_chance_adds() -> None:
    rate, response = 150.0, 8.0
    window = (load.pace(OPEN, 7, [cycle(response, 9.5)]).measure or 0) / 1000
    assert 0.05 * rate * window > 2 * 3 * math.sqrt(2 * rate * response)


def test_load_settles_no_longer_than_an_answer_may_take() -> None:
    assert load.pace(OPEN, 7, [cycle(1.0, 60.0)]).settle == 20_000


def test_the_longest_window_of_the_variants_is_compared() -> None:
    windows = {**OPEN.document()["windows"], "measure": "10s", "measure_by_variant": {"virtual": "60s"}}
    exp = builders.arrivals(windows=windows)
    assert load.pace(exp, 7, [cycle(8.0, 9.5)]).measure is None
