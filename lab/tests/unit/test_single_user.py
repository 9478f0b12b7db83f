"""What a request takes alone, also where waits are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from tests.support import recorded
from tests.support.phases import bound_of, measured, users, window
from vtlab.analysis.laws.explanation import explain
from vtlab.analysis.laws.phases import Measured, Phases
from vtlab.analysis.laws.single_user import round_alone
from vtlab.model.experiment import Experiment
from vtlab.model.records import Trial

#: As the lab plans light load for requests of 1 s and two variants: 1.2 s before windows of 0.7 s.
PLANNED = (100.0, 33.3, 100.0)


def lit(variant: str, exp: Experiment, random: np.random.Generator, rate: float, window: float) -> Trial:
    """A phase of light load on a service whose waits are exponential with a mean of 1 s, as k6 records it: arrivals at
    even gaps, dealt to users in turn, who drop those that come while they wait."""
    settle, users_ = 1.2, math.ceil(1.2 * rate)
    free = np.zeros(users_)
    begun, ended = [], []
    for i in range(math.ceil((settle + window) * rate)):
        if free[i % users_] <= i / rate:
            begun.append(i / rate)
            ended.append(i / rate + random.exponential())
            free[i % users_] = ended[-1]
    starts, ends = np.array(begun), np.array(ended)
    is_in = (settle <= ends) & (ends < settle + window)

    def in_flight(at: float) -> int:
        return int(((starts < at) & (ends >= at)).sum())

    mean, ok = float((ends - starts)[is_in].mean()), int(is_in.sum())
    edges = {"start": in_flight(settle), "end": in_flight(settle + window)}
    phase = window_of(variant, exp, "light", ok, window, mean)
    begin = phase.start - round(1000 * settle)
    return Trial.model_validate({**phase.model_dump(), "begin": begin, "rate": rate, "in_flight": edges})


def window_of(variant: str, exp: Experiment, phase: str, ok: int, seconds: float, mean: float) -> Trial:
    return window(variant, ok, seconds, exp, phase, mean=mean, service_time=mean)


def drawn(
    variant: str, exp: Experiment, seed: int, rates: Sequence[float] = PLANNED, seconds: float = 0.7, share: float = 1.0
) -> Measured:
    """A service with waits of exp(1s) that serves 200/s, or a ``share`` of it: twelve answers of a single user, light
    load, two trials."""
    random = np.random.default_rng(seed)
    single = []
    for _ in range(3):
        answers = random.exponential(size=4)
        single.append(window_of(variant, exp, "single", 4, float(answers.sum()), float(answers.mean())))
    light = [lit(variant, exp, random, rate, seconds) for rate in rates]
    server = {"cpu_cores": 0.05 * share, "capacity_tomcat-threads": 200.0 if variant == "platform" else None}
    trials = [window(variant, round(share * random.poisson(200 * 10)), 10, exp, **server) for _ in range(2)]
    return Measured(exp, variant, [Phases(trials, single, light, [recorded.instance(variant)])])


@pytest.mark.parametrize(("rates", "seconds"), [((60.0, 60.0, 60.0), 1.0), (PLANNED, 0.7)])
@pytest.mark.parametrize(
    ("variant", "number", "named"), [("platform", 1000, "tomcat-threads"), ("virtual", 200, "load")]
)
def test_waits_that_are_drawn_are_known_by_light_load_too(
    variant: str, number: int, named: str, rates: tuple[float, ...], seconds: float
) -> None:
    results = [explain(drawn(variant, users(number), seed, rates, seconds)) for seed in range(100)]
    bottlenecks = [e.bottleneck.resource for e in results]
    assert bottlenecks.count(named) >= 95
    assert np.mean([b.bound for e in results for b in e.bounds if b.resource == named]) == pytest.approx(200, rel=0.1)


def test_light_load_of_drawn_waits_explains_no_loss() -> None:
    # Half of what the threads allow: something else takes it, and no interval of the wait says otherwise.
    results = [explain(drawn("platform", users(1000), seed, share=0.5)).bottleneck for seed in range(100)]
    assert [b.resource for b in results].count("unknown") >= 90


def test_requests_alone_that_are_alike_are_not_mixed_with_light_load() -> None:
    m = measured("platform", (5998, 30, {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0}), cpu=0.00034)
    before = bound_of(m, "tomcat-threads")
    for trial in m.light:
        trial.latency = recorded.latency(trial.ok, 3.0)
    assert bound_of(m, "tomcat-threads") == before


def test_where_few_are_in_flight_only_the_smaller_light_rate_counts() -> None:
    # One thread with drawn waits of 10 ms queues at half of its throughput, with one in ten in flight.
    m = measured("platform", (3000, 30, {"cpu_cores": 0.05, "capacity_tomcat-threads": 1.0}), alone=0.01, cpu=0.0005)
    for trial, share in zip(m.single, (0.7, 1.0, 1.3), strict=True):
        trial.server["service_time"] = trial.latency.mean = 0.01 * share
    for trial in m.light:
        trial.latency = recorded.latency(trial.ok, 0.01 if trial.rate == 20 else 0.05)
    assert bound_of(m, "tomcat-threads").service_demand == pytest.approx(0.01, rel=0.05)


def test_the_users_bound_is_by_the_throughput_of_one_of_them() -> None:
    # 1000 answers in 5 s of 4 ms each: a user takes 1 ms between two requests.
    exp = users(50)
    short = window("virtual", 1000, 5.0, exp, "single", mean=0.004)
    assert round_alone([short]) == pytest.approx(5 / 1001)
    # Four answers of 1.1 s in 5 s: the fifth came too late to count, and the throughput would say 1.25 s.
    assert round_alone([window("virtual", 4, 5.0, exp, "single", mean=1.1)]) == pytest.approx(1.1)
