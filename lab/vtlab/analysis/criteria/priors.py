"""Priors of the criteria: what the blocks of other services tell about how log ratios scatter."""

from __future__ import annotations

from vtlab.analysis.statistics.moderated import Prior
from vtlab.model.outcome import Key


def prior(key: Key) -> Prior | None:
    """Returns the prior of a criterion; None where there is none."""
    return None
