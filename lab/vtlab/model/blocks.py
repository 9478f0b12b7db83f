"""The form of a block: the order of its trials, and how many blocks a full run has."""

from __future__ import annotations

from collections.abc import Sequence

#: Blocks of a full run (docs/explanation/method/stopping.md); fewer is a quick look.
FULL_RUN = 6


def mirrored(turns: Sequence[str], trials: int) -> list[str]:
    """Returns the order of a block whose variants take their first turns like this, with so many trials of each: AB,
    ABBA, ABBABAAB and so on. A linear drift cancels in ABBA; in ABBABAAB a parabola cancels, too (Thue-Morse
    sequence)."""
    there_and_back = (list(turns), list(reversed(turns)))
    return [variant for turn in range(trials) for variant in there_and_back[turn.bit_count() % 2]]


def further_set(order: Sequence[str]) -> list[str]:
    """Returns the order of as many trials again, after those of a block: the whole is mirrored."""
    variants = list(dict.fromkeys(order))
    return mirrored(variants, 2 * len(order) // len(variants))[len(order) :]
