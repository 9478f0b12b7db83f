"""Rounds of closed load, as the warm-up shows them, and which trials are waited for."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import recorded
from vtlab.model.experiment import Experiment
from vtlab.model.records import Latency, Trial
from vtlab.planning import round_pacing
from vtlab.planning.load_call import CallPacing


def closed(users: int, window: str = "10s", **changes: Any) -> Experiment:
    load = {"full": {"users": users, **changes}}
    return recorded.experiment(load=load, windows={"warmup_load": "2s", "measure": window}, expected=None)


def served(
    users: int, takes: Callable[[], float], threads: int, ramp_up: float, start: float, window: float
) -> list[float]:
    """Latencies of what a service with so many threads answers in a window; users begin evenly in the ramp-up."""
    free = [0.0] * threads
    sent = [(ramp_up * user / users, user) for user in range(users)]
    answered = []
    while sent:
        at, user = heapq.heappop(sent)
        done = max(at, heapq.heappop(free)) + takes()
        heapq.heappush(free, done)
        if start <= done < start + window:
            answered.append(done - at)
        if done < start + window:
            heapq.heappush(sent, (done, user))
    return sorted(answered)


def warmed_up(exp: Experiment, takes: Callable[[], float], threads: int = 10_000, variant: str = "platform") -> Trial:
    """A warm-up cycle with the trials' own load as k6 runs it: users begin in 1 s, the window is [2 s, 4 s)."""
    users = exp.load.users
    latencies = served(users, takes, threads, 1.0, 2.0, 2.0)
    ok = len(latencies)

    def at(share: float) -> float | None:
        return latencies[math.floor(share * ok)] if ok * (1 - share) >= 10 else None

    latency = {"count": ok, "mean": sum(latencies) / ok, "p50": at(0.5), "p90": at(0.9), "max": latencies[-1]}
    measured = Latency.model_validate({**recorded.latency(ok, 1.0).model_dump(), **latency})
    return recorded.trial(variant, "warmup", users=users, window=2.0, ok=ok, latency=measured)


def drawn() -> Callable[[], float]:
    source = random.Random(16)
    return lambda: source.expovariate(1 / 3)


@pytest.mark.parametrize(
    ("users", "takes", "threads", "round_"),
    [
        (1000, lambda: 1.2, 10_000, 1.2),
        (100, lambda: 1.9, 10_000, 1.9),
        (100, lambda: 3.0, 10_000, 3.0),
        (10, lambda: 3.9, 10_000, 3.9),  # one of ten was answered
        (1000, lambda: 1.0, 200, 5.0),  # in the warm-up's 2 s no answer took as long
        (300, lambda: 0.3, 20, 4.5),
        (1000, drawn(), 10_000, 3.0),
    ],
)
def test_the_round_of_a_user_is_known_by_the_warm_up(
    users: int, takes: Callable[[], float], threads: int, round_: float
) -> None:
    exp = closed(users)
    rounds = round_pacing.pacing(exp, 7, [warmed_up(exp, takes, threads)]).rounds
    assert rounds["platform"] / 1000 == pytest.approx(round_, rel=0.1)


@pytest.mark.parametrize("response", [1.3, 1.9, 2.3, 3.0, 3.7])
def test_users_who_are_spread_over_their_round_are_counted_right(response: float) -> None:
    """Windows of 5 s, drawn from a round as ``k6/lib/plan.ts`` does; begun in one second: off by up to 26 %."""
    users, window = 100, 5.0
    exp = closed(users, "5s")
    round_ = round_pacing.pacing(exp, 7, [warmed_up(exp, lambda: response)]).rounds["platform"] / 1000
    ramp_up = round_ * math.ceil(0.005 * users / round_)
    off = []
    for drawn_ in (0.0, 0.25, 0.5, 0.75):
        answers = served(users, lambda: response, 10_000, ramp_up, ramp_up + round_ * (1 + drawn_), window)
        off.append(len(answers) * response / window / users - 1)
    assert max(map(abs, off)) <= 0.02


def test_think_time_belongs_to_a_round() -> None:
    exp = closed(1000, think_time="2s")
    trial = warmed_up(exp, lambda: 1.0)
    assert round_pacing.pacing(exp, 7, [trial]).rounds == {"platform": 3000}


def test_rounds_that_the_experiment_says_or_that_are_short_are_not_told() -> None:
    exp = closed(1000, round={"platform": "5s"})
    cycles = [warmed_up(exp, lambda: 1.0, 200), warmed_up(exp, lambda: 1.5, variant="virtual")]
    assert round_pacing.pacing(exp, 7, cycles).rounds == {"virtual": 1500}
    assert round_pacing.pacing(closed(1000, "15s"), 7, cycles[1:]).rounds == {}
    # Where one needs it, the other would begin in as long a round without its own.
    short = [warmed_up(closed(50), lambda: 0.01), *cycles[1:]]
    assert round_pacing.pacing(closed(50), 7, short[:1]).rounds == {}
    many = closed(1000)
    fast = warmed_up(many, lambda: 0.05)
    assert round_pacing.pacing(many, 7, [fast, cycles[1]]).rounds == {"platform": 50, "virtual": 1500}


def test_fewer_users_than_in_the_trials_tell_no_round() -> None:
    exp = closed(1000)
    trial = warmed_up(exp, lambda: 3.0)
    assert round_pacing.pacing(exp, 7, [trial.model_copy(update={"users": 50})]) == CallPacing(7)
    assert round_pacing.pacing(exp, 7) == CallPacing(7)


def test_the_last_answers_are_waited_for_where_that_is_short() -> None:
    paced = recorded.experiment(load={"full": {"users": 1000, "round": {"platform": "5s", "virtual": "1s"}}})
    assert (round_pacing.gives_up(paced, "platform"), round_pacing.gives_up(paced, "virtual")) == (True, False)
    # Where no round is known, the warm-up tells how long an answer takes.
    unknown = recorded.experiment(load={"full": {"users": 1000}})
    cycle = recorded.trial("virtual", "warmup", users=1000)
    slow, quick = (
        cycle.model_copy(update={"latency": cycle.latency.model_copy(update={"max": most})}) for most in (2.5, 1.5)
    )
    assert round_pacing.gives_up(unknown, "virtual")
    assert round_pacing.gives_up(unknown, "virtual", [slow])
    assert not round_pacing.gives_up(unknown, "virtual", [quick])
    assert round_pacing.gives_up(unknown, "platform", [quick]), "of the other variant"
    fewer = quick.model_copy(update={"users": 200})
    assert round_pacing.gives_up(unknown, "virtual", [fewer])
    assert not round_pacing.gives_up(recorded.arrivals(), "virtual")
