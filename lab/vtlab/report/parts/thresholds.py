"""The thresholds of a user's k6 script, variant by variant: over the windows of the trials alone, so the reader's own
limits say which variant holds them under this load. They fail nothing: k6's own run would."""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.model.records import Block
from vtlab.model.run import Analysis
from vtlab.report.parts.part import Table
from vtlab.report.words import figures, labels

TITLE = "Thresholds of the script"
_CAPTION = "Evaluated over the windows of each block's trials only; none ends a block."


def threshold_table(analysis: Analysis) -> Table:
    """Lists in how many of the blocks that count each threshold holds, by variant; no rows for a script without any."""
    names, blocks = labels.variant_names(analysis), analysis.accepted
    rows = [
        [metric, condition, *(_cell(_held(blocks, name, metric, condition)) for name in names)]
        for metric, condition in _thresholds(blocks)
    ]
    return Table(_CAPTION, ["metric", "threshold", *names], rows)


def threshold_line(analysis: Analysis) -> str | None:
    """Names the thresholds that some variant does not hold, for a terminal; None for a script without any."""
    names, blocks = labels.variant_names(analysis), analysis.accepted
    thresholds = _thresholds(blocks)
    if not thresholds:
        return None
    broken = []
    for metric, condition in thresholds:
        held = {name: _held(blocks, name, metric, condition) for name in names}
        if not all(all(outcomes) for outcomes in held.values()):
            broken.append(
                f"{metric} {condition}: {', '.join(f'{name} {_words(outcomes)}' for name, outcomes in held.items())}"
            )
    if not broken:
        return f"{TITLE}: all hold in every block, for {figures.listed(names)}."
    return f"{TITLE}: {'; '.join(broken)}."


def _thresholds(blocks: Sequence[Block]) -> list[tuple[str, str]]:
    """Returns metric and condition of each threshold, in the order of the script."""
    every = [
        (metric, condition)
        for block in blocks
        for metrics in block.thresholds.values()
        for metric, conditions in metrics.items()
        for condition in conditions
    ]
    return list(dict.fromkeys(every))


def _held(blocks: Sequence[Block], variant: str, metric: str, condition: str) -> list[bool]:
    """Returns whether it holds, for each block in which the variant was measured."""
    outcomes = [block.thresholds.get(variant, {}).get(metric, {}).get(condition) for block in blocks]
    return [holds for holds in outcomes if holds is not None]


def _words(held: Sequence[bool]) -> str:
    if not held:
        return "was not measured"
    if all(held):
        return "holds it"
    return "does not" if not any(held) else f"holds it in {sum(held)} of {len(held)} blocks"


def _cell(held: Sequence[bool]) -> str:
    if not held:
        return figures.DASH
    if all(held):
        return "✓ holds"
    return "✗ does not hold" if not any(held) else f"✗ holds in {sum(held)} of {len(held)} blocks"
