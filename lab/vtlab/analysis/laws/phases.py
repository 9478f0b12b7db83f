"""Phases of one variant, and its figures over several of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Diagnosis, Instance, ServerFigure, Trial, typical_trials


@dataclass(frozen=True)
class Phases:
    """Phases of a variant in one block."""

    trials: list[Trial]
    single: list[Trial]
    light: list[Trial]
    instances: list[Instance]
    diagnosis: Diagnosis | None = None
    #: The trials, where typical load is the only one.
    typical: list[Trial] = field(default_factory=list)


@dataclass(frozen=True)
class Measured:
    """One variant over blocks."""

    experiment: Experiment
    variant: str
    blocks: list[Phases]

    @property
    def trials(self) -> list[Trial]:
        return [t for block in self.blocks for t in block.trials]

    @property
    def single(self) -> list[Trial]:
        return [t for block in self.blocks for t in block.single]

    @property
    def light(self) -> list[Trial]:
        return [t for block in self.blocks for t in block.light]

    @property
    def typical(self) -> list[Trial]:
        return [t for block in self.blocks for t in block.typical]

    @property
    def instances(self) -> list[Instance]:
        return [i for block in self.blocks for i in block.instances]

    @property
    def diagnosis(self) -> Diagnosis | None:
        return next((block.diagnosis for block in self.blocks if block.diagnosis), None)

    @property
    def throughput(self) -> float | None:
        """OK requests per second over all windows, the mean of the trials' throughput; None without any window."""
        return ratio((t.throughput * t.window, t.window) for t in self.trials)


def measured_variant(blocks: Sequence[Block], experiment: Experiment, variant: str) -> Measured:
    """Selects what those blocks have of one variant."""

    def trials_of_variant(trials: Sequence[Trial]) -> list[Trial]:
        return [t for t in trials if t.variant == variant]

    return Measured(
        experiment,
        variant,
        [
            Phases(
                trials_of_variant(b.trials),
                trials_of_variant(b.single),
                trials_of_variant(b.light),
                [i for i in b.instances if i.variant == variant],
                b.diagnosis.get(variant),
                trials_of_variant(typical_trials(b, experiment)),
            )
            for b in blocks
        ],
    )


def ratio(parts: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Computes the ratio of sums of (numerator, denominator) pairs; None where these sum to 0 or a value is None."""
    numerators, denominators = [], []
    for numerator, denominator in parts:
        if numerator is None or denominator is None:
            return None
        numerators.append(numerator)
        denominators.append(denominator)
    total = math.fsum(denominators)
    return math.fsum(numerators) / total if total > 0 else None


def demand_per_ok(trials: Sequence[Trial], name: ServerFigure) -> float | None:
    """Resource-seconds per OK request of a level (cores, threads): sum of level x window over sum of ok."""
    return ratio((weighted(t.server.get(name), t.window), t.ok) for t in trials)


def cpu_per_ok(trials: Sequence[Trial]) -> float | None:
    """Computes the CPU seconds per OK request, without those of the JIT compiler where they are known of all trials: it
    compiles for all requests to come. In experiments that wait it had 30 to 70 % of the CPU time of a window."""
    if any(trial.server.get("jit_cpu") is None for trial in trials):
        return demand_per_ok(trials, "cpu_cores")
    return ratio((weighted(cores_without_jit(t), t.window), t.ok) for t in trials)


def cores_without_jit(trial: Trial) -> float | None:
    """Computes the cores without those of the JIT compiler, which has bursts long after the warm-up, where these are
    measured. None where no cores are measured."""
    cores = trial.server.get("cpu_cores")
    return None if cores is None or cores < 0 else max(0.0, cores - (trial.server.get("jit_cpu") or 0.0))


def mean_level(trials: Sequence[Trial], name: ServerFigure) -> float | None:
    """Averages a level (cores, a share) over several windows."""
    return ratio((weighted(t.server.get(name), t.window), t.window) for t in trials)


def per_request(trials: Sequence[Trial], name: ServerFigure) -> float | None:
    """Averages a figure per request over those windows that have it: a short one may lie between two scrapes."""
    values_and_requests = [(value, t.ok) for t in trials if (value := t.server.get(name)) is not None and value >= 0]
    return ratio((value * ok, ok) for value, ok in values_and_requests)


def per_ok(trials: Sequence[Trial], name: ServerFigure) -> float | None:
    """Averages a figure per server request, summed over the requests of an OK iteration: throughputs count iterations,
    and one of a script sends several requests."""
    if all(trial.requests is None for trial in trials):
        return per_request(trials, name)
    known = [(value, t) for t in trials if (value := t.server.get(name)) is not None and value >= 0]
    return ratio((value * server_requests(trial), trial.ok) for value, trial in known)


def server_requests(trial: Trial) -> float:
    """Counts the requests of the window: of a script as the server counts them, or as k6 sent them where it does not;
    else the OK ones."""
    if trial.requests is None:
        return float(trial.ok)
    rate = trial.server.get("server_throughput")
    sent = trial.requests.passed + trial.requests.failed
    return float(sent) if rate is None else rate * trial.window


def weighted(level: float | None, weight: float) -> float | None:
    """Multiplies a level by a weight; None where there is no level: -1 is what a meter without one shows."""
    return None if level is None or level < 0 else level * weight
