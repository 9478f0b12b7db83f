"""Why a variant is as fast as it is: the bounds that the operational laws put on its throughput.

Sources
    [1] P. Denning, J. Buzen: The Operational Analysis of Queueing Network Models. ACM Computing Surveys
        10 (1978).
        (utilisation law U = X·D/m, Little's law N = X·(R+Z))
    [2] E. Lazowska et al.: Quantitative System Performance, 1984, chapter 5. (asymptotic bounds)

Throughputs are OK requests per second, demands resource-seconds per OK request.

A demand must not contain time spent waiting for another resource, or everything that waits would look busy:
with a CPU-bound service all 200 Tomcat threads are "busy", but what they wait for is the CPU. CPU seconds
are consumed, never waited, so their demand is measured under load (with what load adds: garbage collection,
switching). Threads and connections are *held*; their demand is the time held when nobody else is there,
from the single-user phase.

Of carriers, pools and executors only the share in use is known, waiting included. They are held inside one
another (``HELD_INSIDE``), so an inner one that is short makes the outer ones look busy, and alone counts.

A user that is alone reaches its own bound always, X = 1/(R+Z), whatever its request takes: it is the constraint
only where nothing else is short.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from vtlab.model import units
from vtlab.model.experiment import ClosedLoad, Experiment
from vtlab.model.records import Block, Bound, Constraint, Instance, Trial

#: Share of a bound from which on a measurement "reaches" it. Where something is exhausted, measurements
#: came to 98 to 100 % of the bound with windows that fit the load and to 94 % with loose ones (a CPU limit
#: loses a little in each throttled period); what is 10 % below its bound has time to spare. A measurement
#: above 1/REACHED of a "bound" refutes it: that demand was not what it took under load.
REACHED = 0.9


@dataclass(frozen=True)
class Measured:
    """One variant over blocks: its trials, single-user phases and instances."""

    experiment: Experiment
    variant: str
    trials: list[Trial]
    single: list[Trial]
    instances: list[Instance]

    @property
    def throughput(self) -> float | None:
        """OK requests per second over all windows; None without any window."""
        return ratio((t.ok, t.window) for t in self.trials)


@dataclass(frozen=True)
class Explanation:
    """What bounds a variant, what would next, and every bound there is, the smallest first."""

    constraint: Constraint
    next: Constraint | None
    bounds: list[Bound]


@dataclass(frozen=True)
class Resource:
    """One row of ``RESOURCES``: how much of it there is, and how much a request takes. None: not measured."""

    name: str
    capacity: Callable[[Measured], float | None]
    demand: Callable[[Measured], float | None]


def measured(blocks: Sequence[Block], experiment: Experiment, variant: str) -> Measured:
    """What those blocks have of one variant."""
    return Measured(
        experiment,
        variant,
        [t for b in blocks for t in b.trials if t.variant == variant],
        [t for b in blocks for t in b.single if t.variant == variant],
        [i for b in blocks for i in b.instances if i.variant == variant],
    )


def ratio(parts: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Ratio of sums of (numerator, denominator) pairs; None where these sum to 0 or a value is None."""
    above, below = [], []
    for a, b in parts:
        if a is None or b is None:
            return None
        above.append(a)
        below.append(b)
    total = math.fsum(below)
    return math.fsum(above) / total if total > 0 else None


def served(trials: Sequence[Trial], name: str) -> float | None:
    """Resource-seconds per OK request of a level (cores, threads): sum of level x window over sum of ok."""
    return ratio((_times(t.server.get(name), t.window), t.ok) for t in trials)


def _times(level: float | None, window: float) -> float | None:
    return None if level is None or level < 0 else level * window


def shortest_response(m: Measured) -> float | None:
    """R_min: mean client latency of the single-user phases, seconds."""
    return ratio((_times(t.latency.mean, t.latency.count), t.latency.count) for t in m.single if t.latency.count)


def shortest_service(m: Measured) -> float | None:
    """Seconds that a request holds its thread when alone: the server's mean, without samples the client's."""
    counted = [t for t in m.single if t.ok]
    service = ratio((_times(t.server.get("service_time"), t.ok), t.ok) for t in counted)
    return shortest_response(m) if service is None else service


def cpu_capacity(instance: Instance) -> float:
    """Cores that the instance may use: its CPU limit, else the processors that its JVM sees."""
    return instance.cpu_limit if instance.cpu_limit is not None else float(instance.processors)


def _cores(m: Measured) -> float | None:
    return min((cpu_capacity(i) for i in m.instances), default=None)


