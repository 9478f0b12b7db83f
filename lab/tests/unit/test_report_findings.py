"""Findings in each form of a report."""

from __future__ import annotations

import io
import json

from rich.console import Console

from tests.support import recorded
from tests.unit.test_measured_findings import Case, inspection
from vtlab.model.run import Analysis
from vtlab.report.pages import html, markdown, terminal
from vtlab.report.parts.findings import finding_table
from vtlab.runs import store

SOURCE = "https://github.com/brettwooldridge/HikariCP/issues/2398"


def analysis() -> Analysis:
    pinned = {"pinned": {"Legacy:17": 90.0}}
    figures = {"pinned_seconds": 0.5, "capacity_carriers": 1.0}
    return recorded.analysed(Case(figures, trial=pinned, inspection=inspection(), java="21.0.8").built())


def test_a_table_tells_what_was_measured_from_what_was_published() -> None:
    measured, published, _ = finding_table(analysis()).rows
    assert measured[:3] == [
        "Virtual threads keep their carriers while they wait",
        "measured, virtual",
        "Legacy:17: 0.5 of 1 carrier kept, 5.03 ms per request",
    ]
    assert published[1:3] == ["published", "com.zaxxer:HikariCP 7.0.2"]
    assert published[4:] == ["vtlab run threads.json --blocks 2 --variant pool=20", SOURCE]


def test_each_form_of_a_report_has_them() -> None:
    shown = analysis()
    console = Console(file=io.StringIO(), width=1000)
    console.print(terminal.render([shown]))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "finding: virtual: Virtual threads keep their carriers while they wait (Legacy:17: 0.5 of 1" in text
    assert "finding: HikariCP before 7.1 spins" in text
    page = html.render([shown])
    assert "<h3>Findings</h3>" in page
    assert f">Source: {SOURCE}</p>" in page, "as text: a report fetches nothing"
    assert f'href="{SOURCE}' not in page
    assert "<details><summary>Findings</summary>" in markdown.render([shown])
    document = json.loads(store.verdict_text(shown.verdict))
    ids = [finding["id"] for finding in document["findings"]]
    assert ids == ["pinned-threads", "hikaricp-spins", "lock-waiters-hang"]


def test_a_run_without_findings_has_no_section() -> None:
    run = recorded.run(blocks=2)
    # Of JDK 25.0.3, which measured it, a problem is known.
    run.blocks[:] = [
        b.model_copy(update={"instances": [i.model_copy(update={"java": "25.0.4"}) for i in b.instances]})
        for b in run.blocks
    ]
    nothing = recorded.analysed(run)
    assert finding_table(nothing).rows == []
    assert "<h3>Findings</h3>" not in html.render([nothing])
    assert "Findings" not in markdown.render([nothing])
