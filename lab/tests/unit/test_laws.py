"""The demands, the bounds, the modelled throughput and the bottleneck, against numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import builders
from vtlab.analysis import laws, mva
from vtlab.analysis.laws import Measured, Phases
from vtlab.catalogue.resources import RESOURCES
from vtlab.model.experiment import Experiment
from vtlab.model.records import Activity, Bound, Diagnosis, Place, Trial

#: The single-user phases of a block scatter by this much.
SCATTER = (0.998, 1.002, 1.0)


def window(variant: str, ok: int, seconds: float, exp: Experiment, phase: str = "measure", **server: Any) -> Trial:
    return builders.trial(
        variant,
        exp=exp,
        phase=phase,
        window=seconds,
        ok=ok,
        throughput=ok / seconds,
        latency=builders.latency(ok, server.pop("mean", 1.0)),
        server=server,
    )


def measured(
    variant: str,
    *trials: tuple[int, float, dict[str, Any]],
    exp: Experiment | None = None,
    alone: float | None = 1.0,
    held: dict[str, float] | None = None,
    cpu: float | None = None,
    idle: float = 0.0,
    places: Sequence[Place] = (),
    diagnosed: float | None = None,
) -> Measured:
    """``trials``: OK requests, seconds, server values. ``alone``: R_min, also the thread's time; None without
    single-user phases. ``held``: what a request holds of pools, alone. ``cpu``: its CPU seconds under light load.
    ``diagnosed``: OK requests per second while dumps showed ``places``."""
    exp = exp or builders.experiment()
    single = [] if alone is None else [lone(variant, exp, alone * share, held or {}) for share in SCATTER]
    loaded = [window(variant, ok, seconds, exp, **server) for ok, seconds, server in trials]
    light = [
        builders.lightly_loaded(variant, exp, builders.Service(cpu=cpu), rate, cpu_cores=idle + rate * cpu * error)
        for rate, error in ((0, 1), (20, 1.01), (40, 0.99), (40, 1.01), (20, 0.99), (0, 1))
        if cpu
    ]
    total = math.fsum(p.threads for p in places)
    diagnosis = Diagnosis(dumps=20, threads=total, places=list(places), throughput=diagnosed)
    instances = [builders.instance(variant, exp=exp)]
    phases = Phases(loaded, single, light, instances, diagnosis if places else None)
    return Measured(exp, variant, [phases])


def lone(variant: str, exp: Experiment, seconds: float, held: dict[str, float]) -> Trial:
    ok = max(5, round(5 / seconds))
    return window(variant, ok, ok * seconds, exp, "single", mean=seconds, service_time=seconds, **held)


def users(number: int, think: str = "0s", **changes: Any) -> Experiment:
    load = {"model": "closed", "users": number, "think_time": think}
    return builders.experiment(**{"load": load, "expected": None, **changes})


def threads_at(activity: Activity, threads: float, place: str = "Socket at OrderService:42") -> Place:
    return Place(activity=activity, place=place, threads=threads)


def names(explanation: laws.Explanation) -> list[str]:
    return [b.resource for b in explanation.bounds]


def bound_of(m: Measured, resource: str) -> Bound:
    (bound,) = (b for b in laws.bounds(m) if b.resource == resource)
    return bound


# --- what one resource limits ------------------------------------------------


def test_blocking_platform_threads() -> None:
    # 200 threads / 1 s = 200/s; cpu 1 core / 0.34 ms = 2,941/s; users 1000 / 1 s = 1000/s.
    server = {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0}
    e = laws.explain(measured("platform", (5998, 30, server), cpu=0.00034))
    assert e.bottleneck.resource == "tomcat-threads"
    assert e.bottleneck.together == []
    assert e.bottleneck.bound == pytest.approx(200)
    assert e.bottleneck.utilisation == pytest.approx(5998 / 30 / 200)
    assert e.modelled == pytest.approx(200, rel=0.001)
    assert e.next is not None
    assert (e.next.resource, e.next.bound) == ("load", pytest.approx(1000))
    assert names(e) == ["tomcat-threads", "load", "cpu", "connections"]
    assert e.bounds[2].bound == pytest.approx(1 / 0.00034)
    assert e.bounds[2].service_demand == pytest.approx(0.00034)


def test_blocking_virtual_threads_have_no_tomcat_bound() -> None:
    server = {"cpu_cores": 0.3, "capacity_tomcat-threads": None, "tomcat_threads_busy": -1.0}
    e = laws.explain(measured("virtual", (29_970, 30, server), cpu=0.0003))
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("load", pytest.approx(1000))
    assert e.next is not None
    assert (e.next.resource, e.next.bound) == ("cpu", pytest.approx(1 / 0.0003))
    assert "tomcat-threads" not in names(e)


def test_a_cpu_bound_service_is_not_blamed_on_threads_that_wait_for_the_cpu() -> None:
    # All 200 threads are busy, but alone a request holds its thread for 1 ms: 200,000/s.
    server = {"cpu_cores": 0.98, "tomcat_threads_busy": 200.0, "capacity_tomcat-threads": 200.0}
    e = laws.explain(measured("platform", (29_400, 30, server), alone=0.001))
    assert (e.bottleneck.resource, e.bottleneck.together) == ("cpu", [])
    assert e.bottleneck.bound == pytest.approx(1000)
    assert e.bottleneck.utilisation == pytest.approx(0.98)


def test_think_time_counts_for_users_and_connections() -> None:
    m = measured("virtual", (600, 30, {"cpu_cores": 0.01}), exp=users(100, "4s"))
    assert bound_of(m, "load").bound == pytest.approx(100 / 5)
    assert bound_of(m, "connections").bound == pytest.approx(8192 / 5)
    assert laws.explain(m).bottleneck.resource == "load"


def test_fewer_connections_than_users() -> None:
    m = measured("virtual", (1500, 30, {"cpu_cores": 0.01, "capacity_connections": 20.0}), exp=users(30), alone=0.4)
    e = laws.explain(m)
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("connections", pytest.approx(50, rel=0.001))
    assert e.next is not None
    assert e.next.resource == "load"


def test_a_pool_whose_bound_is_reached() -> None:
    # 10 connections held for 0.4 s of 0.41 s: 25/s.
    pool = {"capacity_db-pool": 10.0, "utilization_db-pool": 1.0, "cpu_cores": 0.02}
    e = laws.explain(
        measured("virtual", (744, 30, pool), exp=users(100), alone=0.41, held={"hold_db_pool": 0.4}, cpu=0.0008)
    )
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("db-pool", pytest.approx(25, rel=0.001))
    assert e.bottleneck.inside is None
    assert e.next is not None
    assert (e.next.resource, e.next.bound) == ("load", pytest.approx(100 / 0.41))


def test_tasks_that_run_at_once_hold_an_executor_longer_than_the_request_takes() -> None:
    # Eight tasks of 0.4 s on eight threads, two users: 3.2 thread-seconds in 0.4 s, so 2.5/s.
    server = {"capacity_executor": 8.0, "utilization_executor": 1.0, "cpu_cores": 0.01}
    e = laws.explain(measured("virtual", (74, 30, server), exp=users(2), alone=0.4, held={"hold_executor": 3.2}))
    assert e.modelled == pytest.approx(2.5, rel=0.01)
    assert (e.bottleneck.resource, e.bottleneck.together) == ("executor", [])


@pytest.mark.parametrize("hold", [0.78, 0.8])
@pytest.mark.parametrize(("number", "named"), [(1, ["cpu", "load"]), (2, ["cpu"]), (5, ["cpu"]), (20, ["cpu"])])
def test_tasks_that_compute_at_once_need_no_larger_executor(number: int, named: list[str], hold: float) -> None:
    # A request has 100 ms of CPU in eight tasks at once: they hold eight threads, as they wait for each other's core.
    server = {"capacity_executor": 8.0, "utilization_executor": 1.0, "cpu_cores": 0.99}
    m = measured("virtual", (300, 30, server), exp=users(number), alone=0.1, held={"hold_executor": hold})
    e = laws.explain(m)
    assert [e.bottleneck.resource, *e.bottleneck.together] == named
    assert e.modelled == pytest.approx(10, rel=0.02)


def test_a_computation_in_the_hold_of_one_connection_is_limited_by_the_smaller_of_the_two() -> None:
    held = {"hold_db_pool": 0.1}
    exp = users(5, limits={"cpu": 1.43, "memory": "512Mi", "heap": "256m"})
    server = {"capacity_db-pool": 1.0, "utilization_db-pool": 1.0, "cpu_cores": 0.97}
    e = laws.explain(measured("virtual", (292, 30, server), exp=exp, alone=0.1, held=held))
    assert (e.bottleneck.resource, e.bottleneck.inside) == ("db-pool", None)


def test_a_task_that_holds_a_connection_is_modelled_by_the_whole() -> None:
    # A request of 0.4 s is one task of an executor, which holds one of ten connections all the time.
    pools = {f"{figure}_{name}": n for name, n in (("executor", 50.0), ("db-pool", 10.0)) for figure in ("capacity",)}
    m = measured(
        "platform", (735, 30, {**pools, "cpu_cores": 0.01}), exp=users(40), alone=0.4,
        held={"hold_executor": 0.4, "hold_db_pool": 0.4},
    )  # fmt: skip
    e = laws.explain(m)
    assert e.modelled == pytest.approx(25, rel=0.02)
    assert e.bottleneck.resource == "db-pool"


def test_carriers_are_short_where_threads_are_pinned() -> None:
    # JDK 21, one carrier: each request pins it for 0.4 s.
    server = {"capacity_carriers": 1.0, "pinned_seconds": 0.98, "cpu_cores": 0.02}
    m = measured("virtual", (73, 30, server), exp=users(2), alone=0.4)
    e = laws.explain(m)
    assert (e.bottleneck.resource, e.bottleneck.together) == ("carriers", [])
    assert e.bottleneck.bound == pytest.approx(2.5, rel=0.05)


def test_a_pin_is_no_longer_than_the_request_alone() -> None:
    # Each pin lasts for 2 s under load, and the request alone takes 0.4 s: more carriers would not help.
    server = {"capacity_carriers": 4.0, "pinned_seconds": 4.0, "cpu_cores": 0.02}
    m = measured("virtual", (60, 30, server), exp=users(20), alone=0.4)
    assert bound_of(m, "carriers").service_demand == pytest.approx(0.4, rel=0.05)
    assert laws.explain(m).bottleneck.resource == "unknown"


def test_pins_too_short_for_an_event_under_load_count_by_the_light_phases() -> None:
    m = measured("virtual", (300, 30, {"capacity_carriers": 1.0, "pinned_seconds": 0.0}), alone=0.1, cpu=0.001)
    assert "carriers" not in names(laws.explain(m))
    for trial in m.light:
        trial.server["pinned_seconds"] = 0.05 * (trial.rate or 0)
    assert bound_of(m, "carriers").service_demand == pytest.approx(0.051, rel=0.01)


def test_carriers_without_pinning_are_the_cpu() -> None:
    busy = {"capacity_carriers": 1.0, "utilization_carriers": 1.0, "pinned_seconds": 0.0, "cpu_cores": 0.99}
    e = laws.explain(measured("virtual", (2970, 30, busy)))
    assert (e.bottleneck.resource, "carriers" in names(e)) == ("cpu", False)


# --- knee, tie, load ---------------------------------------------------------


@pytest.mark.parametrize(("number", "measured_at"), [(6, 224.0), (7, 250.0), (8, 270.0), (7, 298.0)])
def test_at_the_knee_nothing_is_unknown_and_both_share_the_blame(number: int, measured_at: float) -> None:
    # 20 ms of waiting, 3.2 ms of one core; constant waits reach more than the model.
    server = {"cpu_cores": measured_at * 0.0032}
    e = laws.explain(measured("virtual", (round(30 * measured_at), 30, server), exp=users(number), alone=0.0232))
    assert e.modelled is not None
    assert measured_at >= 0.9 * e.modelled
    assert {e.bottleneck.resource, *e.bottleneck.together} <= {"cpu", "load"}
    assert e.bottleneck.resource != "unknown"


def test_two_that_would_help_alike_are_named_together() -> None:
    # Where the gains of the CPU and of one user more cross: by the model, more by a tenth of each.
    by_gain = {}
    for number in range(2, 30):
        x = float(mva.throughputs(number, 0.020, [mva.Station(0.0032, 1 / 0.0032)])[-1])
        e = laws.explain(
            measured("virtual", (round(300 * x), 300, {"cpu_cores": x * 0.0032}), exp=users(number), alone=0.0232)
        )
        by_gain[number] = {e.bottleneck.resource, *e.bottleneck.together}
    assert by_gain[2] == {"load"}
    assert by_gain[29] == {"cpu"}
    assert {"cpu", "load"} in by_gain.values()


def test_two_pools_of_which_more_of_one_alone_does_not_help() -> None:
    # 200 threads and 200 connections for 1000 users: both allow 200/s.
    server = {"cpu_cores": 0.07, "capacity_tomcat-threads": 200.0, "capacity_connections": 200.0}
    e = laws.explain(measured("platform", (5990, 30, server), cpu=0.00034))
    assert {e.bottleneck.resource, *e.bottleneck.together} == {"tomcat-threads", "connections"}
    assert e.next is not None
    assert e.next.resource == "load"


def test_one_thread_with_one_connection() -> None:
    # More of the one alone does not help, and less of it cannot be.
    server = {"capacity_tomcat-threads": 1.0, "capacity_db-pool": 1.0, "cpu_cores": 0.01}
    e = laws.explain(
        measured("platform", (74, 30, server), exp=users(20), alone=0.4, held={"hold_db_pool": 0.399}, cpu=0.001)
    )
    assert {e.bottleneck.resource, *e.bottleneck.together} == {"tomcat-threads", "db-pool"}


@pytest.mark.parametrize(("cores", "limiting"), [(0.97, ["cpu", "load"]), (0.1, ["load"])])
def test_a_single_user_shares_the_blame_with_what_the_user_fills(cores: float, limiting: list[str]) -> None:
    # One user alone always comes to X = 1 / R; in one case the request is CPU from its beginning to its end.
    e = laws.explain(measured("virtual", (300, 30, {"cpu_cores": cores}), exp=users(1), alone=0.1))
    assert [e.bottleneck.resource, *e.bottleneck.together] == limiting


def test_half_a_core_limits_a_single_user_alone() -> None:
    exp = users(1, limits={"cpu": 0.5, "memory": "512Mi", "heap": "256m"})
    e = laws.explain(measured("virtual", (300, 30, {"cpu_cores": 0.49}), exp=exp, alone=0.1))
    assert [e.bottleneck.resource, *e.bottleneck.together] == ["cpu"]


# --- waits that are drawn ----------------------------------------------------

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
    return Measured(exp, variant, [Phases(trials, single, light, [builders.instance(variant, exp=exp)])])


@pytest.mark.parametrize(("rates", "seconds"), [((60.0, 60.0, 60.0), 1.0), (PLANNED, 0.7)])
@pytest.mark.parametrize(
    ("variant", "number", "named"), [("platform", 1000, "tomcat-threads"), ("virtual", 200, "load")]
)
def test_waits_that_are_drawn_are_known_by_light_load_too(
    variant: str, number: int, named: str, rates: tuple[float, ...], seconds: float
) -> None:
    results = [laws.explain(drawn(variant, users(number), seed, rates, seconds)) for seed in range(100)]
    found = [e.bottleneck.resource for e in results]
    assert found.count(named) >= 95
    assert np.mean([b.bound for e in results for b in e.bounds if b.resource == named]) == pytest.approx(200, rel=0.1)


def test_light_load_of_drawn_waits_explains_no_loss() -> None:
    # Half of what the threads allow: something else takes it, and no interval of the wait says otherwise.
    results = [laws.explain(drawn("platform", users(1000), seed, share=0.5)).bottleneck for seed in range(100)]
    assert [b.resource for b in results].count("unknown") >= 90


def test_requests_alone_that_are_alike_are_not_mixed_with_light_load() -> None:
    m = measured("platform", (5998, 30, {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0}), cpu=0.00034)
    before = bound_of(m, "tomcat-threads")
    for trial in m.light:
        trial.latency = builders.latency(trial.ok, 3.0)
    assert bound_of(m, "tomcat-threads") == before


def test_where_few_are_in_flight_only_the_smaller_light_rate_counts() -> None:
    # One thread with drawn waits of 10 ms queues at half of its throughput, with one in ten in flight.
    m = measured("platform", (3000, 30, {"cpu_cores": 0.05, "capacity_tomcat-threads": 1.0}), alone=0.01, cpu=0.0005)
    for trial, share in zip(m.single, (0.7, 1.0, 1.3), strict=True):
        trial.server["service_time"] = trial.latency.mean = 0.01 * share
    for trial in m.light:
        trial.latency = builders.latency(trial.ok, 0.01 if trial.rate == 20 else 0.05)
    assert bound_of(m, "tomcat-threads").service_demand == pytest.approx(0.01, rel=0.05)


# --- below and above the band ------------------------------------------------


def test_what_nothing_explains_is_unknown_with_the_nearest_bound_next() -> None:
    m = measured("virtual", (9000, 30, {"cpu_cores": 0.1, "capacity_tomcat-threads": None}), cpu=0.0003)
    e = laws.explain(m)
    assert e.bottleneck.resource == "unknown"
    assert (e.bottleneck.bound, e.bottleneck.utilisation, e.bottleneck.inside) == (None, None, None)
    assert e.modelled == pytest.approx(1000, rel=0.01)
    assert e.next is not None
    assert e.next.resource == "load"


@pytest.mark.parametrize(("hold", "is_known"), [(0.005, True), (0.009, True), (0.011, False), (0.015, False)])
def test_a_bound_without_an_interval_may_be_half_as_large(hold: float, is_known: bool) -> None:
    # The load would be next at 1000/s. Only one phase has the hold of 20 connections: 1,333/s to 4,000/s.
    server = {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0, "capacity_db-pool": 20.0}
    m = measured("platform", (5998, 30, server), cpu=0.00034)
    m.single[0].server["hold_db_pool"] = hold
    assert bound_of(m, "db-pool").low is None
    e = laws.explain(m)
    assert e.bottleneck.resource == "tomcat-threads"
    assert (e.next.resource if e.next else None) == ("load" if is_known else None)


def test_a_bound_that_the_measurement_refutes_explains_nothing() -> None:
    # Alone a request took 1 s, under load (warmer) less: 1000 users at 1500/s. The CPU is what is full.
    e = laws.explain(measured("virtual", (45_000, 30, {"cpu_cores": 0.97})))
    assert names(e)[0] == "load"
    assert e.bottleneck.resource == "cpu"
    assert e.modelled is None, "how long a request takes alone is not known"
    idle = laws.explain(measured("virtual", (45_000, 30, {"cpu_cores": 0.5})))
    assert idle.bottleneck.resource == "unknown"


def test_a_refuted_pool_is_left_out_of_the_model() -> None:
    # By its hold alone the pool would allow 20/s; 99/s were served.
    pool = {"capacity_db-pool": 10.0, "utilization_db-pool": 0.99, "cpu_cores": 0.02}
    held = {"hold_db_pool": 0.5}
    e = laws.explain(measured("virtual", (2970, 30, pool), exp=users(100), alone=1.0, held=held, cpu=0.0002))
    assert names(e)[0] == "db-pool"
    assert e.bottleneck.resource == "load"
    assert e.next is not None
    assert e.next.resource != "db-pool"


SLOW_DATABASE = {"capacity_db-pool": 10.0, "utilization_db-pool": 1.0, "cpu_cores": 0.03}


def slow_inside(places: Sequence[Place] = (), **server: float) -> Measured:
    # 10 connections, held for 35 ms alone: 286/s. Under load 20.8/s: each is held for 480 ms.
    return measured(
        "virtual", (624, 30, {**SLOW_DATABASE, **server}), exp=users(200), alone=0.04, held={"hold_db_pool": 0.035},
        cpu=0.0005, places=places,
    )  # fmt: skip


def test_a_pool_that_is_full_far_below_its_bound_has_something_slow_inside() -> None:
    e = laws.explain(slow_inside())
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("unknown", None)
    assert e.bottleneck.inside is not None
    assert (e.bottleneck.inside.pool, e.bottleneck.inside.activity) == ("db-pool", None)
    assert e.bottleneck.inside.alone == pytest.approx(0.035)
    assert e.bottleneck.inside.loaded == pytest.approx(10 / 20.8)
    assert e.next is None or e.next.resource != "db-pool"


@pytest.mark.parametrize(
    ("places", "named", "place"),
    [
        ([threads_at("database", 9.8), threads_at("db-pool", 190)], "database", None),
        ([threads_at("lock", 9.1, "Lock at Cache:7"), threads_at("database", 1)], "Lock at Cache:7", "Lock at Cache:7"),
        ([threads_at("wait", 9.1, "Thread.sleep at Retry:9")], "Thread.sleep at Retry:9", "Thread.sleep at Retry:9"),
        # Of 90 that do not wait for a connection 10 hold one: any of them.
        ([threads_at("wait", 50, "Thread.sleep at Retry:9"), threads_at("wait", 40, "Thread.sleep at Retry:5")],
         "unknown", None),
        ([threads_at("database", 1), threads_at("db-pool", 190)], "unknown", None),
    ],
)  # fmt: skip
def test_what_holders_do_is_named_by_evidence_alone(places: list[Place], named: str, place: str | None) -> None:
    bottleneck = laws.explain(slow_inside(places)).bottleneck
    assert bottleneck.resource == named
    assert bottleneck.inside is not None
    assert bottleneck.inside.place == place
    assert bottleneck.inside.activity == (places[0].activity if named != "unknown" else None)


@pytest.mark.parametrize(
    ("server", "named"),
    [
        ({"cpu_cores": 0.97}, "cpu"),
        ({"capacity_carriers": 2.0, "pinned_seconds": 1.95}, "unknown"),
    ],
)
def test_the_cpu_and_the_carriers_lengthen_every_hold(server: dict[str, float], named: str) -> None:
    places = [threads_at("db-pool", 190), threads_at("database", 9.8)]
    bottleneck = laws.explain(slow_inside(places, **server)).bottleneck
    assert (bottleneck.resource, bottleneck.inside) == (named, None)


@pytest.mark.parametrize(("size", "hold", "cpu"), [(10, 0.05, 0.0045), (10, 0.01, 0.0009), (4, 0.02, 0.004)])
def test_holders_that_compute_are_no_slow_database(size: int, hold: float, cpu: float) -> None:
    # All of the CPU time falls into the hold. One connection more would help by 6 to 16 %.
    def served(connections: int) -> float:
        return float(mva.throughputs(connections, hold - cpu, [mva.Station(cpu, 1 / cpu)])[-1])

    x = served(size)
    assert served(size + 1) > 1.06 * x
    pool = {"capacity_db-pool": float(size), "utilization_db-pool": 1.0, "cpu_cores": x * cpu}
    held = {"hold_db_pool": hold}
    e = laws.explain(measured("virtual", (round(300 * x), 300, pool), exp=users(200), alone=hold, held=held, cpu=cpu))
    assert x < 0.9 * bound_of(measured("virtual", (1, 1, pool), held=held), "db-pool").bound
    assert (e.bottleneck.resource, e.bottleneck.inside) == ("db-pool", None)
    assert e.modelled == pytest.approx(x, rel=0.02)


def test_a_hold_that_is_not_known_well_accuses_nobody() -> None:
    # Drawn holds of 0.2 s on average: the single user's phases had 0.10, 0.17 and 0.18 s.
    pool = {"capacity_db-pool": 10.0, "utilization_db-pool": 1.0, "cpu_cores": 0.02}
    m = measured("virtual", (1500, 30, pool), exp=users(100), alone=0.16, held={"hold_db_pool": 0.15})
    assert laws.explain(m).bottleneck.inside is not None
    for trial, seconds in zip(m.single, (0.10, 0.17, 0.18), strict=True):
        trial.server["hold_db_pool"] = seconds
    bottleneck = laws.explain(m).bottleneck
    assert (bottleneck.resource, bottleneck.inside) == ("unknown", None)
    m.single[:2] = []
    assert laws.explain(m).bottleneck.inside is None


def test_collections_lengthen_every_hold() -> None:
    # Pauses for half of the time make 70 ms of 35 ms, but not 480 ms.
    half = {**SLOW_DATABASE, "gc_share": 0.5}
    held = {"hold_db_pool": 0.035}
    stopped = measured("virtual", (4200, 30, half), exp=users(200), alone=0.04, held=held, cpu=0.0005)
    assert laws.explain(stopped).bottleneck.inside is None
    assert laws.explain(slow_inside(gc_share=0.5)).bottleneck.inside is not None


def test_the_innermost_full_pool_has_it_inside() -> None:
    executor = {"capacity_executor": 50.0, "utilization_executor": 1.0}
    m = measured(
        "virtual", (624, 30, {**SLOW_DATABASE, **executor}), exp=users(200), alone=0.04,
        held={"hold_db_pool": 0.035, "hold_executor": 0.038},
    )  # fmt: skip
    assert laws.explain(m).bottleneck.inside is not None
    assert laws.explain(m).bottleneck.inside.pool == "db-pool"  # type: ignore[union-attr]


def test_the_service_behind_a_full_pool_of_connections() -> None:
    server = {"capacity_client-pool": 20.0, "utilization_client-pool": 0.99, "cpu_cores": 0.03}
    m = measured(
        "platform", (990, 30, server), exp=users(100), alone=0.1, held={"hold_client_pool": 0.09},
        places=[threads_at("client-pool", 75), threads_at("downstream", 19.5)],
    )  # fmt: skip
    bottleneck = laws.explain(m).bottleneck
    assert bottleneck.resource == "downstream"
    assert bottleneck.inside is not None
    assert (bottleneck.inside.pool, bottleneck.inside.activity) == ("client-pool", "downstream")


def test_a_pool_without_a_timer_has_no_bound() -> None:
    e = laws.explain(measured("virtual", (744, 30, {"capacity_db-pool": 10.0, "utilization_db-pool": 1.0}), alone=0.41))
    assert "db-pool" not in names(e)
    assert (e.bottleneck.resource, e.bottleneck.inside) == ("unknown", None)


# 12 of 22 users wait for one of ten permits, each of which is held for 0.4 s.
SEMAPHORE = threads_at("lock", 12, "Semaphore at OrderService:42")
INSIDE_IT = threads_at("wait", 10, "Thread.sleep at OrderService:43")


@pytest.mark.parametrize(
    ("places", "named"),
    [
        ([SEMAPHORE, INSIDE_IT], "Semaphore at OrderService:42"),
        ([INSIDE_IT], "unknown"),  # no longer than alone
        ([threads_at("executor", 12), INSIDE_IT], "unknown"),
        ([threads_at("database", 22)], "database"),
        # Pools without meters. Their holders take as long as alone, or what is behind the pool takes longer.
        ([threads_at("db-pool", 12), INSIDE_IT], "db-pool"),
        ([threads_at("client-pool", 12), threads_at("downstream", 10)], "client-pool"),
        # A lock in the hold: more connections would only wait for it, too.
        ([threads_at("db-pool", 14), threads_at("lock", 8, "Semaphore at OrderService:44"), INSIDE_IT], "unknown"),
    ],
)
def test_a_place_that_accounts_for_what_is_lost_is_named(places: list[Place], named: str) -> None:
    m = measured("virtual", (750, 30, {"cpu_cores": 0.02}), exp=users(22), alone=0.4, places=places)
    assert laws.explain(m).bottleneck.resource == named


@pytest.mark.parametrize(("holders", "named"), [(8, "client-pool"), (12, "downstream")])
def test_behind_a_pool_without_meters_holders_wait_for_what_is_slow(holders: int, named: str) -> None:
    # 37.5 a second of 0.2 s alone are 7.5 at a time.
    places = [threads_at("client-pool", 40 - holders), threads_at("downstream", holders)]
    m = measured("virtual", (1125, 30, {"cpu_cores": 0.02}), exp=users(40), alone=0.2, places=places)
    assert laws.explain(m).bottleneck.resource == named


def test_requests_that_wait_for_a_pool_that_its_meters_show_half_empty_are_unknown() -> None:
    places = [threads_at("db-pool", 12), INSIDE_IT]
    server = {"cpu_cores": 0.02, "capacity_db-pool": 10.0, "utilization_db-pool": 0.5}
    m = measured("virtual", (750, 30, server), exp=users(22), alone=0.4, places=places)
    assert laws.explain(m).bottleneck.resource == "unknown"


@pytest.mark.parametrize(("diagnosed", "named"), [(111.6, "unknown"), (None, "Thread.sleep at MixedController:26")])
def test_dumps_are_judged_by_the_throughput_of_their_own_trial(diagnosed: float | None, named: str) -> None:
    # Recorded: other processes took the cores from the trial, which served 47.4/s, and not from the one with the dumps.
    places = [
        threads_at("wait", 25.58, "Thread.sleep at MixedController:26"),
        threads_at("wait", 14.58, "a carrier"),
        threads_at("computation", 0.83),
    ]
    trial = (427, 9, {"cpu_cores": 0.4537})
    m = measured("virtual", trial, exp=users(41), alone=0.168, cpu=0.0044, places=places, diagnosed=diagnosed)
    assert laws.explain(m).bottleneck.resource == named


@pytest.mark.parametrize(("throttled", "named"), [(0.6, "unknown"), (0.0, "Thread.sleep at MixedController:26")])
def test_a_wait_that_ended_while_the_quota_stopped_the_threads_is_no_place(throttled: float, named: str) -> None:
    # Users in step, who compute all at once and wait all at once: 71 % of the CPU was used, and most periods throttled.
    places = [threads_at("wait", 36, "Thread.sleep at MixedController:26"), threads_at("computation", 5)]
    trial = (1341, 9, {"cpu_cores": 0.505, "throttled_periods": throttled})
    exp = users(41, limits={"cpu": 0.71, "memory": "512Mi", "heap": "200m"})
    m = measured("virtual", trial, exp=exp, alone=0.134, cpu=0.0034, places=places, diagnosed=149)
    assert laws.explain(m).bottleneck.resource == named


def test_a_wait_that_is_not_known_well_alone_is_no_place() -> None:
    # Drawn waits of 0.13 s: the phases alone had 0.09, 0.12 and 0.14 s, and five users are never more than five.
    m = measured("virtual", (333, 9, {"cpu_cores": 0.13}), exp=users(5), alone=0.116, places=[threads_at("wait", 5)])
    assert laws.explain(m).bottleneck.resource == "Socket at OrderService:42"
    for trial, seconds in zip(m.single, (0.09, 0.12, 0.14), strict=True):
        trial.server["service_time"] = trial.latency.mean = seconds
    assert laws.explain(m).bottleneck.resource in ("load", "unknown")


# --- memory ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server", "named"),
    [
        ({"gc_share": 0.31}, "memory"),
        ({"gc_share": 0.09}, "cpu"),
        ({"gc_share": 0.02, "live_heap_share": 0.93}, "memory"),
        ({"gc_share": 0.02, "live_heap_share": 0.5}, "cpu"),
    ],
)
def test_a_heap_near_its_end_is_not_the_cpu(server: dict[str, float], named: str) -> None:
    e = laws.explain(measured("virtual", (29_400, 30, {"cpu_cores": 0.98, **server}), alone=0.001))
    assert e.bottleneck.resource == named
    assert e.bottleneck.bound == pytest.approx(1000)
    assert e.next is None or e.next.resource != "cpu"


def test_collections_beside_another_bottleneck_are_not_named() -> None:
    server = {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0, "gc_share": 0.3}
    assert laws.explain(measured("platform", (5998, 30, server))).bottleneck.resource == "tomcat-threads"


@pytest.mark.parametrize(("server", "named"), [({"gc_share": 0.4}, "memory"), ({"gc_share": 0.05}, "a place")])
def test_collections_that_stop_all_threads_leave_a_core_idle(server: dict[str, float], named: str) -> None:
    # Two cores and Serial GC: while one core collects, the other idles, so that no bound is reached.
    exp = users(50, limits={"cpu": 2, "memory": "512Mi", "heap": "256m"})
    places, cores = [threads_at("lock", 49, "a place")], {"cpu_cores": 1.4}
    m = measured("virtual", (18_000, 30, {**cores, **server}), exp=exp, alone=0.002, places=places)
    e = laws.explain(m)
    assert e.modelled is not None
    assert e.modelled > 18_000 / 30 / 0.9
    assert e.bottleneck.resource == named
    if named == "memory":
        assert (e.bottleneck.utilisation, e.bottleneck.bound, e.bottleneck.inside) == (None, None, None)
        assert e.next is None, "with more memory the CPU's bound is another"


def test_a_full_pool_with_something_slow_inside_is_named_before_memory() -> None:
    bottleneck = laws.explain(
        slow_inside([threads_at("db-pool", 190), threads_at("database", 9.8)], gc_share=0.2)
    ).bottleneck
    assert bottleneck.resource == "database"
    assert bottleneck.inside is not None


# --- open load ---------------------------------------------------------------


def test_open_load_is_bounded_by_its_arrivals() -> None:
    e = laws.explain(measured("virtual", (4500, 30, {"cpu_cores": 0.05}), exp=builders.arrivals(), cpu=0.0003))
    assert (e.bottleneck.resource, e.bottleneck.bound, e.modelled) == ("load", 150, 150)
    assert e.next is not None
    assert e.next.resource == "cpu"


def test_overloaded_open_load_is_limited_by_what_is_short() -> None:
    server = {"cpu_cores": 0.05, "capacity_tomcat-threads": 100.0}
    m = measured("platform", (2990, 30, server), exp=builders.arrivals(), cpu=0.0003)
    e = laws.explain(m, overloaded=True)
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("tomcat-threads", pytest.approx(100))
    assert e.modelled == pytest.approx(100, rel=0.001)
    assert e.next is not None
    assert (e.next.resource, e.next.bound) == ("load", 150)
    assert laws.explain(m).bottleneck.resource == "load"
    slow = measured("platform", (1500, 30, server), exp=builders.arrivals(), cpu=0.0003)
    assert laws.explain(slow, overloaded=True).bottleneck.resource == "unknown"


# --- demands and their intervals ---------------------------------------------


def test_demands_are_ratios_of_sums() -> None:
    # 0.5 x 10 + 0.1 x 30 = 8 CPU seconds over 1000 + 3000 requests: 2 ms; a mean of ratios would say 3 ms.
    m = measured("virtual", (1000, 10, {"cpu_cores": 0.5}), (3000, 30, {"cpu_cores": 0.1}))
    assert laws.demand_per_ok(m.trials, "cpu_cores") == pytest.approx(0.002)
    assert m.throughput == pytest.approx(100)


def test_the_cpu_demand_is_that_under_load_less_the_idle_jvms_where_the_cpu_was_used() -> None:
    m = measured("virtual", (9000, 30, {"cpu_cores": 0.62}), cpu=0.0005, idle=0.02)
    bound = bound_of(m, "cpu")
    assert bound.service_demand == pytest.approx(0.6 / 300)
    assert bound.bound == pytest.approx(0.98 / (0.6 / 300))
    assert bound.capacity == 1


def test_the_cpu_demand_is_a_slope_where_the_cpu_had_time_to_spare() -> None:
    # At 200/s the fixed costs would make it 0.6 ms.
    m = measured("virtual", (6000, 30, {"cpu_cores": 0.12}), cpu=0.0003, idle=0.06)
    bound = bound_of(m, "cpu")
    assert bound.service_demand == pytest.approx(0.0003, rel=0.02)
    assert bound.bound == pytest.approx(0.94 / 0.0003, rel=0.02)
    assert bound.low is not None
    assert bound.high is not None
    assert (bound.low, bound.high) == pytest.approx((bound.bound / 1.2, bound.bound / 0.8))


def test_a_slope_is_least_squares_and_judged_by_its_t_interval() -> None:
    # Residuals of r, 0 and -r at 0 and at 10: the slope's standard error is r / sqrt(150), and its interval on either
    # side t(4) = 2.776 times as wide: 20 % of a slope of 0.5 for r = 0.441.
    def scattered(r: float) -> list[tuple[float, float]]:
        return [(rate, 1 + 0.5 * rate + error) for rate in (0, 10) for error in (r, 0, -r)]

    narrow, wide = laws.slope(scattered(0.44)), laws.slope(scattered(0.442))
    assert wide is None
    assert narrow is not None
    assert narrow.seconds == pytest.approx(0.5)
    assert (narrow.low, narrow.high) == pytest.approx((0.4, 0.6)), "known to 20 %, not better"


PLANNED_RATES = np.array([0, 3, 1, 3, 0]) / 3


@pytest.mark.parametrize("noise", [0.01, 0.02, 0.03, 0.05, 0.07, 0.1])
@pytest.mark.parametrize("idle", [0.0, 0.1])
def test_an_accepted_slope_holds_the_true_one(noise: float, idle: float) -> None:
    """With the least squares' own intervals, of which chance makes some too narrow, 82 % did at a noise of 10 %."""
    random = np.random.default_rng(16)
    level = idle + PLANNED_RATES
    cores = level + random.normal(0, noise * level.max(), (4000, len(level)))
    fitted = [laws.slope(list(zip(PLANNED_RATES, values, strict=True))) for values in cores]
    accepted = [d for d in fitted if d is not None and d.low is not None and d.high is not None]
    assert len(accepted) >= (3900 if noise <= 0.02 else 600)
    holding = sum(d.low <= 1.0 <= d.high for d in accepted)  # type: ignore[operator]
    assert holding / len(accepted) >= 0.93


