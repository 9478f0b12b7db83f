"""By how much the first block of a run differs from the others: ``maintain.first_block``."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from maintain import first_block, priors
from tests.support.recorded import run
from tests.unit.test_search_in_block import curve
from vtlab import shipped
from vtlab.analysis import verdict
from vtlab.model.run import Run
from vtlab.runs import store

PAGE = shipped.ROOT / "docs" / "evidence" / "simulation.md"


def test_a_first_block_is_compared_with_one_more_of_the_others() -> None:
    found = first_block.effect([0.10, 0.01, 0.03, 0.02, 0.01, 0.03])
    assert found.difference == pytest.approx(0.10 - 0.02)
    # t of 4 degrees of freedom: 2.776
    assert found.half == pytest.approx(2.776 * 0.01 * math.sqrt(1.2), rel=1e-3)
    assert str(found) == "+8.3 (+5.1 to +11.7)"


def test_the_others_give_no_interval_where_they_are_all_alike() -> None:
    assert str(first_block.effect([0.0, *[0.01] * 5])) == "-1.0"


def test_the_interval_holds_a_first_block_that_is_as_the_others() -> None:
    drawn = np.random.default_rng(43).standard_normal((4000, 6))
    found = [first_block.effect([float(x) for x in logs]) for logs in drawn]
    covered = np.mean([abs(of.difference) <= (of.half or 0.0) for of in found])
    assert covered == pytest.approx(0.95, abs=0.01)


def series(blocks: int, **changes: object) -> priors.Series:
    (analysis,) = verdict.analyse_all([run(blocks=blocks)])
    return priors.series_of(analysis).model_copy(update=changes)


def test_runs_of_fewer_blocks_and_criteria_that_lack_a_block_are_left_out() -> None:
    whole = [0.10, 0.01, 0.03, 0.02, 0.01, 0.03]
    six = series(6, log_ratios={"capacity": whole, "tail": whole[1:]})
    assert [(name, criterion) for name, criterion, _ in first_block.effects({"six": six})] == [("six", "capacity")]
    assert first_block.table({"five": series(5)}) == first_block.NONE


def test_runs_with_a_search_come_first_and_say_so() -> None:
    whole = {"capacity": [0.10, 0.01, 0.03, 0.02, 0.01, 0.03]}
    archive = {"fixed": series(6, log_ratios=whole), "searched": series(6, log_ratios=whole, searched=True)}
    *_, first, second = first_block.table(archive).splitlines()
    assert first.split() == ["capacity", "6", "yes", "+8.3", "(+5.1", "to", "+11.7)", "searched"]
    assert second.split()[2::5] == ["no", "fixed"]


def searched(made: Run, seconds: float, **changes: object) -> bool:
    """Tells whether the series of a run says that its first block had the search."""
    manifest = made.manifest.model_copy(update={"curve": curve(64, 1, 64), **changes})
    first = made.blocks[0].model_copy(update={"search_seconds": seconds})
    (analysis,) = verdict.analyse_all([replace(made, manifest=manifest, blocks=[first, *made.blocks[1:]])])
    return priors.series_of(analysis).searched


def test_a_series_tells_whether_the_search_was_on_the_jvms_of_its_first_block() -> None:
    made = run(blocks=6)
    assert searched(made, 54.0)
    assert not searched(made, 0.0), "of an earlier attempt, or of none"
    assert not searched(made, 54.0, curve=curve(64, 1, 64, 4096)), "they were started anew"


def test_the_command_prints_the_effects_of_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for blocks in (2, 6):
        made = run(blocks=blocks)
        folder = store.create(tmp_path / str(blocks), made.manifest)
        for block in made.blocks:
            store.append_block(folder, block)
    assert first_block.main([str(tmp_path / "2"), str(tmp_path / "6")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[2:]] == sorted(line.split()[0] for line in printed[2:])
    assert any(line.startswith("capacity ") for line in printed)
    assert first_block.main([str(tmp_path / "none")]) != 0


def test_the_table_of_the_archive_is_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """The page says, too, that none of these runs had a search on the JVMs of its first block that counts."""
    assert first_block.main([]) == 0
    assert capsys.readouterr().out.strip() in PAGE.read_text(encoding="utf-8")
    archive = priors.read()
    assert [name for name, *_ in first_block.effects(archive) if archive[name].searched] == []
