"""What each variant used and waited for: resources over time, bounds, places in the code."""

from __future__ import annotations

from vtlab.catalogue.resources import EXCEEDED
from vtlab.model.records import Block
from vtlab.model.run import Analysis, BlockSeries
from vtlab.model.units import percent
from vtlab.model.verdict import Bound, VariantResult
from vtlab.report.charts import ratios as charts
from vtlab.report.charts.ratios import Format, Window
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import figures
from vtlab.report.words.labels import names


def sampled(analysis: Analysis) -> tuple[Block, BlockSeries] | None:
    """The first accepted block that has samples."""
    for block in analysis.accepted:
        series = analysis.run.series.get((block.block, block.attempt))
        if series:
            return block, series
    return None


_OVER_TIME: tuple[tuple[str, str, Format, str], ...] = (
    ("cpu_cores", "CPU, cores", figures.count, "A line at the limit: the CPU is the bottleneck."),
    (
        "throttled_periods",
        "CPU throttling",
        figures.share,
        "Share of 100 ms periods in which the CPU was withheld.",
    ),
    ("in_flight", "Requests in flight", figures.count, "A flat top is a cap: threads, connections or the load."),
    ("threads", "Platform threads", figures.count, "Live JVM threads; virtual threads are not among them."),
    ("heap_used", "Heap in use", figures.memory, "The saw teeth are garbage collections."),
    ("resident", "Resident memory", figures.memory, "What counts against the memory limit."),
)


def over_time(analysis: Analysis) -> list[Panel]:
    """Resource use over the first accepted block that has samples."""
    with_samples = sampled(analysis)
    if not with_samples:
        return []
    block, series = with_samples
    variants = names(analysis)
    windows = [
        Window(variants.index(t.variant), t.variant, t.start, t.end) for t in block.trials if t.variant in variants
    ]
    cpu = analysis.run.experiment.limits.cpu
    panels = []
    for name, title, form, caption in _OVER_TIME:
        lines = [(v, series.get(v, {}).get(name, [])) for v in variants]
        limit = (
            (cpu, f"limit {figures.cores(cpu)}") if name == "cpu_cores" and analysis.run.manifest.cpu_limited else None
        )
        top = 1.0 if name == "throttled_periods" else None
        picture = charts.over_time(title, lines, windows, form, limit, top)
        if picture:
            panels.append(Panel(title, picture, caption))
    return panels


def resources(analysis: Analysis) -> list[Panel]:
    """Bound beside measurement for each variant."""
    panels = []
    for slot, name in enumerate(names(analysis)):
        r = analysis.verdict.variants.get(name)
        if not r or not r.bounds:
            continue
        rows = []
        for b in r.bounds:
            rows.append((b, role(r, b)))
        panels.append(Panel(name, charts.bounds(name, slot, r.throughput, rows)))
    return panels


def role(result: VariantResult, bound: Bound) -> str:
    """What a bound is to its variant: the bottleneck, one of several, the next one, refuted, or nothing."""
    limit = result.bottleneck
    # Of waits that are drawn the bottleneck's bound is uncertain: more than it may have been measured.
    if bound.resource in (limit.resource, *limit.together):
        return "together" if limit.together else "bottleneck"
    if bound.utilisation > EXCEEDED:
        return "refuted"
    if limit.inside and bound.resource == limit.inside.pool:
        return "full, but what is inside is slow"
    is_next = result.next is not None and result.next.resource == bound.resource and bound.low is not None
    return "next" if is_next else ""


def resource_table(analysis: Analysis) -> Table:
    """Every bound with the capacity and the service demand it comes from."""
    rows: list[list[str]] = []
    marked: list[int] = []
    for name in names(analysis):
        r = analysis.verdict.variants.get(name)
        for b in r.bounds if r else []:
            what = role(r, b) if r else ""
            if what in ("bottleneck", "together"):
                marked.append(len(rows))
            rows.append(
                [
                    name,
                    b.resource,
                    figures.count(b.capacity),
                    figures.duration(b.service_demand),
                    figures.rate(b.bound),
                    figures.interval(b.low, b.high, figures.rate),
                    figures.rate(r.throughput if r else None),
                    figures.DASH if what == "refuted" else figures.reached(b.utilisation),
                    what,
                ]
            )
    head = [
        "variant",
        "resource",
        "capacity",
        "service demand",
        "bound",
        f"{percent(analysis.verdict.confidence)} interval",
        "measured",
        "reached",
        "role",
    ]
    caption = (
        "Bound = capacity / service demand: the most requests per second that the resource allows. Refuted: the"
        " measurement is far above it, so a request takes less of it under load than alone."
    )
    return Table(caption, head, rows, tuple(marked), (2, 3, 4, 5, 6, 7))


def places(analysis: Analysis) -> Table:
    """Where the threads that handle requests stood, by the thread dumps of the trial that does not count."""
    rows = []
    for block in analysis.accepted:
        for name in names(analysis):
            diagnosis = block.diagnosis.get(name)
            for place in diagnosis.places if diagnosis else []:
                share = place.threads / diagnosis.threads if diagnosis and diagnosis.threads else None
                rows.append([name, place.place, place.activity, figures.count(place.threads), figures.share(share)])
    caption = "Threads that handle a request, as a mean over thread dumps in a trial that does not count."
    return Table(caption, ["variant", "place", "what", "threads", "share"], rows, numeric=(3, 4))


def pinned(analysis: Analysis) -> Table:
    """Where virtual threads kept their carriers while they waited."""
    rows = [
        [name, place, figures.rate(rate)]
        for name in names(analysis)
        if (result := analysis.verdict.variants.get(name))
        for place, rate in result.pinned.items()
    ]
    caption = (
        "Waits of 1 ms and more of virtual threads that kept their carriers: the innermost line of code that is not the"
        " JDK's. A carrier that waits runs no other thread."
    )
    return Table(caption, ["variant", "class and line", "pinnings per second"], rows, numeric=(2,))
