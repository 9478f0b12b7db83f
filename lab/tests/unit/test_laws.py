"""The bounds and the bottleneck, against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import builders
from vtlab.analysis import laws
from vtlab.analysis.laws import Measured
from vtlab.model.experiment import Experiment
from vtlab.model.records import Trial


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
    alone: float = 1.0,
) -> Measured:
    """``trials``: OK requests, seconds, server values. ``alone``: R_min, also the thread's time."""
    exp = exp or builders.experiment()
    single = window(variant, 5, 5.0, exp, "single", mean=alone, service_time=alone)
    loaded = [window(variant, ok, seconds, exp, **server) for ok, seconds, server in trials]
    return Measured(exp, variant, loaded, [single], [builders.instance(variant, exp=exp)])


def names(explanation: laws.Explanation) -> list[str]:
    return [b.resource for b in explanation.bounds]


def test_blocking_platform_threads() -> None:
    # 200 threads / 1 s = 200/s; cpu 1 core / (0.068 core x 30 s / 5998) = 2,940/s; users 1000 / 1 s = 1000/s.
    e = laws.explain(measured("platform", (5998, 30, {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0})))
    assert e.bottleneck.resource == "tomcat-threads"
    assert e.bottleneck.bound == pytest.approx(200)
    assert e.bottleneck.utilisation == pytest.approx(5998 / 30 / 200)
    assert e.next is not None
    assert (e.next.resource, e.next.bound) == ("load", pytest.approx(1000))
    assert names(e) == ["tomcat-threads", "load", "cpu", "connections"]
    assert e.bounds[2].bound == pytest.approx(5998 / 30 / 0.068)
    assert e.bounds[2].service_demand == pytest.approx(0.068 * 30 / 5998)


def test_blocking_virtual_threads_have_no_tomcat_bound() -> None:
    server = {"cpu_cores": 0.3, "capacity_tomcat-threads": None, "tomcat_threads_busy": -1.0}
    e = laws.explain(measured("virtual", (29_970, 30, server)))
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("load", pytest.approx(1000))
    assert e.next is not None
    assert (e.next.resource, e.next.bound) == ("cpu", pytest.approx(999 / 0.3))
    assert "tomcat-threads" not in names(e)


def test_a_cpu_bound_service_is_not_blamed_on_threads_that_wait_for_the_cpu() -> None:
    # All 200 threads are busy, but alone a request holds its thread for 1 ms: 200,000/s.
    server = {"cpu_cores": 0.98, "tomcat_threads_busy": 200.0, "capacity_tomcat-threads": 200.0}
    e = laws.explain(measured("platform", (29_400, 30, server), alone=0.001))
    assert e.bottleneck.resource == "cpu"
    assert e.bottleneck.bound == pytest.approx(1000)
    assert e.bottleneck.utilisation == pytest.approx(0.98)


def test_think_time_counts_for_users_and_connections() -> None:
    exp = builders.experiment(load={"model": "closed", "users": 100, "think_time": "4s"})
    e = laws.explain(measured("virtual", (600, 30, {"cpu_cores": 0.01}), exp=exp))
    bounds = {b.resource: b.bound for b in e.bounds}
    assert bounds["load"] == pytest.approx(100 / 5)
    assert bounds["connections"] == pytest.approx(8192 / 5)
    assert e.bottleneck.resource == "load"


def test_open_load_is_bounded_by_its_arrivals() -> None:
    e = laws.explain(measured("virtual", (4500, 30, {"cpu_cores": 0.05}), exp=builders.arrivals()))
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("load", 150)


def test_what_nothing_explains_is_unknown_with_the_nearest_bound_next() -> None:
    e = laws.explain(measured("virtual", (9000, 30, {"cpu_cores": 0.1, "capacity_tomcat-threads": None})))
    assert e.bottleneck.resource == "unknown"
    assert (e.bottleneck.bound, e.bottleneck.utilisation) == (None, None)
    assert e.next is not None
    assert e.next.resource == "load"


def test_a_bound_that_the_measurement_refutes_explains_nothing() -> None:
    # Alone a request took 1 s, under load (warmer) less: 1000 users at 1500/s. The CPU is what is full.
    e = laws.explain(measured("virtual", (45_000, 30, {"cpu_cores": 0.97})))
    assert names(e)[0] == "load"
    assert e.bottleneck.resource == "cpu"


@pytest.mark.parametrize(("users", "named"), [(1, "cpu"), (2, "load")])
def test_a_single_user_is_the_bottleneck_only_where_nothing_else_is_short(users: int, named: str) -> None:
    # One user alone always comes to X = 1 / R; here the request is CPU from its beginning to its end.
    exp = builders.experiment(load={"model": "closed", "users": users, "think_time": "0s"})
    busy = laws.explain(measured("virtual", (300 * users, 30, {"cpu_cores": 0.97}), exp=exp, alone=0.098))
    assert names(busy)[0] == "load"
    assert busy.bottleneck.resource == named
    idle = laws.explain(measured("virtual", (300 * users, 30, {"cpu_cores": 0.1}), exp=exp, alone=0.098))
    assert idle.bottleneck.resource == "load"


