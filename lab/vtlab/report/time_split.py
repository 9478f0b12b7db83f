"""Where the time of a request goes, variant beside variant."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis.comparable import has_latency
from vtlab.model.records import Activity, Diagnosis
from vtlab.model.run import Analysis
from vtlab.report import bottlenecks, charts
from vtlab.report.charts import Part
from vtlab.report.sections import Panel, names

CAPTION = (
    "Means of a request: what it waits before a thread has it, then what its thread does, by thread dumps where there"
    " are any. The bars have one scale."
)
#: Parts of the service time that are named; the rest is one part.
_MOST = 4
_QUEUE, _SERVICE, _REST = "queue, before a thread has it", "service, once a thread has it", "the rest"


def panels(analysis: Analysis) -> list[Panel]:
    """One for each variant whose times are known, on one scale; none where fewer than two are."""
    by_variant = {name: parts for name in names(analysis) if (parts := _parts(analysis, name))}
    if len(by_variant) < 2:
        return []
    longest = max(sum(part.seconds for part in parts) for parts in by_variant.values())
    order = names(analysis)
    return [
        Panel(name, charts.time_split(name, order.index(name), parts, longest)) for name, parts in by_variant.items()
    ]


def _parts(analysis: Analysis, variant: str) -> list[Part]:
    result = analysis.verdict.variants.get(variant)
    if result is None or not result.service_time:
        return []
    queue = result.queue_time if has_latency(result) else None
    queued = [Part(_QUEUE, queue, queued=True)] if queue else []
    dumped = [block.diagnosis[variant] for block in analysis.accepted if variant in block.diagnosis]
    return [*queued, *_of_service(dumped, result.service_time)]


def _of_service(dumped: Sequence[Diagnosis], service_time: float) -> list[Part]:
    """By Little's law the threads at a place are to all that handle requests as the time there is to the service
    time."""
    if not dumped or not dumped[0].threads:
        return [Part(_SERVICE, service_time)]
    diagnosis = dumped[0]
    parts = [
        Part(_named(place.activity, place.place), service_time * place.threads / diagnosis.threads)
        for place in diagnosis.places[:_MOST]
    ]
    rest = service_time - sum(part.seconds for part in parts)
    return [*parts, Part(_REST, rest)] if rest > service_time / 100 else parts


def _named(activity: Activity, place: str) -> str:
    return f"{bottlenecks.doing(activity)}: {place}"
