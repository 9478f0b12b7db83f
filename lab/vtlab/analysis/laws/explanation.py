"""Why a variant is as fast as it is: its bottleneck, and what would limit it next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vtlab.analysis.laws.bounds import bottleneck_of, bounds, is_refuted, next_limit
from vtlab.analysis.laws.demands import cpu_station
from vtlab.analysis.laws.mva import Network
from vtlab.analysis.laws.network import fitted, limiting_resources, network_of
from vtlab.analysis.laws.phases import Measured, mean_level
from vtlab.analysis.laws.single_user import uncertainty
from vtlab.analysis.laws.unexplained import UNKNOWN, at_place, full_pools, inside_full_pool, short_of_carriers
from vtlab.catalogue.resources import REACHED, RESOURCES
from vtlab.model.load import ClosedLoad
from vtlab.model.verdict import Bottleneck, Bound

#: Share of the time in collections from which on memory is short, not the CPU: all other threads stand still in them.
COLLECTING = 0.1
#: Share of the heap in use after a full collection that leaves no room.
FULL_HEAP = 0.9


@dataclass(frozen=True)
class Explanation:
    """What bounds a variant, what would next, every bound there is, the smallest first, and the modelled throughput."""

    bottleneck: Bottleneck
    next: Bottleneck | None
    bounds: list[Bound]
    modelled: float | None = None


def explain(m: Measured, overloaded: bool = False) -> Explanation:
    """The bottleneck, where the measurement is explained: it lies between 0.9 of the modelled throughput and 1.1 of the
    smallest bound, and both ends allow for what is not known of a request alone (``uncertainty``). A bound that the
    measurement refutes is listed, but neither bottleneck nor next, nor in the model.

    Below, a pool that is full far below its bound is named with what its holders do; else ``memory`` where that is
    short, since a core idles while another collects and all threads stand still; else ``carriers`` where requests wait
    for one while the CPU has time to spare; else the place where requests wait by thread dumps, or ``unknown``.

    Open load that the variant keeps up with (``overloaded`` false) is the bottleneck. Without a model, for want of
    single-user phases, the smallest bound is, where it is reached.
    """
    all_bounds, throughput = bounds(m), m.throughput
    not_refuted = [b for b in all_bounds if not is_refuted(m, b)]
    possible = {b.resource: b for b in not_refuted}
    if not throughput:
        return Explanation(UNKNOWN, None, all_bounds)
    if not isinstance(m.experiment.load, ClosedLoad):
        (arrivals,) = (b for b in all_bounds if RESOURCES[b.resource].demand == "load")
        if not overloaded:
            most = min(b.bound for b in (arrivals, *not_refuted))
            following = next_limit(m, not_refuted, [arrivals.resource])
            return Explanation(bottleneck_of(arrivals), following, all_bounds, most)
        possible.pop(arrivals.resource, None)
    refuted = {b.resource for b in all_bounds} - {b.resource for b in not_refuted}
    with_cpu = "cpu" not in refuted
    limiting, modelled = _by_model(m, throughput, possible, with_cpu)
    if not limiting and (pool := _by_holders(m, throughput, possible, with_cpu)):
        limiting, modelled = pool
    if limiting:
        bottleneck = bottleneck_of(possible[limiting[0]]).model_copy(update={"together": limiting[1:]})
        if "cpu" in limiting and _memory_is_short(m):
            first, *others = ["memory" if name == "cpu" else name for name in limiting]
            bottleneck = bottleneck.model_copy(update={"resource": first, "together": others})
    else:
        memory = UNKNOWN.model_copy(update={"resource": "memory"}) if _memory_is_short(m) else None
        bottleneck = inside_full_pool(m, possible) or memory or short_of_carriers(m) or at_place(m) or UNKNOWN
        limiting = [bottleneck.inside.pool] if bottleneck.inside else []
    # With more memory collections take less of the CPU: its bound is another then.
    following = None if bottleneck.resource == "memory" else next_limit(m, not_refuted, limiting)
    return Explanation(bottleneck, following, all_bounds, modelled)


def _by_model(
    m: Measured, throughput: float, possible: Mapping[str, Bound], with_cpu: bool
) -> tuple[list[str], float | None]:
    """What limits the variant, nothing where that is not explained; and the modelled throughput, where it is known."""
    network = network_of(m, possible, with_cpu)
    if network is None:
        smallest = list(possible.values())[:1]
        return [b.resource for b in smallest if b.utilisation >= REACHED], None
    modelled, longer = network.throughput(), uncertainty(m)
    slower = network_of(m, possible, with_cpu, longer) if longer > 1 else None
    least = slower.throughput() if slower else modelled
    return limiting_resources(network, possible) if throughput >= REACHED * least else [], modelled


def _memory_is_short(m: Measured) -> bool:
    """Whether collections took much of the time, or left the heap nearly full."""
    collecting = mean_level(m.trials, "gc_share")
    live = [share for t in m.trials if (share := t.server.get("live_heap_share")) is not None]
    return (collecting or 0.0) >= COLLECTING or max(live, default=0.0) >= FULL_HEAP


def _by_holders(
    m: Measured, throughput: float, possible: Mapping[str, Bound], with_cpu: bool
) -> tuple[list[str], float] | None:
    """A full pool whose holders wait for each other's CPU time, where that explains the measurement: the pool, with the
    CPU where more of it would help as much, and the modelled throughput.

    The model of the whole has the CPU beside the pools. Here all of a request's CPU time falls into its hold.
    """
    cpu = cpu_station(m)
    if not cpu or not with_cpu:
        return None
    for name in full_pools(m, possible):
        bound = possible[name]
        stations = fitted({"cpu": cpu}, bound.service_demand)
        waiting = max(0.0, bound.service_demand - stations["cpu"].alone)
        holders = Network(0.0, waiting, stations, {}, {name: round(bound.capacity)})
        modelled = holders.throughput()
        if throughput >= REACHED * modelled:
            shared = {key: possible[key] for key in (name, "cpu") if key in possible}
            return limiting_resources(holders, shared), modelled
    return None
