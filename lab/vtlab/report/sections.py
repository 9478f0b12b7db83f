"""From an analysis to what the page shows of it: tables of ready text and charts, nothing left to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from vtlab.analysis import checks as validity
from vtlab.analysis.comparable import has_latency
from vtlab.catalogue.resources import EXCEEDED
from vtlab.jmh import Score
from vtlab.model.experiment import ClosedLoad, Experiment
from vtlab.model.records import Block, Bound, Comparison, Decision, Trial, VariantResult
from vtlab.model.run import Analysis, BlockSeries
from vtlab.model.units import percent
from vtlab.report import bottlenecks, charts, class_archives, figures, words
from vtlab.report.charts import Format, Row, Window

#: Client latency: the words of the page, and the key of ``VariantResult.latency``.
PERCENTILES = {"p50": "p50", "p90": "p90", "p99": "p99", "p99.9": "p99_9", "max": "max"}


@dataclass(frozen=True)
class Table:
    """A table of text: a caption, headings (the first names the rows), rows; ``marked`` rows stand out."""

    caption: str
    head: list[str]
    rows: list[list[str]]
    marked: tuple[int, ...] = ()
    #: Columns of figures, set flush right.
    numeric: tuple[int, ...] = ()


@dataclass(frozen=True)
class Panel:
    """A chart with its heading and a line that says what to look for."""

    title: str
    chart: Markup
    caption: str = ""


def limits(analysis: Analysis) -> str:
    """The limits for a table: ``1 CPU, 768Mi``."""
    of = analysis.run.experiment.limits
    # Without a control group nothing enforces the memory limit either.
    return f"{figures.cores(of.cpu)}, {of.memory}" if analysis.run.manifest.cpu_limited else "none"


def under(analysis: Analysis) -> str:
    """The limits for a title: ``under 1 CPU, 768Mi``."""
    return f"under {limits(analysis)}" if analysis.run.manifest.cpu_limited else "without limits"


def title(analysis: Analysis) -> str:
    """The experiment, and where it compares several variants with the first, which of them this is."""
    name, variants = analysis.verdict.experiment, analysis.run.manifest.experiment.variants
    return name if len(variants) == 2 else f"{name}, {names(analysis)[-1]}"


def interval(analysis: Analysis) -> Markup | None:
    """The chart of the verdict card."""
    verdict, c = analysis.verdict, words.primary(analysis.verdict)
    if c.ratio is None:
        return None
    return charts.ratios([Row(verdict.experiment, c)], verdict.margin, heading(c))


def heading(c: Comparison) -> str:
    """What a ratio is of: ``Throughput of virtual over platform``."""
    what = metric(c.metric)
    return f"{what[0].upper()}{what[1:]} of {c.of} over {c.over}"


METRICS = {
    "throughput": "throughput",
    "latency_mean": "mean latency",
    "latency_p50": "latency p50",
    "latency_p99": "latency p99",
    "cpu_per_request": "CPU per request",
    "memory": "memory",
    "service_time": "service time",
    "queue_time": "queue time",
}


def metric(name: str) -> str:
    """A metric in words."""
    return METRICS.get(name, name.replace("_", " "))


def probability(p: float) -> str:
    """A p value to three places: ``0.031``, ``< 0.001``."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def ratio(c: Comparison) -> str:
    """A ratio for a table; a lower bound says so: ``≥ 5.00×``, of a variant that is slower ``≤ 0.200×``."""
    bounded = c.ratio is not None and c.is_lower_bound
    sign = ("≥ " if (c.ratio or 0) > 1 else "≤ ") if bounded else ""
    return sign + figures.ratio(c.ratio)