def test_demands_are_ratios_of_sums() -> None:
    # 0.5 x 10 + 0.1 x 30 = 8 CPU seconds over 1000 + 3000 requests: 2 ms; a mean of ratios would say 3 ms.
    m = measured("virtual", (1000, 10, {"cpu_cores": 0.5}), (3000, 30, {"cpu_cores": 0.1}))
    assert laws.demand_per_ok(m.trials, "cpu_cores") == pytest.approx(0.002)
    assert m.throughput == pytest.approx(100)


def test_what_was_not_measured_gives_no_bound() -> None:
    m = measured(
        "platform", (6000, 30, dict.fromkeys(("cpu_cores", "capacity_tomcat-threads", "capacity_connections")))
    )
    assert names(laws.explain(m)) == ["load"]
    alone = Measured(m.experiment, "platform", m.trials, [], [])
    assert laws.explain(alone).bounds == []
    assert laws.explain(alone).bottleneck.resource == "unknown"
    nothing = Measured(m.experiment, "platform", [], [], [])
    assert nothing.throughput is None
    assert laws.bounds(nothing) == []


def test_without_a_cpu_limit_the_processors_are_the_capacity() -> None:
    assert laws.cpu_capacity(builders.instance(cpu_limit=None, processors=4)) == 4
    assert laws.cpu_capacity(builders.instance(cpu_limit=0.5, processors=1)) == 0.5


@given(
    users=st.integers(1, 20_000),
    response=st.floats(0.001, 10),
    think=st.integers(0, 10),
    slower=st.floats(1, 50),
)
def test_littles_law_never_puts_closed_load_above_its_users_bound(
    users: int, response: float, think: int, slower: float
) -> None:
    # N = X (R + Z): with R at or above R_min, X stays at or below N / (R_min + Z).
    exp = builders.experiment(load={"model": "closed", "users": users, "think_time": f"{think}s"}, expected=None)
    throughput = users / (response * slower + think)
    ok = 1_000_000_000  # windows are whole milliseconds: long ones, so that rounding does not show
    m = measured("virtual", (ok, ok / throughput, {"cpu_cores": 0.0}), exp=exp, alone=response)
    (bound,) = [b for b in laws.bounds(m) if b.resource == "load"]
    assert bound.bound == pytest.approx(users / (response + think))
    assert bound.utilisation <= 1 + 1e-3


def test_what_is_in_use_counts_only_where_what_is_held_inside_it_is_not_short() -> None:
    # 2 carriers at 95 % for 60 queries in 30 s: a query takes 0.95 carrier-seconds, so at most 2/0.95 = 2.1/s.
    pool = {"capacity_db-pool": 10.0, "utilization_db-pool": 1.0}
    pinned = {"capacity_carriers": 2.0, "utilization_carriers": 0.95, "cpu_cores": 0.05}
    e = laws.explain(measured("virtual", (60, 30, pool | pinned)))
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("carriers", pytest.approx(2 / 0.95))
    assert e.next is not None
    assert e.next.resource == "cpu", "the pool only looks busy: not next either"
    assert "db-pool" in names(e)
    # The same pool, and nothing pins: 10 connections held for 1 s each.
    e = laws.explain(measured("virtual", (297, 30, pool | pinned | {"utilization_carriers": 0.1})))
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("db-pool", pytest.approx(9.9))
    # Threads that wait for the CPU are mounted all the same.
    busy = {"capacity_carriers": 1.0, "utilization_carriers": 1.0, "cpu_cores": 0.99}
    assert laws.explain(measured("virtual", (2970, 30, busy))).bottleneck.resource == "cpu"


@pytest.mark.parametrize(("inner", "named"), [({}, "executor"), ({"downstream": 0.96}, "downstream")])
def test_a_full_executor_counts_where_its_tasks_do_not_wait_for_a_pool(inner: dict[str, float], named: str) -> None:
    server: dict[str, Any] = {"capacity_executor": 50.0, "utilization_executor": 1.0, "cpu_cores": 0.1}
    for name, used in inner.items():
        server |= {f"capacity_{name}": 20.0, f"utilization_{name}": used}
    assert laws.explain(measured("platform", (300, 30, server))).bottleneck.resource == named


def test_an_idle_resource_is_no_bound() -> None:
    server = {
        "capacity_carriers": 1.0,
        "utilization_carriers": 0.0,
        "cpu_cores": 0.068,
        "capacity_tomcat-threads": 200.0,
    }
    assert "carriers" not in names(laws.explain(measured("platform", (5998, 30, server))))
