"""What a run has measured so far, for the line of its progress."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis import metrics
from vtlab.model.verdict import Comparison
from vtlab.report.words import figures, phrases


def criterion_and_ratio(comparisons: Sequence[Comparison]) -> tuple[str, str]:
    """Names the criterion of the first comparison, and writes its ratio: without an interval it is provisional. Both
    are empty where there is none."""
    first = comparisons[0]
    if first.fails:
        return "", f"{first.fails[0]} fails"
    if first.ratio is None:
        return "", ""
    criterion = phrases.noun(metrics.criterion(first.metric))
    if len(comparisons) > 1:
        criterion += f" of {first.of}"
    ratio = figures.change(first.ratio, first.low, first.high)
    return criterion, ratio if first.low is not None else f"{ratio} (provisional)"
