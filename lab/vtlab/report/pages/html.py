"""``report.html``: one file, no network, no script; the same analyses give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from vtlab.catalogue import palette
from vtlab.model.manifest import NO_COMMIT
from vtlab.model.run import Analysis
from vtlab.model.units import in_blocks, percent
from vtlab.model.verdict import VariantResult
from vtlab.report.charts import ratios as charts
from vtlab.report.parts import breakdowns, performance, provenance, ratios, resource_use, thresholds, time_split
from vtlab.report.parts.part import Panel, Table
from vtlab.report.words import bottlenecks, decision, figures, hints, labels
from vtlab.report.words import curve_sentences as curve
from vtlab.report.words import finding_lines as findings
from vtlab.report.words import headline as words
from vtlab.report.words.decision import Decision
from vtlab.report.words.glossary import GLOSSARY


@dataclass(frozen=True)
class Badge:
    """A word on a verdict card; ``kind`` is its class in the style sheet."""

    kind: str
    text: str


@dataclass(frozen=True)
class VariantCard:
    """One variant on a verdict card: its figure, and the sentence that says why."""

    variant: str
    figure: str
    unit: str
    sentence: str


@dataclass(frozen=True)
class Card:
    """A verdict, as the page begins."""

    experiment: str
    limits: str
    tone: str
    decision: Decision
    badges: list[Badge]
    headline: str
    sentences: list[str]
    invalid: str | None
    quick: str | None
    chart: Markup | None
    chart_caption: str
    variants: list[VariantCard]
    #: Over users, where vtlab searched the load.
    curve: Panel | None
    times: list[Panel]
    findings: Table
    colours: list[str]
    description: str


@dataclass(frozen=True)
class Group:
    """One experiment under several CPU limits, side by side."""

    experiment: str
    heading: str
    chart: Markup
    caption: str
    table: Table


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on."""

    title: str
    names: list[str]
    margin: str
    ratio_heading: str
    blocks: Markup | None
    failures: Table
    by_metric: Table
    performance: list[Panel]
    latency: Table
    costs: Table
    over_time: list[Panel]
    over_time_note: str
    resources: list[Panel]
    resource_table: Table
    curve: Table
    thresholds: Table
    time: Table
    places: Table
    pinned: Table
    checks: Table
    checks_note: str
    rejected: Table
    environment: Table
    repeat: str
    seed: int
    commit: str


def render(analyses: Sequence[Analysis], others: Mapping[str, Table] | None = None) -> str:
    """The report of one or more runs; verdicts first. ``others``: tables that are of none of them, by their titles."""
    names = list(dict.fromkeys(a.verdict.experiment for a in analyses))
    return page(
        "report.html.j2",
        title=f"{', '.join(names)}: Virtual Threads Lab",
        measured=_measured(analyses),
        cards=[_card(a) for a in analyses],
        times_caption=time_split.CAPTION,
        groups=groups(analyses),
        others=others or {},
        runs=[_evidence(a) for a in analyses],
        glossary=GLOSSARY,
    )


def page(template: str, **values: object) -> str:
    """A page of this package: the template with its values, and the one style sheet."""
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(css=Markup(_file("report.css")), **values)


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _measured(analyses: Sequence[Analysis]) -> str:
    if not analyses:
        return "no runs"
    manifests = [a.run.manifest for a in analyses]
    first = min(manifests, key=lambda m: m.started)
    java = sorted({i.java for a in analyses for b in a.accepted for i in b.instances})
    parts = [f"measured {figures.utc(first.started)}", *(f"Java {j}" for j in java), first.target]
    return " · ".join(parts)


def _card(analysis: Analysis) -> Card:
    verdict, run = analysis.verdict, analysis.run
    outcome = verdict.primary_comparison.verdict or "inconclusive"
    quick, invalid = hints.quick(analysis), words.validity(analysis)
    label = words.label(analysis)
    # An invalid run has figures, but no verdict that anyone should act on.
    badges = [Badge("verdict", "✕ not valid"), Badge("plain", label)] if invalid else [Badge("verdict", label)]
    badges += [Badge("open", "◔ quick look")] if quick else []
    badges.append(Badge("plain", f"{verdict.n} block{'' if verdict.n == 1 else 's'}"))
    return Card(
        experiment=labels.title(analysis),
        limits=labels.under(analysis),
        tone="invalid" if invalid else outcome,
        decision=decision.of(analysis),
        badges=badges,
        headline=words.headline(analysis),
        sentences=[*filter(None, [curve.decision(analysis)]), *words.explanation(analysis)],
        invalid=invalid,
        quick=quick,
        chart=ratios.interval(analysis),
        chart_caption="Dot: the ratio. Line: its interval. Grey band: the margin,"
        f" ±{percent(verdict.margin)}, too little to matter.",
        variants=[_variant(analysis, name) for name in labels.names(analysis)] if verdict.n else [],
        curve=_curve(analysis),
        times=time_split.panels(analysis),
        findings=findings.table(analysis),
        colours=palette.colours(labels.names(analysis)),
        description=run.experiment.description,
    )


def _curve(analysis: Analysis) -> Panel | None:
    searched, names = analysis.run.manifest.curve, labels.names(analysis)
    if searched is None or not searched.points:
        return None
    caption = " ".join([*curve.sentences(searched, names), curve.LAWS])
    return Panel("Requests per second over users", curve.picture(searched, names), caption)


