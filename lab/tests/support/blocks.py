"""Blocks that are good but for one thing, and what the validity checks make of them."""

from __future__ import annotations

from typing import Any

from tests.support import builders
from vtlab.analysis.validity import checks, failing
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial

BLOCKING = builders.experiment()
OPEN = builders.arrivals()


def with_trial(index: int, exp: Experiment = BLOCKING, **update: Any) -> Block:
    """A good block but for one of its trials; ``server`` and ``machine`` are merged."""
    good = builders.block(exp=exp)
    trial = good.trials[index]
    for merged in ("server", "machine"):
        if merged in update:
            update[merged] = {**getattr(trial, merged), **update[merged]}
    trials = [*good.trials]
    trials[index] = trial.model_copy(update=update)
    return good.model_copy(update={"trials": trials})


def reasons_of(block: Block, exp: Experiment = BLOCKING) -> str:
    """Why a block does not count; empty where it does."""
    return "; ".join(checks.reasons(block, exp))


def with_rates(*rates: float, exp: Experiment = BLOCKING) -> Block:
    """A block whose trials have those throughputs, in the order platform, virtual, virtual, platform."""
    good = builders.block(exp=exp)
    trials = [
        t.model_copy(update={"throughput": x, "ok": round(30 * x)}) for t, x in zip(good.trials, rates, strict=True)
    ]
    return good.model_copy(update={"trials": trials})


def failures_of(block: Block, exp: Experiment = BLOCKING) -> list[tuple[str, str, str]]:
    """Variant, reason and moment of each failure in a block that counts."""
    assert checks.reasons(block, exp) == []
    return [(f.variant, f.reason, f.moment) for f in failing.failures(block, exp)]


def cycles(*values: tuple[float, float], variant: str = "platform") -> list[Trial]:
    """Warm-up cycles with that throughput and those CPU cores, 10 s each."""
    return [
        builders.trial(variant, n, phase="warmup", window=10, throughput=x, ok=round(10 * x), server={"cpu_cores": c})
        for n, (x, c) in enumerate(values, 1)
    ]
