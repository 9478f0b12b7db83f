"""Capacities and service demands, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import recorded
from tests.support.phases import bound_of, measured, names, users
from vtlab.analysis.laws.demands import cpu_capacity
from vtlab.analysis.laws.explanation import explain
from vtlab.analysis.laws.phases import Measured, demand_per_ok
from vtlab.analysis.laws.single_user import service_alone
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


def curved(first: float, last: float, *, blocks: int = 1) -> Measured:
    """A variant at 80/s, where a request takes ``last`` seconds of CPU, and ``first`` under light load up to 40/s."""
    m = measured("virtual", *[(400, 5, {"cpu_cores": 0.02 + 80 * last})] * 4, exp=users(80), cpu=first, idle=0.02)
    # In blocks after the first there are trials alone.
    later = replace(m.blocks[0], single=[], light=[])
    return replace(m, blocks=[*m.blocks, *[later] * (blocks - 1)])


def test_the_trials_count_in_the_slope_of_the_cpu() -> None:
    alike = bound_of(curved(0.001, 0.001), "cpu")
    assert alike.bound == pytest.approx(0.98 / 0.001, rel=0.01)
    assert alike.high == pytest.approx(alike.bound / 0.8, rel=0.01)
    # Few requests take more CPU each: by light load alone it would be 907/s.
    assert bound_of(curved(0.00108, 0.001), "cpu").bound == pytest.approx(0.98 / 0.001, rel=0.03)


@pytest.mark.parametrize("blocks", [1, 2, 6, 12])
def test_a_slope_from_which_the_trials_are_far_gives_no_bound_however_many_they_are(blocks: int) -> None:
    # 1.10 ms by light load, 0.82 ms at twice the rate: "next would be the CPU at 888/s" of a service that serves more.
    e = explain(curved(0.0011, 0.00082, blocks=blocks))
    assert "cpu" not in names(e)
    assert e.next is None, "the CPU's bound may be the smaller one"


@pytest.mark.parametrize("blocks", [1, 12])
@pytest.mark.parametrize("more", [1.0, 1.1, 1.15, 1.2])
def test_the_interval_of_the_cpu_reaches_to_what_the_last_requests_took(more: float, blocks: int) -> None:
    """What a request takes falls with the rate: further requests take no more than the last ones did."""
    m = curved(more * 0.001, 0.001, blocks=blocks)
    if "cpu" not in names(explain(m)):
        assert more > 1.1
        return
    bound = bound_of(m, "cpu")
    last = (0.08 - 0.04 * more * 0.001 * 1000) / 40
    assert bound.high is None or bound.high >= 0.99 * 0.98 / last


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
    assert cpu_capacity(recorded.instance(cpu_limit=None, processors=4)) == 4
    assert cpu_capacity(recorded.instance(cpu_limit=0.5, processors=1)) == 0.5


def test_the_words_of_demands_are_those_of_the_catalogue() -> None:
    """Every kind of demand is measured by a row of its own, so that none is forgotten here."""
    assert {row.demand for row in RESOURCES.values()} == {"cpu", "request", "round", "hold", "pinned", "load"}
