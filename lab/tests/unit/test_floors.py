"""The least standard deviation of a criterion's log ratios (``vtlab.analysis.criteria.floors``)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import felt, recorded
from vtlab.analysis.criteria import floors
from vtlab.analysis.criteria.criterion import Criterion, criteria_of
from vtlab.analysis.criteria.judged import Pair
from vtlab.model.records import Block
from vtlab.model.run import Run

PAIR = Pair("virtual", "platform")


def _run() -> Run:
    """Returns two blocks whose variants have the same CPU time and memory, to the byte."""
    percentiles = {"full": "p90", "typical": "p95"}
    run = felt.felt(recorded.run(blocks=2, experiment=felt.experiment(), typical=felt.PLAN, percentiles=percentiles))

    def alike(block: Block) -> Block:
        instances = [i.model_copy(update={"resident_peak": 4e8}) for i in block.instances]
        typical = [recorded.changed_trial(t, server={"cpu_cores": 0.2, "jit_cpu": 0.0}) for t in block.typical]
        return block.model_copy(update={"instances": instances, "typical": typical})

    return replace(run, blocks=[alike(b) for b in run.blocks])


RUN = _run()


@pytest.mark.parametrize("criterion", criteria_of(RUN.experiment, RUN.manifest), ids=lambda c: str(c.key))
def test_no_interval_has_width_0(criterion: Criterion) -> None:
    assert floors.floor(RUN.experiment, criterion, RUN.blocks, PAIR) > 0


def test_memory_is_counted_in_pages() -> None:
    memory = criteria_of(RUN.experiment, RUN.manifest)[-1]
    assert str(memory.key) == "memory"
    # Half a page of each of the two.
    assert floors.floor(RUN.experiment, memory, RUN.blocks, PAIR) == pytest.approx(2**0.5 * 2048 / 4e8)


def test_equal_values_in_all_blocks_have_an_interval() -> None:
    [outcome] = [o for o in recorded.analysed(RUN).verdict.outcomes if str(o.key) == "cpu"]
    assert outcome.log_ratios == [0.0, 0.0]
    assert outcome.low is not None
    assert outcome.high is not None
    assert outcome.low < 1 < outcome.high
