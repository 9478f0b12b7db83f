"""Judges the runs of a folder, writes their reports and shows their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from vtlab.analysis import verdict
from vtlab.analysis.statistics import paired
from vtlab.errors import InvalidRun
from vtlab.model.run import Analysis
from vtlab.report.pages import html, junit, markdown, terminal
from vtlab.report.words import block_counts
from vtlab.runs import store


def analyse_runs(folder: Path) -> list[Analysis]:
    """Judges the runs in ``folder``."""
    return verdict.analyse_all(list(store.read_runs(folder).values()))


def report_runs(folder: Path, console: Console) -> list[Analysis]:
    """Rebuilds every report in ``folder`` from the raw data and shows the verdicts."""
    runs = store.read_runs(folder)
    for run in runs.values():
        for warning in run.warnings:
            console.print(f"note: {warning}", highlight=False, style="yellow")
    analyses = verdict.analyse_all(list(runs.values()))
    for run_folder, analysis in zip(runs, analyses, strict=True):
        store.write_verdict(run_folder, analysis.verdict)
    write_files(folder, analyses)
    console.print(terminal.render(analyses))
    console.print(f"\nreport: {folder / 'report.html'}", highlight=False, soft_wrap=True)
    return analyses


def write_files(folder: Path, analyses: Sequence[Analysis]) -> None:
    """Writes ``report.html``, ``report.md`` and ``junit.xml``; the same analyses give the same bytes."""
    compared = [pair for analysis in analyses for pair in verdict.split_by_pair(analysis)]
    for name, render in (("report.html", html.render), ("report.md", markdown.render)):
        store.write_atomic(folder / name, render(compared))
    store.write_atomic(folder / "junit.xml", junit.render(analyses))


def refuse_invalid(folder: Path, analyses: Sequence[Analysis]) -> None:
    """Raises InvalidRun when the validity checks rejected more blocks of a run than it may lose, or all in its time."""
    for analysis in analyses:
        verdict, manifest = analysis.verdict, analysis.run.manifest
        has_ended = verdict.end is not None and verdict.end.ended
        if not verdict.valid and (has_ended or len(verdict.rejected) > manifest.max_rejected):
            raise InvalidRun(
                f"{analysis.run.name}: {block_counts.rejected_blocks(len(verdict.rejected))}, {verdict.n} of "
                f"{'at most ' if manifest.rule else ''}{manifest.blocks} count",
                f"see the reasons in {folder / 'report.html'}",
            )


def describe_noise(analysis: Analysis) -> str:
    """Describes an A/A run: by how much blocks differ in its first criterion when the variants do not."""
    first, *_ = analysis.verdict.outcomes
    spread = paired.spread(first.log_ratios)
    if spread.sd is None or spread.low is None or spread.high is None:
        reason = first.reason if len(analysis.accepted) > 1 else None
        return f"no per-block SD of {first.key}: {reason or 'at least two blocks are needed'}"
    interval = f"95 % interval {spread.low:.2%} to {spread.high:.2%}"
    return f"per-block SD of {first.key}: {spread.sd:.2%}, {interval}, n = {spread.n}"
