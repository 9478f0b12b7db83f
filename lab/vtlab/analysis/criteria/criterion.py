"""What each criterion measures in a block, and which differences matter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from vtlab.analysis.laws.phases import cpu_per_ok
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.manifest import Manifest, Percentile
from vtlab.model.outcome import Better, Key, LoadName
from vtlab.model.records import Block, Trial, typical_trials

MIB = 1024 * 1024
#: Value of a variant in a block; None where it was not measured.
BlockValue = Callable[[Block, Experiment, str], float | None]


@dataclass(frozen=True)
class Criterion:
    """A criterion of a run at one load."""

    key: Key
    better: Better
    value: BlockValue
    #: Share, and amount in the unit of the value where that is more, that a difference may have without mattering.
    share: float
    amount: float = 0.0
    #: Whether it decides when the run stops.
    is_claim: bool = False
    percentile: Percentile | None = None

    def margin(self, base_value: float | None) -> float:
        """Computes the margin of a run, as a share; ``base_value``: mean of the first variant over the blocks."""
        return max(self.share, self.amount / base_value) if base_value else self.share


def criteria_of(experiment: Experiment, manifest: Manifest) -> list[Criterion]:
    """Lists the criteria that a run judges, in the order of reports; none at a load that it lacks. The probe is judged
    otherwise (``probes``)."""
    loads = loads_of(experiment)
    listed = [CAPACITY] if "full" in loads else []
    for load in reversed(loads):
        listed += _latencies(load, manifest.percentiles.get(load))
    return [*listed, *([_CPU] if "typical" in loads else []), _MEMORY]


def loads_of(experiment: Experiment) -> list[LoadName]:
    """Lists the loads of an experiment, in the order in which a block has them."""
    if not experiment.has_full_load:
        return ["typical"]
    return ["full"] if experiment.typical_beside is None else ["full", "typical"]


def typical_rate(experiment: Experiment, manifest: Manifest) -> float | None:
    """Returns the arrivals a second of typical load; None without one, and before the first block has chosen it."""
    if manifest.typical:
        return manifest.typical.rate
    return None if isinstance(experiment.load, ClosedLoad) else experiment.load.rate


def count_claims(experiment: Experiment) -> int:
    """Counts the claims of a run of the experiment, which share its level: ``capacity`` at full load, ``median`` and
    ``tail`` at typical load, of each further variant."""
    loads = loads_of(experiment)
    return (("full" in loads) + 2 * ("typical" in loads)) * (len(experiment.variants) - 1)


def windows(block: Block, experiment: Experiment, key: Key) -> list[Trial]:
    """Selects the windows of a block at the load of a criterion."""
    return typical_trials(block, experiment) if key.load == "typical" else block.trials


def _latencies(load: LoadName, tail: Percentile | None) -> list[Criterion]:
    names: list[tuple[Literal["median", "tail"], str | None]] = [("median", "p50"), ("tail", tail)]
    return [
        Criterion(
            Key(criterion=criterion, load=load),
            "lower",
            _percentile(Key(criterion=criterion, load=load), name),
            share=0.20,
            amount=0.002,
            is_claim=load == "typical",
            percentile=tail if criterion == "tail" else None,
        )
        for criterion, name in names
    ]


def _percentile(key: Key, name: str | None) -> BlockValue:
    """Averages a percentile over the windows of a variant."""

    def value(block: Block, experiment: Experiment, variant: str) -> float | None:
        trials = [t for t in windows(block, experiment, key) if t.variant == variant]
        return _mean([getattr(t.user_latency, name) for t in trials]) if name else None

    return value


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def _throughput(block: Block, _: Experiment, variant: str) -> float | None:
    return _mean([t.throughput for t in block.trials if t.variant == variant])


def _cpu(block: Block, experiment: Experiment, variant: str) -> float | None:
    seconds = cpu_per_ok([t for t in typical_trials(block, experiment) if t.variant == variant])
    return 1000 * seconds if seconds else None


def _resident(block: Block, _: Experiment, variant: str) -> float | None:
    peaks = [i.resident_peak for i in block.instances if i.variant == variant]
    return max((p for p in peaks if p is not None), default=None)


CAPACITY = Criterion(Key(criterion="capacity", load="full"), "higher", _throughput, share=0.05, is_claim=True)
_CPU = Criterion(Key(criterion="cpu", load="typical"), "lower", _cpu, share=0.05)
_MEMORY = Criterion(Key(criterion="memory"), "lower", _resident, share=0.10, amount=8 * MIB)
