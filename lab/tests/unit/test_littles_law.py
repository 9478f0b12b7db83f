"""Users that the answers of a closed trial do not account for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from tests.support.blocks import BLOCKING, OPEN, failures_of, with_rates
from vtlab.analysis.validity import checks, littles_law
from vtlab.model.experiment import Experiment


def test_users_that_no_answer_accounts_for_are_counted() -> None:
    # 20 users who wait 0.2 s and get 30 answers a second: 14 had none.
    few = with_rates(50, 30, 30, 50)
    few.trials[1].latency = recorded.latency(900, 0.2)
    assert littles_law.missing_users(few.trials[1], BLOCKING) == pytest.approx(14)
    assert littles_law.missing_users(few.trials[0], BLOCKING) is None
    assert failures_of(few) == [], "it marks the latency, and neither rejects nor fails"
    rows = {r.name: r for r in checks.results([few], BLOCKING)}
    assert not rows["Little's law"].passed
    assert rows["Little's law"].worst == "14 users missing (block 1, virtual, trial 2)"
    assert littles_law.missing_users(recorded.block_under_open_load().trials[0], OPEN) is None


def test_where_latency_was_not_yet_steady_nothing_is_said_of_users() -> None:
    early = recorded.trial(latency=recorded.latency(0, 0.0))
    assert early.ok
    assert littles_law.missing_users(early, BLOCKING) is None
    block = recorded.block()
    trials = [t.model_copy(update={"latency": early.latency}) for t in block.trials]
    rows = {row.name for row in checks.results([block.model_copy(update={"trials": trials})], BLOCKING)}
    assert "Little's law" not in rows
    silent = early.model_copy(update={"ok": 0, "throughput": 0.0})
    assert littles_law.missing_users(silent, BLOCKING) == pytest.approx(20)


def test_think_time_errors_and_time_outs_account_for_users() -> None:
    thinking = recorded.experiment(load={"full": {"users": 1000, "think_time": "1s"}})

    plain = recorded.experiment(load={"full": {"users": 1000}}, max_response="20s")

    def missing(ok: int, exp: Experiment = plain, **failed: int) -> float | None:
        latency = recorded.latency(ok, 1.0)
        trial = recorded.trial(users=1000, window=30.0, ok=ok, failed=failed, latency=latency)
        return littles_law.missing_users(trial, exp)

    assert missing(15_000, thinking) is None
    drawn = recorded.experiment(load={"full": {"users": 1000, "think_time": "exp(1s)"}})
    assert missing(15_000, drawn) is None
    assert missing(15_000) == pytest.approx(500)
    assert missing(15_000, other=15_000) is None
    # 750 time-outs of 20 s are 500 users over 30 s.
    assert missing(15_000, timeout=750) is None
    assert missing(45_000) == pytest.approx(-500), "the window caught a burst"


def test_the_generators_own_time_accounts_for_users() -> None:
    """Found with spring-petclinic-rest: of 5 users who got 2,410 answers a second, one "never got an answer"."""
    five = recorded.experiment(load={"full": {"users": 5}}, expected=None)

    def missing(between: float | None, exp: Experiment = five, mean: float = 0.00185) -> float | None:
        latency = recorded.latency(12_050, mean)
        trial = recorded.trial(users=5, window=5.0, ok=12_050, latency=latency, between=between)
        return littles_law.missing_users(trial, exp)

    assert missing(0.53) is None
    assert missing(None) == pytest.approx(0.54, abs=0.01), "a run of before k6 counted it"
    assert missing(0.53, mean=0.0014) == pytest.approx(1.1, abs=0.01), "one had none"
    thinking = recorded.experiment(load={"full": {"users": 5, "think_time": "1ms"}}, expected=None)
    assert missing(3.0, thinking, mean=0.0008) is None, "think time is in what was counted"


def test_rounds_that_a_window_cuts_are_no_missing_users() -> None:
    """Found by simulating healthy services: of ten users whose answers take exp(1s), windows of 5 s flagged 20 %."""

    def missing(load: dict[str, Any], ok: int, mean: float, tail: float = 1.05, window: float = 5.0) -> float | None:
        exp = recorded.experiment(load={"full": {**load}}, expected=None)
        latency = recorded.latency(ok, mean, tail)
        trial = recorded.trial(users=exp.load.users, window=window, ok=ok, latency=latency)
        return littles_law.missing_users(trial, exp)

    # Drawn answers: 41 of 0.95 s account for 7.8 of 10 users; for 1,000 users that is no chance.
    assert missing({"users": 10}, 41, 0.95, tail=4) is None
    assert missing({"users": 1000, "round": {"platform": "1s"}}, 4100, 0.95, tail=4) == pytest.approx(221)
    # All begin together, without a known round: of rounds of 2 s two are in the window, or three.
    assert missing({"users": 20}, 40, 2.0) is None
    assert missing({"users": 20}, 60, 2.0) is None
    # Users who are spread over their round and have answers that are alike.
    assert missing({"users": 100, "round": {"platform": "1s"}}, 420, 1.0) == pytest.approx(16)
    # Drawn think times.
    assert missing({"users": 20, "think_time": "exp(1s)"}, 80, 0.05) is None
    # Too many are missing for any of it.
    assert missing({"users": 400}, 450, 1.0) == pytest.approx(310)


def test_users_who_were_spread_over_their_round_are_cut_as_far_as_it_was_another() -> None:
    def missing(seconds: float | None, ok: int) -> float | None:
        exp = recorded.experiment(load={"full": {"users": 200}}, expected=None)
        latency = recorded.latency(ok, 2.0)
        return littles_law.missing_users(
            recorded.trial(users=200, window=5.0, ok=ok, latency=latency, round=seconds), exp
        )

    # Rounds of 2 s in a window of 5 s: 500 answers, and of users who begin together 400 or 600.
    assert missing(None, 400) is None
    assert missing(2.0, 400) == pytest.approx(40)
    assert missing(2.0, 500) is None
    assert missing(3.0, 400) is None, "half a round more was no whole one"
    assert missing(2.1, 400) == pytest.approx(40)
    assert missing(9.0, 400) is None, "no more than a whole round"
