"""Time that requests wait for a pool and hold it, by the pools' meters."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from tests.support.phases import measured, users
from vtlab.analysis.pool_times import pool_times
from vtlab.model.verdict import PoolTime

#: A full pool of ten connections: 50 requests a second, each holds one for 0.2 s and waits for it for 0.3 s.
DATABASE = {"capacity_db-pool": 10.0, "db_pool_pending": 15.0, "db_pool_active": 10.0, "hold_db_pool": 0.2}


def times(*servers: dict[str, Any]) -> list[PoolTime]:
    """Returns the times at the pools of a variant that serves 50 requests a second in each of these windows."""
    return pool_times(measured("platform", *((500, 10, server) for server in servers), exp=users(30)))


def waiting_and_holding(*servers: dict[str, Any]) -> dict[str, tuple[float, float]]:
    return {pool.name: (pytest.approx(pool.waiting), pytest.approx(pool.holding)) for pool in times(*servers)}


def test_a_request_waits_for_a_connection_and_holds_it() -> None:
    assert waiting_and_holding(DATABASE) == {"db-pool": (0.3, 0.2)}
    assert waiting_and_holding(DATABASE, DATABASE | {"db_pool_pending": 5.0}) == {"db-pool": (0.2, 0.2)}


def test_a_request_that_fails_waits_as_well() -> None:
    assert waiting_and_holding(DATABASE | {"server_throughput": 60.0}) == {"db-pool": (0.25, 0.2)}
    # Jetty does not count its requests.
    assert waiting_and_holding(DATABASE | {"server_throughput": None}) == {"db-pool": (0.3, 0.2)}


def test_without_a_timer_the_connections_in_use_tell() -> None:
    assert waiting_and_holding({**DATABASE, "hold_db_pool": None}) == {"db-pool": (0.3, 0.2)}


def test_the_timer_of_a_call_downstream_contains_the_wait_for_a_connection() -> None:
    server = {"capacity_client-pool": 5.0, "client_pool_pending": 20.0, "client_pool_active": 5.0}
    assert waiting_and_holding(server | {"hold_client_pool": 0.5}) == {"client-pool": (0.4, 0.1)}


def test_tasks_wait_for_a_thread_of_an_executor() -> None:
    server = {"capacity_executor": 8.0, "executor_queued": 2.0, "executor_active": 8.0, "hold_executor": 0.16}
    assert waiting_and_holding(DATABASE | server) == {"db-pool": (0.3, 0.2), "executor": (0.04, 0.16)}


@pytest.mark.parametrize(
    "lacking",
    [
        {"capacity_db-pool": None},
        {"db_pool_pending": None},
        {"db_pool_active": None, "hold_db_pool": None},
        {"db_pool_active": 0.0, "hold_db_pool": 0.0},
    ],
    ids=["no pool", "no count of waits", "nothing of holds", "never used"],
)
def test_a_pool_without_meters_or_requests_has_no_times(lacking: dict[str, Any]) -> None:
    assert times(DATABASE | lacking) == []


def test_a_variant_without_trials_has_no_times() -> None:
    assert times() == []


def test_a_real_service_waits_longer_for_its_connections_than_it_holds_them() -> None:
    variants = recorded.analysed(recorded.run("pool")).verdict.variants
    for result in variants.values():
        (pool,) = result.pool_times
        assert pool.name == "db-pool"
        assert pool.holding == pytest.approx(0.2, rel=0.05), "as its query sleeps"
        assert 0.2 < pool.waiting < 0.4
        assert pool.waiting + pool.holding == pytest.approx(result.service_time, rel=0.05), "all that a request does"
