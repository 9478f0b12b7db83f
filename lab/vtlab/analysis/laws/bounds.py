"""The bounds of a variant: the most OK requests per second that each resource allows.

Asymptotic bounds (Lazowska et al., chapter 5): X <= m_k / D_k, a capacity over its service demand.
"""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis.laws.demands import capacity, cpu_station, demand, idle_cores
from vtlab.analysis.laws.estimates import NARROW, TOO_WIDE
from vtlab.analysis.laws.phases import Measured
from vtlab.catalogue.resources import EXCEEDED, RESOURCES
from vtlab.model.load import ClosedLoad
from vtlab.model.verdict import Bottleneck, Bound

#: A bound of a single value has no interval. It may be as small as this share of it: some were twice too large. And it
#: may be as large as the demand that is known least: more would give none.
UNSURE, LARGEST = 0.5, 1 + TOO_WIDE


def bounds(measured: Measured) -> list[Bound]:
    """Computes every bound that the measurements give, the smallest first; among equal bounds the one whose row comes
    first. What the idle JVM uses of the CPU is no request's. A demand whose interval is too wide gives none."""
    throughput = measured.throughput
    smallest_first = []
    for resource in RESOURCES.values():
        amount, needed = capacity(measured, resource), demand(measured, resource)
        if throughput is None or amount is None or needed is None or not needed.is_known:
            continue
        free = amount - idle_cores(measured) if resource.demand == "cpu" else amount
        if free <= 0:
            continue
        bound = free / needed.seconds
        smallest_first.append(
            Bound(
                resource=resource.name,
                bound=bound,
                low=free / needed.high if needed.high else None,
                high=free / needed.low if needed.low else None,
                utilisation=throughput / bound,
                capacity=amount,
                service_demand=needed.seconds,
            )
        )
    return sorted(smallest_first, key=lambda b: b.bound)


def _is_narrow(measured: Measured, bound: Bound) -> bool:
    if RESOURCES[bound.resource].demand == "load" and not isinstance(measured.experiment.load, ClosedLoad):
        return True  # What arrives is asked for, not estimated.
    if bound.low is None or bound.high is None:
        return False
    # The demand is the reciprocal. Rounded, as that of the CPU may be as wide as is allowed.
    below, above = 1 - bound.bound / bound.high, bound.bound / bound.low - 1
    return round(max(below, above), 9) <= NARROW


def is_refuted(bound: Bound) -> bool:
    """Tells whether more was measured than this bound allows, by the upper end of its interval; of one without an
    interval, by far more."""
    throughput = bound.utilisation * bound.bound
    return throughput > EXCEEDED * (bound.high or LARGEST * bound.bound)


def next_limit(measured: Measured, possible: Sequence[Bound], limiting: Sequence[str]) -> Bottleneck | None:
    """Predicts the next limit, if the bottleneck had more capacity: the smallest other bound. None where that is
    unreliable: its interval is wide or holds what was measured, or another wide one, or the CPU's, may be smaller."""
    remaining = [b for b in possible if b.resource not in limiting]
    if not remaining or not _is_narrow(measured, remaining[0]) or _lacks_bounds(measured):
        return None
    smallest, *others = remaining
    if smallest.low is not None and smallest.low <= smallest.utilisation * smallest.bound:
        return None
    least = [UNSURE * b.bound if b.low is None else b.low for b in others if not _is_narrow(measured, b)]
    cpu = cpu_station(measured)
    if cpu and "cpu" not in {b.resource for b in possible}:
        least.append(cpu.most)
    return bottleneck_of(smallest) if all(low >= smallest.bound for low in least) else None


def _lacks_bounds(measured: Measured) -> bool:
    """Tells whether a demand is known too little for a bound: that may be any."""
    rows = [row for row in RESOURCES.values() if capacity(measured, row) is not None]
    return any(needed and not needed.is_known for needed in (demand(measured, row) for row in rows))


def bottleneck_of(bound: Bound) -> Bottleneck:
    """Names the resource of a bound as the bottleneck."""
    return Bottleneck(resource=bound.resource, utilisation=bound.utilisation, bound=bound.bound)
