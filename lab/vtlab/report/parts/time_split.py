"""Bars that split the time of a request, variant beside variant."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.model.run import Analysis
from vtlab.model.verdict import Breakdown, PoolTime
from vtlab.report.charts.time_split import Part, time_bar
from vtlab.report.parts import breakdowns
from vtlab.report.parts.part import Panel
from vtlab.report.words.labels import variant_names

CAPTION = (
    "Means per request: its wait for a thread, then the work of its thread (from thread dumps, or by the meters of its"
    " pools, if any). The bars share one scale."
)
#: Most parts of the time that are named; the rest is one part.
_MOST = 5
#: Activities during which no thread of the service has the request.
_BEFORE = ("server-queue", "outside")
#: What a request does that has a unit of a pool.
_HOLDS = {
    "db-pool": "holds a database connection",
    "client-pool": "holds an HTTP connection",
    "executor": "is at work in the executor",
}
#: Least share of the service time that stands alone.
_LEAST = 0.01
_QUEUE, _SERVICE, _REST = "queue (waits for a thread)", "service (has a thread)", "the rest"


def time_panels(analysis: Analysis) -> list[Panel]:
    """Draws a bar for each variant whose times are known, on one scale; none where fewer than two are."""
    by_variant = {name: parts for name in variant_names(analysis) if (parts := _parts(analysis, name))}
    if len(by_variant) < 2:
        return []
    longest = max(sum(part.seconds for part in parts) for parts in by_variant.values())
    order = variant_names(analysis)
    return [Panel(name, time_bar(name, order.index(name), parts, longest)) for name, parts in by_variant.items()]


def _parts(analysis: Analysis, variant: str) -> list[Part]:
    result = analysis.verdict.variants.get(variant)
    if result is None:
        return []
    if result.time and result.time.parts and not result.time.is_slowed:
        return _by_dumps(result.time)
    if not result.service_time:
        return []
    # A script's service time is of one request, and nobody knows what that waits.
    if result.has_latency and result.queue_time is None:
        return []
    queue = result.queue_time if result.has_latency else None
    queued = [Part(_QUEUE, queue, queued=True)] if queue else []
    return [*queued, *(_in_pools(result.pool_times, result.service_time) or [Part(_SERVICE, result.service_time)])]


def _in_pools(pools: Sequence[PoolTime], service_time: float) -> list[Part]:
    """Splits the service time by the pools that a request waits for and uses; none where these times overlap, so that
    they are more than it."""
    parts = [
        Part(name, seconds)
        for pool in pools
        for name, seconds in ((breakdowns.noun(pool.name), pool.waiting), (_HOLDS[pool.name], pool.holding))
        if seconds >= _LEAST * service_time
    ]
    rest = service_time - sum(part.seconds for part in parts)
    if not parts or rest < -_LEAST * service_time:
        return []
    return [*parts, Part(_REST, rest)] if rest >= _LEAST * service_time else parts


def _by_dumps(time: Breakdown) -> list[Part]:
    """Returns first the share that no thread has, then the largest shares of the threads."""
    sorted_parts = sorted(time.parts, key=lambda part: part.activity not in _BEFORE)
    largest_parts = [
        Part(breakdowns.part_name(p), p.seconds or 0.0, queued=p.activity in _BEFORE) for p in sorted_parts[:_MOST]
    ]
    rest = sum(part.seconds or 0.0 for part in sorted_parts[_MOST:])
    return [*largest_parts, Part(_REST, rest)] if rest > time.latency / 100 else largest_parts
