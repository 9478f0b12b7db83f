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
    assert head[1:] == ["capacity", "median", "tail", "cpu", "memory", "probe", "decision"]
    (pair,) = run.pairs
    changes = {outcome.criterion: outcome.change for outcome in pair.outcomes}
    assert row[1] == f"**better** {changes['capacity']}"
    assert row[-1] == pair.decision


def test_a_row_says_by_which_command_when_and_in_how_many_blocks(run: Measured) -> None:
    text = readme_table.part([run], [service(run)])
    assert f"Waits: `{run.command}`, {run.date[:10]}, n = 6 |" in text
    assert text.endswith(f"*Machine*, {run.machine}.")


def test_what_is_not_settled_has_no_figure(run: Measured) -> None:
    names = ("capacity", "median", "tail (p95)", "cpu")
    words = ("? undecided", "· no outcome", "= same", "▼ worse")
    outcomes = [
        Judged(criterion=name, load="", base_value="", value="", change="+1 % (−9 to +9)", judgement=word)
        for name, word in zip(names, words, strict=True)
    ]
    pair = Pair(of="virtual", over="platform", decision="No decision", outcomes=outcomes)
    *_, row = rows([run.model_copy(update={"pairs": [pair]})], service(run))
    assert row[1:] == ["undecided", "no outcome", "same", "**worse**", "–", "–", "No decision"]


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
    assert row[1:] == ["**worse** 0.100× (0.079–0.127)", *["–"] * 5, "–: version 0.2.0 judged throughput alone"]


def test_a_readme_without_a_place_for_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "docs/evidence").mkdir(parents=True)
    (tmp_path / measured_page.DATA).write_bytes((REPOSITORY / measured_page.DATA).read_bytes())
    (tmp_path / "README.md").write_text("# Lab\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no place for the table"):
        readme_table.text(tmp_path)
