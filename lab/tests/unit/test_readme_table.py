"""The README's table of what was measured: ``maintain.readme_table``."""

from __future__ import annotations

from pathlib import Path

import pytest

from maintain import measured_page, readme_table
from maintain.measured_page import Judged, Measured, Pair
from maintain.readme_table import Service
from tests.support import recorded
from tests.support.versions import REPOSITORY


def rows(runs: list[Measured], *services: Service) -> list[list[str]]:
    lines = readme_table.part(runs, services).splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


@pytest.fixture(scope="module")
def run() -> Measured:
    return measured_page.from_analysis(recorded.analysed(recorded.run("threads", blocks=6)))


def service(run: Measured, of: str = "virtual") -> Service:
    return Service("Waits", run.experiment, run.limits, of)


def test_a_row_has_each_criterion_at_typical_load_and_the_decision(run: Measured) -> None:
    head, _, row = rows([run], service(run))
    latency = ["median; tail at typical load", "at full load"]
    assert head[1:] == ["capacity", *latency, "cpu", "memory", "probe", "decision"]
    (pair,) = run.pairs
    changes = {outcome.criterion: outcome.change for outcome in pair.outcomes}
    assert row[1] == f"**better** {changes['capacity']}"
    assert row[-1] == pair.decision


def judged(criterion: str, load: str, word: str, change: str = "+1 % (−9 to +9)") -> Judged:
    return Judged(criterion=criterion, load=load, base_value="", value="", change=change, judgement=word)


def row_of(run: Measured, *outcomes: Judged) -> list[str]:
    pair = Pair(of="virtual", over="platform", decision="No decision", outcomes=list(outcomes))
    *_, row = rows([run.model_copy(update={"pairs": [pair]})], service(run))
    return row


def test_what_decides_at_full_load_has_a_column(run: Measured) -> None:
    """Read by newcomers: "p95 is 1.80 times as long" beside a row without a *worse*."""
    row = row_of(
        run,
        judged("capacity", "50 users", "= same"),
        judged("median", "59/s", "= same"),
        judged("tail (p95)", "59/s", "? undecided"),
        judged("median", "50 users", "= same"),
        judged("tail (p90)", "50 users", "▼ worse"),
    )
    assert row[1:4] == ["same", "same; p95 undecided", "same; p90 **worse**"]


def test_probes_say_whether_all_were_in_time(run: Measured) -> None:
    """Read by newcomers: the same, of 25 ms and 275 ms."""
    assert row_of(run, judged("probe", "", "= same", "all within 1 s"))[-2] == "in time"
    assert row_of(run, judged("probe", "", "▼ worse", ""))[-2] == "worse"


def test_a_row_says_by_which_command_when_and_in_how_many_blocks(run: Measured) -> None:
    text = readme_table.part([run], [service(run)])
    assert f"Waits: `{run.command}`, {run.date[:10]}, n = 6 |" in text
    assert text.endswith(f"*Machine*, {run.machine}.")


def test_what_is_not_settled_has_no_figure(run: Measured) -> None:
    row = row_of(
        run,
        judged("capacity", "20 users", "? undecided"),
        judged("median", "9/s", "· no outcome"),
        judged("tail (p95)", "9/s", "= same"),
        judged("cpu", "9/s", "▼ worse"),
    )
    assert row[1:] == ["undecided", "no outcome; p95 same", "–", "**worse**", "–", "–", "No decision"]


def test_a_run_before_outcomes_has_its_capacity_alone(run: Measured) -> None:
    compared = measured_page.Compared(
        of="virtual-jdk21",
        over="platform-jdk21",
        metric="throughput",
        ratio="0.100×",
        interval="0.079× to 0.127×",
        verdict="▼ slower",
    )
    old = run.model_copy(update={"pairs": [], "comparisons": [compared], "version": "0.2.0"})
    *_, row = rows([old], service(run, of="virtual-jdk21"))
    decision = "Prefer platform-jdk21 to virtual-jdk21, by capacity alone"
    assert row[1:] == ["**worse** 0.100× (0.079–0.127)", *["–"] * 5, decision]


def test_a_readme_without_a_place_for_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "docs/evidence").mkdir(parents=True)
    (tmp_path / measured_page.DATA).write_bytes((REPOSITORY / measured_page.DATA).read_bytes())
    (tmp_path / "README.md").write_text("# Lab\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no place for the table"):
        readme_table.text(tmp_path)
