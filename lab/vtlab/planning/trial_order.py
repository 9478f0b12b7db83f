"""The order in which the variants of a block take turns, drawn from the run's seed."""

from __future__ import annotations

import random
from collections.abc import Sequence

from vtlab.model.blocks import mirrored


def order(variants: Sequence[str], seed: int, block: int, trials: int = 2) -> list[str]:
    """Draws the mirrored order of one block, once for every pair of blocks: ABBA or BAAB; ABCCBA and the like for more
    than two variants.

    The second block of a pair has the reverse order, so that no variant is first much more often. With one trial of
    each variant only the pair is mirrored.
    """
    drawn = random.Random(f"{seed}/{(block + 1) // 2}")
    forth = drawn.random() < 0.5
    turns = drawn.sample(variants, len(variants)) if len(variants) > 2 else list(variants)
    if forth != (block % 2 == 1):
        turns.reverse()
    return mirrored(turns, trials)
