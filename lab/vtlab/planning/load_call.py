"""One call of k6: the phases that it is to run, and how they are paced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CallPacing:
    """Lengths in milliseconds that every call of one block has in common."""

    #: What k6 draws depends on it and on the block's number; None: on the run's id.
    seed: int | None = None
    #: Open load: from the ramp-up to a trial's window.
    settle: int = 0
    #: Length of the trials' windows; None: the experiment's.
    measure: int | None = None
    #: Open load: the smallest overload that a trial shows, where the windows are too short for the planned one; else
    #: None.
    shown_overload: float | None = None
    #: Closed load: a round of a user, by variant, where the experiment has none and windows hold few of them.
    rounds: Mapping[str, int] = field(default_factory=dict, hash=False)
    #: Users of the trials and of the warm-up cycles with the trials' load, in place of the experiment's. With several
    #: numbers each has its trials, in an order that turns round from one to the next.
    users: tuple[int, ...] = ()


AS_PLANNED = CallPacing()


@dataclass(frozen=True)
class LightLoad:
    """Phases of light load, with arrivals at even gaps."""

    #: By variant: arrivals per second of its phases, in their order; 0 for an idle one.
    rates: Mapping[str, Sequence[float]]
    #: Milliseconds of each: with arrivals before the window, as long as an answer may take; the window.
    settle: int = 1000
    measure: int = 2000

    @property
    def is_idle(self) -> bool:
        """Tells whether no request arrives in any phase of the call."""
        return not any(map(any, self.rates.values()))


@dataclass(frozen=True)
class TypicalCall:
    """Phases of typical load, one for each variant; the experiment has the gaps between arrivals."""

    #: The variants, in their order.
    order: Sequence[str]
    #: Arrivals per second of each variant.
    rate: float
    users: int
    #: Milliseconds of each: with arrivals before the window; the window.
    settle: int
    measure: int


@dataclass(frozen=True)
class LoadCall:
    """Phases of one call of k6, in their order."""

    #: Warm-up cycles with the warm-up's load, for all variants.
    warmup_cycles: int = 0
    #: Warm-up cycles with the trials' load after them.
    trial_load_cycles: int = 0
    #: How long a single user is alone with each variant, ``9s``; None for no such phase.
    single_user_phase: str | None = None
    #: The variants of the trials, in their order.
    trial_order: Sequence[str] = ()
    #: Number of the first of these trials in its block.
    first_position: int = 1
    #: After the trials.
    typical: TypicalCall | None = None
    #: After the typical load.
    light_load: LightLoad | None = None
    #: Whether probes go beside warm-up cycles, trials and typical load.
    with_probe: bool = True
    #: If not, what is unanswered when the last window ends may be given up: it is still in flight then.
    wait_for_answers: bool = True
    pacing: CallPacing = AS_PLANNED
    #: One k6 for each variant, all at the same time, where a block can do that; not with trials.
    is_at_once: bool = False

    @property
    def cycles(self) -> int:
        """Number of its warm-up cycles of each variant."""
        return self.warmup_cycles + self.trial_load_cycles

    @property
    def is_probed(self) -> bool:
        """Tells whether it has a phase beside which probes are sent."""
        return self.with_probe and bool(self.cycles or self.trial_order or self.typical)