@pytest.mark.parametrize(
    "points",
    [
        [],
        [(0, 0.01), (100, 0.05)],
        [(0, 0.01), (0, 0.01), (100, 0.05), (100, 0.05)],  # four: chance narrows too many of them
        [(50, 0.01), (50, 0.02), (50, 0.03), (50, 0.01), (50, 0.02), (50, 0.03)],
        [(0, 0.01), (0, 0.05), (0, 0.03), (100, 0.04), (100, 0.08), (100, 0.06)],  # wide
        [(0, 0.05), (0, 0.05), (0, 0.05), (100, 0.01), (100, 0.01), (100, 0.01)],
    ],
)
def test_a_slope_that_says_little_is_none(points: list[tuple[float, float]]) -> None:
    assert laws.slope(points) is None


def test_without_light_phases_a_cpu_with_time_to_spare_has_no_bound() -> None:
    assert "cpu" not in names(laws.explain(measured("virtual", (9000, 30, {"cpu_cores": 0.49}))))
    assert "cpu" in names(laws.explain(measured("virtual", (9000, 30, {"cpu_cores": 0.51}))))


def test_a_bound_has_the_t_interval_of_its_phases() -> None:
    bound = bound_of(measured("virtual", (29_970, 30, {})), "load")
    logs = [math.log(share) for share in SCATTER]
    mean = math.fsum(logs) / 3
    half = 4.302653 * math.sqrt(math.fsum((x - mean) ** 2 for x in logs) / 2) / math.sqrt(3)
    assert (bound.low, bound.high) == pytest.approx((bound.bound * math.exp(-half), bound.bound * math.exp(half)))


