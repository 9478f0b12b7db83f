"""Phases of one variant, made by hand, for the operational laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tests.support import recorded
from vtlab.analysis.laws.bounds import bounds
from vtlab.analysis.laws.explanation import Explanation
from vtlab.analysis.laws.phases import Measured, Phases
from vtlab.model.experiment import Experiment
from vtlab.model.records import Activity, Diagnosis, Place, Trial
from vtlab.model.verdict import Bound

#: The single-user phases of a block scatter by this much.
SCATTER = (0.998, 1.002, 1.0)


#: A server whose requests wait for a second, by the kind of its threads; the figures that a law may read.
SERVER: dict[str, dict[str, float]] = {
    "platform": {"cpu_cores": 0.068, "capacity_tomcat-threads": 200.0, "threads": 224.0},
    "virtual": {"cpu_cores": 0.3, "carriers": 1.0, "virtual_mounted": 0.3, "virtual_queued": 2.0, "threads": 24.0},
}
#: The same of both.
BOTH = {"cpu_limit": 1.0, "processors": 1.0, "service_time": 1.0, "capacity_connections": 8192.0, "gc_share": 0.004}


def window(variant: str, ok: int, seconds: float, exp: Experiment, phase: str = "measure", **server: Any) -> Trial:
    """Returns a window with so many OK requests and these server values."""
    mean = server.pop("mean", 1.0)
    trial = recorded.trial(variant, window=seconds, ok=ok, users=exp.load.users, latency=recorded.latency(ok, mean))
    kind = "platform" if variant.startswith("platform") else "virtual"
    figures = {**BOTH, **SERVER[kind], "pinned_seconds": 0.0, "server_throughput": ok / seconds, **server}
    return recorded.copied(trial, {"phase": phase, "server": figures})


def lightly_loaded(variant: str, exp: Experiment, rate: int, cpu_cores: float) -> Trial:
    """Returns a phase of light load of 6 s; idle with a rate of 0."""
    trial = window(variant, 6 * rate, 6.0, exp, "light", cpu_cores=cpu_cores)
    return recorded.copied(trial, {"rate": float(rate)})


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
    """Returns the figures of a variant.

    ``trials``: OK requests, seconds, server values. ``alone``: R_min, also the thread's time; None without single-user
    phases. ``held``: what a request holds of pools, alone. ``cpu``: its CPU seconds under light load. ``diagnosed``: OK
    requests per second while dumps showed ``places``.
    """
    exp = exp or recorded.experiment(load={"full": {"users": 1000}}, expected=None)
    single = [] if alone is None else [lone(variant, exp, alone * share, held or {}) for share in SCATTER]
    loaded = [window(variant, ok, seconds, exp, **server) for ok, seconds, server in trials]
    light = [
        lightly_loaded(variant, exp, rate, idle + rate * cpu * error)
        for rate, error in ((0, 1), (20, 1.01), (40, 0.99), (40, 1.01), (20, 0.99), (0, 1))
        if cpu
    ]
    total = math.fsum(p.threads for p in places)
    diagnosis = Diagnosis(dumps=20, threads=total, places=list(places), throughput=diagnosed)
    instances = [recorded.instance(variant, cpu_limit=exp.limits.cpu)]
    phases = Phases(loaded, single, light, instances, diagnosis if places else None)
    return Measured(exp, variant, [phases])


def lone(variant: str, exp: Experiment, seconds: float, held: dict[str, float]) -> Trial:
    """Returns a phase of a single user, whose requests take so many seconds."""
    ok = max(5, round(5 / seconds))
    return window(variant, ok, ok * seconds, exp, "single", mean=seconds, service_time=seconds, **held)


def users(number: int, think: str = "0s", **changes: Any) -> Experiment:
    """Returns an experiment with so many users."""
    load = {"full": {"users": number, "think_time": think}}
    return recorded.experiment(**{"load": load, "expected": None, **changes})


def threads_at(activity: Activity, threads: float, place: str = "Socket at OrderService:42") -> Place:
    """Returns a place at which dumps showed so many threads."""
    return Place(activity=activity, place=place, threads=threads)


def names(explained: Explanation) -> list[str]:
    """Returns the resources of the bounds, from the lowest bound on."""
    return [b.resource for b in explained.bounds]


def bound_of(m: Measured, resource: str) -> Bound:
    """Returns the one bound of a resource."""
    (bound,) = (b for b in bounds(m) if b.resource == resource)
    return bound
