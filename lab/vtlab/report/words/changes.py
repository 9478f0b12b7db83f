"""Changes from one run to another, in lines for a terminal and for a pipeline's log."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis.statistics.paired import CONFIDENCE
from vtlab.analysis.two_runs import Change, TwoRuns
from vtlab.model.units import percent
from vtlab.report.words import block_counts, figures, labels
from vtlab.report.words.outcome_rows import SYMBOLS


def lines(compared: Sequence[TwoRuns]) -> list[str]:
    """Describes each pair of runs: its changes, what is not given and why, and what else differs."""
    return [line for two in compared for line in _lines(two)]


def _lines(two: TwoRuns) -> list[str]:
    before, after = (analysis.run.manifest.run_id for analysis in (two.before, two.after))
    lines = ["", f"{labels.title(two.after)} {labels.under(two.after)}: {after} compared with {before}"]
    lines += [f"  {sentence(change)}" for change in two.changes if change.before or change.after]
    lines += [f"  {bound}" for change in two.changes if (bound := _lower_bound(two, change))]
    if two.no_typical:
        lines.append(f"  nothing at typical load: {two.no_typical}")
    if two.no_absolute:
        lines.append(f"  no absolute capacity: {two.no_absolute}")
    lines += [f"  not valid: {reason}" for a in (two.before, two.after) if (reason := block_counts.why_invalid(a))]
    return [*lines, *(f"  differs: {difference}" for difference in two.differences)]


def sentence(change: Change) -> str:
    """Puts a change on a line: its outcome, the figures of both runs, their ratio with its interval, the blocks."""
    form = figures.ratio if change.over else figures.rate
    outcome = f"{SYMBOLS[change.judgement]} {change.judgement}  " if change.judgement else ""
    text = f"{outcome}{change.name}: {form(change.before)}, then {form(change.after)}"
    if change.ratio is None:
        return f"{text}; the two have no ratio"
    text += f": {figures.ratio(change.ratio)}{figures.ends(change.low, change.high)}"
    first, second = change.blocks
    blocks = f"{first} and {second} blocks"
    if change.low is None or change.high is None:
        return f"{text}, {blocks}, too few for an interval"
    return f"{text}, {percent(CONFIDENCE)} interval, {blocks}"


def _lower_bound(two: TwoRuns, change: Change) -> str | None:
    """Says that a ratio of capacities is a lower bound in a run, as the load limits one of its variants."""
    runs = [
        a.run.manifest.run_id
        for a in (two.before, two.after)
        for o in a.verdict.outcomes
        if (o.key, o.of, o.over) == (change.key, change.of, change.over) and o.is_lower_bound
    ]
    if not runs:
        return None
    return f"{change.name} is a lower bound in {figures.listed(runs)}: with more users the change can differ"
