"""The archive of series, and the priors that it gives: ``maintain.priors``."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from maintain import priors
from tests.support.recorded import run
from vtlab.analysis import verdict
from vtlab.errors import BadInput


def test_the_fit_finds_the_prior_that_drew_the_deviations() -> None:
    """d₀ from deviations that are drawn with 3 degrees of freedom of their own."""
    random = np.random.default_rng(5)
    true_sds = 0.02 * np.sqrt(2.5 / random.chisquare(2.5, 4000))
    sds = true_sds * np.sqrt(random.chisquare(3, 4000) / 3)
    prior = priors.fit([(float(sd), 3) for sd in sds])
    assert prior is not None
    assert prior.df == pytest.approx(2.5, rel=0.15)
    assert prior.sd == pytest.approx(float(np.quantile(sds, 0.8)), rel=0.01)


def test_series_that_scatter_alike_give_the_most_degrees_of_freedom() -> None:
    prior = priors.fit([(0.02, 5)] * 12)
    assert prior is not None
    assert (prior.sd, prior.df) == (0.02, priors.MOST_DF)


def test_too_few_series_give_no_prior() -> None:
    assert priors.fit([(0.02, 5)] * (priors.LEAST_SERIES - 1)) is None


def test_a_run_becomes_a_series_and_replaces_an_earlier_one(tmp_path: Path) -> None:
    (analysis,) = verdict.analyse_all([run(blocks=4)])
    series = priors.series_of(analysis)
    assert series.blocks == 4
    assert series.variants == ("virtual", "platform")
    assert [math.exp(log) for log in series.log_ratios["capacity"]] == pytest.approx([2.0] * 4, rel=0.1)
    for _ in range(2):
        (tmp_path / priors.file_name(series)).write_text(series.model_dump_json(), encoding="utf-8")
    (name,) = priors.read(tmp_path)
    assert name.startswith(f"threads-1-cpu-20-users-virtual-{series.date}-")
    assert priors.read(tmp_path) == {name: series}
    assert json.loads(priors.priors_json(tmp_path)) == {}


def test_a_run_of_another_day_or_machine_is_another_series() -> None:
    (analysis,) = verdict.analyse_all([run(blocks=4)])
    series = priors.series_of(analysis)
    others = [{"date": "2027-01-01"}, {"machine": "64 cores of a large one, 256 GiB, JDK 25"}]
    names = {priors.file_name(each) for each in (series, *(series.model_copy(update=other) for other in others))}
    assert len(names) == 3


def test_the_files_of_the_archive_have_the_names_of_their_series() -> None:
    archive = priors.read()
    assert [name for name, series in archive.items() if priors.file_name(series) != f"{name}.json"] == []


def test_a_run_with_few_blocks_is_no_series() -> None:
    (analysis,) = verdict.analyse_all([run(blocks=3)])
    with pytest.raises(BadInput, match="3 blocks count"):
        priors.series_of(analysis)
