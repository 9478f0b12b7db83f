"""Light load and the pace of k6's calls."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import builders
from vtlab.analysis import laws
from vtlab.model.experiment import Experiment
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


def test_a_warm_up_without_answers_changes_nothing() -> None:
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


# --- a round of closed load --------------------------------------------------


def closed(users: int, window: str = "10s", **changes: Any) -> Experiment:
    load = {"model": "closed", "users": users, **changes}
    return builders.experiment(load=load, windows={"warmup_load": "2s", "measure": window}, expected=None)


def served(
    users: int, takes: Callable[[], float], threads: int, ramp_up: float, start: float, window: float
) -> list[float]:
    """Latencies of what a service with so many threads answers in a window; users begin evenly in the ramp-up."""
    free = [0.0] * threads
    sent = [(ramp_up * user / users, user) for user in range(users)]
    answered = []
    while sent:
        at, user = heapq.heappop(sent)
        done = max(at, heapq.heappop(free)) + takes()
        heapq.heappush(free, done)
        if start <= done < start + window:
            answered.append(done - at)
        if done < start + window:
            heapq.heappush(sent, (done, user))
    return sorted(answered)


def warmed_up(exp: Experiment, takes: Callable[[], float], threads: int = 10_000, variant: str = "platform") -> Trial:
    """A warm-up cycle with the trials' own load as k6 runs it: users begin in 1 s, the window is [2 s, 4 s)."""
    users = exp.load.users
    latencies = served(users, takes, threads, 1.0, 2.0, 2.0)
    ok = len(latencies)

    def at(share: float) -> float | None:
        return latencies[math.floor(share * ok)] if ok * (1 - share) >= 10 else None

    latency = {"count": ok, "mean": sum(latencies) / ok, "p50": at(0.5), "p90": at(0.9), "max": latencies[-1]}
    recorded = {**builders.latency(ok, 1.0).model_dump(), **latency}
    return builders.trial(variant, exp=exp, phase="warmup", users=users, window=2.0, ok=ok, latency=recorded)


def drawn() -> Callable[[], float]:
    source = random.Random(16)
    return lambda: source.expovariate(1 / 3)


@pytest.mark.parametrize(
    ("users", "takes", "threads", "round_"),
    [
        (1000, lambda: 1.2, 10_000, 1.2),
        (100, lambda: 1.9, 10_000, 1.9),
        (100, lambda: 3.0, 10_000, 3.0),
        (10, lambda: 3.9, 10_000, 3.9),  # one of ten was answered
        (1000, lambda: 1.0, 200, 5.0),  # in the warm-up's 2 s no answer took as long
        (300, lambda: 0.3, 20, 4.5),
        (1000, drawn(), 10_000, 3.0),
    ],
)
def test_the_round_of_a_user_is_known_by_the_warm_up(
    users: int, takes: Callable[[], float], threads: int, round_: float
) -> None:
    exp = closed(users)
    rounds = load.pace(exp, 7, [warmed_up(exp, takes, threads)]).rounds
    assert rounds["platform"] / 1000 == pytest.approx(round_, rel=0.1)


@pytest.mark.parametrize("response", [1.3, 1.9, 2.3, 3.0, 3.7])
def test_users_who_are_spread_over_their_round_are_counted_right(response: float) -> None:
    """Windows of 5 s, drawn from a round as ``k6/lib/plan.ts`` does; of users who begin in a second they were off by up
    to 26 %."""
    users, window = 100, 5.0
    exp = closed(users, "5s")
    round_ = load.pace(exp, 7, [warmed_up(exp, lambda: response)]).rounds["platform"] / 1000
    ramp_up = round_ * math.ceil(0.005 * users / round_)
    off = []
    for drawn_ in (0.0, 0.25, 0.5, 0.75):
        answers = served(users, lambda: response, 10_000, ramp_up, ramp_up + round_ * (1 + drawn_), window)
        off.append(len(answers) * response / window / users - 1)
    assert max(map(abs, off)) <= 0.02


def test_think_time_belongs_to_a_round() -> None:
    exp = closed(1000, think_time="2s")
    trial = warmed_up(exp, lambda: 1.0)
    assert load.pace(exp, 7, [trial]).rounds == {"platform": 3000}


def test_rounds_that_the_experiment_says_or_that_are_short_are_not_told() -> None:
    exp = closed(1000, round={"platform": "5s"})
    cycles = [warmed_up(exp, lambda: 1.0, 200), warmed_up(exp, lambda: 1.5, variant="virtual")]
    assert load.pace(exp, 7, cycles).rounds == {"virtual": 1500}
    assert load.pace(closed(1000, "15s"), 7, cycles[1:]).rounds == {}
    # Where one needs it, the other would begin in as long a round without its own.
    short = [warmed_up(closed(50), lambda: 0.01), *cycles[1:]]
    assert load.pace(closed(50), 7, short[:1]).rounds == {}
    many = closed(1000)
    fast = warmed_up(many, lambda: 0.05)
    assert load.pace(many, 7, [fast, cycles[1]]).rounds == {"platform": 50, "virtual": 1500}


def test_fewer_users_than_in_the_trials_tell_no_round() -> None:
    exp = closed(1000)
    trial = warmed_up(exp, lambda: 3.0)
    assert load.pace(exp, 7, [trial.model_copy(update={"users": 50})]) == Pace(7)
    assert load.pace(exp, 7) == Pace(7)
