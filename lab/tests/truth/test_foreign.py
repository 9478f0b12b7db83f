"""Bottlenecks planted in services that know nothing of vtlab: each must be named by one command, ``vtlab try``."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support import foreign
from tests.support.foreign import KIOSK, SHOP, Tried
from tests.support.privileges import needs_root
from vtlab.runs import store

pytestmark = [pytest.mark.calls, pytest.mark.timeout(1200), needs_root]

PLATFORM, VIRTUAL = "platform", "virtual"
#: Of the time of a request that only waits, the share that has a name.
EXPLAINED = 0.8


@dataclass(frozen=True)
class Plant:
    """A call, and what it must name for each variant."""

    name: str
    jar: Path
    request: str
    users: int
    #: Regular expressions of the whole name.
    named: Mapping[str, str]
    options: tuple[str, ...] = ()
    #: How much of the resource was planted, by variant, where its meters show that.
    capacity: Mapping[str, float] = field(default_factory=dict)
    is_wait_bound: bool = True


def both(name: str) -> dict[str, str]:
    return {PLATFORM: name, VIRTUAL: name}


PLANTS = [
    # With that variable Spring opens the pool too early for vtlab's: the service must start all the same.
    Plant(
        "a semaphore",
        SHOP,
        "GET /pack?duration=230ms",
        29,
        both(r"Semaphore at OrderController:\d+"),
        ("--env", "SPRING_DATASOURCE_HIKARI_CONNECTION_TIMEOUT=9000"),
    ),
    Plant(
        "a database pool",
        SHOP,
        "GET /order?duration=190ms",
        17,
        both("db-pool"),
        ("--env", "SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE=7"),
        {PLATFORM: 7, VIRTUAL: 7},
    ),
    # Five printers. On JDK 21 a virtual thread that waits at or for one keeps its carrier, of which there are three.
    Plant(
        "a lock around a wait on JDK 21",
        KIOSK,
        "GET /print?duration=170ms",
        23,
        {PLATFORM: r"monitor at TicketController:\d+", VIRTUAL: "carriers"},
        ("--java", "21", *(f"--jvm=-Djdk.virtualThreadScheduler.{name}=3" for name in ("parallelism", "maxPoolSize"))),
        {VIRTUAL: 3},
    ),
    Plant(
        "a cache loader in computeIfAbsent",
        SHOP,
        "GET /catalogue?duration=130ms",
        13,
        both(r"ConcurrentHashMap at CatalogueController:\d+"),
    ),
    Plant("a downstream pool", SHOP, "GET /supplier?duration=210ms", 19, both("client-pool")),
    Plant(
        "a heap too small",
        SHOP,
        "GET /baskets?count=16",
        5,
        both("memory"),
        ("--jvm=-Xmx73m", "--env", "SHOP_BASKETS=25"),
        is_wait_bound=False,
    ),
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name.replace(" ", "-"))
def test_one_command_names_what_was_planted_in_a_foreign_service(tmp_path: Path, plant: Plant) -> None:
    """vtlab try names each bottleneck planted in a foreign service, and says where requests wait."""
    with contextlib.ExitStack() as end:
        options = list(plant.options)
        if "/supplier" in plant.request:
            options += ["--env", f"SHOP_SUPPLIER={end.enter_context(foreign.supplier())}"]
        tried = foreign.tried(
            tmp_path, plant.jar, plant.request, "--users", str(plant.users), "--blocks", "1", *options
        )
    for variant, named in plant.named.items():
        judge(tried, plant, variant, named)


def judge(tried: Tried, plant: Plant, variant: str, named: str) -> None:
    """AssertionError where a variant is named otherwise, or its time not explained."""
    result = tried.verdict["variants"][variant]
    assert re.fullmatch(named, result["bottleneck"]["resource"]), tried.text
    capacities = {bound["resource"]: bound["capacity"] for bound in result["bounds"]}
    if variant in plant.capacity:
        assert capacities[named] == plant.capacity[variant], result
    if plant.is_wait_bound:
        assert result["time"]["explained"] >= EXPLAINED, result["time"]


SCRIPT = """
import http from 'k6/http';
export const options = { scenarios: { wait: { executor: 'constant-vus', exec: 'wait', vus: 1, duration: '1s' } } };
export function wait() { http.get(`${__ENV.BASE_URL}/wait?duration=210ms`); }
"""


def test_one_command_measures_a_foreign_service_by_a_users_script(tmp_path: Path) -> None:
    """vtlab try with a k6 script measures a foreign service, of which eleven threads are the bound."""
    script = tmp_path / "load.js"
    script.write_text(SCRIPT, encoding="utf-8")
    few = ("--env", "SERVER_JETTY_THREADS_MAX=13", "--users", "29", "--blocks", "1")
    (root := tmp_path / "results").mkdir()
    tried = foreign.tried(root, KIOSK, "--k6", str(script), *few)
    (capacity,) = (o for o in tried.verdict["outcomes"] if o["key"]["criterion"] == "capacity")
    # Jetty keeps two of its threads for itself.
    assert capacity["ratio"] == pytest.approx(29 / 11, rel=0.1), tried.text
    assert tried.bottleneck(PLATFORM)["resource"] == "jetty-threads", tried.text


def test_one_command_searches_the_load_of_a_foreign_service(tmp_path: Path) -> None:
    """vtlab try searches a load beyond what limits either variant, and finds the ratio of what was planted."""
    few = ("--env", "SERVER_TOMCAT_THREADS_MAX=7")
    tried = foreign.tried(tmp_path, SHOP, "GET /pack?duration=190ms", *few, "--blocks", "2")
    curve = store.read(tried.folder).manifest.curve
    assert curve
    assert curve.chosen > 11
    (capacity,) = (o for o in tried.verdict["outcomes"] if o["key"]["criterion"] == "capacity")
    assert capacity["ratio"] == pytest.approx(11 / 7, rel=0.1), tried.text
    assert tried.bottleneck(PLATFORM)["resource"] == "tomcat-threads", tried.text
    assert tried.bottleneck(VIRTUAL)["resource"].startswith("Semaphore at OrderController:"), tried.text
