"""What each variant did under the load: throughput, latency, costs, failures."""

from __future__ import annotations

from vtlab.analysis.comparable import has_latency
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Trial
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.model.verdict import VariantResult
from vtlab.report.charts import ratios as charts
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import bottlenecks, figures
from vtlab.report.words.labels import names

#: Client latency: the words of the page, and the key of ``VariantResult.latency``.
PERCENTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p99.9": "p99_9", "max": "max"}


def latency_figure(result: VariantResult, percentile: str) -> str:
    """A latency, or that there is none to give."""
    if result.growth is not None:
        return "overloaded"
    return figures.duration(result.latency.get(percentile) if has_latency(result) else None)


def trials(analysis: Analysis, variant: str) -> list[Trial]:
    """The trials of a variant that count, in order."""
    return [t for b in analysis.accepted for t in b.trials if t.variant == variant]


def performance(analysis: Analysis) -> list[Panel]:
    """Throughput and latency by variant."""
    variants = names(analysis)
    throughput = [(n, [t.throughput for t in trials(analysis, n)]) for n in variants]
    results = analysis.verdict.variants
    with_latency = [n for n in variants if n in results and has_latency(results[n])]
    p99 = [
        (n, [t.latency.p99 for t in trials(analysis, n) if t.latency.p99 is not None and n in with_latency])
        for n in variants
    ]
    experiment = analysis.run.experiment
    publication = analysis.run.manifest.publication
    comparable = publication.figures if publication and publication.is_published_size(experiment) else {}
    published = {n: figure.throughput for n, figure in comparable.items() if n in variants}
    panels = [
        Panel(
            "Throughput",
            charts.dots(throughput, "OK requests per second in each trial", figures.rate, published),
            "One mark per trial; the line is the mean." + (" Triangle: as published." if published else ""),
        )
    ]
    if any(values for _, values in p99):
        panels.append(
            Panel(
                "Latency p99",
                charts.dots(p99, "Client latency p99 in each trial", figures.duration),
                "As the client sees it, queueing included.",
            )
        )
    by_percentile = [
        (n, [results[n].latency.get(key) if n in with_latency else None for key in PERCENTILES.values()])
        for n in variants
        if n in results
    ]
    curve = charts.percentiles(by_percentile, list(PERCENTILES))
    if curve:
        panels.append(Panel("Latency by percentile", curve, "Logarithmic. No mark: too few samples."))
    return panels


def latency(analysis: Analysis) -> Table:
    """Client latency, with what of it the server sees; a remark where there is none to give."""
    rows, remarks = [], []
    load = analysis.run.experiment.load
    for name in names(analysis):
        r = analysis.verdict.variants.get(name)
        if r:
            known = has_latency(r)
            shown = [figures.duration(r.latency.get(key) if known else None) for key in ("mean", *PERCENTILES.values())]
            queue = figures.duration(r.queue_time if known else None)
            rows.append([name, *shown, figures.duration(r.service_time), queue])
            remarks.append(_no_latency(r, load.users))
    head = ["variant", "mean", *PERCENTILES, "service time", "queue time"]
    if any(remarks):
        head.append("remark")
        rows = [[*row, remark] for row, remark in zip(rows, remarks, strict=True)]
    follows = " Under closed load it follows from the throughput: users / throughput, less the think time."
    caption = (
        "Client latency: means over trials."
        + (follows if isinstance(load, ClosedLoad) else "")
        + " Service time is the server's mean once a thread has the request;"
        " queue time is the client's mean minus it. – stands where a trial has fewer than 10 samples beyond"
        " the percentile (p99.9 needs 10,000 requests per window), or nothing was measured."
    )
    return Table(caption, head, rows, numeric=tuple(range(1, 9)))


def _no_latency(result: VariantResult, users: int) -> str:
    """Why a variant has no latency; empty where it has one."""
    if result.growth is not None:
        return bottlenecks.growing(result.growth)
    if result.missing_users is not None:
        if result.missing_users >= 0.5:
            return f"{round(result.missing_users):,} of {users:,} users never got an answer"
        return f"latency and throughput do not fit {users:,} user{'' if users == 1 else 's'}"
    return ""


def costs(analysis: Analysis) -> Table:
    """Throughput, errors, CPU and memory of each variant."""
    rows = []
    for name in names(analysis):
        r = analysis.verdict.variants.get(name)
        if r:
            rows.append(
                [
                    name,
                    figures.rate(r.throughput),
                    figures.share(r.error_ratio),
                    figures.share(r.dropped_ratio),
                    figures.duration(r.cpu_per_request),
                    figures.memory(r.memory),
                    figures.rate(r.modelled),
                    figures.rate(r.expected),
                    figures.ratio(r.fidelity),
                ]
            )
    head = [
        "variant",
        "throughput",
        "errors",
        "dropped",
        "CPU per request",
        "memory",
        "modelled",
        "expected",
        "measured / expected",
    ]
    caption = (
        "Errors never count as throughput. Dropped: arrivals that could not start (open load). Memory: the"
        " largest resident set. Modelled: by mean value analysis of what a request takes. Expected: by the"
        " operational laws, where the experiment has it."
    )
    return Table(caption, head, rows, numeric=tuple(range(1, 9)))


def failures(analysis: Analysis) -> Table:
    """How often each variant failed, and how; no rows where none did."""
    v = analysis.verdict
    failed = [(name, v.variants[name]) for name in names(analysis) if name in v.variants]
    rows = [
        [
            name,
            f"{r.failed_blocks} of {v.n}",
            figures.interval(*r.failed_interval, lambda share, _: figures.share(share))
            if r.failed_interval
            else figures.DASH,
            bottlenecks.failures(r) if r.failed_blocks else "",
        ]
        for name, r in failed
    ]
    caption = "A block is a fresh start. The interval of the share of starts that fail is exact (Clopper-Pearson)."
    head = ["variant", "blocks in which it failed", f"{percent(v.confidence)} interval", "how, and when"]
    return Table(caption, head, rows if any(r.failed_blocks for _, r in failed) else [], numeric=(1, 2))