def by_metric(analysis: Analysis) -> Table:
    """Both values of every metric, the primary one first, with its verdict; the ratio where it holds."""
    v = analysis.verdict
    first = words.primary(v)
    compared = {c.metric: c for c in v.comparisons}
    rows: list[list[str]] = []
    for name in [v.primary, *(name for name in METRICS if name != v.primary)]:
        values = [_value(name, v.variants[of]) for of in (first.over, first.of)]
        c = compared.get(name)
        if c is None and set(values) == {figures.DASH}:
            continue
        rows.append(
            [
                metric(name),
                *values,
                (ratio(c) if c else figures.DASH),
                figures.interval(c.low, c.high) if c else figures.DASH,
                c.better if c else "",
                (c.verdict or "") if c else "",
            ]
        )
    head = ["metric", first.over, first.of, "ratio", f"{percent(v.confidence)} interval", "better", "verdict"]
    caption = f"Ratios {first.of} over {first.over}. The primary metric, first, carries the verdict.{_tests(analysis)}"
    caption += (
        " Without a ratio: CPU per request and memory at throughputs that differ by more than"
        f" {percent(v.margin)}; service time and queue time, which belong together; latency under closed load, which"
        " follows from the throughput; latency of an overloaded variant."
    )
    return Table(caption, head, rows, (0,), (1, 2, 3, 4))


def _tests(analysis: Analysis) -> str:
    """The p values of the primary metric, and of which claim they are."""
    v, c = analysis.verdict, words.primary(analysis.verdict)
    given = (("paired t", c.p_t), ("after Holm", c.p_holm), ("sign flip", c.p_sign_flip))
    tests = [f"{name} {probability(p)}" for name, p in given if p is not None]
    if not tests:
        return ""
    text = f" Its p, one-sided, for {_claim(c, v.margin)}: {', '.join(tests)}."
    if v.decision:
        return f"{text} {_levels(v.decision)}"
    return text + (" Holm: corrected for the number of comparisons in this report." if c.p_holm is not None else "")


def _levels(decision: Decision) -> str:
    """Which p settles a verdict of a run with looks."""
    looks = figures.listed([str(number) for number in decision.looks])
    among = f" and {decision.comparisons} comparisons" if decision.comparisons > 1 else ""
    return (
        f"At {decision.blocks} blocks a p of at most {100 * decision.level / 2:.2g} % settles it: the looks at {looks}"
        f" blocks{among} share 2.5 % to each side, and their intervals 95 %."
    )


def _value(name: str, result: VariantResult) -> str:
    """One variant's value of a metric."""
    if name.startswith("latency_"):
        return latency_figure(result, name.removeprefix("latency_"))
    form = {"throughput": figures.rate, "memory": figures.memory}.get(name, figures.duration)
    value = {
        "throughput": result.throughput,
        "cpu_per_request": result.cpu_per_request,
        "memory": result.memory,
        "service_time": result.service_time,
        "queue_time": result.queue_time if has_latency(result) else None,
    }[name]
    return form(value)


def latency_figure(result: VariantResult, percentile: str) -> str:
    """A latency, or that there is none to give."""
    if result.growth is not None:
        return "overloaded"
    return figures.duration(result.latency.get(percentile) if has_latency(result) else None)


def _claim(comparison: Comparison, margin: float) -> str:
    """What the p values of a comparison are of."""
    ratio, most = comparison.ratio or 1.0, 1 + margin
    if 1 / most <= ratio <= most:
        return f"a difference below {percent(margin)}"
    return f"a ratio above {most:g}" if ratio > most else f"a ratio below 1/{most:g}"


def trials(analysis: Analysis, variant: str) -> list[Trial]:
    """The trials of a variant that count, in order."""
    return [t for b in analysis.accepted for t in b.trials if t.variant == variant]


def names(analysis: Analysis) -> list[str]:
    """The variants in the experiment's order: the same place, colour and mark everywhere."""
    return list(analysis.run.experiment.variants)


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
        if result.missing_users > 0:
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


def blocks(analysis: Analysis) -> Markup | None:
    """The ratio of every block that counts and in which neither variant failed."""
    c = words.primary(analysis.verdict)
    sound = [b for b in analysis.accepted if validity.failed(b, analysis.run.experiment).isdisjoint((c.of, c.over))]
    if not c.log_ratios or len(c.log_ratios) != len(sound):
        return None
    return charts.per_block(c, [b.block for b in sound], analysis.verdict.margin)


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


