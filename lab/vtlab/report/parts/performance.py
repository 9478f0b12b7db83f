"""Throughput, latency, costs and failures of each variant under the load."""

from __future__ import annotations

from vtlab.model.load import ClosedLoad
from vtlab.model.records import Trial
from vtlab.model.run import Analysis
from vtlab.model.units import percent
from vtlab.model.verdict import VariantResult
from vtlab.report.charts.trials import latency_percentiles, trial_dots
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import bottlenecks, figures, outcome_rows
from vtlab.report.words.labels import variant_names

#: Client latency: the words of the page, and the key of ``VariantResult.latency``.
PERCENTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p99.9": "p99_9", "max": "max"}


def latency_figure(result: VariantResult, percentile: str) -> str:
    """Writes a latency, or that there is none to give."""
    if result.growth is not None:
        return "overloaded"
    return figures.duration(result.latency.get(percentile) if result.has_latency else None)


def _trials(analysis: Analysis, variant: str) -> list[Trial]:
    """Returns the trials of a variant that count, in order."""
    return [t for b in analysis.accepted for t in b.trials if t.variant == variant]


def performance_panels(analysis: Analysis) -> list[Panel]:
    """Draws throughput and latency by variant."""
    return [_throughput_panel(analysis), *filter(None, [_p99_panel(analysis), _percentile_panel(analysis)])]


def _throughput_panel(analysis: Analysis) -> Panel:
    variants, publication = variant_names(analysis), analysis.run.manifest.publication
    is_comparable = publication is not None and publication.is_published_size(analysis.run.experiment)
    publications = publication.figures if publication and is_comparable else {}
    published = {name: figure.throughput for name, figure in publications.items() if name in variants}
    throughput = [(name, [t.throughput for t in _trials(analysis, name)]) for name in variants]
    return Panel(
        "Throughput",
        trial_dots(throughput, "OK requests per second in each trial", figures.rate, published),
        "One mark per trial; the line is the mean." + (" Triangle: as published." if published else ""),
    )


def _p99_panel(analysis: Analysis) -> Panel | None:
    measured = _with_latency(analysis)
    p99 = [
        (name, [t.latency.p99 for t in _trials(analysis, name) if t.latency.p99 is not None and name in measured])
        for name in variant_names(analysis)
    ]
    if not any(values for _, values in p99):
        return None
    picture = trial_dots(p99, "Client latency p99 in each trial", figures.duration)
    return Panel("Latency p99", picture, "As the client sees it, including queueing.")


def _percentile_panel(analysis: Analysis) -> Panel | None:
    """Draws latency by percentile, of windows that do not tell how it is distributed."""
    if any(t.answers for b in analysis.accepted for t in b.trials):
        return None
    results, measured = analysis.verdict.variants, _with_latency(analysis)
    by_percentile = [
        (name, [results[name].latency.get(key) if name in measured else None for key in PERCENTILES.values()])
        for name in variant_names(analysis)
        if name in results
    ]
    picture = latency_percentiles(by_percentile, list(PERCENTILES))
    return Panel("Latency by percentile", picture, "Logarithmic. No mark: too few samples.") if picture else None


def _with_latency(analysis: Analysis) -> list[str]:
    """Returns the variants that have a latency to give."""
    results = analysis.verdict.variants
    return [name for name in variant_names(analysis) if name in results and results[name].has_latency]


def latency_table(analysis: Analysis) -> Table:
    """Lists client latency, with the parts that the server sees; a remark where there is no latency to give."""
    rows, remarks = [], []
    load = analysis.run.experiment.load
    for name in variant_names(analysis):
        r = analysis.verdict.variants.get(name)
        if r:
            is_known = r.has_latency
            durations = [
                figures.duration(r.latency.get(key) if is_known else None) for key in ("mean", *PERCENTILES.values())
            ]
            queue = figures.duration(r.queue_time if is_known else None)
            rows.append([name, *durations, figures.duration(r.service_time), queue])
            remarks.append(_no_latency(r, load.users))
    head = ["variant", "mean", *PERCENTILES, "service time", "queue time"]
    if any(remarks):
        head.append("remark")
        rows = [[*row, remark] for row, remark in zip(rows, remarks, strict=True)]
    follows = " Under closed load the mean follows from the throughput: users / throughput, less the think time."
    caption = (
        "Client latency: means over trials."
        + (follows if isinstance(load, ClosedLoad) else "")
        + " Service time is the server's mean once a thread has the request; queue time is the client's mean minus"
        " the service time (a script has none: an iteration may have several requests). – means: not measured, or a"
        " trial has fewer than 10 samples beyond the percentile (p99.9 needs 10,000 requests per window)."
    )
    return Table(caption, head, rows, numeric=tuple(range(1, 9)))


def _no_latency(result: VariantResult, users: int) -> str:
    """Says why a variant has no latency; empty where it has one."""
    if result.growth is not None:
        return bottlenecks.growing(result.growth)
    if result.missing_users is not None:
        if result.missing_users >= 0.5:
            return f"{round(result.missing_users):,} of {users:,} users never got an answer"
        return f"latency and throughput do not match {users:,} user{'' if users == 1 else 's'}"
    return ""


def cost_table(analysis: Analysis) -> Table:
    """Lists throughput, errors, CPU and memory of each variant."""
    rows = []
    for name in variant_names(analysis):
        r = analysis.verdict.variants.get(name)
        if r:
            rows.append(
                [
                    name,
                    figures.rate(r.throughput if analysis.has_windows(name) else None),
                    outcome_rows.errors(analysis, name),
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
        "Throughput excludes errors. Dropped: arrivals that could not start (open load). Memory: the largest resident"
        " set. Modelled: by mean value analysis of the service demands. Expected: by the operational laws, if the"
        " experiment states it."
    )
    return Table(caption, head, rows, numeric=tuple(range(1, 9)))


def failure_table(analysis: Analysis) -> Table:
    """Lists how often each variant failed, and how; no rows where none did."""
    v = analysis.verdict
    failed = [(name, v.variants[name]) for name in variant_names(analysis) if name in v.variants]
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
