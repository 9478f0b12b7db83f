"""The breakdown of a request's time in the reports."""

from __future__ import annotations

import json
from typing import Any

from tests.support import recorded
from vtlab.analysis import verdict
from vtlab.model.records import Diagnosis, Place
from vtlab.model.run import Analysis
from vtlab.report.pages import html, markdown
from vtlab.report.parts import breakdowns
from vtlab.report.parts.breakdowns import breakdown_table

SEMAPHORE = Place(activity="lock", place="Semaphore at OrderService:42", threads=620)
QUERY = Place(activity="database", place="pgJDBC at OrderService:17", threads=300)
SLEEP = Place(activity="wait", place="Thread.sleep at Till:7", threads=75)
FEW = Place(activity="computation", place="Till:9", threads=3)
FEWER = Place(activity="computation", place="Till:11", threads=2)
#: As the trials of virtual: 1000 users, each for a second.
VIRTUAL = Diagnosis(
    dumps=14,
    threads=1000,
    places=[SEMAPHORE, QUERY, SLEEP, FEW, FEWER],
    throughput=1000.0,
    latency=1.0,
    dump_cpu=0.12,
    cpu_share=0.084,
    is_held_back=True,
)
#: 200 threads, and 800 requests that wait for one.
PLATFORM = Diagnosis(
    dumps=20,
    threads=200,
    places=[Place(activity="lock", place="Semaphore at OrderService:42", threads=200)],
    throughput=200.0,
    latency=5.0,
    idle=0.0,
)


def analysed(**diagnoses: Diagnosis) -> Analysis:
    run = recorded.run(blocks=2)
    run.blocks[0].diagnosis = diagnoses
    return verdict.analyse_all([run])[0]


def without_sentences_of_figures(caption: str) -> str:
    return caption.partition("place in the code. ")[2]


def test_the_variants_stand_side_by_side() -> None:
    table = breakdown_table(analysed(platform=PLATFORM, virtual=VIRTUAL))
    assert table.head == [
        "what a request does",
        "where",
        *(f"{name}: {column}" for name in ("platform", "virtual") for column in ("share", "time", "at a time")),
    ]
    assert table.rows == [
        ["queue for a server thread", "", "80.0 %", "4.00 s", "800", "–", "–", "–"],
        ["lock", "Semaphore at OrderService:42", "20.0 %", "1.00 s", "200", "62.0 %", "620 ms", "620"],
        ["database", "pgJDBC at OrderService:17", "–", "–", "–", "30.0 %", "300 ms", "300"],
        ["wait", "Thread.sleep at Till:7", "–", "–", "–", "7.5 %", "75.0 ms", "75"],
        ["the rest", "", "–", "–", "–", "0.5 %", "5.00 ms", "5"],
        ["explained", "", "100 %", "", "", "100 %", "", ""],
    ]
    assert table.marked == (5,)
    assert without_sentences_of_figures(table.caption) == (
        "platform: 20 dumps at 200/s and a mean latency of 5.00 s."
        " virtual: 14 dumps at 1,000/s and a mean latency of 1.00 s; a dump took 120 ms of CPU time, all dumps 8.4 %"
        " of the CPU limit; more dumps would have taken too much CPU."
    )


def test_what_no_thread_has_and_what_the_server_waits_for_is_called_unknown() -> None:
    server = Place(activity="wait", place="Condition at CoyoteAdapter:342", threads=400, is_unnamed=True)
    shown = VIRTUAL.model_copy(update={"places": [server]})
    analysis = analysed(virtual=shown)
    assert [row[:3] for row in breakdown_table(analysis).rows] == [
        ["unknown: no thread has the request", "", "60.0 %"],
        ["wait (for an unknown reason)", "Condition at CoyoteAdapter:342", "40.0 %"],
        ["explained", "", "0 %"],
    ]


def test_a_trial_that_the_dumps_slowed_has_shares_alone() -> None:
    slowed = VIRTUAL.model_copy(update={"throughput": 85.0, "latency": 1000 / 85})
    table = breakdown_table(analysed(virtual=slowed))
    assert [row[3] for row in table.rows[:-1]] == ["–"] * (len(table.rows) - 1)
    assert table.rows[0][2] == "62.0 %"
    assert "no times, because the throughput was more than 10 % below that of the scored trials." in table.caption


WRONG = VIRTUAL.model_copy(update={"latency": 0.5})
SAID = "it is unknown where the time goes: the threads that handle requests account for 200 % of the mean latency"


def test_a_sum_above_the_latency_is_said_instead_of_a_table() -> None:
    analysis = analysed(virtual=WRONG)
    assert breakdown_table(analysis).rows == [["virtual", SAID]]
    beside = breakdown_table(analysed(platform=PLATFORM, virtual=WRONG))
    assert [row[5:] for row in beside.rows] == [["–", "–", "–"], ["–", "–", "–"], ["–", "", ""]]
    assert SAID in beside.caption


def test_report_and_markdown_have_it_where_there_are_dumps() -> None:
    def reports(analysis: Analysis) -> list[str]:
        return [markdown.render([analysis]), html.render([analysis])]

    for text in reports(analysed(platform=PLATFORM, virtual=VIRTUAL)):
        assert "Where the time goes" in text
        assert "Semaphore at OrderService:42" in text
    for text in reports(analysed()):
        assert "Where the time goes" not in text


def test_the_verdict_has_it() -> None:
    document: dict[str, Any] = json.loads(analysed(virtual=VIRTUAL).verdict.model_dump_json())
    assert document["variants"]["platform"]["time"] is None
    time = document["variants"]["virtual"]["time"]
    assert (time["explained"], time["dumps"], time["is_slowed"]) == (1.0, 14, False)
    assert time["parts"][0] == {
        "activity": "lock",
        "place": "Semaphore at OrderService:42",
        "share": 0.62,
        "seconds": 0.62,
        "requests": 620.0,
        "is_explained": True,
    }


def test_a_cpu_that_is_used_up_is_said_beside_what_dumps_show_of_its_threads() -> None:
    analysis = analysed(platform=PLATFORM)
    result = analysis.verdict.variants["platform"]
    time = result.time
    assert time is not None
    assert breakdowns.caveat(analysis, "platform", time) == "", "limited by Tomcat's threads"
    result.bottleneck = result.bottleneck.model_copy(update={"resource": "cpu"})
    assert breakdowns.caveat(analysis, "platform", time).startswith("Its CPU is used up:")


def test_requests_that_wait_for_a_carrier_are_said_beside_what_dumps_show_of_them() -> None:
    analysis = analysed(virtual=VIRTUAL)
    time = analysis.verdict.variants["virtual"].time
    assert time is not None
    assert breakdowns.caveat(analysis, "virtual", time) == "", "2 of 1,000 requests"
    for measured in analysis.accepted:
        for trial in measured.trials:
            trial.server["virtual_queued"] = 100.0
    caveat = "100 threads at a time wait for a carrier only: dumps show their previous wait."
    assert breakdowns.caveat(analysis, "virtual", time) == caveat
    assert breakdown_table(analysis).caption.endswith(caveat)
