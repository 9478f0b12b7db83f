"""Explanation of a variant's throughput: its bottleneck, and what would limit it next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vtlab.analysis.laws.bounds import bottleneck_of, bounds, is_refuted, next_limit
from vtlab.analysis.laws.demands import cpu_share, cpu_station
from vtlab.analysis.laws.mva import Network
from vtlab.analysis.laws.network import fitted, limiting_resources, network_of
from vtlab.analysis.laws.phases import Measured, mean_level
from vtlab.analysis.laws.single_user import uncertainty
from vtlab.analysis.laws.unexplained import UNKNOWN, full_pools, inside_full_pool, place_in_code, short_of_carriers
from vtlab.catalogue.resources import REACHED, RESOURCES
from vtlab.model.load import ClosedLoad
from vtlab.model.verdict import Bottleneck, Bound

#: Share of the time in pauses of collections from which on memory is short, not the CPU.
COLLECTING = 1 / 3
#: The same where no bound explains the throughput, and the pauses do: all threads stand still in them. They are more
#: than half of what is missing then: p beside 1 - REACHED * (1 - p) at most.
PAUSES = 0.1


@dataclass(frozen=True)
class Explanation:
    """Bottleneck of a variant, the next one, every bound there is, the smallest first, and the modelled throughput."""

    bottleneck: Bottleneck
    next: Bottleneck | None
    bounds: list[Bound]
    modelled: float | None = None


def explain(measured: Measured, is_growing: bool = False) -> Explanation:
    """Finds the bottleneck. Where the measurement is explained, it lies between 0.9 of the modelled throughput and 1.1
    of the smallest bound, and both ends allow for what is not known of a request alone (``uncertainty``). A bound that
    the measurement refutes is listed, but neither bottleneck nor next, nor in the model.

    Below, a pool that is full far below its bound is named with what its holders do; else ``memory`` where collections
    pause it for a third of the time, or their pauses explain the rest: all threads stand still in them; else
    ``carriers`` where requests wait for one while the CPU has time to spare; else the place where requests wait by
    thread dumps, or ``unknown``.

    Open load that the variant keeps up with is the bottleneck. Where its queue grows (``is_growing``), whether that is
    an overload or chance, the arrivals explain nothing. Without a model, for want of
    single-user phases, the smallest bound is, where it is reached.
    """
    all_bounds, throughput = bounds(measured), measured.throughput
    if not throughput:
        return Explanation(UNKNOWN, None, all_bounds)
    not_refuted = [bound for bound in all_bounds if not is_refuted(bound)]
    possible = {bound.resource: bound for bound in not_refuted}
    if not isinstance(measured.experiment.load, ClosedLoad):
        (arrivals,) = (bound for bound in all_bounds if RESOURCES[bound.resource].demand == "load")
        if not is_growing:
            most = min(bound.bound for bound in (arrivals, *not_refuted))
            following = next_limit(measured, not_refuted, [arrivals.resource])
            return Explanation(bottleneck_of(arrivals), following, all_bounds, most)
        possible.pop(arrivals.resource, None)
    with_cpu = not any(bound.resource == "cpu" and bound not in not_refuted for bound in all_bounds)
    limiting, modelled = _by_model(measured, throughput, possible, with_cpu)
    if not limiting and (pool := _by_holders(measured, throughput, possible, with_cpu)):
        limiting, modelled = pool
    if limiting:
        bottleneck = _explained_bottleneck(measured, possible, limiting)
    else:
        bottleneck = _unexplained_bottleneck(measured, possible, modelled)
        limiting = [bottleneck.inside.pool] if bottleneck.inside else []
    # With more memory collections take less of the CPU: its bound is another then.
    following = None if bottleneck.resource == "memory" else next_limit(measured, not_refuted, limiting)
    return Explanation(bottleneck, following, all_bounds, modelled)


def _explained_bottleneck(measured: Measured, possible: Mapping[str, Bound], limiting: Sequence[str]) -> Bottleneck:
    """Names the first of the limiting resources, with those that share the blame; memory in place of the CPU where
    memory is short. A CPU that is used up is named before users whose bound is far also where few windows that scatter
    give it no bound."""
    is_load_far = list(limiting) == ["load"] and possible["load"].utilisation < REACHED
    if is_load_far and "cpu" not in possible and (cpu_share(measured) or 0.0) >= REACHED:
        return UNKNOWN.model_copy(update={"resource": "cpu"})
    bottleneck = bottleneck_of(possible[limiting[0]]).model_copy(update={"together": list(limiting[1:])})
    if "cpu" not in limiting or not _memory_is_short(measured):
        return bottleneck
    first, *others = ["memory" if name == "cpu" else name for name in limiting]
    return bottleneck.model_copy(update={"resource": first, "together": others})


def _unexplained_bottleneck(measured: Measured, possible: Mapping[str, Bound], modelled: float | None) -> Bottleneck:
    """Names what no bound explains: a pool that is slow inside, memory, carriers, a place in the code, or nothing."""
    is_memory = _memory_is_short(measured) or _pauses_explain(measured, modelled)
    memory = UNKNOWN.model_copy(update={"resource": "memory"}) if is_memory else None
    return (
        inside_full_pool(measured, possible)
        or memory
        or short_of_carriers(measured)
        or place_in_code(measured)
        or UNKNOWN
    )


def _by_model(
    measured: Measured, throughput: float, possible: Mapping[str, Bound], with_cpu: bool
) -> tuple[list[str], float | None]:
    """Lists what limits the variant, empty where that is not explained, and models its throughput, where it is
    known."""
    network = network_of(measured, possible, with_cpu)
    if network is None:
        smallest = list(possible.values())[:1]
        return [b.resource for b in smallest if b.utilisation >= REACHED], None
    modelled, longer = network.throughput(), uncertainty(measured)
    slower = network_of(measured, possible, with_cpu, longer) if longer > 1 else None
    least = slower.throughput() if slower else modelled
    return limiting_resources(network, possible) if throughput >= REACHED * least else [], modelled


def _memory_is_short(measured: Measured) -> bool:
    """Tells whether pauses of collections took much of the time. A heap that is nearly full says nothing by itself."""
    return (mean_level(measured.trials, "gc_share") or 0.0) >= COLLECTING


def _pauses_explain(measured: Measured, modelled: float | None) -> bool:
    """Tells whether the throughput is the modelled one but for the pauses of collections."""
    pausing, throughput = mean_level(measured.trials, "gc_share") or 0.0, measured.throughput
    if modelled is None or throughput is None:
        return False
    return pausing >= PAUSES and throughput >= REACHED * modelled * (1 - pausing)


def _by_holders(
    measured: Measured, throughput: float, possible: Mapping[str, Bound], with_cpu: bool
) -> tuple[list[str], float] | None:
    """Finds a full pool whose holders wait for each other's CPU time, where that explains the measurement: the pool,
    with the CPU where more of it would help as much, and the modelled throughput.

    The model of the whole has the CPU beside the pools. Here all of a request's CPU time falls into its hold.
    """
    cpu = cpu_station(measured)
    if not cpu or not with_cpu:
        return None
    for name in full_pools(measured, possible):
        bound = possible[name]
        stations = fitted({"cpu": cpu}, bound.service_demand)
        waiting = max(0.0, bound.service_demand - stations["cpu"].alone)
        holders = Network(0.0, waiting, stations, {}, {name: round(bound.capacity)})
        modelled = holders.throughput()
        if throughput >= REACHED * modelled:
            shared = {key: possible[key] for key in (name, "cpu") if key in possible}
            return limiting_resources(holders, shared), modelled
    return None
