"""A variant as a queueing network (``vtlab.analysis.laws.mva``) of its single-user demands, and what limits it.

Bounds alone explain nothing at the knee, where two resources share the blame: a measurement is explained where it lies
between the throughput of a network of all of them and the smallest bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from vtlab.analysis.laws.demands import cpu_at_most, cpu_station
from vtlab.analysis.laws.mva import Network, Station
from vtlab.analysis.laws.phases import Measured
from vtlab.analysis.laws.single_user import estimate_alone, round_alone, service_alone
from vtlab.catalogue.resources import REACHED, RESOURCES
from vtlab.model.load import ClosedLoad
from vtlab.model.verdict import Bound

#: Capacities grow by this share in the model, a pool of fewer than ten by one. Gains that differ by less are alike.
STEP = 0.1


def network_of(
    measured: Measured, possible: Mapping[str, Bound], with_cpu: bool, longer: float = 1.0
) -> Network | None:
    """Models the variant as a network of what is known of it alone, with these capacities, and the CPU where it has no
    bound, too; None where it is not known well how long a request takes alone, as by a single value. It takes so many
    times longer."""
    alone, held = estimate_alone(measured, round_alone), estimate_alone(measured, service_alone)
    load = measured.experiment.load
    if (
        alone is None
        or alone.high is None
        or not alone.is_known
        or (isinstance(load, ClosedLoad) and "load" not in possible)
    ):
        return None
    response = longer * alone.seconds
    service = min(longer * held.seconds if held else response, response)
    inner, outer, parts = {}, {"load": load.users}, {}
    cpu = cpu_station(measured)
    if cpu and with_cpu:
        parts["cpu"] = cpu
    for name, bound in possible.items():
        match RESOURCES[name].demand:
            case "request":
                inner[name] = round(bound.capacity)
            case "round":
                outer[name] = round(bound.capacity)
            case "hold":
                parts[name] = Station(bound.service_demand, bound.bound)
            case "pinned":
                parts[name] = Station(max(0.0, bound.service_demand - (cpu_at_most(measured) or 0.0)), bound.bound)
    stations = fitted(parts, service)
    return Network(
        outside=response - service + measured.experiment.load.mean_think_time,
        inside=max(0.0, service - math.fsum(station.alone for station in stations.values())),
        stations=stations,
        inner_limits=inner,
        outer_limits=outer,
    )


def fitted(stations: Mapping[str, Station], service: float) -> dict[str, Station]:
    """Shortens the times of stations where the parts of a request take longer than the whole: they overlap. Who holds a
    connection computes, a task of an executor holds a connection, and eight tasks run at once. What each station allows
    at most stays, but for those that a request alone uses up at the same time."""
    stations = _counted_once(stations, service)
    least = math.fsum(1 / station.most for station in stations.values())
    whole = math.fsum(station.alone for station in stations.values())
    if whole <= service:
        return dict(stations)
    share = max(0.0, service - least) / (whole - least) if whole > least else 0.0

    def shorter(station: Station) -> Station:
        shortest = 1 / station.most
        if station.time <= shortest:
            return station
        return Station(shortest + share * (station.time - shortest), station.most)

    return {name: shorter(station) for name, station in stations.items()}


def _counted_once(stations: Mapping[str, Station], service: float) -> dict[str, Station]:
    """Takes out the time that a request alone keeps two stations at their limits at once: eight tasks that compute fill
    the CPU and hold an executor's eight threads. It counts for the CPU where the request fills that from its beginning
    to its end, since the holders wait for it; else for the station that allows less."""
    twice = math.fsum(1 / station.most for station in stations.values()) - service
    counted = dict(stations)

    def rank(name: str) -> tuple[bool, float]:
        fills = name == "cpu" and 1 / stations[name].most >= REACHED * service
        return not fills, stations[name].most

    for name in sorted(stations, key=rank, reverse=True)[:-1]:
        least = 1 / stations[name].most
        if twice >= least:
            del counted[name]
        elif twice > 0:
            counted[name] = replace(stations[name], most=1 / (least - twice))
        twice -= min(max(0.0, twice), least)
    return counted


def limiting_resources(network: Network, possible: Mapping[str, Bound]) -> list[str]:
    """Finds the resources whose capacity, were there more of it, would raise the modelled throughput most, by per cent,
    and those that differ from it by less than a tenth; the load last.

    Where more of a single one hardly helps, as of one thread that computes all the time on one core, those count of
    which less would harm most.
    """
    throughput = network.throughput()

    def effect(name: str, sign: int) -> float:
        amount = possible[name].capacity
        step = sign * (STEP if RESOURCES[name].demand == "cpu" else max(1, round(STEP * amount)) / amount)
        # Beyond nine digits there is only what the arithmetic lost.
        return round((network.scaled(name, 1 + step).throughput() / throughput - 1) / step, 9)

    names = [name for name in RESOURCES if name in possible]
    effects = {name: effect(name, +1) for name in names}
    if max(effects.values(), default=0.0) < STEP:
        effects = {name: effect(name, -1) for name in names}
    most = max(effects.values(), default=0.0)
    limiting = [name for name in names if most > 0 and effects[name] >= (1 - STEP) * most]
    return sorted(limiting, key=lambda name: (RESOURCES[name].demand == "load", -effects[name]))
