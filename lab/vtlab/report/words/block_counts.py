"""Counts of a run's blocks in words: how many count, why a run is not valid, what a look at them showed."""

from __future__ import annotations

from vtlab.analysis.statistics import stopping_rule
from vtlab.analysis.time_plan import TimePlan
from vtlab.model import units
from vtlab.model.run import Analysis
from vtlab.model.verdict import RunEnd
from vtlab.report.words import hints


def after_look(end: RunEnd) -> str:
    """Says what a run's last look showed, and what follows, for the progress."""
    blocks, most = end.blocks, end.looks[-1]
    following = stopping_rule.next_goal(end.looks, blocks)
    return {
        "settled": f"settled after {blocks} blocks",
        "failing": f"no further blocks: a variant failed in each of the first {blocks}",
        "futile": f"no further blocks: even {most} blocks are unlikely to settle it",
        "within": f"no further blocks: {following} would take longer than --max-time allows",
        "last look": f"not settled after {blocks} blocks, the maximum of a run",
        None: f"not settled after {blocks} blocks, checked again after {following}",
    }[end.ended]


def in_time(plan: TimePlan, end: str) -> str:
    """Says how many blocks fit into the time, by when, what they show, and how much more the next look takes; for a
    run whose time is over the last alone. ``end``: the time of day of the last that fits."""
    more = f"{plan.following} blocks take {hints.time_in_words(plan.lacking)} more: --max-time {plan.minutes}m"
    if not plan.seconds:
        return more
    digits = 0 if (plan.precision or 0.0) >= 0.1 else 1
    known = f", then capacity is known to about ±{units.percent(plan.precision, digits)}" if plan.precision else ""
    fitting = f"time for {plan.blocks} blocks, by {end}{known}"
    return f"{fitting}; {more}" if plan.following else fitting


def why_invalid(analysis: Analysis) -> str | None:
    """Says that the run is not valid, and why; None when every planned block counts."""
    verdict, planned = analysis.verdict, analysis.run.manifest.blocks
    if verdict.valid:
        return None
    attempts = len(verdict.rejected)
    rejections = f", {attempts} rejected" if attempts else ""
    count = _unfinished(verdict.n, verdict.end) if verdict.end else planned_blocks(verdict.n, planned)
    return f"Not valid: {count}{rejections}. Do not base a decision on this run."


def planned_blocks(blocks: int, planned: int) -> str:
    """Says how many of a run's blocks count: ``5 of 6 planned blocks count``."""
    return f"{blocks} of {planned} planned " + ("block counts" if planned == 1 else "blocks count")


def rejected_blocks(blocks: int) -> str:
    """Says how many blocks were rejected: ``2 blocks were rejected``."""
    return f"{blocks} block{' was' if blocks == 1 else 's were'} rejected"


def _unfinished(blocks: int, end: RunEnd) -> str:
    """Says how many blocks count of a run that lacks some: ``3 blocks count, checked again after 4``."""
    if end.ended:
        after = "too little time is left for another (--max-time)"
    else:
        after = f"checked again after {stopping_rule.next_look(end.looks, blocks)}"
    return f"{blocks} block{' counts' if blocks == 1 else 's count'}, {after}"
