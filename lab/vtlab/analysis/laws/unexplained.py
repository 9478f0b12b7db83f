"""Bottlenecks where no bound explains the throughput: inside a full pool, or at a place that thread dumps show."""

from __future__ import annotations

import math
from collections.abc import Mapping

from vtlab.analysis.dumps import places
from vtlab.analysis.laws.demands import capacity, demand
from vtlab.analysis.laws.phases import Measured, mean_level, per_ok, ratio, weighted
from vtlab.analysis.laws.single_user import estimate_alone, service_alone
from vtlab.catalogue.resources import EXCEEDED, HOLDS, REACHED, RESOURCES
from vtlab.model.records import Activity, Diagnosis
from vtlab.model.verdict import Bottleneck, Bound, Inside

#: What stands behind a pool and is named so, not by the line of code that waits for it.
_BEHIND: tuple[Activity, ...] = ("database", "downstream")
#: What is named by the line of code that does it. The rest are waits for a pool.
_IN_CODE: tuple[Activity, ...] = ("lock", "wait", "computation")
#: Share of what keeps requests longer than alone that must be waits for a carrier.
_MOST = 0.5
#: Said, never guessed.
UNKNOWN = Bottleneck(resource="unknown", utilisation=None, bound=None)


def full_pools(measured: Measured, possible: Mapping[str, Bound]) -> dict[str, float]:
    """Computes the share in use of each innermost pool that is full and has a bound."""
    full = {
        name: share
        for name, row in RESOURCES.items()
        if row.demand == "hold"
        and (share := mean_level(measured.trials, row.metric("utilization")))
        and share >= REACHED
    }
    return {name: share for name, share in full.items() if name in possible and full.keys().isdisjoint(HOLDS[name])}


def _running(measured: Measured) -> float:
    """Computes the share of the time, at least, in which the threads could run: no collection stopped them, and no
    period of the CPU quota in which it ran out."""
    collecting, throttled = (mean_level(measured.trials, name) or 0.0 for name in ("gc_share", "throttled_periods"))
    return max(0.0, 1 - collecting) * max(0.0, 1 - throttled)


def inside_full_pool(measured: Measured, possible: Mapping[str, Bound]) -> Bottleneck | None:
    """Finds what is slow inside a full pool: the innermost that is full although its bound is not reached, whatever the
    interval of its hold alone, the pauses of collections and the CPU quota allow. None where there is no such pool, or
    the CPU or the carriers are short: they lengthen every hold."""
    limit, cores = capacity(measured, RESOURCES["cpu"]), mean_level(measured.trials, "cpu_cores")
    if limit and cores is not None and cores >= REACHED * limit:
        return None
    carriers, pinned = capacity(measured, RESOURCES["carriers"]), mean_level(measured.trials, "pinned_seconds")
    if carriers and pinned and pinned + (cores or 0.0) >= REACHED * carriers:
        return None
    running, waiting = _running(measured), _waiting_for_a_carrier(measured)
    full = full_pools(measured, possible)
    innermost = []
    for name, share in full.items():
        bound = possible[name]
        longer = share * bound.capacity - bound.service_demand * bound.utilisation * bound.bound
        # Its holders wait for a carrier: their dumps show what they waited for before.
        if waiting and waiting >= _MOST * longer:
            continue
        if bound.low is not None and bound.utilisation * bound.bound < REACHED * bound.low * running:
            loaded = share * bound.service_demand / bound.utilisation
            innermost.append(Inside(pool=name, alone=bound.service_demand, loaded=loaded))
    if not innermost:
        return None
    inside = max(innermost, key=lambda pool: pool.loaded / pool.alone)
    bound = possible[inside.pool]
    held = full[inside.pool] * bound.capacity
    expected_holders = bound.service_demand * (_diagnosed_throughput(measured) or 0.0)
    cause = (
        places.cause(measured.diagnosis, inside.pool, held=held, alone=expected_holders) if measured.diagnosis else None
    )
    if cause:
        place = None if cause.activity in _BEHIND else cause.place
        inside = inside.model_copy(update={"activity": cause.activity, "place": place})
    return UNKNOWN.model_copy(update={"resource": _name(cause), "inside": inside})


def short_of_carriers(measured: Measured) -> Bottleneck | None:
    """Names ``carriers`` where a wait for one is most of the extra time of requests under load, while the CPU has time
    to spare; else None.

    A virtual thread gives up its carrier only where it waits. So a few that compute keep all others from theirs, from
    beginning to wait as well, until all users go in step: then the CPU idles. The operating system would share the CPU
    among platform threads. Where requests have tasks on virtual threads of their own, whose waits are whose is not
    known.
    """
    limit, cores = capacity(measured, RESOURCES["cpu"]), mean_level(measured.trials, "cpu_cores")
    in_flight, response = _in_flight(measured), estimate_alone(measured, service_alone)
    if limit is None or cores is None or cores >= REACHED * limit:
        return None
    if not in_flight or not response or not measured.throughput:
        return None
    # Pinned threads make them a resource with a bound of its own.
    if demand(measured, RESOURCES["carriers"]) is not None or _has_virtual_tasks(measured, in_flight):
        return None
    # The longest that one may take alone.
    if in_flight <= EXCEEDED * (response.high or response.seconds) * measured.throughput:
        return None
    is_most = _waiting_for_a_carrier(measured) >= _MOST * (in_flight - response.seconds * measured.throughput)
    return UNKNOWN.model_copy(update={"resource": "carriers"}) if is_most else None


