"""What the outcomes of a run are judged by: its blocks that count at a look, and the levels of that look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from vtlab.analysis.validity import failing
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import Manifest
from vtlab.model.records import Block


@dataclass(frozen=True)
class Levels:
    """Two-sided levels of the intervals at a look: of each claim, and of each criterion that is read where the run
    ended."""

    claim: float
    beside: float


@dataclass(frozen=True)
class Judged:
    """Blocks that count at a look, with what judges them."""

    experiment: Experiment
    manifest: Manifest
    blocks: Sequence[Block]
    levels: Levels

    @cached_property
    def failed(self) -> list[set[str]]:
        """Variants that failed, by block."""
        return [failing.failed(block, self.experiment) for block in self.blocks]

    def failed_blocks(self, variant: str) -> int:
        """Counts the blocks in which a variant failed."""
        return sum(variant in names for names in self.failed)

    def sound_blocks(self, *variants: str) -> list[Block]:
        """Selects the blocks in which none of these variants failed."""
        return [b for b, names in zip(self.blocks, self.failed, strict=True) if names.isdisjoint(variants)]


@dataclass(frozen=True)
class Pair:
    """Pair of variants: ``of`` beside ``over``."""

    of: str
    over: str

    @property
    def names(self) -> tuple[str, str]:
        """The first variant before the other."""
        return self.over, self.of

    def sound_blocks(self, judged: Judged) -> list[Block]:
        """Selects the blocks in which neither failed."""
        return judged.sound_blocks(*self.names)
