"""Failures of a variant in words: why, in how many blocks, and which share of starts that may be."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vtlab.analysis.validity import check
from vtlab.model.load import NONE, ClosedLoad, OpenLoad
from vtlab.model.outcome import LoadName
from vtlab.model.records import Trial
from vtlab.model.run import Analysis
from vtlab.model.units import in_blocks, percent
from vtlab.model.verdict import VariantResult, Verdict
from vtlab.report.words import figures

#: Most reasons for failing that fit a sentence.
_MOST_REASONS = 3


def failure(v: Verdict, variant: str) -> str:
    """Says why and how often a variant failed: ``out of heap memory in 3 of 3 blocks (29 to 100 % of starts)``; puts
    several reasons behind the count."""
    result, count = v.variants[variant], failed_share(v, variant)
    reasons = list(dict.fromkeys(f.reason for f in result.failures))
    if len(reasons) == 1:
        return f"{reasons[0]} {count}"
    listed = reasons[:_MOST_REASONS] + [f"{len(reasons) - _MOST_REASONS} more"] * (len(reasons) > _MOST_REASONS)
    return f"{count}: {figures.listed(listed)}" if listed else count


def failing_loads(analysis: Analysis, variant: str) -> list[LoadName]:
    """Lists the loads at which a variant failed, by its moments; empty where one of these tells none."""
    first_cycle = _first_cycle_of_full_load(analysis)
    full: LoadName = "typical" if analysis.run.experiment.load_.full == NONE else "full"
    moments = {failure.moment for failure in analysis.verdict.variants[variant].failures}
    loads: list[LoadName] = ["typical"] if check.TYPICAL in moments else []
    others = moments - {check.TYPICAL}
    if not all(_is_of_trial_load(moment, first_cycle) for moment in others):
        return []
    return [*loads, full] if others and full not in loads else loads


def _is_of_trial_load(moment: str, first_cycle: int | None) -> bool:
    cycle = re.fullmatch(r"warm-up cycle (\d+)", moment)
    if cycle or moment == check.LAST_CYCLE:
        return first_cycle is not None and (cycle is None or int(cycle[1]) >= first_cycle)
    return re.fullmatch(r"trial \d+", moment) is not None


def _first_cycle_of_full_load(analysis: Analysis) -> int | None:
    """Numbers the first warm-up cycle that had the load of the trials in every block; None where none had, or one that
    may have been it had fewer users."""
    experiment = analysis.run.experiment
    if not experiment.windows.wait_for_answers:
        return None
    before = []
    for block in analysis.accepted:
        for variant in experiment.variants:
            cycles = [cycle for cycle in block.warmup if cycle.variant == variant]
            if judging := check.judging_cycles(cycles, experiment):
                if _has_fewer_users(judging, experiment.load):
                    return None
                before.append(len(cycles) - len(judging))
    return max(before) + 1 if before else None


def _has_fewer_users(cycles: Sequence[Trial], load: ClosedLoad | OpenLoad) -> bool:
    return isinstance(load, ClosedLoad) and any((cycle.users or 0) < load.users for cycle in cycles)


def failed_share(v: Verdict, variant: str) -> str:
    """Says in how many blocks a variant failed, with the interval of its share of starts."""
    result = v.variants[variant]
    return in_blocks(result.failed_blocks, v.n) + share_of_starts(result)


def share_of_starts(result: VariantResult) -> str:
    """Writes the interval of the share of starts that fail; empty where it is not known."""
    if result.failed_interval is None:
        return ""
    low, high = result.failed_interval
    return f" ({100 * low:.0f}–{percent(high)} of starts)"
