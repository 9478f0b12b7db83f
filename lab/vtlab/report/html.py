"""``report.html``: one file, no network, no script; the same analyses give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from vtlab.model.records import VariantResult
from vtlab.model.run import Analysis
from vtlab.report import charts, figures, sections, words
from vtlab.report.glossary import GLOSSARY

SYMBOLS = {"faster": "▲", "slower": "▼", "equivalent": "=", "inconclusive": "?"}


def render(analyses: Sequence[Analysis], others: Mapping[str, sections.Table] | None = None) -> str:
    """The report of one or more runs; verdicts first. ``others``: tables that are of none of them, by their titles."""
    names = list(dict.fromkeys(a.verdict.experiment for a in analyses))
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2").render(
        title=f"{', '.join(names)}: Virtual Threads Lab",
        css=Markup(_file("report.css")),
        measured=_measured(analyses),
        cards=[_card(a) for a in analyses],
        groups=groups(analyses),
        others=others or {},
        runs=[_run(a) for a in analyses],
        glossary=GLOSSARY,
    )


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


def _card(analysis: Analysis) -> dict[str, Any]:
    verdict, run = analysis.verdict, analysis.run
    c = sections.primary(verdict)
    outcome = c.verdict or "inconclusive"
    overloaded = c.ratio is None and len(c.overloaded) == 1
    short, invalid = words.quick(analysis), words.validity(analysis)
    label = f"{SYMBOLS[outcome]} {outcome}" + (" (overloaded)" if overloaded else "")
    # An invalid run has figures, but no verdict that anyone should act on.
    badges = [("verdict", "✕ not valid"), ("plain", label)] if invalid else [("verdict", label)]
    badges += [("open", "◔ quick look")] if short else []
    badges.append(("plain", f"{verdict.n} block{'' if verdict.n == 1 else 's'}"))
    sentences = [
        words.sentence(c, verdict.n, verdict.confidence, verdict.margin),
        words.hint(c, verdict.n, verdict.margin),
    ]
    band = f"±{verdict.margin:.0%}".replace("%", " %")
    return {
        "experiment": sections.title(analysis),
        "limits": sections.limits(analysis),
        "tone": "invalid" if invalid else outcome,
        "badges": badges,
        "headline": plain(words.headline(c)),
        "sentences": [s for s in sentences if s],
        "invalid": invalid,
        "quick": short,
        "chart": sections.interval(analysis),
        "chart_caption": f"Dot: the ratio. Line: its interval. Grey band: ±{band[1:]}, too little to matter.",
        "why": [_why(analysis, name) for name in sections.names(analysis)] if verdict.n else [],
        "description": run.experiment.description,
    }


def plain(headline: str) -> str:
    """A headline without the verdict in brackets at its end, for where a badge says it."""
    head, _, tail = headline.rpartition(" (")
    return head if tail.endswith(")") and tail.split(",")[0].rstrip(")") in SYMBOLS else headline


def _why(analysis: Analysis, name: str) -> dict[str, str]:
    result = analysis.verdict.variants[name]
    text = words.constraint(name, result, analysis.run.experiment).removeprefix(f"{name}: ")
    if analysis.verdict.primary == "throughput":
        figure, unit = figures.rate(result.throughput), "throughput"
    elif name in sections.primary(analysis.verdict).overloaded:
        figure, unit = (
            "no bound",
            f"latency p99: overloaded, {figures.share(result.dropped_ratio)} of arrivals dropped",
        )
    else:
        figure, unit = figures.duration(sections.latency_of(result, "p99")), "latency p99"
    return {"variant": name, "figure": figure, "unit": unit, "sentence": text[0].upper() + text[1:]}


def groups(analyses: Sequence[Analysis]) -> list[dict[str, Any]]:
    """Side by side: the experiments that were measured under several CPU limits, the smallest limit first."""
    found = []
    for name in dict.fromkeys(a.verdict.experiment for a in analyses):
        own = [a for a in analyses if a.verdict.experiment == name]
        own.sort(key=lambda a: a.run.experiment.limits.cpu)
        first = sections.primary(own[0].verdict)
        alike = {(a.verdict.primary, *a.run.experiment.variants) for a in own}
        if len({a.run.experiment.limits.cpu for a in own}) < 2 or len(alike) > 1:
            continue
        heading = sections.heading(first)
        rows = [charts.Row(figures.cores(a.run.experiment.limits.cpu), sections.primary(a.verdict)) for a in own]
        found.append(
            {
                "experiment": name,
                "heading": heading,
                "chart": charts.ratios(rows, own[0].verdict.margin, f"{heading} under each CPU limit"),
                "caption": "Dots: ratios. Lines: their intervals. Inside the grey band it does not matter.",
                "table": _side_by_side(own),
            }
        )
    return found


def _figure(metric: str, result: VariantResult) -> str:
    if metric == "throughput":
        return figures.rate(result.throughput)
    return figures.duration(sections.latency_of(result, metric.removeprefix("latency_")))


def _side_by_side(own: Sequence[Analysis]) -> sections.Table:
    every = sections.names(own[0])
    rows = []
    for a in own:
        v, c = a.verdict, sections.primary(a.verdict)
        results = [v.variants[n] for n in every]
        known = c.low is not None
        rows.append(
            [
                sections.limits(a).removeprefix("under "),
                "not valid" if not v.valid else c.verdict or "",
                figures.ratio(c.ratio),
                f"{figures.ratio(c.low)} to {figures.ratio(c.high)}" if known else figures.DASH,
                str(v.n),
                *(_figure(v.primary, r) for r in results),
                *(r.constraint.resource for r in results),
            ]
        )
    head = ["limits", "verdict", "ratio", "interval", "blocks"]
    what = sections.metric(own[0].verdict.primary)
    head += [f"{n}: {column}" for column in (what, "constraint") for n in every]
    return sections.Table("One run for each CPU limit.", head, rows, numeric=(2, 3, 4, 5, 6))


def _run(analysis: Analysis) -> dict[str, Any]:
    verdict, m = analysis.verdict, analysis.run.manifest
    c = sections.primary(verdict)
    block = sections.sampled(analysis)
    counted = f"{verdict.n} of {m.blocks} planned blocks count."
    return {
        "title": f"{sections.title(analysis)} {sections.limits(analysis)}",
        "names": sections.names(analysis),
        "margin": f"{verdict.margin:.0%}".replace("%", " %"),
        "ratio_heading": sections.heading(c),
        "blocks": sections.blocks(analysis),
        "by_metric": sections.by_metric(analysis),
        "performance": sections.performance(analysis) if verdict.n else [],
        "latency": sections.latency(analysis),
        "costs": sections.costs(analysis) if verdict.n else sections.Table("", [], []),
        "over_time": sections.over_time(analysis),
        "over_time_note": f"Block {block[0].block}, from its first trial on. Shaded: the measured windows,"
        " with the initials of the variant under load."
        if block
        else "",
        "resources": sections.resources(analysis),
        "resource_table": sections.resource_table(analysis),
        "pinned": sections.pinned(analysis),
        "checks": sections.checks(analysis),
        "checks_note": counted + ("" if verdict.n else " The worst values below are those of the rejected attempts."),
        "rejected": sections.rejected(analysis),
        "environment": sections.environment(analysis),
        "repeat": repeat(analysis),
        "seed": m.seed,
        "commit": m.commit,
    }


def repeat(analysis: Analysis) -> str:
    """The commands that measure this run again: the commit, and the command with the seed that it drew."""
    m = analysis.run.manifest
    seed = "" if "--seed" in m.command else f" --seed {m.seed}"
    return f"git checkout {m.commit.removesuffix('-dirty')}\n{m.command}{seed}"
