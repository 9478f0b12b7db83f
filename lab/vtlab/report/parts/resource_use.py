"""Resources that each variant used and waited for: over time, beside their bounds, and as places in the code."""

from __future__ import annotations

from vtlab.analysis.laws.bounds import is_refuted
from vtlab.model.records import Block
from vtlab.model.run import Analysis, BlockSeries
from vtlab.model.units import percent
from vtlab.model.verdict import Bound, VariantResult
from vtlab.report.charts.axes import Format
from vtlab.report.charts.bounds import reached_bounds
from vtlab.report.charts.over_time import Samples, Window, samples_over_time
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import figures
from vtlab.report.words.labels import variant_names


def sampled_block(analysis: Analysis) -> tuple[Block, BlockSeries] | None:
    """Finds the first accepted block that has samples."""
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
        "Share of the 100 ms periods in which the CPU quota ran out.",
    ),
    ("in_flight", "Requests in flight", figures.count, "A flat top is a cap: threads, connections or the load."),
    ("threads", "Platform threads", figures.count, "Live JVM threads, without virtual threads."),
    ("heap_used", "Heap in use", figures.memory, "Each drop is a garbage collection."),
    ("resident", "Resident memory", figures.memory, "The memory that counts against the limit."),
)


def over_time_panels(analysis: Analysis) -> list[Panel]:
    """Draws resource use over the first accepted block that has samples."""
    if (sampled := sampled_block(analysis)) is None:
        return []
    block, series = sampled
    variants, manifest, cpu = variant_names(analysis), analysis.run.manifest, analysis.run.experiment.limits.cpu
    windows = [
        Window(variants.index(t.variant), t.variant, t.start, t.end) for t in block.trials if t.variant in variants
    ]
    panels = []
    for name, title, form, caption in _OVER_TIME:
        samples = Samples(
            title=title,
            lines=[(variant, series.get(variant, {}).get(name, [])) for variant in variants],
            windows=windows,
            form=form,
            limit=(cpu, f"limit {figures.cores(cpu)}") if name == "cpu_cores" and manifest.cpu_limited else None,
            top=1.0 if name == "throttled_periods" else None,
        )
        if picture := samples_over_time(samples):
            panels.append(Panel(title, picture, caption))
    return panels


def over_time_note(analysis: Analysis) -> str:
    """Says what the charts over time show; empty where there are none."""
    if (sampled := sampled_block(analysis)) is None:
        return ""
    return (
        f"Block {sampled[0].block}, from its first trial. Shaded: the measured windows, labelled with the initials of"
        " the variant under load."
    )


def bound_panels(analysis: Analysis) -> list[Panel]:
    """Draws bound beside measurement for each variant."""
    panels = []
    for slot, name in enumerate(variant_names(analysis)):
        result = analysis.verdict.variants.get(name)
        if result and result.bounds:
            rows = [(bound, role(result, bound)) for bound in result.bounds]
            panels.append(Panel(name, reached_bounds(name, slot, result.throughput, rows)))
    return panels


def role(result: VariantResult, bound: Bound) -> str:
    """Says what a bound is to its variant: the bottleneck, one of several, the next one, refuted, or nothing."""
    limit = result.bottleneck
    # Where waits are random the bottleneck's bound is uncertain: the measurement may exceed it.
    if bound.resource in limit.resources:
        return "together" if limit.together else "bottleneck"
    if is_refuted(bound):
        return "refuted"
    if limit.inside and bound.resource == limit.inside.pool:
        return "full, but slow inside"
    is_next = result.next is not None and result.next.resource == bound.resource and bound.low is not None
    return "next" if is_next else ""


def bound_table(analysis: Analysis) -> Table:
    """Lists every bound with the capacity and the service demand it comes from."""
    bounds = [
        (name, result, bound)
        for name in variant_names(analysis)
        if (result := analysis.verdict.variants.get(name))
        for bound in result.bounds
    ]
    rows = [_bound_row(*row) for row in bounds]
    marked = [i for i, (_, result, bound) in enumerate(bounds) if role(result, bound) in ("bottleneck", "together")]
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
        "Bound = capacity / service demand: the most requests per second that the resource can serve. Refuted: the"
        " measurement is far above it, so a request needs less of the resource under load than alone."
    )
    return Table(caption, head, rows, tuple(marked), (2, 3, 4, 5, 6, 7))


def _bound_row(name: str, result: VariantResult, bound: Bound) -> list[str]:
    bound_role = role(result, bound)
    return [
        name,
        bound.resource,
        figures.count(bound.capacity),
        figures.duration(bound.service_demand),
        figures.rate(bound.bound),
        figures.interval(bound.low, bound.high, figures.rate),
        figures.rate(result.throughput),
        figures.DASH if bound_role == "refuted" else figures.reached(bound.utilisation),
        bound_role,
    ]


def place_table(analysis: Analysis) -> Table:
    """Lists where the threads that handle requests stood, by the thread dumps of the unscored trial."""
    rows = []
    for block in analysis.accepted:
        for name in variant_names(analysis):
            diagnosis = block.diagnosis.get(name)
            for place in diagnosis.places if diagnosis else []:
                share = place.threads / diagnosis.threads if diagnosis and diagnosis.threads else None
                rows.append([name, place.place, place.activity, figures.count(place.threads), figures.share(share)])
    caption = "Threads that handle a request: means over the thread dumps of a final, unscored trial."
    return Table(caption, ["variant", "place", "what", "threads", "share"], rows, numeric=(3, 4))


def pool_table(analysis: Analysis) -> Table:
    """Lists how long requests wait for a unit of each pool, and hold one, by the pool's own meters."""
    rows = [
        [name, pool.name, figures.duration(pool.waiting), figures.duration(pool.holding)]
        for name in variant_names(analysis)
        if (result := analysis.verdict.variants.get(name))
        for pool in result.pool_times
    ]
    caption = (
        "Means per request, by the pools' own meters, not by thread dumps. Times of several pools may overlap: a"
        " request can hold units of two, and tasks of an executor can run at the same time."
    )
    return Table(caption, ["variant", "pool", "waits for it", "holds it"], rows, numeric=(2, 3))


def pinning_table(analysis: Analysis) -> Table:
    """Lists where virtual threads kept their carriers while they waited."""
    rows = [
        [name, place, figures.rate(rate)]
        for name in variant_names(analysis)
        if (result := analysis.verdict.variants.get(name))
        for place, rate in result.pinned.items()
    ]
    caption = (
        "Waits of 1 ms and more during which virtual threads kept their carriers, by the innermost line outside the"
        " JDK. A carrier that waits runs no other thread."
    )
    return Table(caption, ["variant", "class and line", "pinnings per second"], rows, numeric=(2,))
