"""Failures of a variant in words: why, in how many blocks, and which share of starts that may be."""

from __future__ import annotations

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
