"""The form of a block: the order of its trials, and how many blocks a full run has."""

from __future__ import annotations

from collections.abc import Sequence

#: Blocks of a full run (docs/explanation/method/stopping.md); fewer is a quick look.
FULL_RUN = 6


def mirrored(turns: Sequence[str], trials: int) -> list[str]:
    """Returns the order of a block whose variants take their first turns like this, with 1, 2 or 4 trials of each: AB,
    ABBA or ABBABAAB. A linear drift cancels in ABBA; in ABBABAAB a parabola cancels, too (Thue-Morse sequence)."""
    back = list(reversed(turns))
    return [*turns, *(back if trials >= 2 else ()), *([*back, *turns] if trials == 4 else ())]
