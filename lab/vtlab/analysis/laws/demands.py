"""Capacities and service demands: how much there is of each resource, and how much of it a request needs.

Threads, connections and pools are held, and count by what a request holds of them alone
(``vtlab.analysis.laws.single_user``), pools by their own timers. CPU seconds are consumed, never waited for: their
demand is that under load (with what load adds: garbage collection, switching) where the CPU was used to half at least,
less what the JVM uses when it is idle. With less load the fixed costs would count as the requests': then it is the
slope over an idle phase, light load and the trials. Few requests a second take more CPU each, so that light load alone
has too steep a slope: the trials weigh most in it, as they have the most requests. Under load the CPU time of the JIT
compiler counts, as throughput was reached beside it.

Carriers are held for the CPU's time and while a thread is pinned. Both are time integrals. Without pinning they have no
bound of their own (``vtlab.analysis.laws.unexplained.short_of_carriers``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from vtlab.analysis.laws.estimates import Demand, estimate, slope
from vtlab.analysis.laws.mva import Station
from vtlab.analysis.laws.phases import (
    Measured,
    Phases,
    cores_without_jit,
    demand_per_ok,
    mean_level,
    per_ok,
    ratio,
    weighted,
)
from vtlab.analysis.laws.single_user import (
    demand_of_round,
    estimate_alone,
    estimate_single,
    lacks_kinds,
    service_alone,
)
from vtlab.catalogue.resources import RESOURCES, Resource
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Instance, Trial

#: Share of its limit from which on the CPU's demand is measured under load.
BUSY = 0.5
#: Share of the CPU's demand from which on pinned seconds make carriers a resource of their own.
PINNED = 0.1


def cpu_capacity(instance: Instance) -> float:
    """Computes the cores that the instance may use: its CPU limit, else the processors that its JVM sees."""
    return instance.cpu_limit if instance.cpu_limit is not None else float(instance.processors)


def capacity(measured: Measured, resource: Resource) -> float | None:
    """Tells how much of the resource there was; None where that was not measured, or the variant has none."""
    if resource.demand == "cpu":
        return min((cpu_capacity(i) for i in measured.instances), default=None)
    if resource.demand == "load":
        load = measured.experiment.load
        return float(load.users) if isinstance(load, ClosedLoad) else load.rate
    levels = [t.server.get(resource.metric("capacity")) for t in measured.trials]
    positive_levels = [level for level in levels if level is not None and level > 0]
    return min(positive_levels) if positive_levels and len(positive_levels) == len(levels) else None


def demand(measured: Measured, resource: Resource) -> Demand | None:
    """Resource-seconds per OK request, measured as the resource's row says; None where that was not measured."""
    match resource.demand:
        case "cpu":
            return cpu_demand(measured)
        case "request":
            return estimate_alone(measured, service_alone)
        case "round":
            return demand_of_round(measured)
        case "hold":
            return _hold(measured, resource)
        case "pinned":
            return _on_carrier(measured)
        case "load":
            # Closed: N users bound X to N/(R_min+Z) [2]. Open: X is at most the arrival rate.
            return demand_of_round(measured) if isinstance(measured.experiment.load, ClosedLoad) else Demand(1.0)


def idle_cores(measured: Measured) -> float:
    """Computes the cores that the JVM uses without any request; 0 where no phase was idle."""
    return ratio((weighted(cores_without_jit(t), t.window), t.window) for t in measured.light if not t.rate) or 0.0


def cpu_demand(measured: Measured) -> Demand | None:
    """Computes the CPU seconds per OK request beyond what the idle JVM uses; None where too little is known of it for a
    bound."""
    limit = capacity(measured, RESOURCES["cpu"])
    used = mean_level(measured.trials, "cpu_cores")
    if used is not None and limit is not None and used >= BUSY * limit:
        idle = idle_cores(measured)
        return estimate(measured, lambda block: block.trials, lambda trials: _cpu_consumed(trials, idle))
    return _by_light_load(measured)


def _by_light_load(measured: Measured) -> Demand | None:
    """Returns the slope of the CPU over idle phases, light load and the trials; None where it is not known.

    All trials are one point: they have one rate, and many of them would hide that the others lie on no line with it.
    The slope falls with the rate. Where it is less from the larger light rate to the trials than the interval of the
    whole allows, the interval reaches to that.
    """
    rates = [t.rate for t in measured.light if t.rate]
    used = ratio((weighted(cores_without_jit(t), t.window), t.window) for t in measured.trials)
    if not rates or used is None or measured.throughput is None:
        return None
    light = [(t, cores) for t in measured.light if t.window > 0 and (cores := cores_without_jit(t)) is not None]
    whole = slope([*((t.ok / t.window, cores) for t, cores in light), (measured.throughput, used)])
    nearest = [(t.ok / t.window, cores) for t, cores in light if t.rate == max(rates)]
    if whole is None or whole.low is None or not nearest:
        return whole
    rate, cores = (math.fsum(column) / len(nearest) for column in zip(*nearest, strict=True))
    if measured.throughput <= rate:
        return whole
    last = (used - cores) / (measured.throughput - rate)
    return Demand(whole.seconds, max(0.0, min(whole.low, last)), whole.high)


