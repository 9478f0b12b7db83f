"""What a call of k6 is told beside its phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """The same for every call of one block. Milliseconds."""

    #: What k6 draws depends on it and on the block's number; None: on the run's id.
    seed: int | None = None
    #: Open load: from the ramp-up to a trial's window.
    settle: int = 0
    #: Length of the trials' windows; None: the experiment's.
    measure: int | None = None


AS_PLANNED = Pace()


@dataclass(frozen=True)
class LightLoad:
    """Phases of light load, with arrivals at even gaps."""

    #: By variant: arrivals per second of its phases, in their order; 0 for an idle one.
    rates: Mapping[str, Sequence[float]]
    #: Milliseconds of each: with arrivals before the window, as long as an answer may take; the window.
    settle: int = 1000
    measure: int = 2000
