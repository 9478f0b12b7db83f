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
switching). Threads and connections are *held*; their demand is the time held without any other user,
from the single-user phase.

Of carriers, pools and executors only the share in use is known, waiting included. A pool is named only if no
resource used inside it (``holds`` in ``resources.toml``) is saturated.

A single user always reaches the bound X = 1/(R+Z), for any response time. A single user is named only if
nothing else is saturated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vtlab.catalogue.resources import HOLDS, REACHED, RESOURCES, Resource
from vtlab.model import units
from vtlab.model.experiment import ClosedLoad, Experiment
from vtlab.model.records import Block, Bottleneck, Bound, Instance, ServerFigure, Trial


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

    bottleneck: Bottleneck
    next: Bottleneck | None
    bounds: list[Bound]


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


def capacity(m: Measured, resource: Resource) -> float | None:
    """How much of the resource there was; None where that was not measured, or the variant has none."""
    if resource.demand == "cpu":
        return min((cpu_capacity(i) for i in m.instances), default=None)
    if resource.demand == "load":
        load = m.experiment.load
        return float(load.users) if isinstance(load, ClosedLoad) else load.rate
    levels = [t.server.get(resource.metric("capacity")) for t in m.trials]
    known = [level for level in levels if level is not None and level > 0]
    return min(known) if known and len(known) == len(levels) else None


def demand(m: Measured, resource: Resource) -> float | None:
    """Resource-seconds per OK request, measured as the resource's row says; None where that was not measured."""
    match resource.demand:
        case "cpu":
            return demand_per_ok(m.trials, "cpu_cores")
        case "request":
            return shortest_service(m)
        case "round":
            return _round(m)
        case "in use":
            return demand_from_utilisation(m, resource)
        case "load":
            # Closed: N users bound X to N/(R_min+Z) [2]. Open: X is at most the arrival rate.
            return _round(m) if isinstance(m.experiment.load, ClosedLoad) else 1.0


def demand_from_utilisation(m: Measured, resource: Resource) -> float | None:
    """Demand from the share in use: D = U m / X."""
    amount, busy = capacity(m, resource), demand_per_ok(m.trials, resource.metric("utilization"))
    return None if amount is None or busy is None else busy * amount


def _round(m: Measured) -> float | None:
    """Seconds of one round of a user: R_min, and under closed load its think time."""
    shortest = shortest_response(m)
    load = m.experiment.load
    think = units.seconds(load.think_time) if isinstance(load, ClosedLoad) else 0.0
    return None if shortest is None else shortest + think


def is_single_user(experiment: Experiment) -> bool:
    """Whether the load is a single user, who sends one request after the other."""
    return isinstance(experiment.load, ClosedLoad) and experiment.load.users == 1


def bounds(m: Measured) -> list[Bound]:
    """Every bound that the measurements give, the smallest first: X <= m_k / D_k [2]. Of equal bounds the one whose row
    comes first."""
    throughput = m.throughput
    smallest_first = []
    for resource in RESOURCES.values():
        amount, seconds = capacity(m, resource), demand(m, resource)
        if throughput is None or amount is None or seconds is None or amount <= 0 or seconds <= 0:
            continue
        bound = amount / seconds
        smallest_first.append(
            Bound(
                resource=resource.name,
                bound=bound,
                utilisation=throughput / bound,
                capacity=amount,
                service_demand=seconds,
            )
        )
    return sorted(smallest_first, key=lambda b: b.bound)


def explain(m: Measured) -> Explanation:
    """The bottleneck: the resource of the smallest bound if the measurement reaches it (``REACHED``), else ``unknown``.

    ``next`` is the next larger bound: what would limit the variant were there more of the bottleneck; if that is
    unknown, it is the smallest bound. A bound that the measurement refutes is listed, but neither
    of the two. A pool is neither if a resource used inside it is saturated. A single user is neither if
    anything else is.
    """
    all_bounds = bounds(m)
    saturated = {b.resource for b in all_bounds if b.utilisation >= REACHED}
    inside = dict(HOLDS)
    if is_single_user(m.experiment):
        loads = {resource.name for resource in RESOURCES.values() if resource.demand == "load"}
        inside |= {name: tuple(saturated - loads) for name in loads}
    possible = [
        b for b in all_bounds if b.utilisation <= 1 / REACHED and saturated.isdisjoint(inside.get(b.resource, ()))
    ]
    if possible and possible[0].utilisation >= REACHED:
        return Explanation(_bottleneck(possible[0]), next(map(_bottleneck, possible[1:]), None), all_bounds)
    unknown = Bottleneck(resource="unknown", utilisation=None, bound=None)
    return Explanation(unknown, next(map(_bottleneck, possible), None), all_bounds)


def _bottleneck(bound: Bound) -> Bottleneck:
    return Bottleneck(resource=bound.resource, utilisation=bound.utilisation, bound=bound.bound)