def _in_flight(measured: Measured) -> float:
    """Computes the requests at a time, by Little's law; 0 where that is not known. Between the requests of a script's
    iteration its user may sleep: they are as the server times them."""
    if any(trial.requests is not None for trial in measured.trials):
        return (per_ok(measured.trials, "service_time") or 0.0) * (measured.throughput or 0.0)
    return ratio((weighted(t.latency.mean, t.ok), t.window) for t in measured.trials) or 0.0


def _waiting_for_a_carrier(measured: Measured) -> float:
    """Computes the virtual threads at a time, at least, that are ready and have no carrier although threads may run: in
    pauses and throttled periods all requests may be among them."""
    queued = mean_level(measured.trials, "virtual_queued") or 0.0
    return max(0.0, queued - (1 - _running(measured)) * _in_flight(measured))


def _has_virtual_tasks(measured: Measured, in_flight: float) -> bool:
    """Tells whether more virtual threads are ready than requests are in flight, or thread dumps show tasks."""
    ready = (mean_level(measured.trials, name) or 0.0 for name in ("virtual_queued", "virtual_mounted"))
    if math.fsum(ready) > EXCEEDED * in_flight:
        return True
    dumped = measured.diagnosis
    tasks = math.fsum(place.threads for place in dumped.places if place.is_task) if dumped else 0.0
    return dumped is not None and tasks > (1 - REACHED) * dumped.threads


def place_in_code(measured: Measured) -> Bottleneck | None:
    """Finds the place where requests spend what they take longer than alone, by thread dumps; None where no place has
    most of it, or they wait for a pool whose meters say otherwise. Of a pool without meters it is the pool itself,
    where all else takes no longer than alone: then more connections help. Else it is what is behind the pool, where the
    holders wait for that for longer than requests take alone."""
    running, service = _running(measured), estimate_alone(measured, service_alone)
    if not service or not running:
        return None
    # The longest that one may take alone. A thread whose wait has ended still shows it in a dump until it can run.
    expected_requests = (service.high or service.seconds) * (_diagnosed_throughput(measured) or 0.0) / running
    # With no more requests than if each took as long as alone, nothing inside the service keeps them.
    if not measured.diagnosis or not expected_requests or measured.diagnosis.threads <= EXCEEDED * expected_requests:
        return None
    cause = places.cause(measured.diagnosis, alone=expected_requests)
    if cause and cause.activity in places.OF_HOLDERS and capacity(measured, RESOURCES[cause.activity]) is None:
        return UNKNOWN.model_copy(
            update={"resource": _behind_pool(measured.diagnosis, cause.activity, expected_requests)}
        )
    if cause and cause.activity == "executor" and capacity(measured, RESOURCES["executor"]) is None:
        return _behind_executor(measured.diagnosis, cause)
    return UNKNOWN.model_copy(update={"resource": _name(cause)})


def _behind_executor(diagnosis: Diagnosis, cause: places.Cause) -> Bottleneck:
    """Names an executor without meters, with the line that waits for it, where more requests wait than tasks run: the
    others queue. Else the tasks take long, and what they do at most is not known to be of these requests."""
    waiting = math.fsum(place.threads for place in diagnosis.places if place.activity == "executor")
    running = math.fsum(place.threads for place in diagnosis.places if place.is_task)
    if waiting <= EXCEEDED * running:
        return UNKNOWN
    return UNKNOWN.model_copy(update={"resource": "executor", "place": cause.place})


def _behind_pool(diagnosis: Diagnosis, pool: str, alone: float) -> str:
    """Names what limits requests that wait for a pool without meters. ``alone``: how many there would be at a time if
    each took as long as alone."""
    threads = dict.fromkeys((pool, places.OF_HOLDERS[pool]), 0.0)
    for place in diagnosis.places:
        if place.activity in threads:
            threads[place.activity] += place.threads
    if diagnosis.threads - threads[pool] <= EXCEEDED * alone:
        return pool
    behind = places.OF_HOLDERS[pool]
    return behind if threads[behind] > EXCEEDED * alone else UNKNOWN.resource


def _diagnosed_throughput(measured: Measured) -> float | None:
    """Computes the OK requests per second while the dumps were taken: where something had disturbed the trials that
    count, more than in these."""
    throughput = measured.diagnosis.throughput if measured.diagnosis else None
    return measured.throughput if throughput is None else throughput


def _name(cause: places.Cause | None) -> str:
    """Names a bottleneck that thread dumps show."""
    if cause and cause.activity in _BEHIND:
        return cause.activity
    return cause.place if cause and cause.place and cause.activity in _IN_CODE else UNKNOWN.resource
