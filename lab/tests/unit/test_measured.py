"""``python -m vtlab.measured``: figures from results directories to ``docs/measured.md``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import recorded
from tests.support.versions import REPOSITORY
from vtlab import measured
from vtlab.errors import BadInput

RECORDED = REPOSITORY / "lab/tests/unit/recorded/0.1"


def test_a_run_is_written_with_its_command_machine_date_and_n(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert measured.main([str(RECORDED)], tmp_path) == 0
    page = (tmp_path / measured.PAGE).read_text(encoding="utf-8")
    for part in (
        "## recorded, 1 CPU, 768Mi, one machine",
        "- `vtlab run recorded.json --blocks 2`",
        "- 2026-11-23 04:57 UTC",
        "- vtlab 0.1.0 (8de2ea7)",
        "- n = 2 blocks\n",
        "| `platform` | 49.6/s | limited by its 10 Tomcat threads",
        "| throughput, `virtual` over `platform` | ≥ 2.00× | 1.925× to 2.09× | ▲ faster |",
    ):
        assert part in page
    assert page == measured.text(measured.read(tmp_path)), "the page is made of the file alone"


def test_a_newer_run_replaces_the_one_of_its_experiment_limits_and_target() -> None:
    (known,) = [measured.from_analysis(recorded.analysed(recorded.run(blocks=3)))]
    newer = known.model_copy(update={"date": "2027-01-01 00:00 UTC"})
    elsewhere = known.model_copy(update={"target": "Kubernetes"})
    with_itself = known.model_copy(update={"noise": "per-block SD: 1 %"})
    merged = measured.merge([known, elsewhere], [newer, with_itself])
    assert sorted(run.key for run in merged) == sorted(run.key for run in (newer, elsewhere, with_itself))
    assert known not in merged


def test_a_command_says_nothing_of_where_the_results_lie() -> None:
    analysis = recorded.analysed(recorded.run(blocks=3))
    command = "vtlab run blocking --results /home/me/out --blocks 3 --prometheus-port 9090"
    manifest = analysis.run.manifest.model_copy(update={"command": command})
    assert measured.shown_command(manifest) == "vtlab run blocking --blocks 3"


def test_a_run_that_is_not_valid_is_refused() -> None:
    with pytest.raises(BadInput, match="planned blocks count"):
        measured.from_analysis(recorded.analysed(recorded.run(blocks=3, planned=6)))


def test_wrong_arguments_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measured.main([], tmp_path) == 2
    assert measured.main([str(tmp_path)], tmp_path) == 2
    assert "fix:" in capsys.readouterr().err
