"""``python -m maintain.measured_page``: figures from results directories to ``docs/measured_page.md``."""

from __future__ import annotations

from pathlib import Path

import pytest

from maintain import measured_page
from tests.support import recorded
from tests.support.versions import REPOSITORY
from vtlab.errors import BadInput

RECORDED = REPOSITORY / "lab/tests/unit/recorded/own-service"


def test_a_run_is_written_with_its_command_machine_date_and_n(tmp_path: Path) -> None:
    (tmp_path / measured_page.DATA).parent.mkdir(parents=True)
    assert measured_page.main([str(RECORDED)], tmp_path) == 0
    page = (tmp_path / measured_page.PAGE).read_text(encoding="utf-8")
    for part in (
        "## hikaricp-production-tuning, 1 CPU, 1Gi, one machine",
        "- `vtlab try pool-service.yaml`",
        "- 2026-11-23 20:51 UTC",
        "- vtlab 0.2.0 (0b661c8)",
        "- n = 3 blocks\n",
        "| `platform` | limited by its 10 database connections",
        "makes no difference in capacity at 24 users. Undecided: the median at 24 users.\n",
        "| criterion | load | `platform` | `virtual` | change (95 %) | `virtual` is |",
        "| capacity | 24 users | 48.8 req/s | 48.4 req/s | −0.9 % (",
    ):
        assert part in page
    assert page == measured_page.text(measured_page.read(tmp_path)), "the page is made of the file alone"


def test_a_run_of_a_version_before_outcomes_keeps_its_table() -> None:
    old = {
        "of": "virtual",
        "over": "platform",
        "metric": "throughput",
        "ratio": "2×",
        "interval": "",
        "verdict": "▲ faster",
    }
    run = measured_page.from_analysis(recorded.analysed(recorded.run(blocks=3)))
    before = run.model_copy(update={"pairs": [], "comparisons": [measured_page.Compared(**old)]})
    page = measured_page.text([before])
    assert "| capacity, `virtual` over `platform` | 2× | ▲ better |" in page, "in the words of today"
    assert "| criterion |" not in page


def test_an_interval_of_a_version_before_outcomes_is_written_as_today() -> None:
    words = {"of": "virtual", "over": "platform", "metric": "throughput", "verdict": "? inconclusive"}
    compared = measured_page.Compared(**words, ratio="0.990×", interval="0.871× to 1.126×")
    assert (compared.change, compared.judgement) == ("0.990× (0.871–1.126)", "? undecided")


def test_a_run_of_a_publication_names_it() -> None:
    run = measured_page.from_analysis(recorded.analysed(recorded.run(blocks=3)))
    page = measured_page.text([run.model_copy(update={"experiment": "db-slow-query"})])
    assert "\n- of the publication `mysql-slow-query`\n" in page


def test_a_newer_run_replaces_the_one_of_its_experiment_limits_and_target() -> None:
    (known,) = [measured_page.from_analysis(recorded.analysed(recorded.run(blocks=3)))]
    newer = known.model_copy(update={"date": "2027-01-01 00:00 UTC"})
    elsewhere = known.model_copy(update={"target": "Kubernetes"})
    with_itself = known.model_copy(update={"noise": "per-block SD: 1 %"})
    merged = measured_page.merge([known, elsewhere], [newer, with_itself])
    assert sorted(run.key for run in merged) == sorted(run.key for run in (newer, elsewhere, with_itself))
    assert known not in merged


def test_what_else_the_machine_did_stands_beside_the_machine(tmp_path: Path) -> None:
    (tmp_path / measured_page.DATA).parent.mkdir(parents=True)
    assert measured_page.main(["--conditions", "a browser ran, too", str(RECORDED)], tmp_path) == 0
    assert "\n- a browser ran, too\n- 2026-11-23" in (tmp_path / measured_page.PAGE).read_text(encoding="utf-8")


def test_a_picture_gets_by_which_factor_the_variant_is_better() -> None:
    outcomes = [
        outcome
        for pair in measured_page.from_analysis(recorded.analysed(recorded.run("threads", blocks=6))).pairs
        for outcome in pair.outcomes
    ]
    drawn = {outcome.drawn.key: outcome.drawn for outcome in outcomes if outcome.drawn}
    # Twice the throughput, and less than half the median: to the same side.
    assert drawn["capacity"].factor == pytest.approx(2.0, abs=0.02)
    assert drawn["median.full"].factor > 2.0
    assert all(each.low <= each.factor <= each.high for each in drawn.values())


def test_a_command_says_nothing_of_where_the_results_lie() -> None:
    analysis = recorded.analysed(recorded.run(blocks=3))
    command = "vtlab run blocking --results /home/me/out --blocks 3 --prometheus-port 9090"
    manifest = analysis.run.manifest.model_copy(update={"command": command})
    assert measured_page.shown_command(manifest) == "vtlab run blocking --blocks 3"


def test_a_command_says_nothing_of_where_a_jar_lies() -> None:
    """Seen: the directory of a machine in the archive of series."""
    analysis = recorded.analysed(recorded.run(blocks=3))
    command = "vtlab try /home/me/app.jar 'GET /orders/17' --users 4"
    manifest = analysis.run.manifest.model_copy(update={"command": command})
    assert measured_page.shown_command(manifest) == "vtlab try app.jar 'GET /orders/17' --users 4"


def test_a_run_that_is_not_valid_is_refused() -> None:
    with pytest.raises(BadInput, match="planned blocks count"):
        measured_page.from_analysis(recorded.analysed(recorded.run(blocks=3, planned=6)))


def test_wrong_arguments_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measured_page.main([], tmp_path) == 2
    assert measured_page.main(["--conditions", "alone"], tmp_path) == 2
    assert measured_page.main([str(tmp_path)], tmp_path) == 2
    assert "fix:" in capsys.readouterr().err
