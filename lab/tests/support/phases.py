"""Phases of one variant, made by hand, for the operational laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tests.support import builders
from vtlab.analysis.laws.bounds import bounds
from vtlab.analysis.laws.explanation import Explanation
from vtlab.analysis.laws.phases import Measured, Phases
from vtlab.model.experiment import Experiment
from vtlab.model.records import Activity, Diagnosis, Place, Trial
from vtlab.model.verdict import Bound

#: The single-user phases of a block scatter by this much.
SCATTER = (0.998, 1.002, 1.0)


def window(variant: str, ok: int, seconds: float, exp: Experiment, phase: str = "measure", **server: Any) -> Trial:
    return builders.trial(
        variant,
        exp=exp,
        phase=phase,
        window=seconds,
        ok=ok,
        throughput=ok / seconds,
        latency=builders.latency(ok, server.pop("mean", 1.0)),
        server=server,
    )


def measured(
    variant: str,
    *trials: tuple[int, float, dict[str, Any]],
    exp: Experiment | None = None,
    alone: float | None = 1.0,
    held: dict[str, float] | None = None,
    cpu: float | None = None,
    idle: float = 0.0,
    places: Sequence[Place] = (),
    diagnosed: float | None = None,
) -> Measured:
    """``trials``: OK requests, seconds, server values. ``alone``: R_min, also the thread's time; None without
    single-user phases. ``held``: what a request holds of pools, alone. ``cpu``: its CPU seconds under light load.
    ``diagnosed``: OK requests per second while dumps showed ``places``."""
    exp = exp or builders.experiment()
    single = [] if alone is None else [lone(variant, exp, alone * share, held or {}) for share in SCATTER]
    loaded = [window(variant, ok, seconds, exp, **server) for ok, seconds, server in trials]
    light = [
        builders.lightly_loaded(variant, exp, builders.Service(cpu=cpu), rate, cpu_cores=idle + rate * cpu * error)
        for rate, error in ((0, 1), (20, 1.01), (40, 0.99), (40, 1.01), (20, 0.99), (0, 1))
        if cpu
    ]
    total = math.fsum(p.threads for p in places)
    diagnosis = Diagnosis(dumps=20, threads=total, places=list(places), throughput=diagnosed)
    instances = [builders.instance(variant, exp=exp)]
    phases = Phases(loaded, single, light, instances, diagnosis if places else None)
    return Measured(exp, variant, [phases])


def lone(variant: str, exp: Experiment, seconds: float, held: dict[str, float]) -> Trial:
    ok = max(5, round(5 / seconds))
    return window(variant, ok, ok * seconds, exp, "single", mean=seconds, service_time=seconds, **held)


def users(number: int, think: str = "0s", **changes: Any) -> Experiment:
    load = {"model": "closed", "users": number, "think_time": think}
    return builders.experiment(**{"load": load, "expected": None, **changes})


def threads_at(activity: Activity, threads: float, place: str = "Socket at OrderService:42") -> Place:
    return Place(activity=activity, place=place, threads=threads)


def names(explained: Explanation) -> list[str]:
    return [b.resource for b in explained.bounds]


def bound_of(m: Measured, resource: str) -> Bound:
    (bound,) = (b for b in bounds(m) if b.resource == resource)
    return bound
