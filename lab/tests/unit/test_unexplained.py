"""What is slow inside a full pool, or at a place that thread dumps show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.phases import bound_of, measured, threads_at, users
from vtlab.analysis.laws import mva, unexplained
from vtlab.analysis.laws.explanation import explain
from vtlab.analysis.laws.phases import Measured
from vtlab.model.records import Place

SLOW_DATABASE = {"capacity_db-pool": 10.0, "utilization_db-pool": 1.0, "cpu_cores": 0.03}


def slow_inside(places: Sequence[Place] = (), **server: float) -> Measured:
    # 10 connections, held for 35 ms alone: 286/s. Under load 20.8/s: each is held for 480 ms.
    return measured(
        "virtual", (624, 30, {**SLOW_DATABASE, **server}), exp=users(200), alone=0.04, held={"hold_db_pool": 0.035},
        cpu=0.0005, places=places,
    )  # fmt: skip


def test_a_pool_that_is_full_far_below_its_bound_has_something_slow_inside() -> None:
    e = explain(slow_inside())
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
    bottleneck = explain(slow_inside(places)).bottleneck
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
    bottleneck = explain(slow_inside(places, **server)).bottleneck
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
    e = explain(measured("virtual", (round(300 * x), 300, pool), exp=users(200), alone=hold, held=held, cpu=cpu))
    assert x < 0.9 * bound_of(measured("virtual", (1, 1, pool), held=held), "db-pool").bound
    assert (e.bottleneck.resource, e.bottleneck.inside) == ("db-pool", None)
    assert e.modelled == pytest.approx(x, rel=0.02)


def test_a_hold_that_is_not_known_well_accuses_nobody() -> None:
    # Drawn holds of 0.2 s on average: the single user's phases had 0.10, 0.17 and 0.18 s.
    pool = {"capacity_db-pool": 10.0, "utilization_db-pool": 1.0, "cpu_cores": 0.02, "virtual_queued": 0.0}
    m = measured("virtual", (1500, 30, pool), exp=users(100), alone=0.16, held={"hold_db_pool": 0.15})
    assert explain(m).bottleneck.inside is not None
    for trial, seconds in zip(m.single, (0.10, 0.17, 0.18), strict=True):
        trial.server["hold_db_pool"] = seconds
    bottleneck = explain(m).bottleneck
    assert (bottleneck.resource, bottleneck.inside) == ("unknown", None)
    m.single[:2] = []
    assert explain(m).bottleneck.inside is None


def test_collections_lengthen_every_hold() -> None:
    # Pauses for half of the time make 70 ms of 35 ms, but not 480 ms.
    half = {**SLOW_DATABASE, "gc_share": 0.5}
    held = {"hold_db_pool": 0.035}
    stopped = measured("virtual", (4200, 30, half), exp=users(200), alone=0.04, held=held, cpu=0.0005)
    assert explain(stopped).bottleneck.inside is None
    assert explain(slow_inside(gc_share=0.5)).bottleneck.inside is not None


def test_the_innermost_full_pool_has_it_inside() -> None:
    executor = {"capacity_executor": 50.0, "utilization_executor": 1.0}
    m = measured(
        "virtual", (624, 30, {**SLOW_DATABASE, **executor}), exp=users(200), alone=0.04,
        held={"hold_db_pool": 0.035, "hold_executor": 0.038},
    )  # fmt: skip
    assert explain(m).bottleneck.inside is not None
    assert explain(m).bottleneck.inside.pool == "db-pool"  # type: ignore[union-attr]


def test_the_service_behind_a_full_pool_of_connections() -> None:
    server = {"capacity_client-pool": 20.0, "utilization_client-pool": 0.99, "cpu_cores": 0.03}
    m = measured(
        "platform", (990, 30, server), exp=users(100), alone=0.1, held={"hold_client_pool": 0.09},
        places=[threads_at("client-pool", 75), threads_at("downstream", 19.5)],
    )  # fmt: skip
    bottleneck = explain(m).bottleneck
    assert bottleneck.resource == "downstream"
    assert bottleneck.inside is not None
    assert (bottleneck.inside.pool, bottleneck.inside.activity) == ("client-pool", "downstream")


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
    assert explain(m).bottleneck.resource == named


@pytest.mark.parametrize(("holders", "named"), [(8, "client-pool"), (12, "downstream")])
def test_behind_a_pool_without_meters_holders_wait_for_what_is_slow(holders: int, named: str) -> None:
    # 37.5 a second of 0.2 s alone are 7.5 at a time.
    places = [threads_at("client-pool", 40 - holders), threads_at("downstream", holders)]
    m = measured("virtual", (1125, 30, {"cpu_cores": 0.02}), exp=users(40), alone=0.2, places=places)
    assert explain(m).bottleneck.resource == named


def test_requests_that_wait_for_a_pool_that_its_meters_show_half_empty_are_unknown() -> None:
    places = [threads_at("db-pool", 12), INSIDE_IT]
    server = {"cpu_cores": 0.02, "capacity_db-pool": 10.0, "utilization_db-pool": 0.5}
    m = measured("virtual", (750, 30, server), exp=users(22), alone=0.4, places=places)
    assert explain(m).bottleneck.resource == "unknown"


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
    assert explain(m).bottleneck.resource == named


@pytest.mark.parametrize(("throttled", "named"), [(0.6, "unknown"), (0.0, "Thread.sleep at MixedController:26")])
def test_a_wait_that_ended_while_the_quota_stopped_the_threads_is_no_place(throttled: float, named: str) -> None:
    # Users in step, who compute all at once and wait all at once: 71 % of the CPU was used, and most periods throttled.
    places = [threads_at("wait", 36, "Thread.sleep at MixedController:26"), threads_at("computation", 5)]
    trial = (1341, 9, {"cpu_cores": 0.505, "throttled_periods": throttled})
    exp = users(41, limits={"cpu": 0.71, "memory": "512Mi", "heap": "200m"})
    m = measured("virtual", trial, exp=exp, alone=0.134, cpu=0.0034, places=places, diagnosed=149)
    assert explain(m).bottleneck.resource == named


def test_a_wait_that_is_not_known_well_alone_is_no_place() -> None:
    # Drawn waits of 0.13 s: the phases alone had 0.09, 0.12 and 0.14 s, and five users are never more than five.
    m = measured("virtual", (333, 9, {"cpu_cores": 0.13}), exp=users(5), alone=0.116, places=[threads_at("wait", 5)])
    assert explain(m).bottleneck.resource == "Socket at OrderService:42"
    for trial, seconds in zip(m.single, (0.09, 0.12, 0.14), strict=True):
        trial.server["service_time"] = trial.latency.mean = seconds
    assert explain(m).bottleneck.resource in ("load", "unknown")


def test_a_full_pool_with_something_slow_inside_is_named_before_memory() -> None:
    bottleneck = explain(
        slow_inside([threads_at("db-pool", 190), threads_at("database", 9.8)], gc_share=0.2)
    ).bottleneck
    assert bottleneck.resource == "database"
    assert bottleneck.inside is not None


def behind_a_computation(
    *,
    queued: float | None = 1.44,
    cores: float = 0.54,
    throttled: float = 0.04,
    is_task: bool = False,
    **server: float,
) -> Measured:
    # As measured: 8 users, 150 ms of waiting and 15 ms of one core; the model has 43/s.
    known = {"cpu_cores": cores, "throttled_periods": throttled, "virtual_queued": queued, "virtual_mounted": 0.5}
    places = [threads_at("wait", 7, "Thread.sleep at Mixed:26"), threads_at("computation", 1, "HashChain:26")]
    places = [place.model_copy(update={"is_task": is_task}) for place in places]
    trial = (351, 10, {**known, "mean": 8 / 35.1, **server})
    return measured("virtual", trial, exp=users(8), alone=0.168, cpu=0.0153, places=places)


def test_threads_that_are_ready_and_have_no_carrier_are_short_of_carriers() -> None:
    limit = explain(behind_a_computation()).bottleneck
    assert (limit.resource, limit.utilisation, limit.bound, limit.inside) == ("carriers", None, None, None)


@pytest.mark.parametrize(
    "other",
    [
        # Waits for something else are most of what keeps the requests.
        {"queued": 0.9},
        # Platform threads have none, and before JDK 24 nobody knows.
        {"queued": 0.0},
        {"queued": None},
        # All requests may be ready while the quota stops the JVM.
        {"throttled": 0.1},
        # The CPU is used up.
        {"cores": 0.95},
        # Pinned threads keep the carriers.
        {"capacity_carriers": 1.0, "pinned_seconds": 0.4},
        # Tasks of requests are ready, not the requests.
        {"queued": 20.0},
        {"is_task": True},
    ],
)
def test_other_waits_are_not_the_carriers(other: dict[str, Any]) -> None:
    assert unexplained.short_of_carriers(behind_a_computation()) is not None
    assert unexplained.short_of_carriers(behind_a_computation(**other)) is None


def test_a_pool_whose_holders_wait_for_a_carrier_has_nothing_slow_inside() -> None:
    # Of the 9.3 that hold a connection for longer than alone, six are ready.
    places = [threads_at("database", 9.8), threads_at("db-pool", 190)]
    bottleneck = explain(slow_inside(places, virtual_queued=6.0)).bottleneck
    assert (bottleneck.resource, bottleneck.inside) != ("database", None)
    assert bottleneck.inside is None
    assert explain(slow_inside(places, virtual_queued=1.0)).bottleneck.inside is not None


def behind_an_executor(waiting: float, running: float, **server: float) -> Measured:
    """Requests that wait for tasks of 0.2 s; alone each takes as long."""
    places = [
        threads_at("executor", waiting, "FutureTask at OrderService:42"),
        threads_at("wait", running, "Thread.sleep at Report:7").model_copy(update={"is_task": True}),
    ]
    trial = (600, 30, {"cpu_cores": 0.05, **server})
    return measured("virtual", trial, exp=users(24), alone=0.2, cpu=0.001, places=places)


def test_an_executor_without_meters_is_named_with_the_line_that_waits_for_it() -> None:
    # Four threads of 0.2 s serve 20/s, and 24 users wait.
    bottleneck = explain(behind_an_executor(24, 4)).bottleneck
    assert (bottleneck.resource, bottleneck.place) == ("executor", "FutureTask at OrderService:42")
    # As many tasks run as requests wait for: more threads would not help.
    assert explain(behind_an_executor(24, 24)).bottleneck.resource == "unknown"
    # By its meters it is not full.
    metered = {"capacity_executor": 50.0, "utilization_executor": 0.1}
    assert explain(behind_an_executor(24, 4, **metered)).bottleneck.resource == "unknown"
