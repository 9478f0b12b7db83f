"""Ratios that hold, and the cells of tables where none does."""

from __future__ import annotations

import pytest

from tests.support import recorded
from vtlab.analysis import comparable
from vtlab.model.records import Diagnosis, Failure, Place
from vtlab.model.run import Analysis
from vtlab.report.pages import html, markdown
from vtlab.report.parts import performance, ratios, resource_use
from vtlab.report.parts.part import Table

CLOSED = recorded.analysed(recorded.run(blocks=3))
EQUAL = recorded.analysed(recorded.run("pool", blocks=3))
OPEN = recorded.analysed(recorded.under_open_load(recorded.run(blocks=3)))


def metrics(a: Analysis) -> list[str]:
    return [c.metric for c in a.verdict.comparisons]


def row(table: Table, name: str) -> dict[str, str]:
    return next(dict(zip(table.head, cells, strict=True)) for cells in table.rows if cells[0] == name)


def test_cpu_and_memory_compare_at_equal_throughput_only() -> None:
    assert metrics(CLOSED) == ["throughput"]
    assert metrics(EQUAL) == ["throughput", "cpu_per_request", "memory"]
    assert comparable.agree_within_margin(100, 104.9)
    assert not comparable.agree_within_margin(100, 105.1)
    assert not comparable.agree_within_margin(100, 0)


def test_latency_compares_under_open_load_only_and_service_time_never() -> None:
    assert {"latency_mean", "latency_p50", "latency_p99"} <= set(metrics(OPEN))
    for a in (CLOSED, EQUAL, OPEN):
        assert "service_time" not in metrics(a)
    for a in (CLOSED, EQUAL):
        assert not [name for name in metrics(a) if name.startswith("latency")]


def test_the_latency_of_an_overloaded_variant_has_no_ratio() -> None:
    a = recorded.changed(OPEN, platform={"growth": 95.0})
    kept = comparable.meaningful_comparisons(a.verdict.comparisons, a.verdict.variants, a.run.experiment)
    assert [c.metric for c in kept if c.metric.startswith("latency")] == ["latency_p99"], "the primary one, judged"


def test_without_a_ratio_both_values_stand_in_the_table() -> None:
    table = ratios.metric_table(CLOSED)
    assert table.head == ["metric", "platform", "virtual", "ratio", "95 % interval", "better", "verdict"]
    cpu = row(table, "CPU per request")
    assert (cpu["platform"], cpu["virtual"], cpu["ratio"], cpu["better"]) == ("2.56 ms", "2.56 ms", "–", "")
    assert row(table, "service time")["ratio"] == row(table, "queue time")["ratio"] == "–"
    assert row(table, "latency p50")["ratio"] == "–"
    assert row(ratios.metric_table(EQUAL), "CPU per request")["ratio"].endswith("×")
    assert row(ratios.metric_table(OPEN), "latency p99")["verdict"] == "faster"


def test_a_lower_bound_is_one_in_the_tables_too() -> None:
    def cell(ratio: float, is_lower_bound: bool) -> str:
        comparison = {"ratio": ratio, "is_lower_bound": is_lower_bound}
        return ratios.ratio_cell(recorded.changed(CLOSED, comparison).verdict.comparisons[0])

    assert (cell(5.0, True), cell(0.2, True), cell(5.0, False)) == ("≥ 5.00×", "≤ 0.200×", "5.00×")


@pytest.mark.parametrize(
    ("ratio", "claim"),
    [(5.0, "a ratio above 1.05"), (0.5, "a ratio below 1/1.05"), (1.01, "a difference below 5 %")],
)
def test_the_p_values_say_of_which_claim_they_are(ratio: float, claim: str) -> None:
    a = recorded.changed(CLOSED, {"ratio": ratio, "p_t": 0.012, "p_holm": 0.024, "p_sign_flip": 0.125})
    assert (
        f"Its one-sided p for {claim}: paired t 0.012, after Holm 0.024, sign flip 0.125."
        " Holm corrects for the number of comparisons in this report."
    ) in ratios.metric_table(a).caption


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
    assert row(ratios.metric_table(grown), "latency p50")["platform"] == "overloaded"
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
