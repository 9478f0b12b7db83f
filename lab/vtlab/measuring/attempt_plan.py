"""The plan of one attempt at one block: what it measures, and what its run knows by then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vtlab.model.curve import Curve
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import DiagnosisMode, TypicalPlan
from vtlab.model.records import Block

#: Tells the seconds that a run leaves idle where a block, as long as it took so far, is its last.
IdleSeconds = Callable[[Block], float]


def _never_idle(_: Block) -> float:
    return 0.0


@dataclass(frozen=True, kw_only=True)
class AttemptPlan:
    """Plan of one attempt at a block."""

    experiment: Experiment
    seed: int
    #: Number of the block, and of the attempt at it.
    block: int
    attempt: int
    #: The variants of the trials, in their order.
    order: Sequence[str]
    #: Whether a single user is measured, too.
    with_single_user: bool
    #: Variants that still need light load, and thread dumps: always, or where nothing else explains the trials.
    unmeasured_variants: Sequence[str] = ()
    diagnosis: DiagnosisMode = "unexplained"
    #: The run's blocks so far that count.
    blocks_before: Sequence[Block] = ()
    #: The run's typical load; None until an attempt has planned it.
    typical: TypicalPlan | None = None
    #: What the search for the run's full load measured; None without one.
    curve: Curve | None = None
    idle: IdleSeconds = _never_idle