def test_over_several_blocks_an_interval_is_that_of_the_blocks() -> None:
    alone = measured("virtual", (29_970, 30, {})).blocks[0]
    slower = measured("virtual", (29_970, 30, {}), alone=1.1).blocks[0]
    exp = builders.experiment()
    bound = bound_of(Measured(exp, "virtual", [alone, slower]), "load")
    half = 12.7062 * math.log(1.1) / 2
    assert bound.high is not None
    assert math.log(bound.high / bound.bound) == pytest.approx(half, rel=1e-3)
    once = Phases(alone.trials, alone.single[:1], [], alone.instances)
    single = bound_of(Measured(exp, "virtual", [once]), "load")
    assert (single.low, single.high) == (None, None)


def test_the_users_bound_is_by_the_throughput_of_one_of_them() -> None:
    # 1000 answers in 5 s of 4 ms each: a user takes 1 ms between two requests.
    exp = users(50)
    short = window("virtual", 1000, 5.0, exp, "single", mean=0.004)
    assert laws.round_alone([short]) == pytest.approx(5 / 1001)
    # Four answers of 1.1 s in 5 s: the fifth came too late to count, and the throughput would say 1.25 s.
    assert laws.round_alone([window("virtual", 4, 5.0, exp, "single", mean=1.1)]) == pytest.approx(1.1)


