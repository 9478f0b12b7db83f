"""The documents that ``k6/block.ts`` writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from vtlab.model.records import Counts, Record, Trial

#: By variant, metric and condition, whether a threshold holds.
Thresholds = dict[str, dict[str, dict[str, bool]]]


class Answer(Record):
    """Answer to one request of the pre-flight."""

    request: str
    #: 0: there was no answer.
    status: int
    #: Why it has failed, if it has: ``status-404``, ``body``, ``login``, ``timeout``, ``connection``, ``other``.
    reason: str | None
    #: Shape of a JSON body: types in place of values.
    shape: Any


class VariantPreflight(Record):
    """Pre-flight of one variant."""

    answers: list[Answer]
    #: Requests of a script by origin, as it asks for them, and by the origin that answered.
    asked: dict[str, int]
    answered: dict[str, int]
    error: str | None
    checks: Counts
    requests: Counts


class Preflight(Record):
    """Document that ``k6/block.ts`` writes for a pre-flight, by variant."""

    preflight: dict[str, VariantPreflight]


class K6Document(Record):
    """Document that ``k6/block.ts`` writes for one call."""

    version: Literal[2]
    experiment: str
    run_id: str
    block: int
    order: list[str]
    #: False when the users did not agree on when a phase began: the generator stalled.
    agreed: bool
    warmup: list[Trial]
    single: list[Trial]
    typical: list[Trial] = Field(default_factory=list)
    light: Annotated[list[Trial], Field(default_factory=list)]
    trials: list[Trial]
    #: Whether each threshold of a user's script holds over the windows of the trials: by variant, metric and condition.
    thresholds: Annotated[Thresholds, Field(default_factory=dict)]

    @property
    def phases(self) -> list[Trial]:
        """All phases, in the order in which each variant had them."""
        return [*self.warmup, *self.single, *self.trials, *self.typical, *self.light]


def joined_thresholds(several: Iterable[Thresholds]) -> Thresholds:
    """Joins the thresholds of several calls: one holds where it holds in each."""
    joined: Thresholds = {}
    for thresholds in several:
        for variant, metrics in thresholds.items():
            for metric, conditions in metrics.items():
                held = joined.setdefault(variant, {}).setdefault(metric, {})
                held |= {text: holds and held.get(text, True) for text, holds in conditions.items()}
    return joined
