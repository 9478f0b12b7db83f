"""Response alone of a mix: single users have few of its rare kinds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.support import recorded
from tests.support.phases import measured, users, window
from vtlab.analysis.laws.bounds import bounds
from vtlab.analysis.laws.phases import Measured, Phases
from vtlab.analysis.laws.single_user import estimate_alone, response_alone, round_alone
from vtlab.model.records import AloneKind, Trial

#: 2 % of the requests take 50 times as long.
SHARES = (0.98, 0.02)
SECONDS = (0.01, 0.5)
TRUTH = 0.98 * 0.01 + 0.02 * 0.5


def phase(answers: Sequence[Sequence[float]], shares: Sequence[float] = SHARES) -> Trial:
    """A phase of a single user, with the seconds of the answers of each kind."""
    seconds = [value for kind in answers for value in kind]
    made = window("platform", len(seconds), sum(seconds), users(50), "single", mean=float(np.mean(seconds)))
    made.kinds = [
        AloneKind(name=f"GET /{i}", share=share, ok=len(kind), mean=float(np.mean(kind)) if len(kind) else None)
        for i, (share, kind) in enumerate(zip(shares, answers, strict=True))
    ]
    made.server["service_time"] = made.latency.mean
    return made


def single_users(seed: int, seconds: float = 3.0) -> list[Trial]:
    """Three phases of a single user as k6 chooses its requests: by stratification, each answer with some scatter."""
    random, lacking = np.random.default_rng(seed), np.zeros(2)
    phases = []
    for _ in range(3):
        answers: list[list[float]] = [[], []]
        while sum(map(sum, answers)) < seconds:
            lacking += SHARES
            kind = int(lacking.argmax())
            lacking[kind] -= 1
            answers[kind].append(SECONDS[kind] * float(random.lognormal(-0.02, 0.2)))
        phases.append(phase(answers))
    return phases


def of_mix(single: list[Trial]) -> Measured:
    return Measured(users(50), "platform", [Phases([], single, [], [recorded.instance("platform")])])


def test_a_rare_kind_counts_by_its_weight() -> None:
    # By chance 1 % of the answers are of it: their mean would be 14.9 ms.
    few = phase([[0.01] * 594, [0.5] * 6])
    assert response_alone([few]) == pytest.approx(TRUTH)
    assert round_alone([few]) == pytest.approx(TRUTH, rel=0.01)
    assert estimate_alone(of_mix([few]), round_alone) is not None


def test_what_single_users_hardly_sent_gives_no_bound() -> None:
    few = phase([[0.01] * 196, [0.5] * 4])
    assert estimate_alone(of_mix([few]), round_alone) is None
    none = phase([[0.01] * 200, []])
    assert response_alone([none]) is None
    m = measured("platform", (1000, 10, {"capacity_tomcat-threads": 200.0, "capacity_db-pool": 10.0}), exp=users(50))
    for trial in m.single:
        trial.kinds = [*few.kinds[:1], few.kinds[1].model_copy(update={"ok": 1})]
        trial.server["hold_db_pool"] = 0.01
    assert [bound.resource for bound in bounds(m)] == []


def test_alone_in_a_mix_is_known_at_every_seed() -> None:
    estimates = [estimate_alone(of_mix(single_users(seed)), round_alone) for seed in range(200)]
    known = [e for e in estimates if e]
    assert len(known) == len(estimates)
    assert max(abs(e.seconds / TRUTH - 1) for e in known) < 0.3
    covered = [e.low is not None and e.high is not None and e.low <= TRUTH <= e.high for e in known]
    assert np.mean(covered) >= 0.9


def test_phases_that_are_alike_by_chance_tell_no_more_than_so_few_answers() -> None:
    def factor(times: int) -> float:
        alike = phase([[0.01] * 147 * times, [0.5] * 3 * times])
        alone = estimate_alone(of_mix([alike] * 3), round_alone)
        assert alone is not None
        assert alone.low is not None
        assert alone.high is not None
        assert alone.seconds / alone.low == pytest.approx(alone.high / alone.seconds)
        return alone.high / alone.seconds

    # Nine slow answers are half of the mean: 1.96 / 2 / 3 of its logarithm.
    assert factor(1) == pytest.approx(1.39, abs=0.01)
    assert factor(100) == pytest.approx(1.034, abs=0.002)


def test_a_mix_of_one_kind_is_known_by_its_phases() -> None:
    alike = phase([[0.01] * 9], shares=[1.0])
    alone = estimate_alone(of_mix([alike] * 3), round_alone)
    assert alone is not None
    assert alone.low == alone.high == pytest.approx(alone.seconds)
