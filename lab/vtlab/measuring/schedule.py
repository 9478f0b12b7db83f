"""Time that a call will still take: by the estimated lengths of its blocks, or by its time budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class TimeLeft:
    """Time until the call ends."""

    seconds: float
    #: Whether this is an estimate, the least or the most.
    meaning: Literal["about", "at least", "at most"]


@dataclass(frozen=True)
class RunTime:
    """Planned time of one run."""

    #: Estimated seconds of each block to come, in all or up to the next look; None where a length is unknown.
    blocks: Sequence[float | None] = ()
    #: Seconds that the run may take; None for any number.
    budget: float | None = None
    #: Whether more blocks may follow, or longer ones.
    is_least: bool = False


class Schedule:
    """Planned time of the runs of a call, in their order. The first is being measured."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begins the time of the call, by a clock in seconds."""
        self._clock = clock
        self._began = self._run_began = self._block_began = clock()
        #: Seconds that the whole call may take.
        self._budget = math.inf
        self._runs: list[RunTime] = []
        self._is_planned = False
        #: Measured time of the last block that counts over its estimate, and that estimate.
        self._scale = 1.0
        self._last: float | None = None

    def set_budget(self, seconds: float | None) -> None:
        """Sets the seconds that the call may take, all in all; None for any number."""
        self._budget = math.inf if seconds is None else seconds

    def budget_left(self) -> float:
        """Returns the seconds of the call's budget that are left; infinite where it has none."""
        return max(0.0, self._budget - (self._clock() - self._began))

    def begin(self, runs: Sequence[RunTime]) -> None:
        """Begins the first of these runs."""
        self._runs, self._is_planned = list(runs), True
        self._run_began = self._block_began = self._clock()

    def end_run(self) -> None:
        """Ends the run that is being measured; the next one begins."""
        self.begin(self._runs[1:])

    def end_block(self, counts: bool, repeated: float | None = None) -> None:
        """Ends a block of the run. An attempt that does not count may have ended early: it does not tell how long a
        whole block takes. ``repeated``: seconds that another takes, without what is measured once."""
        now = self._clock()
        spent, self._block_began = now - self._block_began, now
        if not counts or not self._runs or not self._runs[0].blocks:
            return
        run, *later = self._runs
        expected, *blocks = run.blocks
        another = spent if repeated is None else min(spent, repeated)
        self._last = expected or another
        self._scale = spent / expected if expected else 1.0
        self._runs = [replace(run, blocks=blocks), *later]
        if expected is None:
            # The next blocks are most likely of the same run.
            self._runs = [replace(r, blocks=[another if b is None else b for b in r.blocks]) for r in self._runs]

    def expect(self, blocks: int) -> None:
        """Sets the number of blocks that the run still needs, in all or up to its next look; none where it has
        ended."""
        if not self._runs:
            return
        run, *later = self._runs
        more = [self._last] * (blocks - len(run.blocks))
        # A run that has ended takes no more time, whatever is expected of it afterwards.
        self._runs = [replace(run, blocks=[*run.blocks[:blocks], *more]) if blocks else RunTime(budget=0.0), *later]

    @property
    def blocks(self) -> int:
        """Number of blocks to come, as far as it is known."""
        return sum(len(run.blocks) for run in self._runs)

    def time_left(self) -> TimeLeft | None:
        """Returns the time until the call ends; None where nothing tells it."""
        # The line is drawn by a thread of its own, while a run may end.
        runs, call_budget = self._runs, self.budget_left()
        is_least = any(run.is_least and run.budget is None for run in runs)
        parts = [self._run_time_left(run, number == 0, is_least) for number, run in enumerate(runs)]
        known = [seconds for seconds in parts if seconds is not None]
        if not self._is_planned or len(known) < len(parts):
            return None if math.isinf(call_budget) else TimeLeft(call_budget, "at most")
        is_most = any(run.budget for run in runs)
        return TimeLeft(min(sum(known), call_budget), "at least" if is_least else "at most" if is_most else "about")

    def _run_time_left(self, run: RunTime, is_current: bool, is_least: bool) -> float | None:
        """Returns the time that a run takes; None where nothing tells it. ``is_least``: it is part of the least time of
        the call."""
        now = self._clock()
        estimates = [seconds for seconds in run.blocks if seconds is not None]
        estimate = sum(estimates) * self._scale if len(estimates) == len(run.blocks) else None
        if estimate is not None and estimates and is_current:
            # A block that takes longer than estimated leaves the time of those after it.
            estimate -= min(estimates[0] * self._scale, now - self._block_began)
        if run.budget is None:
            return estimate
        budget = max(0.0, run.budget - (now - self._run_began) * is_current)
        return min(estimate or 0.0, budget) if is_least else budget
