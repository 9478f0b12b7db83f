"""Parts of a block that are measured again on the same JVMs, which costs less than another block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from vtlab.analysis.validity import completeness, interference
from vtlab.measuring.block_state import BlockState

#: Most times that a block measures its trials, and its typical load: neighbours on a shared machine come in bursts.
MOST_MEASUREMENTS = 4
_MEASURED = {"trials": "the trials are measured", "typical": "typical load is measured"}


class Repeats:
    """The repeated measurements of one attempt at one block."""

    def __init__(self, state: BlockState, seconds_left: Callable[[], float]) -> None:
        """``seconds_left``: those that the call has, without what comes after typical load."""
        self._state, self._seconds_left = state, seconds_left

    def has_room(self, seconds: float) -> bool:
        """Tells whether the time of the call has room for so many seconds."""
        return self._seconds_left() >= seconds

    def while_disturbed(
        self,
        phase: Literal["trials", "typical"],
        measure: Callable[[], None],
        why: Callable[[int], str | None],
        seconds: Callable[[], float],
    ) -> None:
        """Measures a phase again while something disturbs it: once in any case, and more often where the time of the
        call has room. The first undisturbed measurement counts, whatever it shows.

        ``why``: by the number of measurements so far. ``seconds``: until the end of all phases that every block has.
        """
        state = self._state
        for measured in range(1, MOST_MEASUREMENTS):
            reason = why(measured) if getattr(state.block, phase) else None
            if not reason or (measured > 1 and not self.has_room(seconds())):
                return
            state.say(f"{_MEASURED[phase]} once more: {reason}")
            state.take_back(phase)
            measure()

    def disturbance(self, phase: Literal["measure", "typical"]) -> str | None:
        """Says how the machine disturbed the phases that were stored last; None where it did not."""
        state = self._state
        if state.is_disagreed:
            return completeness.DISAGREED
        return interference.disturbed_window(state.block, state.experiment, phase)
