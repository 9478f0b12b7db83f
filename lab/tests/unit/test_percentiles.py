"""Percentiles by which the tails of a run's loads are compared."""

from __future__ import annotations

import pytest

from tests.support import recorded
from vtlab.model.manifest import Percentile, TypicalPlan
from vtlab.model.records import Block
from vtlab.planning import percentiles

BLOCK = recorded.block()
EXPERIMENT = recorded.experiment(load={"full": {"users": 20}})
#: Typical load whose windows expect 447 answers.
PLANNED = TypicalPlan(rate=29.8, of="platform", throughput=49.7, users=72, settle=1, window=15, is_at_once=False)


@pytest.mark.parametrize(
    ("answers", "name"),
    [(1500, "p99"), (1499, "p95"), (300, "p95"), (299, "p90"), (150, "p90"), (149, None), (0, None)],
)
def test_the_highest_percentile_has_fifteen_answers_beyond_it(answers: int, name: Percentile | None) -> None:
    assert percentiles.highest(answers) == name


def with_answers(count: int, variant: str = "virtual") -> Block:
    """Returns the block whose variant has a trial with so many answers, the others twice as many."""
    trials = [recorded.changed_trial(t, ok=2 * count, answers=None) for t in BLOCK.trials]
    (index, *_) = (index for index, trial in enumerate(trials) if trial.variant == variant)
    trials[index] = recorded.changed_trial(trials[index], ok=count)
    return recorded.copied(BLOCK, {"trials": trials})


def test_each_load_has_its_own() -> None:
    assert percentiles.of_loads(EXPERIMENT, with_answers(1500), PLANNED) == {"full": "p99", "typical": "p95"}
    assert percentiles.of_loads(EXPERIMENT, with_answers(1499), None) == {"full": "p95"}
    longer = PLANNED.model_copy(update={"rate": 100.0})
    assert percentiles.of_loads(EXPERIMENT, BLOCK, longer)["typical"] == "p99"


def test_a_load_alone_is_typical() -> None:
    block = recorded.block_under_open_load()
    assert percentiles.of_loads(recorded.arrivals(), block, None) == {"typical": "p99"}


def test_a_variant_that_failed_chooses_none() -> None:
    broken = recorded.broken(with_answers(20), "virtual", "errors")
    assert percentiles.of_loads(EXPERIMENT, broken, None) == {"full": None}, "of platform's 40 answers"
    both = recorded.broken(broken, "platform", "errors")
    assert percentiles.of_loads(EXPERIMENT, both, None) == {}, "a later block may show it"


def test_answers_of_a_script_count_one_by_one() -> None:
    trials = [recorded.changed_trial(t, ok=500, answers=recorded.answers(1500)) for t in BLOCK.trials]
    assert percentiles.of_loads(EXPERIMENT, recorded.copied(BLOCK, {"trials": trials}), None) == {"full": "p99"}
