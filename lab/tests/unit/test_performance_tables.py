"""Tables of what each variant did, and their cells where a figure does not belong to it."""

from __future__ import annotations

from tests.support import recorded
from vtlab.model.records import Diagnosis, Failure, Place
from vtlab.report.pages import html, markdown
from vtlab.report.parts import performance, resource_use

CLOSED = recorded.analysed(recorded.run(blocks=3))
OPEN = recorded.analysed(recorded.under_open_load(recorded.run(blocks=3)))


def test_users_without_an_answer_stand_in_place_of_a_short_mean() -> None:
    starved = recorded.changed(CLOSED, platform={"missing_users": 11.4})
    platform, virtual = performance.latency_table(starved).rows
    assert platform[1:7] == ["–"] * 6
    assert platform[-1] == "11 of 20 users never got an answer"
    assert (virtual[1], virtual[-1]) == ("201 ms", "")
    assert "11 of 20 users never got an answer" in html.render([starved])
    assert "11 of 20 users never got an answer" in markdown.render([starved])
    odd = recorded.changed(CLOSED, platform={"missing_users": -4.0})
    assert performance.latency_table(odd).rows[0][-1] == "latency and throughput do not match 20 users"
    assert "remark" not in performance.latency_table(CLOSED).head


def test_an_overloaded_variant_shows_no_latency_anywhere() -> None:
    grown = recorded.changed(OPEN, platform={"growth": 95.2})
    platform, virtual = performance.latency_table(grown).rows
    assert (platform[1:7], platform[-1]) == (["–"] * 6, "the queue grows by 95 requests per second")
    assert virtual[1] != "–"
    by_title = {panel.title: panel.chart for panel in performance.performance_panels(grown)}
    assert "platform:" not in by_title["Latency p99"]
    assert "platform p50" not in by_title["Latency by percentile"]
    assert "the queue grows by 95 requests per second" in html.render([grown])


def test_failures_have_a_table_with_count_interval_and_moment() -> None:
    assert performance.failure_table(CLOSED).rows == []
    failures = [Failure(variant="virtual", reason="out of heap memory", moment=f"trial {n}") for n in (1, 2)]
    a = recorded.changed(
        CLOSED,
        virtual={"failed_blocks": 2, "failed_interval": (0.094, 0.992), "failures": failures},
        platform={"failed_interval": (0.0, 0.708)},
    )
    assert performance.failure_table(a).rows == [
        ["platform", "0 of 3", "0 % to 70.8 %", ""],
        ["virtual", "2 of 3", "9.4 % to 99.2 %", "out of heap memory (trial 1, trial 2)"],
    ]
    assert "Clopper-Pearson" in markdown.render([a])
    assert "<h3>Failures</h3>" in html.render([a])


def test_places_where_threads_stood_have_a_table() -> None:
    assert resource_use.place_table(CLOSED).rows == []
    run = recorded.run(blocks=1)
    lock = Place(activity="lock", place="Semaphore at OrderService:42", threads=9.5)
    run.blocks[0].diagnosis["virtual"] = Diagnosis(dumps=20, threads=10.0, places=[lock])
    a = recorded.analysed(run)
    assert resource_use.place_table(a).rows == [["virtual", "Semaphore at OrderService:42", "lock", "9.5", "95.0 %"]]
    assert "Where threads stood" in html.render([a])
    assert "Where threads stood" in markdown.render([a])
