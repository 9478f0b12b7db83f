"""``report.html``: one file, no network, no script; the same analyses give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtlab.model.run import Analysis
from vtlab.report.pages import template
from vtlab.report.parts import provenance, time_split
from vtlab.report.parts.cpu_limits import limit_groups
from vtlab.report.parts.sections import Section, sections
from vtlab.report.parts.verdict_card import verdict_card
from vtlab.report.words import figures, labels
from vtlab.report.words.glossary import GLOSSARY


@dataclass(frozen=True)
class Evidence:
    """The sections that a verdict rests on, and how to measure it again."""

    title: str
    names: list[str]
    sections: list[Section]
    repeat: str
    seed: int
    commit: str


def render(analyses: Sequence[Analysis]) -> str:
    """Renders the report of one or more runs; verdicts first."""
    names = list(dict.fromkeys(a.verdict.experiment for a in analyses))
    return template.fill(
        "report.html.j2",
        title=f"{', '.join(names)}: Virtual Threads Lab",
        measured=_measured(analyses),
        cards=[verdict_card(a) for a in analyses],
        times_caption=time_split.CAPTION,
        groups=limit_groups(analyses),
        runs=[_evidence(a) for a in analyses],
        glossary=GLOSSARY,
    )


def _measured(analyses: Sequence[Analysis]) -> str:
    """Says when and on what the runs were measured."""
    if not analyses:
        return "no runs"
    manifests = [a.run.manifest for a in analyses]
    first = min(manifests, key=lambda m: m.started)
    java = sorted({i.java for a in analyses for b in a.accepted for i in b.instances})
    parts = [f"measured {figures.utc(first.started)}", *(f"Java {j}" for j in java), first.target]
    return " · ".join(parts)


def _evidence(analysis: Analysis) -> Evidence:
    return Evidence(
        title=f"{labels.title(analysis)} {labels.under(analysis)}",
        names=labels.variant_names(analysis),
        sections=[section for section in sections(analysis) if not section.is_on_card],
        repeat=provenance.commands_to_repeat(analysis),
        seed=analysis.run.manifest.seed,
        commit=analysis.run.manifest.commit,
    )