def _level(name: str) -> Callable[[Measured], float | None]:
    """Capacity that the server reports as ``name``; None where a window lacks it or it has none (-1)."""

    def capacity(m: Measured) -> float | None:
        values = [t.server.get(name) for t in m.trials]
        known = [v for v in values if v is not None and v > 0]
        return min(known) if known and len(known) == len(values) else None

    return capacity


def _round(m: Measured) -> float | None:
    """Seconds of one round of a user: R_min, and under closed load its think time."""
    shortest = shortest_response(m)
    load = m.experiment.load
    think = units.seconds(load.think_time) if isinstance(load, ClosedLoad) else 0.0
    return None if shortest is None else shortest + think


def _load(m: Measured) -> float | None:
    load = m.experiment.load
    return float(load.users) if isinstance(load, ClosedLoad) else load.rate


def _load_demand(m: Measured) -> float | None:
    """Closed: N users bound X to N/(R_min+Z) [2]. Open: X is at most the arrival rate."""
    return _round(m) if isinstance(m.experiment.load, ClosedLoad) else 1.0


#: Every resource that can be a constraint. Of equal bounds the first here is named.
RESOURCES: tuple[Resource, ...] = (
    Resource("cpu", _cores, lambda m: served(m.trials, "cpu_cores")),
    # Virtual threads: tomcat_threads_max reads -1, so there is no such bound.
    Resource("tomcat-threads", _level("tomcat_threads_max"), shortest_service),
    # A user keeps its connection while it thinks.
    Resource("connections", _level("connections_max"), _round),
    Resource("users", _load, _load_demand),
)


def _used(name: str) -> Callable[[Measured], float | None]:
    """Demand from the share in use: D = U m / X."""

    def demand(m: Measured) -> float | None:
        capacity, busy = _level(f"capacity_{name}")(m), served(m.trials, f"utilization_{name}")
        return None if capacity is None or busy is None else busy * capacity

    return demand


#: What is held while each of these is in use, and so makes it look busy when it is short itself.
HELD_INSIDE: dict[str, tuple[str, ...]] = {
    "carriers": ("cpu",),
    "db-pool": ("cpu", "carriers"),
    "downstream": ("cpu", "carriers"),
    "executor": ("cpu", "carriers", "db-pool", "downstream"),
}
RESOURCES += tuple(Resource(name, _level(f"capacity_{name}"), _used(name)) for name in HELD_INSIDE)


def lone(experiment: Experiment) -> bool:
    """Whether the load is a single user, who sends one request after the other."""
    return isinstance(experiment.load, ClosedLoad) and experiment.load.users == 1


def bounds(m: Measured) -> list[Bound]:
    """Every bound that the measurements give, the smallest first: X <= m_k / D_k [2]."""
    throughput = m.throughput
    found = []
    for resource in RESOURCES:
        capacity, demand = resource.capacity(m), resource.demand(m)
        if throughput is None or capacity is None or demand is None or capacity <= 0 or demand <= 0:
            continue
        bound = capacity / demand
        found.append(
            Bound(
                resource=resource.name,
                bound=bound,
                utilisation=throughput / bound,
                capacity=capacity,
                demand=demand,
            )
        )
    return sorted(found, key=lambda b: b.bound)


def explain(m: Measured) -> Explanation:
    """The constraint: the smallest bound, if the measurement reaches it (``REACHED``), else ``unknown``.

    ``next`` is the next larger bound: what would hold the variant back were the constraint lifted; under an
    unknown constraint it is the smallest bound. A bound that the measurement refutes is listed, but neither
    of the two; nor is one of what is in use for lack of what is held inside it, nor that of a lone user who waits
    for what is short.
    """
    every = bounds(m)
    short = {b.resource for b in every if b.utilisation >= REACHED}
    inside = {**HELD_INSIDE, "users": tuple(short - {"users"}) if lone(m.experiment) else ()}
    possible = [b for b in every if b.utilisation <= 1 / REACHED and short.isdisjoint(inside.get(b.resource, ()))]
    if possible and possible[0].utilisation >= REACHED:
        return Explanation(_constraint(possible[0]), next(map(_constraint, possible[1:]), None), every)
    unknown = Constraint(resource="unknown", utilisation=None, bound=None)
    return Explanation(unknown, next(map(_constraint, possible), None), every)


def _constraint(bound: Bound) -> Constraint:
    return Constraint(resource=bound.resource, utilisation=bound.utilisation, bound=bound.bound)