def _variant(analysis: Analysis, name: str) -> VariantCard:
    result = analysis.verdict.variants[name]
    if not result.throughput and result.failed_blocks:
        figure, unit = "fails", in_blocks(result.failed_blocks, analysis.verdict.n)
    elif analysis.verdict.primary == "throughput":
        figure, unit = figures.rate(result.throughput), "throughput"
    elif result.growth is not None or name in analysis.verdict.primary_comparison.overloaded:
        figure, unit = "overloaded", f"{figures.rate(result.throughput)} answered"
    else:
        figure, unit = performance.latency_figure(result, "p99"), "latency p99"
    sentence = bottlenecks.sentence(analysis, name)
    return VariantCard(name, figure, unit, sentence[0].upper() + sentence[1:])


def groups(analyses: Sequence[Analysis]) -> list[Group]:
    """Side by side: the experiments that were measured under several CPU limits, the smallest limit first."""
    grouped = []
    for name in dict.fromkeys(a.verdict.experiment for a in analyses):
        by_limit = [a for a in analyses if a.verdict.experiment == name]
        by_limit.sort(key=lambda a: a.run.experiment.limits.cpu)
        first = by_limit[0].verdict.primary_comparison
        alike = {(a.verdict.primary, *a.run.experiment.variants) for a in by_limit}
        if len({a.run.experiment.limits.cpu for a in by_limit}) < 2 or len(alike) > 1:
            continue
        heading = labels.heading(first)
        rows = [charts.Row(figures.cores(a.run.experiment.limits.cpu), a.verdict.primary_comparison) for a in by_limit]
        grouped.append(
            Group(
                experiment=name,
                heading=heading,
                chart=charts.ratios(rows, by_limit[0].verdict.margin, f"{heading} under each CPU limit"),
                caption="Dots: ratios. Lines: their intervals. Inside the grey band it does not matter.",
                table=_side_by_side(by_limit),
            )
        )
    return grouped


def _figure(metric: str, result: VariantResult) -> str:
    if metric == "throughput":
        return figures.rate(result.throughput)
    return performance.latency_figure(result, "p99")


def _side_by_side(by_limit: Sequence[Analysis]) -> Table:
    names = labels.names(by_limit[0])
    rows = []
    for a in by_limit:
        v, c = a.verdict, a.verdict.primary_comparison
        results = [v.variants[n] for n in names]
        rows.append(
            [
                labels.limits(a),
                "not valid" if not v.valid else c.verdict or "",
                ratios.ratio(c),
                figures.interval(c.low, c.high),
                str(v.n),
                *(_figure(v.primary, r) for r in results),
                *(bottlenecks.names(r.bottleneck) for r in results),
            ]
        )
    head = ["limits", "verdict", "ratio", "interval", "blocks"]
    what = labels.metric(by_limit[0].verdict.primary)
    head += [f"{n}: {column}" for column in (what, "bottleneck") for n in names]
    return Table("One run for each CPU limit.", head, rows, numeric=(2, 3, 4, 5, 6))


def _evidence(analysis: Analysis) -> Evidence:
    verdict, m = analysis.verdict, analysis.run.manifest
    c = verdict.primary_comparison
    sampled = resource_use.sampled(analysis)
    counted = f"{words.counted(verdict.n, m.blocks)}."
    return Evidence(
        title=f"{labels.title(analysis)} {labels.under(analysis)}",
        names=labels.names(analysis),
        margin=percent(verdict.margin),
        ratio_heading=labels.heading(c),
        blocks=ratios.blocks(analysis),
        failures=performance.failures(analysis),
        by_metric=ratios.by_metric(analysis),
        performance=performance.performance(analysis) if verdict.n else [],
        latency=performance.latency(analysis),
        costs=performance.costs(analysis) if verdict.n else Table("", [], []),
        over_time=resource_use.over_time(analysis),
        over_time_note=f"Block {sampled[0].block}, from its first trial on. Shaded: the measured windows,"
        " with the initials of the variant under load."
        if sampled
        else "",
        resources=resource_use.resources(analysis),
        resource_table=resource_use.resource_table(analysis),
        curve=_levels(analysis),
        thresholds=thresholds.table(analysis),
        time=breakdowns.table(analysis),
        places=resource_use.places(analysis),
        pinned=resource_use.pinned(analysis),
        checks=provenance.checks(analysis),
        checks_note=counted + ("" if verdict.n else " The worst values below are those of the rejected attempts."),
        rejected=provenance.rejected(analysis),
        environment=provenance.environment(analysis),
        repeat=repeat(analysis),
        seed=m.seed,
        commit=m.commit,
    )


def _levels(analysis: Analysis) -> Table:
    searched = analysis.run.manifest.curve
    return curve.table(searched, labels.names(analysis)) if searched else Table("", [], [])


def repeat(analysis: Analysis) -> str:
    """The commands that measure this run again: the commit, and the command with the seed that it drew."""
    m = analysis.run.manifest
    seed = "" if "--seed" in m.command else f" --seed {m.seed}"
    checkout = "" if m.commit == NO_COMMIT else f"git checkout {m.commit.removesuffix('-dirty')}\n"
    return f"{checkout}{m.command}{seed}"
