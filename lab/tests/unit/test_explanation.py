"""What limits a variant, with the modelled throughput, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import recorded
from tests.support.phases import bound_of, measured, names, threads_at, users
from vtlab.analysis.laws import mva
from vtlab.analysis.laws.bounds import bounds
from vtlab.analysis.laws.explanation import explain
from vtlab.analysis.laws.phases import Measured, Phases


def test_blocking_platform_threads() -> None:
    # 200 threads / 1 s = 200/s; cpu 1 core / 0.34 ms = 2,941/s; users 1000 / 1 s = 1000/s.
    server = {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0}
    e = explain(measured("platform", (5998, 30, server), cpu=0.00034))
    assert e.bottleneck.resource == "tomcat-threads"
    assert e.bottleneck.together == []
    assert e.bottleneck.bound == pytest.approx(200)
    assert e.bottleneck.utilisation == pytest.approx(5998 / 30 / 200)
    assert e.modelled == pytest.approx(200, rel=0.001)
    assert e.next is not None
    assert (e.next.resource, e.next.bound) == ("load", pytest.approx(1000))
    assert names(e) == ["tomcat-threads", "load", "cpu", "connections"]
    assert e.bounds[2].bound == pytest.approx(1 / 0.00034, rel=0.001)
    assert e.bounds[2].service_demand == pytest.approx(0.00034, rel=0.001)


@pytest.mark.parametrize(("ok", "named"), [(22_500, "unknown"), (29_400, "load")])
def test_a_single_value_of_what_a_request_takes_alone_gives_no_model(ok: int, named: str) -> None:
    """Nobody knows how far it is off: the bound is named where it is reached, and nothing is expected."""
    whole = measured("virtual", (ok, 30, {"cpu_cores": 0.3}))
    (phases,) = whole.blocks
    e = explain(Measured(whole.experiment, "virtual", [replace(phases, single=phases.single[:1])]))
    assert (e.bottleneck.resource, e.modelled) == (named, None)


def test_blocking_virtual_threads_have_no_tomcat_bound() -> None:
    server = {"cpu_cores": 0.3, "capacity_tomcat-threads": None, "tomcat_threads_busy": -1.0}
    e = explain(measured("virtual", (29_970, 30, server), cpu=0.0003))
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("load", pytest.approx(1000))
    assert e.next is not None
    assert (e.next.resource, e.next.bound) == ("cpu", pytest.approx(1 / 0.0003, rel=0.002))
    assert "tomcat-threads" not in names(e)


def test_a_cpu_bound_service_is_not_blamed_on_threads_that_wait_for_the_cpu() -> None:
    # All 200 threads are busy, but alone a request holds its thread for 1 ms: 200,000/s.
    server = {"cpu_cores": 0.98, "tomcat_threads_busy": 200.0, "capacity_tomcat-threads": 200.0}
    e = explain(measured("platform", (29_400, 30, server), alone=0.001))
    assert (e.bottleneck.resource, e.bottleneck.together) == ("cpu", [])
    assert e.bottleneck.bound == pytest.approx(1000)
    assert e.bottleneck.utilisation == pytest.approx(0.98)


@pytest.mark.parametrize(("cores", "named"), [(0.49, "cpu"), (0.4, "unknown")])
def test_a_cpu_that_is_used_up_is_named_though_two_windows_know_no_bound_of_it(cores: float, named: str) -> None:
    """Seen: "limited by the load (5 users), at most about 8,877/s" at 2,669/s beside 0.5 of 0.5 cores."""
    exp = users(5, limits={"cpu": 0.5, "memory": "512Mi", "heap": "256m"})
    windows = [(16_000, 5, {"cpu_cores": cores}), (11_000, 5, {"cpu_cores": cores})]
    e = explain(measured("platform", *windows, exp=exp, alone=0.00056))
    assert "cpu" not in names(e)
    assert (e.bottleneck.resource, e.bottleneck.together) == (named, [])
    assert (e.bottleneck.bound, e.next) == (None, None)


def test_users_whose_bound_is_reached_are_named_beside_a_full_cpu() -> None:
    """Seen on a slow machine: 400 users of 1 s, 390/s by 0.95 of a CPU."""
    windows = [(2_240, 6, {"cpu_cores": 0.95}), (2_400, 6, {"cpu_cores": 0.95}), (1_300, 3, {"cpu_cores": 0.5})]
    e = explain(measured("virtual", *windows, exp=users(400)))
    assert e.bottleneck.resource == "load"


def test_fewer_connections_than_users() -> None:
    m = measured("virtual", (1500, 30, {"cpu_cores": 0.01, "capacity_connections": 20.0}), exp=users(30), alone=0.4)
    e = explain(m)
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("connections", pytest.approx(50, rel=0.001))
    assert e.next is not None
    assert e.next.resource == "load"


def test_a_pool_whose_bound_is_reached() -> None:
    # 10 connections held for 0.4 s of 0.41 s: 25/s.
    pool = {"capacity_db-pool": 10.0, "utilization_db-pool": 1.0, "cpu_cores": 0.02}
    e = explain(
        measured("virtual", (744, 30, pool), exp=users(100), alone=0.41, held={"hold_db_pool": 0.4}, cpu=0.0008)
    )
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("db-pool", pytest.approx(25, rel=0.001))
    assert e.bottleneck.inside is None
    assert e.next is not None
    assert (e.next.resource, e.next.bound) == ("load", pytest.approx(100 / 0.41))


def test_tasks_that_run_at_once_hold_an_executor_longer_than_the_request_takes() -> None:
    # Eight tasks of 0.4 s on eight threads, two users: 3.2 thread-seconds in 0.4 s, so 2.5/s.
    server = {"capacity_executor": 8.0, "utilization_executor": 1.0, "cpu_cores": 0.01}
    e = explain(measured("virtual", (74, 30, server), exp=users(2), alone=0.4, held={"hold_executor": 3.2}))
    assert e.modelled == pytest.approx(2.5, rel=0.01)
    assert (e.bottleneck.resource, e.bottleneck.together) == ("executor", [])


def test_tasks_of_a_single_user_who_fill_an_executor_all_the_time() -> None:
    # 500 tasks of 50 ms on eight threads: 63 rounds. The window of 9.45 s holds three requests, by the server's meter
    # 3.17, each with less of the eight threads' time than it took. No phase of a single user has a timer's sample.
    server = {"capacity_executor": 8.0, "cpu_cores": 0.02, "hold_executor": 23.72, "server_throughput": 0.3353}
    m = measured("platform", (3, 9.45, server), exp=users(1), alone=3.162)
    e = explain(m)
    assert (e.bottleneck.resource, e.bottleneck.together) == ("executor", ["load"])
    assert bound_of(m, "executor").bound == pytest.approx(8 / 25.15, rel=0.01)
    assert e.modelled == pytest.approx(0.316, rel=0.01)
    # Of several users who wait for the threads no trial tells what one alone holds.
    assert "executor" not in names(explain(measured("platform", (3, 9.45, server), exp=users(2), alone=3.162)))


@pytest.mark.parametrize("hold", [0.78, 0.8])
@pytest.mark.parametrize(("number", "named"), [(1, ["cpu", "load"]), (2, ["cpu"]), (5, ["cpu"]), (20, ["cpu"])])
def test_tasks_that_compute_at_once_need_no_larger_executor(number: int, named: list[str], hold: float) -> None:
    # A request has 100 ms of CPU in eight tasks at once: they hold eight threads, as they wait for each other's core.
    server = {"capacity_executor": 8.0, "utilization_executor": 1.0, "cpu_cores": 0.99}
    m = measured("virtual", (300, 30, server), exp=users(number), alone=0.1, held={"hold_executor": hold})
    e = explain(m)
    assert [e.bottleneck.resource, *e.bottleneck.together] == named
    assert e.modelled == pytest.approx(10, rel=0.02)


def test_a_computation_in_the_hold_of_one_connection_is_limited_by_the_smaller_of_the_two() -> None:
    held = {"hold_db_pool": 0.1}
    exp = users(5, limits={"cpu": 1.43, "memory": "512Mi", "heap": "256m"})
    server = {"capacity_db-pool": 1.0, "utilization_db-pool": 1.0, "cpu_cores": 0.97}
    e = explain(measured("virtual", (292, 30, server), exp=exp, alone=0.1, held=held))
    assert (e.bottleneck.resource, e.bottleneck.inside) == ("db-pool", None)


def test_a_task_that_holds_a_connection_is_modelled_by_the_whole() -> None:
    # A request of 0.4 s is one task of an executor, which holds one of ten connections all the time.
    pools = {f"{figure}_{name}": n for name, n in (("executor", 50.0), ("db-pool", 10.0)) for figure in ("capacity",)}
    m = measured(
        "platform", (735, 30, {**pools, "cpu_cores": 0.01}), exp=users(40), alone=0.4,
        held={"hold_executor": 0.4, "hold_db_pool": 0.4},
    )  # fmt: skip
    e = explain(m)
    assert e.modelled == pytest.approx(25, rel=0.02)
    assert e.bottleneck.resource == "db-pool"


def test_carriers_are_short_where_threads_are_pinned() -> None:
    # JDK 21, one carrier: each request pins it for 0.4 s.
    server = {"capacity_carriers": 1.0, "pinned_seconds": 0.98, "cpu_cores": 0.02}
    m = measured("virtual", (73, 30, server), exp=users(2), alone=0.4)
    e = explain(m)
    assert (e.bottleneck.resource, e.bottleneck.together) == ("carriers", [])
    assert e.bottleneck.bound == pytest.approx(2.5, rel=0.05)


def test_carriers_without_pinning_are_the_cpu() -> None:
    busy = {"capacity_carriers": 1.0, "utilization_carriers": 1.0, "pinned_seconds": 0.0, "cpu_cores": 0.99}
    e = explain(measured("virtual", (2970, 30, busy)))
    assert (e.bottleneck.resource, "carriers" in names(e)) == ("cpu", False)


@pytest.mark.parametrize(("number", "measured_at"), [(6, 224.0), (7, 250.0), (8, 270.0), (7, 298.0)])
def test_at_the_knee_nothing_is_unknown_and_both_share_the_blame(number: int, measured_at: float) -> None:
    # 20 ms of waiting, 3.2 ms of one core; constant waits reach more than the model.
    server = {"cpu_cores": measured_at * 0.0032}
    e = explain(measured("virtual", (round(30 * measured_at), 30, server), exp=users(number), alone=0.0232))
    assert e.modelled is not None
    assert measured_at >= 0.9 * e.modelled
    assert {e.bottleneck.resource, *e.bottleneck.together} <= {"cpu", "load"}
    assert e.bottleneck.resource != "unknown"


def test_two_that_would_help_alike_are_named_together() -> None:
    # Where the gains of the CPU and of one user more cross: by the model, more by a tenth of each.
    by_gain = {}
    for number in range(2, 30):
        x = float(mva.throughputs(number, 0.020, [mva.Station(0.0032, 1 / 0.0032)])[-1])
        e = explain(
            measured("virtual", (round(300 * x), 300, {"cpu_cores": x * 0.0032}), exp=users(number), alone=0.0232)
        )
        by_gain[number] = {e.bottleneck.resource, *e.bottleneck.together}
    assert by_gain[2] == {"load"}
    assert by_gain[29] == {"cpu"}
    assert {"cpu", "load"} in by_gain.values()


def test_two_pools_of_which_more_of_one_alone_does_not_help() -> None:
    # 200 threads and 200 connections for 1000 users: both allow 200/s.
    server = {"cpu_cores": 0.07, "capacity_tomcat-threads": 200.0, "capacity_connections": 200.0}
    e = explain(measured("platform", (5990, 30, server), cpu=0.00034))
    assert {e.bottleneck.resource, *e.bottleneck.together} == {"tomcat-threads", "connections"}
    assert e.next is not None
    assert e.next.resource == "load"


def test_one_thread_with_one_connection() -> None:
    # More of the one alone does not help, and less of it cannot be.
    server = {"capacity_tomcat-threads": 1.0, "capacity_db-pool": 1.0, "cpu_cores": 0.01}
    e = explain(
        measured("platform", (74, 30, server), exp=users(20), alone=0.4, held={"hold_db_pool": 0.399}, cpu=0.001)
    )
    assert {e.bottleneck.resource, *e.bottleneck.together} == {"tomcat-threads", "db-pool"}


@pytest.mark.parametrize(("cores", "limiting"), [(0.97, ["cpu", "load"]), (0.1, ["load"])])
def test_a_single_user_shares_the_blame_with_what_the_user_fills(cores: float, limiting: list[str]) -> None:
    # One user alone always comes to X = 1 / R; in one case the request is CPU from its beginning to its end.
    e = explain(measured("virtual", (300, 30, {"cpu_cores": cores}), exp=users(1), alone=0.1))
    assert [e.bottleneck.resource, *e.bottleneck.together] == limiting


def test_half_a_core_limits_a_single_user_alone() -> None:
    exp = users(1, limits={"cpu": 0.5, "memory": "512Mi", "heap": "256m"})
    e = explain(measured("virtual", (300, 30, {"cpu_cores": 0.49}), exp=exp, alone=0.1))
    assert [e.bottleneck.resource, *e.bottleneck.together] == ["cpu"]


def test_what_nothing_explains_is_unknown_with_the_nearest_bound_next() -> None:
    m = measured("virtual", (9000, 30, {"cpu_cores": 0.1, "capacity_tomcat-threads": None}), cpu=0.0003)
    e = explain(m)
    assert e.bottleneck.resource == "unknown"
    assert (e.bottleneck.bound, e.bottleneck.utilisation, e.bottleneck.inside) == (None, None, None)
    assert e.modelled == pytest.approx(1000, rel=0.01)
    assert e.next is not None
    assert e.next.resource == "load"


def test_a_bound_that_the_measurement_refutes_explains_nothing() -> None:
    # Alone a request took 1 s, under load (warmer) less: 1000 users at 1500/s. The CPU is what is full.
    e = explain(measured("virtual", (45_000, 30, {"cpu_cores": 0.97})))
    assert names(e)[0] == "load"
    assert e.bottleneck.resource == "cpu"
    assert e.modelled is None, "how long a request takes alone is not known"
    idle = explain(measured("virtual", (45_000, 30, {"cpu_cores": 0.5})))
    assert idle.bottleneck.resource == "unknown"


def test_a_refuted_pool_is_left_out_of_the_model() -> None:
    # By its hold alone the pool would allow 20/s; 99/s were served.
    pool = {"capacity_db-pool": 10.0, "utilization_db-pool": 0.99, "cpu_cores": 0.02}
    held = {"hold_db_pool": 0.5}
    e = explain(measured("virtual", (2970, 30, pool), exp=users(100), alone=1.0, held=held, cpu=0.0002))
    assert names(e)[0] == "db-pool"
    assert e.bottleneck.resource == "load"
    assert e.next is not None
    assert e.next.resource != "db-pool"


@pytest.mark.parametrize(
    ("server", "named"),
    [
        ({"gc_share": 0.35}, "memory"),
        ({"gc_share": 0.31}, "cpu"),
        ({"gc_share": 0.01, "live_heap_share": 0.93}, "cpu"),
    ],
)
def test_pauses_of_a_third_are_not_the_cpu(server: dict[str, float], named: str) -> None:
    e = explain(measured("virtual", (29_400, 30, {"cpu_cores": 0.98, **server}), alone=0.001))
    assert e.bottleneck.resource == named
    assert e.bottleneck.bound == pytest.approx(1000)
    assert e.next is None or e.next.resource != "cpu"


def test_collections_beside_another_bottleneck_are_not_named() -> None:
    server = {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0, "gc_share": 0.3}
    assert explain(measured("platform", (5998, 30, server))).bottleneck.resource == "tomcat-threads"


@pytest.mark.parametrize(
    ("server", "named"),
    [
        ({"gc_share": 0.4}, "memory"),
        ({"gc_share": 0.25}, "memory"),
        ({"gc_share": 0.11}, "a place"),
        ({"gc_share": 0.05, "live_heap_share": 0.95}, "a place"),
    ],
)
def test_collections_that_stop_all_threads_leave_a_core_idle(server: dict[str, float], named: str) -> None:
    # Two cores and Serial GC: while one core collects, the other idles, so that no bound is reached.
    exp = users(50, limits={"cpu": 2, "memory": "512Mi", "heap": "256m"})
    places, cores = [threads_at("lock", 49, "a place")], {"cpu_cores": 1.4}
    m = measured("virtual", (18_000, 30, {**cores, **server}), exp=exp, alone=0.002, places=places)
    e = explain(m)
    assert e.modelled is not None
    assert e.modelled > 18_000 / 30 / 0.9
    assert e.bottleneck.resource == named
    if named == "memory":
        assert (e.bottleneck.utilisation, e.bottleneck.bound, e.bottleneck.inside) == (None, None, None)
        assert e.next is None, "with more memory the CPU's bound is another"


@pytest.mark.parametrize("pausing", [0.1, 0.15, 0.2, 0.25, 0.3])
def test_pauses_are_more_than_half_of_what_is_missing_where_memory_is_named(pausing: float) -> None:
    exp, shares = users(50, limits={"cpu": 2, "memory": "512Mi", "heap": "256m"}), []
    for cores in range(100, 195, 2):
        server = {"cpu_cores": cores / 100, "gc_share": pausing}
        e = explain(measured("virtual", (18_000, 30, server), exp=exp, alone=0.002))
        assert e.modelled is not None
        if e.bottleneck.resource == "memory":
            shares.append(pausing / (1 - 600 / e.modelled))
    assert shares
    assert min(shares) > 0.5


def test_open_load_is_bounded_by_its_arrivals() -> None:
    e = explain(measured("virtual", (4500, 30, {"cpu_cores": 0.05}), exp=recorded.arrivals(), cpu=0.0003))
    assert (e.bottleneck.resource, e.bottleneck.bound, e.modelled) == ("load", 150, 150)
    assert e.next is not None
    assert e.next.resource == "cpu"


def test_overloaded_open_load_is_limited_by_what_is_short() -> None:
    server = {"cpu_cores": 0.05, "capacity_tomcat-threads": 100.0}
    m = measured("platform", (2990, 30, server), exp=recorded.arrivals(), cpu=0.0003)
    e = explain(m, is_growing=True)
    assert (e.bottleneck.resource, e.bottleneck.bound) == ("tomcat-threads", pytest.approx(100))
    assert e.modelled == pytest.approx(100, rel=0.001)
    assert e.next is not None
    assert (e.next.resource, e.next.bound) == ("load", 150)
    assert explain(m).bottleneck.resource == "load"
    slow = measured("platform", (1500, 30, server), exp=recorded.arrivals(), cpu=0.0003)
    assert explain(slow, is_growing=True).bottleneck.resource == "unknown"


def test_what_was_not_measured_gives_no_bound() -> None:
    m = measured(
        "platform", (6000, 30, dict.fromkeys(("cpu_cores", "capacity_tomcat-threads", "capacity_connections")))
    )
    assert names(explain(m)) == ["load"]
    (phases,) = m.blocks
    alone = Measured(m.experiment, "platform", [Phases(phases.trials, [], [], [])])
    assert explain(alone).bounds == []
    assert explain(alone).bottleneck.resource == "unknown"
    nothing = Measured(m.experiment, "platform", [])
    assert nothing.throughput is None
    assert bounds(nothing) == []
    assert explain(nothing).bottleneck.resource == "unknown"


@pytest.mark.parametrize(("cores", "named"), [(0.96, "cpu"), (0.7, "unknown")])
def test_without_single_user_phases_only_a_cpu_that_is_used_up_is_named(cores: float, named: str) -> None:
    e = explain(measured("virtual", (3000, 30, {"cpu_cores": cores}), alone=None))
    assert (e.bottleneck.resource, e.modelled) == (named, None)
    assert names(e) == ["cpu"]


def test_twenty_thousand_users_are_explained() -> None:
    server = {"cpu_cores": 0.6, "capacity_tomcat-threads": 200.0, "capacity_db-pool": 50.0}
    e = explain(measured("platform", (5990, 30, server), exp=users(20_000), held={"hold_db_pool": 0.1}, cpu=0.003))
    assert (e.bottleneck.resource, e.modelled) == ("tomcat-threads", pytest.approx(200, rel=0.03))