def checks(analysis: Analysis) -> Table:
    """What every block had to show before it counted."""
    rows = [[row.name, row.limit, row.worst, "passed" if row.passed else "FAILED"] for row in analysis.checks]
    bad = tuple(i for i, row in enumerate(analysis.checks) if not row.passed)
    head = ["validity check", "limit", "worst value", "result"]
    return Table("Worst value over the blocks that count.", head, rows, bad)


def rejected(analysis: Analysis) -> Table:
    """Attempts that do not count, with every reason."""
    rows = [[f"{r.block}", f"{r.attempt}", "; ".join(r.reasons)] for r in analysis.rejected]
    return Table(
        "They stay in the raw data and count for nothing else.",
        ["block", "attempt", "why it was rejected"],
        rows,
    )


def environment(analysis: Analysis) -> Table:
    """What ran, on what."""
    m, exp = analysis.run.manifest, analysis.run.experiment
    cpu = figures.cores(exp.limits.cpu) + ("" if m.cpu_limited else " (not enforced)")
    load = exp.load
    amount = f"closed: {words.load_words(exp)}" if load.model == "closed" else f"open: {load.rate:g} arrivals/s"
    seen = sorted(
        {
            (i.variant, i.java, i.gc, i.processors, class_archives.beside(i))
            for b in analysis.accepted
            for i in b.instances
        }
    )
    rows = [
        ["started", figures.utc(m.started)],
        ["target", m.target],
        ["request" if exp.only_request else "workload", exp.workload.title],
        ["load", amount],
        [
            "limits",
            f"{cpu}, {exp.limits.memory}, heap {exp.limits.heap or 'as the JVM chooses'}",
        ],
        ["measured window", windows(exp)],
        *(
            [f"{name}: JVM saw", f"Java {java}, {gc} GC, {cpus} processor{'s' if cpus != 1 else ''}{archives}"]
            for name, java, gc, cpus, archives in seen
        ),
        *_raised(analysis),
        ["JVM flags", " ".join(m.jvm_flags) or "none"],
        *([k, v] for k, v in m.versions.items() if k != "java"),
        *([k, v] for k, v in m.machine.items()),
        *([f"setting {k}", v] for k, v in exp.settings.items()),
    ]
    return Table("As recorded before the first block.", ["what", "value"], rows)


def _raised(analysis: Analysis) -> list[list[str]]:
    """The row that says how much CPU the first part of the warm-up had, where that was more than the limit."""
    raised = max((t.raised_cpu for b in analysis.accepted for t in b.warmup if t.raised_cpu), default=None)
    return [["first part of the warm-up", figures.cores(raised)]] if raised else []


def windows(exp: Experiment) -> str:
    """How long the measured windows are, of variants that have others, too."""
    others = [f"{name} {window}" for name, window in exp.windows.measure_by_variant.items() if name in exp.variants]
    return ", ".join([exp.windows.measure, *others])


BENCHMARK = "001: 500 tasks on an executor, by JMH"


def benchmark(scores: Sequence[Score]) -> Table:
    """What JMH measured."""
    head = ["tasks", "executor", "published", "expected", "ours", "99.9 %", "n"]
    caption = "Milliseconds that all tasks take together, with JMH's interval."
    rows = [[score.benchmark, score.executor, *_milliseconds(score)] for score in scores]
    return Table(caption, head, rows, numeric=(2, 3, 4, 5, 6))


def _milliseconds(score: Score) -> list[str]:
    def shown(value: float | None) -> str:
        return figures.DASH if value is None else f"{figures.short(figures.significant(value, 4))} ms"

    error = figures.DASH if score.error is None else f"± {figures.significant(score.error, 3)} ms"
    return [shown(score.published), shown(score.expected), shown(score.milliseconds), error, str(score.n)]
