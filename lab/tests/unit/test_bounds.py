"""Bounds that there are, and the one that would limit next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import recorded
from tests.support.phases import bound_of, measured, names, users
from vtlab.analysis.laws.bounds import is_refuted
from vtlab.analysis.laws.explanation import explain
from vtlab.model.verdict import Bound


def test_think_time_counts_for_users_and_connections() -> None:
    m = measured("virtual", (600, 30, {"cpu_cores": 0.01}), exp=users(100, "4s"))
    assert bound_of(m, "load").bound == pytest.approx(100 / 5)
    assert bound_of(m, "connections").bound == pytest.approx(8192 / 5)
    assert explain(m).bottleneck.resource == "load"


@pytest.mark.parametrize(("hold", "is_known"), [(0.005, True), (0.009, True), (0.011, False), (0.015, False)])
def test_a_bound_without_an_interval_may_be_half_as_large(hold: float, is_known: bool) -> None:
    # The load would be next at 1000/s. Only one phase has the hold of 20 connections: 1,333/s to 4,000/s.
    server = {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0, "capacity_db-pool": 20.0}
    m = measured("platform", (5998, 30, server), cpu=0.00034)
    m.single[0].server["hold_db_pool"] = hold
    assert bound_of(m, "db-pool").low is None
    e = explain(m)
    assert e.bottleneck.resource == "tomcat-threads"
    assert (e.next.resource if e.next else None) == ("load" if is_known else None)


def test_a_pool_without_a_timer_has_no_bound() -> None:
    e = explain(measured("virtual", (744, 30, {"capacity_db-pool": 10.0, "utilization_db-pool": 1.0}), alone=0.41))
    assert "db-pool" not in names(e)
    assert (e.bottleneck.resource, e.bottleneck.inside) == ("unknown", None)


def test_next_is_withheld_where_its_interval_is_wide() -> None:
    m = measured("platform", (5998, 30, {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0}), cpu=0.00034)
    assert explain(m).next is not None
    for trial, share in zip(m.single, (1.0, 1.3, 1.6), strict=True):
        trial.latency = recorded.latency(trial.ok, share)
    for trial in m.light:
        trial.failed = {"timeout": 1}  # so that it does not tell either
    e = explain(m)
    assert e.bottleneck.resource == "tomcat-threads"
    assert e.next is None


@pytest.mark.parametrize(("cores", "named"), [(0.15, "load"), (0.45, None)])
def test_next_is_withheld_where_the_cpu_may_be_nearer(cores: float, named: str | None) -> None:
    # No light phases: the CPU allows 200/s x 1 / cores at least. The load allows 1000/s.
    e = explain(measured("platform", (5998, 30, {"cpu_cores": cores, "capacity_tomcat-threads": 200.0})))
    assert "cpu" not in names(e)
    assert (e.next.resource if e.next else None) == named


def test_next_is_none_that_the_measurement_may_have_passed() -> None:
    # 20 users, of whom 50 would be served: the load's bound of 5 to 6.6/s is no "next" beside 5.97/s.
    m = measured("virtual", (597, 100, {"cpu_cores": 0.97}), exp=users(20), alone=3.4)
    assert explain(m).next is None
    bound = bound_of(m, "load")
    assert bound.low is not None
    assert bound.low <= 5.97


def test_a_bound_is_refuted_only_by_more_than_the_upper_end_of_its_interval() -> None:
    bound = Bound(resource="db-pool", bound=40, low=30, high=52, utilisation=1.25, capacity=10, service_demand=0.25)
    assert not is_refuted(bound)
    assert is_refuted(bound.model_copy(update={"utilisation": 1.5}))
    # Of a single value nobody knows how far it is off: as for the demand that is known least.
    single = bound.model_copy(update={"low": None, "high": None})
    assert [is_refuted(single.model_copy(update={"utilisation": share})) for share in (1.25, 1.6, 1.7)] == [
        False,
        False,
        True,
    ]


def test_next_is_none_of_those_that_share_the_blame() -> None:
    e = explain(measured("virtual", (300, 30, {"cpu_cores": 0.97}), exp=users(1), alone=0.1))
    assert e.bottleneck.together == ["load"]
    assert e.next is not None
    assert e.next.resource == "connections"


def test_an_idle_resource_is_no_bound() -> None:
    server = {
        "capacity_carriers": 1.0,
        "utilization_carriers": 0.0,
        "cpu_cores": 0.068,
        "capacity_tomcat-threads": 200.0,
        "capacity_db-pool": 10.0,
        "utilization_db-pool": 0.0,
    }
    explained = explain(measured("platform", (5998, 30, server), held={"hold_db_pool": 0.0}))
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


def test_a_thread_is_held_no_longer_than_the_client_waits() -> None:
    """Seen: "tomcat-threads 508 µs" of requests whose client waits for 0.3 ms, as Tomcat counts whole milliseconds."""
    m = measured("platform", (1000, 1, {"capacity_tomcat-threads": 200.0}), exp=users(5), alone=0.0003)
    for trial in m.single:
        trial.server["service_time"] = 0.0005
    assert bound_of(m, "tomcat-threads").bound == pytest.approx(200 / 0.0003, rel=0.01)
