"""``vtlab try``: of which searches there is nothing to measure further. (A whole call: tests/contract/test_try.py.)"""

from __future__ import annotations

import pytest

from tests.support import builders
from vtlab import own_service
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.model.curve import Curve, Ended, Point

EXPERIMENT = builders.experiment()


def curve(ended: Ended, why: str, *points: tuple[str, int, float, float]) -> Curve:
    """Points are variant, users, throughput and share of errors."""
    of = [Point(variant=v, users=n, throughput=x, mean=0.1, p99=None, failed=failed) for v, n, x, failed in points]
    return Curve(points=of, ended=ended, why=why, seconds=30, chosen=2)


def test_a_variant_that_breaks_in_the_warm_up_is_named_with_how_and_with_fewer_users() -> None:
    with pytest.raises(PrerequisiteMissing) as error:
        own_service.refuse_without_levels(curve("failed", "virtual: out of heap memory"), EXPERIMENT, "logs")
    assert error.value.message == "virtual: out of heap memory, after a warm-up with at most 64 users"
    assert "--users 16" in error.value.fix


def test_a_service_that_answers_nothing_as_expected_is_told_how_to_expect_it() -> None:
    silent = curve("levelled off", "", ("platform", 1, 0, 1), ("virtual", 1, 0, 1))
    with pytest.raises(BadInput, match="no request was answered as expected: there was no answer"):
        own_service.refuse_without_levels(silent, EXPERIMENT, "logs")


def test_errors_of_all_variants_are_the_services_and_those_of_one_are_a_result() -> None:
    both = curve("failed", "platform: 2 %", ("platform", 8, 90, 0.02), ("virtual", 8, 90, 0.03))
    with pytest.raises(BadInput) as error:
        own_service.refuse_without_levels(both, EXPERIMENT, "logs")
    assert error.value.message == "answers are errors at 8 users: 2.0 % by platform and 3.0 % by virtual"
    assert "max_errors" in error.value.fix
    one = curve("failed", "virtual: 3 %", ("platform", 8, 90, 0), ("virtual", 8, 90, 0.03))
    own_service.refuse_without_levels(one, EXPERIMENT, "logs")
