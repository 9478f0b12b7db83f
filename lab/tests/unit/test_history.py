"""vtlab history: a line for each experiment, its page and table, and what cannot be read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support import golden_files, recorded
from tests.support.cli_call import call
from tests.unit.test_report_html import NASTY, RUNS, Outline
from vtlab.analysis.verdict import analyse_all
from vtlab.commands.history import read_entries
from vtlab.measuring.progress import Progress
from vtlab.model.outcome import Key
from vtlab.model.run import Run
from vtlab.report.pages import run_history
from vtlab.report.pages.run_history import Entry
from vtlab.runs import store

CAPACITY = Key(criterion="capacity", load="full")


def stored(folder: Path, run: Run) -> None:
    store.create(folder, run.manifest)
    for block in run.blocks:
        store.append_block(folder, block)


def measured(day: int, ratio: float = 1.0, **changes: Any) -> Run:
    started = f"2026-10-{day:02}T07:00:00Z"
    about = {"started": started, "run_id": f"day-{day}", **changes}
    return recorded.with_ratio(recorded.run("pool", **about), ratio, noise=0.01)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "results"
    stored(root / "c", measured(3, ratio=0.9))
    stored(root / "a", measured(1))
    stored(root / "b", measured(2, blocks=3, planned=6))
    for cpu in (0.5, 1.0):
        exp = recorded.experiment(limits={"cpu": cpu, "memory": "512Mi", "heap": "256m"})
        name = f"threads@{cpu:g}cpu"
        stored(root / "both" / name, recorded.run(experiment=exp, blocks=2, run_id=name, name=name))
    (root / ".vtlab").mkdir()
    (root / "broken").mkdir()
    (root / "broken" / store.MANIFEST).write_text("{", encoding="utf-8")
    (root / "empty").mkdir()
    return root


def test_the_table_has_every_run_in_order_of_time_and_what_cannot_be_read(root: Path) -> None:
    done = call("history", root)
    assert (done.code, done.err) == (0, "")
    golden_files.check("history.txt", done.out.replace(str(root), "results"))


def test_the_page_has_a_line_for_each_experiment_and_limit(root: Path) -> None:
    call("history", root)
    text = (root / "history.html").read_text(encoding="utf-8")
    outline = Outline(text)
    assert outline.open == []
    assert [heading for heading in outline.outline if heading.startswith("h2")] == [
        "h2 hikaricp-production-tuning under 1 CPU, 1Gi",
        "h2 threads under 0.5 CPU, 512Mi",
        "h2 threads under 1 CPU, 512Mi",
        "h2 Not read",
    ]
    links = [attrs["href"] for tag, attrs in outline.tags if tag == "a"]
    assert links == ["c/report.html", "b/report.html", "a/report.html", "both/report.html", "both/report.html"]
    assert re.search(r">broken</th><td [^>]*>\S*manifest.json: not valid JSON", text)
    assert ">empty</th>" in text
    assert ".vtlab" not in text


def test_the_page_is_the_same_again_and_fetches_nothing(root: Path) -> None:
    call("history", root)
    before = (root / "history.html").read_bytes()
    call("history", root)
    assert (root / "history.html").read_bytes() == before
    assert not re.search(rb"https?://|<script|<link|@import|url\(", before)


def test_each_chart_tells_its_runs_in_words_the_first_first(root: Path) -> None:
    entries, _ = read_entries(root, Progress(Console(quiet=True)))
    (pool,) = [of for of in run_history.group(entries) if of.title.startswith("hikaricp")]
    panel = run_history.outcome_panel(pool.entries, CAPACITY)
    assert panel is not None
    label = re.search(r'aria-label="([^"]*)"', panel.chart)
    assert label is not None
    assert re.fullmatch(
        r"capacity: virtual over platform, run by run\. Logarithmic axis\. 2026-10-01 07:00 UTC: .*; 2026-10-02 07:00"
        r" UTC: .*; 2026-10-03 07:00 UTC: .*",
        label[1],
    )
    assert (panel.chart.count('class="estimate"'), panel.chart.count('class="published"')) == (2, 1)
    assert panel.chart.count('class="whisker"') == 3
    assert panel.caption == "Grey band: ±5 %, too small to matter."


def test_every_kind_of_run_has_its_place() -> None:
    lines = run_history.group([Entry(name, analysis) for name, run in RUNS.items() for analysis in analyse_all([run])])
    text = run_history.render("results", lines, {"x": NASTY})
    assert Outline(text).open == []
    assert "<script>" not in text
    assert sum(len(of.entries) for of in lines) == len(RUNS)


def test_a_line_without_a_ratio_has_no_chart() -> None:
    lines = run_history.group([Entry("none", analyse_all([RUNS["none"]])[0])])
    assert run_history.outcome_panel(lines[0].entries, CAPACITY) is None
    assert "None of these runs has a ratio." in run_history.render("results", lines, {})


def test_bad_input_ends_with_2(root: Path, tmp_path: Path) -> None:
    for folder, words in ((root / "a", "is one run"), (root / "x", "no such directory"), (root / "empty", "no direct")):
        done = call("history", folder)
        assert (done.code, words in done.err) == (2, True), done
    assert not (tmp_path / "history.html").exists()