def test_hikari_counts_whole_milliseconds() -> None:
    server = {"capacity_db-pool": 10.0}
    exact = bound_of(measured("virtual", (300, 30, server), alone=0.01, held={"hold_db_pool": 0.002}), "db-pool")
    held = {"hold_db_pool": 0.002, "hold_db_pool_error": 0.0005}
    coarse = bound_of(measured("virtual", (300, 30, server), alone=0.01, held=held), "db-pool")
    assert exact.bound == coarse.bound == pytest.approx(5000)
    assert (coarse.low, coarse.high) == (pytest.approx(4000), pytest.approx(10 / 0.0015))


def test_a_phase_between_two_scrapes_has_no_timers() -> None:
    m = measured("virtual", (300, 30, {"capacity_db-pool": 10.0}), alone=0.01, held={"hold_db_pool": 0.002}, cpu=0.0003)
    first, *others = m.single
    first.server.update({"hold_db_pool": None, "service_time": None})
    assert bound_of(m, "db-pool").bound == pytest.approx(5000)
    assert laws.service_alone(m.single) == pytest.approx(0.01, rel=0.002)
    for trial in others:
        trial.server["hold_db_pool"] = None
    assert "db-pool" not in names(laws.explain(m))
    for trial in m.light:
        trial.server["hold_db_pool"] = 0.0025 if trial.ok else None
    assert bound_of(m, "db-pool").bound == pytest.approx(4000), "light load says it, too"


