"""The blocks that fit into the time of a run, and what is said of them."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import recorded
from tests.support.film import Clock
from tests.support.replay import RUN, as_recorded, console
from tests.unit.test_measure_run import Timed
from tests.unit.test_stopping_rule import RULE, with_looks
from vtlab.analysis import run_status, time_plan
from vtlab.analysis.criteria import priors, prospects
from vtlab.analysis.statistics import stopping_rule
from vtlab.analysis.statistics.moderated import Prior
from vtlab.analysis.time_plan import TimePlan
from vtlab.measuring.progress import Progress
from vtlab.measuring.schedule import RunTime, Schedule, TimeLeft
from vtlab.model.run import Run
from vtlab.report.words import block_counts, hints
from vtlab.runs import store
from vtlab.runs.measure import measure_run

__all__ = ["as_recorded"]

ONE = recorded.run(blocks=1)


def planned(run: Run) -> TimePlan | None:
    return time_plan.plan(run, run_status.status_of(run))


@pytest.mark.parametrize(
    ("within", "blocks", "seconds", "following", "lacking", "minutes"),
    [
        (119.0, 1, 0.0, 2, 1.0, 3),
        (120.0, 2, 60.0, 3, 60.0, 4),
        (200.0, 3, 120.0, 4, 40.0, 5),
        (300.0, 4, 180.0, 6, 60.0, 7),
        (719.0, 9, 480.0, 12, 1.0, 13),
        (720.0, 12, 660.0, None, 0.0, 0),
    ],
)
def test_the_last_look_that_fits_is_planned_and_what_the_next_lacks(
    within: float, blocks: int, seconds: float, following: int | None, lacking: float, minutes: int
) -> None:
    plan = planned(with_looks(ONE, stopping_rule.sequential_rule(1, within=within), 60.0))
    assert plan is not None
    assert replace(plan, precision=None) == TimePlan(blocks, seconds, None, following, lacking, minutes)


def test_what_is_measured_once_is_in_the_time_so_far_alone() -> None:
    run = with_looks(ONE, stopping_rule.sequential_rule(1, within=300.0), 200.0)
    once = run.blocks[0].model_copy(update={"once_seconds": 40.0, "search_seconds": 60.0})
    plan = planned(replace(run, blocks=[once]))
    assert plan is not None
    assert (plan.blocks, plan.seconds) == (2, 100.0)


def test_without_a_budget_a_block_or_an_open_end_nothing_is_planned() -> None:
    budget = stopping_rule.sequential_rule(1, within=600.0)
    assert planned(ONE) is None, "its number of blocks is fixed"
    assert planned(with_looks(ONE, RULE, 60.0)) is None
    rejected = [recorded.spoiled(ONE.blocks[0], "steal")]
    assert planned(replace(with_looks(ONE, budget, 60.0), blocks=rejected)) is None
    settled = with_looks(recorded.run(blocks=2), stopping_rule.sequential_rule(1, 0.5, within=600.0), 60.0)
    end = run_status.run_end(settled)
    assert (end and end.ended, planned(settled)) == ("settled", None)


def test_the_width_of_the_interval_is_predicted_by_the_prior_and_falls_with_the_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = with_looks(ONE, stopping_rule.sequential_rule(1, within=600.0), 60.0)
    capacity = run_status.claims_so_far(run, run.blocks)[0]
    rule = run.manifest.rule
    assert rule
    monkeypatch.setattr(priors, "prior", lambda _: None)
    assert prospects.half_width(rule, capacity, 2) is None, "nothing tells how one block scatters"
    monkeypatch.setattr(priors, "prior", lambda _: Prior(0.02, 4.0))
    widths = [prospects.half_width(rule, capacity, blocks) or 0.0 for blocks in rule.looks]
    assert widths == sorted(widths, reverse=True)
    # t(5 degrees of freedom) at 5 %, as no look comes before and the time ends there: 2.571
    assert widths[0] == pytest.approx(2.571 * 0.02 / 2**0.5, rel=0.1)


def test_it_is_said_in_a_line() -> None:
    plan = TimePlan(blocks=2, seconds=90.0, precision=0.043, following=3, lacking=110.0, minutes=10)
    assert block_counts.in_time(plan, "11:53") == (
        "time for 2 blocks, by 11:53, then capacity is known to about ±4.3 %; 3 blocks take 2 minutes more:"
        " --max-time 10m"
    )
    last = TimePlan(blocks=12, seconds=90.0, precision=None)
    assert block_counts.in_time(last, "11:53") == "time for 12 blocks, by 11:53"
    over = TimePlan(blocks=1, seconds=0.0, precision=None, following=2, lacking=50.0, minutes=9)
    assert block_counts.in_time(over, "11:53") == "2 blocks take 50 seconds more: --max-time 9m"


@pytest.mark.parametrize(
    ("within", "words"),
    [(9999.0, r"time for 12 blocks, by \d\d:\d\d"), (61.0, r"2 blocks take \d+ seconds more: --max-time \dm")],
)
def test_it_is_said_after_the_first_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, within: float, words: str
) -> None:
    rule = stopping_rule.sequential_rule(1, precision=0.5, within=within)
    store.create(tmp_path, RUN.manifest.model_copy(update={"rule": rule, "blocks": 12}))
    target = Timed(RUN.blocks)
    monkeypatch.setattr(time, "monotonic", lambda: target.clock)
    out, text = console()
    with Progress(out) as progress:
        measure_run(tmp_path, store.read(tmp_path), target, progress, wait=lambda _: None)
    plans = [line for line in text.getvalue().splitlines() if re.search(words, line)]
    assert len(plans) == 1, text.getvalue()
    lines = text.getvalue().splitlines()
    first = next(number for number, line in enumerate(lines) if re.search(r"block 1: \w+ [\d.]+/s", line))
    assert lines.index(plans[0]) > first


def test_another_block_takes_what_the_first_did_without_what_is_measured_once() -> None:
    clock = Clock()
    schedule = Schedule(clock)
    schedule.begin([RunTime([None, None])])
    assert schedule.time_left() is None
    clock.now = 200
    schedule.end_block(True, 110)
    assert schedule.time_left() == TimeLeft(110, "about")


def test_a_search_does_not_lengthen_the_blocks_that_are_predicted() -> None:
    (block,) = ONE.blocks
    usual = hints.seconds_of(recorded.analysed(ONE), 6)
    searched = block.model_copy(update={"seconds": 100.0, "search_seconds": 60.0, "once_seconds": 20.0})
    predicted = hints.seconds_of(recorded.analysed(replace(ONE, blocks=[searched])), 6)
    assert usual is not None
    assert predicted is not None
    assert predicted < usual
