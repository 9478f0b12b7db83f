"""The time of a request, split: the queue, then what its thread does."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from tests.support import recorded
from vtlab.catalogue import palette
from vtlab.model.run import Analysis
from vtlab.model.verdict import Breakdown, PoolTime, TimePart
from vtlab.report.pages import html
from vtlab.report.parts import resource_use, time_split

RUN = recorded.run(blocks=3)


def described(run: object) -> dict[str, str]:
    """Returns the words of each variant's chart."""
    return descriptions(recorded.analysed(run))  # type: ignore[arg-type]


def descriptions(analysis: Analysis) -> dict[str, str]:
    """Returns the words of each chart of an analysis."""
    panels = time_split.time_panels(analysis)
    return {panel.title: unescape(re.findall(r"<desc>(.*?)</desc>", panel.chart)[0]) for panel in panels}


def test_a_request_waits_and_is_served() -> None:
    words = described(RUN)
    assert words["platform"] == "queue (waits for a thread): 202 ms; service (has a thread): 201 ms"
    assert words["virtual"] == "queue (waits for a thread): 697 µs; service (has a thread): 201 ms"


def test_thread_dumps_say_what_the_service_time_is_made_of() -> None:
    analysis = recorded.analysed(RUN)
    parts = [
        part("db-pool", "OrderService:40", 0.6),
        part("server-queue", "", 4.0),
        part("lock", "Semaphore at OrderService:42", 0.3),
        *(part("computation", f"OrderService:{line}", 0.05) for line in (50, 51, 52, 53)),
    ]
    trial = Breakdown(
        dumps=9, throughput=200.0, latency=5.1, parts=parts, explained=1.0, accounted=0.2, is_slowed=False
    )
    analysis.verdict.variants["platform"].time = trial
    words = descriptions(analysis)
    assert words["platform"] == (
        "queue for a server thread: 4.00 s; wait for a database connection: OrderService:40: 600 ms;"
        " lock: Semaphore at OrderService:42: 300 ms; computation, or ready to run: OrderService:50: 50.0 ms;"
        " computation, or ready to run: OrderService:51: 50.0 ms; the rest: 100 ms"
    )
    # Seconds of a slower trial are not those of the blocks.
    analysis.verdict.variants["platform"].time = trial.model_copy(update={"is_slowed": True})
    assert descriptions(analysis) == described(RUN)


def part(activity: Any, place: str, seconds: float) -> TimePart:
    return TimePart(
        activity=activity, place=place, share=seconds / 5.1, seconds=seconds, requests=200 * seconds, is_explained=True
    )


def with_pools(*pools: PoolTime) -> dict[str, str]:
    """Returns the words of the charts where platform has these times within pools."""
    return descriptions(recorded.changed(recorded.analysed(RUN), platform={"pool_times": list(pools)}))


def test_the_meters_of_a_pool_split_the_service_time_without_thread_dumps() -> None:
    words = with_pools(PoolTime(name="db-pool", waiting=0.12, holding=0.03))
    assert words["platform"] == (
        "queue (waits for a thread): 202 ms; wait for a database connection: 120 ms; holds a database connection:"
        " 30.0 ms; the rest: 51.0 ms"
    )
    assert words["virtual"] == described(RUN)["virtual"]


def test_a_wait_that_is_next_to_nothing_is_no_part() -> None:
    words = with_pools(PoolTime(name="executor", waiting=0.0001, holding=0.2))
    assert "is at work in the executor: 200 ms" in words["platform"]
    assert "wait for the executor" not in words["platform"]


def test_pools_whose_times_overlap_split_nothing() -> None:
    """A request holds a connection while its tasks run: the sum is more than the request takes."""
    both = PoolTime(name="db-pool", waiting=0.0, holding=0.15), PoolTime(name="executor", waiting=0.0, holding=0.15)
    assert with_pools(*both) == described(RUN)


def test_times_within_pools_are_a_table() -> None:
    pools = [PoolTime(name="client-pool", waiting=0.1, holding=0.05)]
    analysis = recorded.changed(recorded.analysed(RUN), virtual={"pool_times": pools})
    assert resource_use.pool_table(analysis).rows == [["virtual", "client-pool", "100 ms", "50.0 ms"]]
    assert "Time within pools" in html.render([analysis])


def test_all_bars_have_one_scale() -> None:
    analysis = recorded.analysed(RUN)
    panels = time_split.time_panels(analysis)
    lengths = [
        sum(map(float, re.findall(r'<rect [^>]*width="([\d.]+)" height="20" class="part', panel.chart)))
        for panel in panels
    ]
    platform, virtual = (analysis.verdict.variants[name].latency["mean"] for name in ("platform", "virtual"))
    assert platform
    assert virtual
    assert lengths[0] / lengths[1] == pytest.approx(platform / virtual, rel=0.01)


def test_a_latency_that_is_none_is_not_drawn() -> None:
    overloaded = recorded.under_open_load(recorded.run(), "platform")
    assert "queue" not in described(overloaded)["platform"]
    assert described(recorded.run(blocks=0, planned=6)) == {}


def test_each_variant_has_its_colour_of_the_dashboards() -> None:
    page = html.render([recorded.analysed(RUN)])
    orange, blue = palette.ORANGE, palette.BLUE
    assert f"#verdict-1, #run-1 {{ --v0: {orange}; --v1: {blue}; }}" in page
