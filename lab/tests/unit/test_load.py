"""Light load and the pace of k6's calls."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import recorded
from vtlab.analysis.laws import demands
from vtlab.analysis.validity import overload
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.records import InFlight, Latency, Trial
from vtlab.planning import load
from vtlab.planning.load import LightLoad, Pace

#: Seconds of a request alone, requests per second under load, share of the CPU limit used for them.
VARIANT = st.tuples(st.floats(0, 20), st.floats(0, 50_000), st.floats(0, 1.2))
IDLE = (0.0, 0.0)


def light(*variants: tuple[float, float, float], at_once: bool = False) -> LightLoad:
    responses, throughputs, cpu = ({f"v{i}": variant[part] for i, variant in enumerate(variants)} for part in range(3))
    return load.light(responses, throughputs, cpu, at_once)


@given(st.lists(VARIANT, min_size=2, max_size=8), st.booleans())
def test_light_load_takes_half_a_minute_at_most(variants: list[tuple[float, float, float]], at_once: bool) -> None:
    planned = light(*variants, at_once=at_once)
    took = [
        passed(part, {f"v{i}": response for i, (response, _, _) in enumerate(variants)})
        for part in calls(planned, at_once)
    ]
    assert max(took) <= (load.AT_ONCE_SECONDS if at_once else load.LIGHT_SECONDS)
    assert planned.measure >= 1000 * load.LEAST_WINDOW - 1
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
    """What each call of k6 has of it."""
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


@pytest.mark.parametrize("cpu", [demands.BUSY, 0.99])
def test_only_what_is_busy_is_idle(cpu: float) -> None:
    planned = light((0.01, 900, cpu), (0.01, 300, demands.BUSY - 0.01))
    assert planned.rates["v0"] == IDLE, "its CPU demand is known under load"
    assert planned.rates["v1"] == (0.0, 150.0, 50.0, 150.0, 0.0)


def test_where_requests_take_too_long_for_it_there_are_idle_phases_alone() -> None:
    slow = light((5.0, 200, 0.1), (5.0, 40, 0.1))
    assert slow.rates == {"v0": IDLE, "v1": IDLE}
    assert light((0.01, 200, 0.1), (0.01, 0.0, 0.1)).rates["v1"] == IDLE, "nor without an OK answer"


# --- pace --------------------------------------------------------------------

OPEN = recorded.arrivals(max_response="20s")


def cycle(mean: float | None, longest: float | None, added: int = 0) -> Trial:
    in_flight = InFlight(start=150, end=150 + added)
    trial = recorded.trial(phase="warmup", in_flight=in_flight)
    latency = trial.latency.model_copy(update={"mean": mean, "max": longest})
    return trial.model_copy(update={"latency": latency})


def test_a_warm_up_without_answers_changes_nothing() -> None:
    assert load.pace(OPEN, 7) == Pace(7)
    assert load.pace(OPEN, 7, [cycle(None, None)]) == Pace(7)


def with_windows(measure: str, gaps: str = "exponential", rate: float = 150) -> Experiment:
    windows = {**OPEN.document()["windows"], "measure": measure}
    return recorded.arrivals(load={"model": "open", "rate": rate, "users": 4500, "gaps": gaps}, windows=windows)


def test_a_window_is_long_enough_to_show_an_overload_of_5_percent() -> None:
    slow, fast = cycle(4.0, 4.5), cycle(1.0, 1.5)
    pace = load.pace(OPEN, 7, [fast, slow])
    assert pace == load.pace(OPEN, 7, [slow]), "of the slower variant"
    assert pace.settle == 4500, "as long as the longest answer"
    assert pace.measure is not None
    window = pace.measure / 1000
    before = 4.5 + units.seconds(OPEN.windows.ramp_up)
    # Exceeded by 1.96 standard deviations of the arrivals; R is what it is half way through.
    limit = 0.01 * 150 * window + 3 * math.sqrt(2 * 150 * (4.0 + 0.05 * (before + window / 2)))
    assert 0.05 * 150 * window - limit == pytest.approx(1.96 * math.sqrt(150 * window), rel=0.001)
    assert load.pace(with_windows("55s"), 7, [slow]).measure is None, "the experiment's are enough"


def test_the_window_is_never_shorter_than_the_issues_formula() -> None:
    even = load.pace(with_windows("5s", "even", rate=2000), 7, [cycle(4.0, 4.5)])
    assert even.measure is not None
    assert even.measure / 1000 >= 150 * math.sqrt(2 * 4.0 / 2000)


def test_even_gaps_need_no_time_for_the_chance_of_arrivals() -> None:
    even, drawn = (
        load.pace(with_windows("5s", gaps), 7, [cycle(0.2, 0.3)]).measure for gaps in ("even", "exponential")
    )
    assert even is not None
    assert drawn is not None
    assert even < 0.6 * drawn


def test_a_window_lasts_a_minute_at_most_and_says_what_it_then_shows() -> None:
    rare = with_windows("5s", rate=20)
    pace = load.pace(rare, 7, [cycle(1.0, 1.5)])
    assert pace.measure == 60_000
    assert pace.shown is not None
    assert 0.05 < pace.shown < 0.12
    assert load.Arriving(20, 1.0, 1.5 + units.seconds(rare.windows.ramp_up)).window(pace.shown) == pytest.approx(60)
    planned = load.pace(with_windows("90s", rate=20), 7, [cycle(1.0, 1.5)])
    assert planned.measure is None, "never less than the experiment's own"
    assert planned.shown is not None
    assert 0.05 < planned.shown < pace.shown
    assert load.pace(OPEN, 7, [cycle(1.0, 1.5)]).shown is None, "5 % is what was asked for"


def test_of_a_variant_that_is_far_overloaded_the_queue_is_no_response() -> None:
    """Its mean latency of many seconds would make windows of minutes. It is seen in any."""
    healthy = cycle(1.0, 1.5)
    falling = cycle(15.0, 20.0, added=2000)
    before = (falling.start - falling.begin) / 1000
    window = load.pace(OPEN, 7, [healthy, falling]).measure
    assert window is not None
    assert window <= (load.pace(OPEN, 7, [healthy, cycle(max(1.0, before), 20.0)]).measure or 0)
    assert window < (load.pace(OPEN, 7, [healthy, cycle(15.0, 20.0)]).measure or 0)


#: Arrivals per second, servers that each take as long as their number over 95 % of these.
PLANTED = [(150.0, 142), (150.0, 1), (400.0, 80), (1000.0, 19)]


@pytest.mark.parametrize(("rate", "servers"), PLANTED)
def test_a_single_trial_shows_5_percent_too_much_load(rate: float, servers: int) -> None:
    simulated = Simulated(rate, servers, utilisation=1 / 0.95)
    shown = [overload.growth(trial, simulated.experiment) is not None for trial in simulated.trials(400)]
    assert sum(shown) / len(shown) >= 0.95


@pytest.mark.parametrize(("rate", "servers"), PLANTED)
def test_a_variant_that_is_used_to_90_percent_is_not_overloaded(rate: float, servers: int) -> None:
    simulated = Simulated(rate, servers, utilisation=0.9)
    trials = simulated.trials(1200)
    runs = [trials[i : i + 6] for i in range(0, len(trials), 6)]
    shown = [bool(overload.growths(run, simulated.experiment)) for run in runs]
    assert sum(shown) / len(shown) <= 0.01


class Simulated:
    """Trials of a service that answers in turn: so many servers, each request keeps one for the same time."""

    def __init__(self, rate: float, servers: int, utilisation: float) -> None:
        self.experiment = with_windows("5s", rate=rate)
        self._servers = servers
        self._service = servers * utilisation / rate
        pace = load.pace(self.experiment, 7, [cycle(self._service, 1.1 * self._service)])
        assert pace.shown is None
        self._start = (pace.settle / 1000) + units.seconds(self.experiment.windows.ramp_up)
        self._end = self._start + (pace.measure or 5000) / 1000

    def trials(self, count: int) -> list[Trial]:
        draw = np.random.default_rng(16)
        planted = recorded.trial(window=self._end - self._start)
        return [self._trial(planted, draw) for _ in range(count)]

    def _trial(self, planted: Trial, draw: np.random.Generator) -> Trial:
        rate = self.experiment.load.rate if self.experiment.load.model == "open" else 0.0
        due = np.cumsum(draw.exponential(1 / rate, round(1.5 * rate * self._end)))
        due = due[due < self._end]
        answered = np.empty(len(due))
        for server in range(self._servers):
            # A server takes every n-th request: it begins when that is due and the one before is done.
            of_server = due[server :: self._servers]
            turns = np.arange(len(of_server)) * self._service
            answered[server :: self._servers] = np.maximum.accumulate(of_server - turns) + turns + self._service
        within = (answered >= self._start) & (answered < self._end)
        in_flight = InFlight(
            start=int(((due < self._start) & (answered >= self._start)).sum()), end=int((answered >= self._end).sum())
        )
        latency = planted.latency.model_copy(update={"mean": float((answered - due)[within].mean())})
        return planted.model_copy(update={"in_flight": in_flight, "latency": latency})


def test_load_settles_no_longer_than_an_answer_may_take() -> None:
    assert load.pace(OPEN, 7, [cycle(1.0, 60.0)]).settle == 20_000


def test_the_longest_window_of_the_variants_is_compared() -> None:
    windows = {**OPEN.document()["windows"], "measure": "10s", "measure_by_variant": {"virtual": "60s"}}
    exp = recorded.arrivals(windows=windows)
    assert load.pace(exp, 7, [cycle(8.0, 9.5)]).measure is None


# --- a round of closed load --------------------------------------------------


def closed(users: int, window: str = "10s", **changes: Any) -> Experiment:
    load = {"model": "closed", "users": users, **changes}
    return recorded.experiment(load=load, windows={"warmup_load": "2s", "measure": window}, expected=None)


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
    measured = Latency.model_validate({**recorded.latency(ok, 1.0).model_dump(), **latency})
    return recorded.trial(variant, "warmup", users=users, window=2.0, ok=ok, latency=measured)


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
    """Windows of 5 s, drawn from a round as ``k6/lib/plan.ts`` does; begun in one second: off by up to 26 %."""
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


def test_the_last_answers_are_waited_for_where_that_is_short() -> None:
    paced = recorded.experiment(load={"model": "closed", "users": 1000, "round": {"platform": "5s", "virtual": "1s"}})
    assert (load.gives_up(paced, "platform"), load.gives_up(paced, "virtual")) == (True, False)
    # Where no round is known, the warm-up tells how long an answer takes.
    unknown = recorded.experiment(load={"model": "closed", "users": 1000})
    cycle = recorded.trial("virtual", "warmup", users=1000)
    slow, quick = (
        cycle.model_copy(update={"latency": cycle.latency.model_copy(update={"max": most})}) for most in (2.5, 1.5)
    )
    assert load.gives_up(unknown, "virtual")
    assert load.gives_up(unknown, "virtual", [slow])
    assert not load.gives_up(unknown, "virtual", [quick])
    assert load.gives_up(unknown, "platform", [quick]), "of the other variant"
    fewer = quick.model_copy(update={"users": 200})
    assert load.gives_up(unknown, "virtual", [fewer])
    assert not load.gives_up(recorded.arrivals(), "virtual")


def test_load_at_once_needs_a_machine_whose_idle_cores_are_known() -> None:
    exp = recorded.experiment()
    known, unknown = (
        [t.model_copy(update={"machine": {"idle_cores": idle}}) for t in recorded.block().trials[:2]]
        for idle in (0.63, None)
    )
    assert load.at_once(exp, known)
    assert not load.at_once(exp, unknown)
    assert not load.at_once(exp, [known[0], unknown[1]])
