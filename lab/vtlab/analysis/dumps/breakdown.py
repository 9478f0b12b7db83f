"""Breakdown of a request's time: Little's law at each place that thread dumps show.

Seconds that a request spends at a place = mean requests there / throughput. Requests in flight of the client =
throughput x mean latency, so a place's share of the latency is its share of these. All figures are of the trial with
the dumps: across trials the law says nothing.

Threads of executors are left out: the request that waits for them stands at its own place, and whose they are no dump
says. What no thread has is the difference to the requests in flight. It waits for a thread where the server's pool has
none to spare; else nobody knows where it is.
"""

from __future__ import annotations

import math

from vtlab.model.records import Diagnosis
from vtlab.model.verdict import Breakdown, TimePart

#: Share of the requests in flight from which on the dumps contradict the latency.
CONTRADICTED = 1.1
#: Share of the blocks' throughput below which the trial's seconds are not the blocks'.
SLOWED = 0.9
#: Threads without a request, as a share of the server's pool, at most, where it has none to spare: a thread is free for
#: a moment between two requests.
SPARE = 0.05


def by_dumps(diagnosis: Diagnosis, throughput: float, threads: float | None = None) -> Breakdown | None:
    """Splits the latency of the trial with these dumps; None where that trial's figures are not known. ``throughput``:
    OK requests per second of the blocks. ``threads``: the most that the server's pool may have; None where that is not
    known."""
    if not diagnosis.throughput or not diagnosis.latency:
        return None
    in_flight = diagnosis.throughput * diagnosis.latency
    is_slowed = diagnosis.throughput < SLOWED * throughput
    handled = math.fsum(place.threads for place in diagnosis.places if not place.is_task)
    accounted = handled / in_flight
    is_full = _is_pool_full(diagnosis, threads)
    parts = [] if accounted > CONTRADICTED else _parts(diagnosis, in_flight, is_full, with_seconds=not is_slowed)
    return Breakdown(
        dumps=diagnosis.dumps,
        throughput=diagnosis.throughput,
        latency=diagnosis.latency,
        parts=parts,
        explained=math.fsum(part.share for part in parts if part.is_explained),
        accounted=accounted,
        is_slowed=is_slowed,
        dump_cpu=diagnosis.dump_cpu,
        cpu_share=diagnosis.cpu_share,
        is_held_back=diagnosis.is_held_back,
    )


def _parts(diagnosis: Diagnosis, in_flight: float, is_full: bool, *, with_seconds: bool) -> list[TimePart]:
    seconds_each = 1 / diagnosis.throughput if with_seconds and diagnosis.throughput else None
    handled = [place for place in diagnosis.places if not place.is_task]
    parts = [
        TimePart(
            activity=place.activity,
            place=place.place,
            share=place.threads / in_flight,
            seconds=None if seconds_each is None else place.threads * seconds_each,
            requests=place.threads,
            is_explained=not place.is_unnamed,
        )
        for place in handled
        if place.threads > 0
    ]
    outside = in_flight - math.fsum(place.threads for place in handled)
    if outside > 0:
        parts.append(
            TimePart(
                activity="server-queue" if is_full else "outside",
                place="",
                share=outside / in_flight,
                seconds=None if seconds_each is None else outside * seconds_each,
                requests=outside,
                is_explained=is_full,
            )
        )
    return sorted(parts, key=lambda part: (-part.share, part.activity, part.place))


def _is_pool_full(diagnosis: Diagnosis, threads: float | None) -> bool:
    """Tells whether the server's pool is as large as it may be, and all of its threads have a request."""
    if diagnosis.idle is None:
        return False
    pool = diagnosis.idle + math.fsum(place.threads for place in diagnosis.places if not place.is_task)
    return diagnosis.idle <= SPARE * pool and (threads is None or pool >= (1 - SPARE) * threads)