# --- next --------------------------------------------------------------------


def test_next_is_withheld_where_its_interval_is_wide() -> None:
    m = measured("platform", (5998, 30, {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0}), cpu=0.00034)
    assert laws.explain(m).next is not None
    for trial, share in zip(m.single, (0.7, 1.0, 1.3), strict=True):
        trial.latency = builders.latency(trial.ok, share)
    for trial in m.light:
        trial.failed = {"timeout": 1}  # so that it does not tell either
    e = laws.explain(m)
    assert e.bottleneck.resource == "tomcat-threads"
    assert e.next is None


@pytest.mark.parametrize(("cores", "named"), [(0.15, "load"), (0.45, None)])
def test_next_is_withheld_where_the_cpu_may_be_nearer(cores: float, named: str | None) -> None:
    # No light phases: the CPU allows 200/s x 1 / cores at least. The load allows 1000/s.
    e = laws.explain(measured("platform", (5998, 30, {"cpu_cores": cores, "capacity_tomcat-threads": 200.0})))
    assert "cpu" not in names(e)
    assert (e.next.resource if e.next else None) == named


def test_next_is_none_of_those_that_share_the_blame() -> None:
    e = laws.explain(measured("virtual", (300, 30, {"cpu_cores": 0.97}), exp=users(1), alone=0.1))
    assert e.bottleneck.together == ["load"]
    assert e.next is not None
    assert e.next.resource == "connections"


