"""Capacities and service demands, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from tests.support import builders
from tests.support.phases import bound_of, measured, names, users
from vtlab.analysis.laws.alone import service_alone
from vtlab.analysis.laws.demands import cpu_capacity
from vtlab.analysis.laws.explanation import explain
from vtlab.analysis.laws.phases import demand_per_ok
from vtlab.catalogue.resources import RESOURCES


def test_a_pin_is_no_longer_than_the_request_alone() -> None:
    # Each pin lasts for 2 s under load, and the request alone takes 0.4 s: more carriers would not help.
    server = {"capacity_carriers": 4.0, "pinned_seconds": 4.0, "cpu_cores": 0.02}
    m = measured("virtual", (60, 30, server), exp=users(20), alone=0.4)
    assert bound_of(m, "carriers").service_demand == pytest.approx(0.4, rel=0.05)
    assert explain(m).bottleneck.resource == "unknown"


def test_pins_too_short_for_an_event_under_load_count_by_the_light_phases() -> None:
    server = {"capacity_carriers": 1.0, "pinned_seconds": 0.0, "cpu_cores": 0.01}
    m = measured("virtual", (300, 30, server), alone=0.1, cpu=0.001)
    assert "carriers" not in names(explain(m))
    for trial in m.light:
        trial.server["pinned_seconds"] = 0.05 * (trial.rate or 0)
    assert bound_of(m, "carriers").service_demand == pytest.approx(0.051, rel=0.01)


def test_demands_are_ratios_of_sums() -> None:
    # 0.5 x 10 + 0.1 x 30 = 8 CPU seconds over 1000 + 3000 requests: 2 ms; a mean of ratios would say 3 ms.
    m = measured("virtual", (1000, 10, {"cpu_cores": 0.5}), (3000, 30, {"cpu_cores": 0.1}))
    assert demand_per_ok(m.trials, "cpu_cores") == pytest.approx(0.002)
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


def test_the_slope_of_the_cpu_is_that_of_the_trials_where_few_requests_take_more_each() -> None:
    # 1.1 ms by light load, 0.8 ms at 200/s: "next would be the CPU at 888/s" of a service that serves more.
    server = {"capacity_tomcat-threads": 200.0, "cpu_cores": 0.18}
    windows = [(999, 5, server)] * 6
    m = measured("platform", *windows, exp=users(1000), cpu=0.0011, idle=0.02)
    e = explain(m)
    assert bound_of(m, "cpu").bound == pytest.approx(0.98 / 0.0008, rel=0.05)
    assert e.next is not None
    assert e.next.resource == "load"
    agreeing = measured("platform", (999, 5, {**server, "cpu_cores": 0.24}), exp=users(1000), cpu=0.0011, idle=0.02)
    assert bound_of(agreeing, "cpu").bound == pytest.approx(0.98 / 0.0011, rel=0.02)


def test_a_burst_of_the_jit_compiler_in_light_load_is_no_requests_cpu_time() -> None:
    # One window had 0.064 cores of it: the slope was unknown, or 25 % too steep.
    m = measured("virtual", (999, 5, {"cpu_cores": 0.22}), exp=users(1000), cpu=0.001, idle=0.02)
    without = bound_of(m, "cpu")
    burst = next(trial for trial in m.light if trial.rate)
    burst.server["cpu_cores"] = (burst.server["cpu_cores"] or 0) + 0.064
    burst.server["jit_cpu"] = 0.064
    idle = next(trial for trial in m.light if not trial.rate)
    idle.server |= {"cpu_cores": 0.03, "jit_cpu": 0.01}
    assert bound_of(m, "cpu").bound == pytest.approx(without.bound)


def test_without_light_phases_a_cpu_with_time_to_spare_has_no_bound() -> None:
    assert "cpu" not in names(explain(measured("virtual", (9000, 30, {"cpu_cores": 0.49}))))
    assert "cpu" in names(explain(measured("virtual", (9000, 30, {"cpu_cores": 0.51}))))


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
    assert service_alone(m.single) == pytest.approx(0.01, rel=0.002)
    for trial in others:
        trial.server["hold_db_pool"] = None
    assert "db-pool" not in names(explain(m))
    for trial in m.light:
        trial.server["hold_db_pool"] = 0.0025 if trial.ok else None
    assert bound_of(m, "db-pool").bound == pytest.approx(4000), "light load says it, too"


def test_without_a_cpu_limit_the_processors_are_the_capacity() -> None:
    assert cpu_capacity(builders.instance(cpu_limit=None, processors=4)) == 4
    assert cpu_capacity(builders.instance(cpu_limit=0.5, processors=1)) == 0.5


def test_the_words_of_demands_are_those_of_the_catalogue() -> None:
    """Every kind of demand is measured by a row of its own, so that none is forgotten here."""
    assert {row.demand for row in RESOURCES.values()} == {"cpu", "request", "round", "hold", "pinned", "load"}
