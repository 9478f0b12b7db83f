"""Percentiles by which the tails of a run's loads are compared."""

from __future__ import annotations

import pytest

from tests.support import felt, recorded
from vtlab.model.manifest import Percentile
from vtlab.model.records import Block
from vtlab.planning import percentiles

RUN = felt.run(blocks=1)
(BLOCK,) = RUN.blocks


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
    planned = RUN.manifest.typical
    assert planned
    assert percentiles.of_loads(RUN.experiment, with_answers(1500), planned) == {"full": "p99", "typical": "p95"}
    assert percentiles.of_loads(RUN.experiment, with_answers(1499), None) == {"full": "p95"}
    longer = planned.model_copy(update={"rate": 100.0})
    assert percentiles.of_loads(RUN.experiment, BLOCK, longer)["typical"] == "p99"


def test_a_load_alone_is_typical() -> None:
    block = recorded.block_under_open_load()
    assert percentiles.of_loads(recorded.arrivals(), block, None) == {"typical": "p99"}


def test_a_variant_that_failed_chooses_none() -> None:
    broken = recorded.broken(with_answers(20), "virtual", "errors")
    assert percentiles.of_loads(RUN.experiment, broken, None) == {"full": None}, "of platform's 40 answers"
    both = recorded.broken(broken, "platform", "errors")
    assert percentiles.of_loads(RUN.experiment, both, None) == {}, "a later block may show it"


def test_answers_of_a_script_count_one_by_one() -> None:
    values = felt.spread(1500, 0.1)
    trials = [recorded.changed_trial(t, ok=500, answers=felt.answers(values, t.window)) for t in BLOCK.trials]
    assert percentiles.of_loads(RUN.experiment, recorded.copied(BLOCK, {"trials": trials}), None) == {"full": "p99"}
