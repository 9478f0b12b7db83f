"""Blocks with one fault, and the judgement of the validity checks."""

from __future__ import annotations

from typing import Any

from tests.support import recorded
from vtlab.analysis.validity import checks, failing
from vtlab.model.experiment import Experiment
from vtlab.model.load import OpenLoad
from vtlab.model.records import Block, Trial

BLOCKING = recorded.experiment()
OPEN = recorded.arrivals()


def good_block(exp: Experiment = BLOCKING) -> Block:
    """Returns a block that passes every check, with the load of an experiment."""
    return recorded.block_under_open_load() if isinstance(exp.load, OpenLoad) else recorded.block()


def with_trial(index: int, exp: Experiment = BLOCKING, **update: Any) -> Block:
    """Returns a block that is good but for one of its trials; ``server`` and ``machine`` are merged."""
    good = good_block(exp)
    trials = [*good.trials]
    trials[index] = recorded.changed_trial(trials[index], **update)
    return good.model_copy(update={"trials": trials})


def reasons_of(block: Block, exp: Experiment = BLOCKING) -> str:
    """Describes why a block does not count; empty where it does."""
    return "; ".join(checks.reasons(block, exp))


def with_rates(*rates: float, exp: Experiment = BLOCKING) -> Block:
    """Returns a block whose trials have those throughputs, in the order platform, virtual, virtual, platform."""
    good = good_block(exp)
    trials = [at_rate(t, x) for t, x in zip(good.trials, rates, strict=True)]
    return good.model_copy(update={"trials": trials})


def at_rate(trial: Trial, rate: float) -> Trial:
    """Returns the trial with that throughput over 30 s."""
    return recorded.scaled(recorded.changed_trial(trial, window=30), rate / trial.throughput)


def failures_of(block: Block, exp: Experiment = BLOCKING) -> list[tuple[str, str, str]]:
    """Returns variant, reason and moment of each failure in a block that counts."""
    assert checks.reasons(block, exp) == []
    return [(f.variant, f.reason, f.moment) for f in failing.failures(block, exp)]


def cycles(*values: tuple[float, float], variant: str = "platform") -> list[Trial]:
    """Returns warm-up cycles with that throughput and those CPU cores, 10 s each."""
    return [
        recorded.trial(variant, "warmup", position=n, window=10, ok=round(10 * x), server={"cpu_cores": c})
        for n, (x, c) in enumerate(values, 1)
    ]