def _cpu_consumed(trials: Sequence[Trial], idle: float) -> float | None:
    cores = [t.server.get("cpu_cores") for t in trials]
    return ratio(
        (None if level is None else max(0.0, level - idle) * t.window, t.ok)
        for t, level in zip(trials, cores, strict=True)
    )


def cpu_at_most(measured: Measured) -> float | None:
    """Computes the CPU seconds per OK request; where too little is known for a bound, with the JVM's fixed costs in
    it."""
    demand_seconds = cpu_demand(measured)
    return demand_seconds.seconds if demand_seconds else _cpu_consumed(measured.trials, idle_cores(measured))


def _hold(measured: Measured, resource: Resource) -> Demand | None:
    """Computes the seconds that a request holds a pool's units when nobody waits for them, by the pool's own timer;
    None where single users had too few answers of a kind."""
    if lacks_kinds(measured.single):
        return None
    timed = any(t.server.get(resource.hold) is not None for t in measured.single)

    def alone(block: Phases) -> list[Trial]:
        """Selects single-user phases; light load, where no phase of a single user was long enough."""
        return block.single if timed else block.light

    def per_request(trials: Sequence[Trial]) -> float | None:
        return per_ok(trials, resource.hold)

    by_timer = estimate_single(measured, per_request) if timed else estimate(measured, alone, per_request)
    held = by_timer or _hold_by_level(measured, resource)
    error = resource.hold_error
    off_by = per_ok([t for block in measured.blocks for t in alone(block)], error) if error else None
    if held is None or held.low is None or held.high is None or not off_by:
        return held
    return Demand(held.seconds, max(0.0, held.low - off_by), held.high + off_by)


def _hold_by_level(measured: Measured, resource: Resource) -> Demand | None:
    """Computes the same from the trials of a single user, who is alone there, too: units held at a time, for a whole
    round. None with any other load.

    Where the other phases have no sample of the timer, as of requests so long that these end with their first answer.
    A window then holds few, and what is held per request would be off: tasks count as they end, requests later.
    """

    def level(trials: Sequence[Trial]) -> float | None:
        known = [(t.server.get(resource.hold), t.server.get("server_throughput"), t.window) for t in trials]
        return ratio((hold * rate * window, window) for hold, rate, window in known if hold is not None and rate)

    load, whole_round = measured.experiment.load, demand_of_round(measured)
    if not isinstance(load, ClosedLoad) or load.users != 1 or whole_round is None:
        return None
    held = estimate(measured, lambda block: block.trials, level)
    if held is None:
        return None
    pairs = ((held.low, whole_round.low), (held.high, whole_round.high))
    ends = (None if units is None or seconds is None else units * seconds for units, seconds in pairs)
    return Demand(held.seconds * whole_round.seconds, *ends)


def _pinned(measured: Measured) -> Demand | None:
    """Computes the seconds per OK request that its thread keeps a carrier and waits.

    Under load, or under light load where the shortest pins are counted, too. Not longer than the request takes alone: a
    pin that lasts longer waits for something else.
    """

    def pinned(trials: Sequence[Trial]) -> float | None:
        return demand_per_ok(trials, "pinned_seconds")

    under_load = estimate(measured, lambda block: block.trials, pinned)
    under_light_load = estimate(measured, lambda block: block.light, pinned)
    longest = max((e for e in (under_load, under_light_load) if e), key=lambda e: e.seconds, default=None)
    alone = service_alone(measured.single)
    if longest is None or alone is None or longest.seconds <= alone:
        return longest
    return estimate(measured, lambda block: block.single, service_alone)


def _on_carrier(measured: Measured) -> Demand | None:
    pinned, cpu = _pinned(measured), cpu_at_most(measured) or 0.0
    if pinned is None or pinned.seconds < PINNED * cpu:
        return None
    ends = (None if end is None else end + cpu for end in (pinned.low, pinned.high))
    return Demand(pinned.seconds + cpu, *ends)


def cpu_station(measured: Measured) -> Station | None:
    """Returns the CPU of the limit beyond what the idle JVM uses, as a station; None where its demand is not known at
    all."""
    needed, limit = cpu_at_most(measured), capacity(measured, RESOURCES["cpu"])
    return Station(needed, (limit - idle_cores(measured)) / needed) if needed and limit else None


def cpu_share(measured: Measured) -> float | None:
    """Computes the share of its CPU limit that the variant used in its trials."""
    limit, cores = capacity(measured, RESOURCES["cpu"]), mean_level(measured.trials, "cpu_cores")
    return cores / limit if limit and cores is not None else None
