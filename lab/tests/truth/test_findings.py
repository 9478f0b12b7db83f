"""What breaks on virtual threads, planted in a service that knows nothing of vtlab: each must be a finding of the
report, and of the variant on virtual threads alone. (More of them: ``test_bottlenecks``. Limits: by built records.)"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import foreign
from tests.support.foreign import SHOP
from tests.support.privileges import needs_root
from vtlab.catalogue import findings

pytestmark = [pytest.mark.calls, pytest.mark.timeout(1200), needs_root]

VIRTUAL = "virtual"
FEW_THREADS = ("--env", "SERVER_TOMCAT_THREADS_MAX=7")


@dataclass(frozen=True)
class Plant:
    """A call, and the measured findings that it must show, with the beginning of their place."""

    request: str
    users: int
    found: dict[str, str]
    options: tuple[str, ...] = ()


def pool(connections: int, patience: str) -> tuple[str, ...]:
    prefix = "SPRING_DATASOURCE_HIKARI"
    return (
        *("--env", f"{prefix}_MAXIMUM_POOL_SIZE={connections}"),
        *("--env", f"{prefix}_CONNECTIONTIMEOUT={patience}"),
    )


PLANTS = {
    # A cashier is a thread of the server's pool, by its name.
    "code that knows its threads": Plant("GET /cashier?duration=90ms", 5, {"answers-differ": "pre-flight"}),
    "a limit that was the number of threads": Plant(
        "GET /order?duration=190ms", 29, {"lost-back-pressure": "database"}, (*FEW_THREADS, *pool(41, "30000"))
    ),
    # Of seven threads three wait for a connection, 130 ms at most. Of 29 requests most wait longer than half a second.
    "a pool whose time-out is short": Plant(
        "GET /order?duration=130ms", 29, {"db-pool-time-outs": "db-pool"}, (*FEW_THREADS, *pool(4, "500"))
    ),
    "requests that hold memory": Plant(
        "GET /basket?kilobytes=1024&duration=370ms", 97, {"memory-of-requests": "heap"}, (*FEW_THREADS, "--jvm=-Xmx73m")
    ),
    "a buffer for each thread": Plant("GET /label?duration=50ms", 11, {"allocation-per-request": "heap"}),
    # What Spring calls by reflection has a native frame below it then.
    "calls through native code": Plant(
        "GET /wait?duration=170ms",
        17,
        {
            "pinned-threads-natively": "com.example.shop.OrderController",
            "too-few-carriers": "carriers",
            "starved-carriers": "carriers",
        },
        (
            "--jvm=-Djdk.reflect.useNativeAccessorOnly=true",
            *(f"--jvm=-Djdk.virtualThreadScheduler.{name}=3" for name in ("parallelism", "maxPoolSize")),
        ),
    ),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=[name.replace(" ", "-") for name in PLANTS])
def test_what_breaks_on_virtual_threads_is_found_where_it_was_planted(tmp_path: Path, plant: Plant) -> None:
    """vtlab try finds what was planted to break on virtual threads, and nothing else."""
    tried = foreign.tried(tmp_path, SHOP, plant.request, "--users", str(plant.users), "--blocks", "1", *plant.options)
    measured = [finding for finding in tried.verdict["findings"] if finding["kind"] == "measured"]
    assert {finding["id"] for finding in measured} == set(plant.found), tried.text
    for finding in measured:
        assert finding["variant"] == VIRTUAL
        assert finding["place"].startswith(plant.found[finding["id"]]), finding
        assert findings.row(finding["id"]).title in tried.text