# --- what was not measured ---------------------------------------------------


def test_what_was_not_measured_gives_no_bound() -> None:
    m = measured(
        "platform", (6000, 30, dict.fromkeys(("cpu_cores", "capacity_tomcat-threads", "capacity_connections")))
    )
    assert names(laws.explain(m)) == ["load"]
    (phases,) = m.blocks
    alone = Measured(m.experiment, "platform", [Phases(phases.trials, [], [], [])])
    assert laws.explain(alone).bounds == []
    assert laws.explain(alone).bottleneck.resource == "unknown"
    nothing = Measured(m.experiment, "platform", [])
    assert nothing.throughput is None
    assert laws.bounds(nothing) == []
    assert laws.explain(nothing).bottleneck.resource == "unknown"


@pytest.mark.parametrize(("cores", "named"), [(0.96, "cpu"), (0.7, "unknown")])
def test_without_single_user_phases_only_a_cpu_that_is_used_up_is_named(cores: float, named: str) -> None:
    e = laws.explain(measured("virtual", (3000, 30, {"cpu_cores": cores}), alone=None))
    assert (e.bottleneck.resource, e.modelled) == (named, None)
    assert names(e) == ["cpu"]


def test_without_a_cpu_limit_the_processors_are_the_capacity() -> None:
    assert laws.cpu_capacity(builders.instance(cpu_limit=None, processors=4)) == 4
    assert laws.cpu_capacity(builders.instance(cpu_limit=0.5, processors=1)) == 0.5


