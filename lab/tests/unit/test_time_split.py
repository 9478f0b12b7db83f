"""Where the time of a request goes: queue, then what its thread does."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.support import builders
from vtlab.catalogue import palette
from vtlab.model.records import Diagnosis, Place
from vtlab.report import html, time_split

RUN = builders.run(blocks=3)


def described(run: object) -> dict[str, str]:
    """Variant -> what its chart says in words."""
    panels = time_split.panels(builders.analysed(run))  # type: ignore[arg-type]
    return {panel.title: re.findall(r"<desc>(.*?)</desc>", panel.chart)[0] for panel in panels}


def test_a_request_waits_and_is_served() -> None:
    words = described(RUN)
    assert words["platform"] == "queue, before a thread has it: 4.00 s; service, once a thread has it: 1.00 s"
    assert words["virtual"] == "service, once a thread has it: 1.00 s"


def test_thread_dumps_say_what_the_service_time_is_made_of() -> None:
    places = [
        Place(activity="db-pool", place="OrderService:40", threads=120.0),
        Place(activity="lock", place="Semaphore at OrderService:42", threads=60.0),
    ]
    diagnosis = Diagnosis(dumps=10, threads=200.0, places=places)
    first = RUN.blocks[0].model_copy(update={"diagnosis": {"platform": diagnosis}})
    words = described(replace(RUN, blocks=[first, *RUN.blocks[1:]]))
    assert words["platform"] == (
        "queue, before a thread has it: 4.00 s; a wait for a database connection: OrderService:40: 600 ms;"
        " a lock: Semaphore at OrderService:42: 300 ms; the rest: 100 ms"
    )


def test_all_bars_have_one_scale() -> None:
    panels = time_split.panels(builders.analysed(RUN))
    lengths = [
        sum(map(float, re.findall(r'<rect [^>]*width="([\d.]+)" height="20" class="part', panel.chart)))
        for panel in panels
    ]
    assert lengths[0] / lengths[1] == pytest.approx(5, rel=0.01)


def test_a_latency_that_is_none_is_not_drawn() -> None:
    overloaded = builders.run(builders.arrivals(), builders.OVERLOADED)
    assert "queue" not in described(overloaded)["platform"]
    assert described(builders.run(blocks=0, planned=6)) == {}


def test_each_variant_has_its_colour_of_the_dashboards() -> None:
    page = html.render([builders.analysed(RUN)])
    orange, blue = palette.VARIANTS["platform"], palette.VARIANTS["virtual"]
    assert f"#verdict-1, #run-1 {{ --v0: {orange}; --v1: {blue}; }}" in page
