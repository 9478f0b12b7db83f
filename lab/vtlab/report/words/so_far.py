"""What a run has measured so far, for the line of its progress."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.model.outcome import Outcome
from vtlab.report.words import figures
from vtlab.report.words.outcome_rows import criterion_name


def criterion_and_ratio(claims: Sequence[Outcome]) -> tuple[str, str]:
    """Names the criterion of the first claim that has a ratio, and writes the ratio: of a single block it is
    provisional. Both are empty where there is none."""
    first = next((claim for claim in claims if claim.fails or claim.ratio is not None), None)
    if first is None:
        return "", ""
    if first.fails:
        return "", f"{first.fails[0]} fails"
    criterion = criterion_name(first)
    if len({claim.of for claim in claims}) > 1:
        criterion += f" of {first.of}"
    ratio = figures.change(first.ratio or 1.0, first.low, first.high)
    return criterion, f"{ratio} (provisional)" if first.is_provisional else ratio