def test_an_idle_resource_is_no_bound() -> None:
    server = {
        "capacity_carriers": 1.0,
        "utilization_carriers": 0.0,
        "cpu_cores": 0.068,
        "capacity_tomcat-threads": 200.0,
        "capacity_db-pool": 10.0,
        "utilization_db-pool": 0.0,
    }
    explained = laws.explain(measured("platform", (5998, 30, server), held={"hold_db_pool": 0.0}))
    assert not {"carriers", "db-pool"} & set(names(explained))


@given(
    users_=st.integers(1, 20_000),
    response=st.floats(0.001, 10),
    think=st.integers(0, 10),
    slower=st.floats(1, 50),
)
def test_littles_law_never_puts_closed_load_above_its_users_bound(
    users_: int, response: float, think: int, slower: float
) -> None:
    # N = X (R + Z): with R at or above R_min, X stays at or below N / (R_min + Z).
    throughput = users_ / (response * slower + think)
    ok = 1_000_000_000  # windows are whole milliseconds: long ones, so that rounding does not show
    m = measured("virtual", (ok, ok / throughput, {"cpu_cores": 0.0}), exp=users(users_, f"{think}s"), alone=response)
    bound = bound_of(m, "load")
    assert bound.bound == pytest.approx(users_ / (response + think), rel=2e-3)
    assert bound.utilisation <= 1 + 2e-3


def test_twenty_thousand_users_are_explained() -> None:
    server = {"cpu_cores": 0.6, "capacity_tomcat-threads": 200.0, "capacity_db-pool": 50.0}
    e = laws.explain(measured("platform", (5990, 30, server), exp=users(20_000), held={"hold_db_pool": 0.1}, cpu=0.003))
    assert (e.bottleneck.resource, e.modelled) == ("tomcat-threads", pytest.approx(200, rel=0.03))


def test_the_words_of_demands_are_those_of_the_catalogue() -> None:
    """Every kind of demand is measured by a row of its own, so that none is forgotten here."""
    assert {row.demand for row in RESOURCES.values()} == {"cpu", "request", "round", "hold", "pinned", "load"}
