"""The checks of the machine: others did not take the cores that the server needed.

Less than rejects a block may still be most of what lies beyond a p99: that criterion alone does without the block then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from vtlab.analysis.statistics import percentiles
from vtlab.analysis.validity.check import Check, Value, machine_windows, moment_of
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial
from vtlab.model.units import percent

#: Share that others may have of the cores' time (steal), and of a window in which a thread of the server stands ready
#: without a core, other than by its quota. It changes a throughput by as much at most, within the margin of
#: ``capacity`` and ``cpu`` (5 %) even where the other variant's windows have none of it.
MOST_TAKEN = 0.03
#: The same for p99: as many of the answers lie beyond it, and may be those that others delayed.
MOST_FOR_P99 = 1 - percentiles.SHARES["p99"]


def is_disturbed(block: Block, experiment: Experiment) -> bool:
    """Tells whether others used the cores that a block needed, for as long as changes a p99."""
    return any(True for _ in _beyond(block, experiment))


def blurs_p99(block: Block, experiment: Experiment, windows: Sequence[Trial]) -> bool:
    """Tells whether what others had of these windows of a block may be most of what lies beyond their p99."""
    places = {(window.variant, moment_of(window)) for window in windows}
    return any((value.variant, value.moment) in places for value in _beyond(block, experiment))


def most_taken(block: Block, experiment: Experiment, phase: Literal["measure", "typical"]) -> Value | None:
    """Returns the most that others had of a trial of this phase, where it is more than changes a p99."""
    moments = {moment_of(trial) for trial in (*block.trials, *block.typical) if trial.phase == phase}
    values = [value for value in _beyond(block, experiment) if value.moment in moments]
    return max(values, key=lambda value: value.number or 0.0, default=None)


def _beyond(block: Block, experiment: Experiment) -> Iterator[Value]:
    return (value for check in _FOR_P99 for value in check.beyond(block, experiment))


def _with_the_cores_alone(block: Block, experiment: Experiment) -> list[Trial]:
    """Selects the windows in which no other variant had load: at the same time, variants wait for each other's
    cores."""
    alone = [t for t in block.typical if not any(_are_at_once(t, other) for other in block.typical)]
    return [*(t for t in machine_windows(block, experiment) if t.phase != "typical"), *alone]


def _are_at_once(trial: Trial, other: Trial) -> bool:
    return trial.variant != other.variant and trial.start < other.end and other.start < trial.end


def _checks(most: float, of: str = "") -> tuple[Check[Trial], Check[Trial]]:
    """Makes the checks that others had at most this share. ``of``: of what, in words."""
    allowed = f"at most {percent(most)} allowed{of}"

    def steal(trial: Trial, _: Experiment) -> Value | None:
        share = trial.machine.get("steal")
        if share is None:
            return None
        text = percent(share, 1)
        reason = f"the hypervisor gave {text} of the cores' time to others, {allowed}"
        return Value(share, text, reason, trial.variant, moment_of(trial))

    def core_wait(trial: Trial, _: Experiment) -> Value | None:
        share = trial.server.get("core_wait")
        if share is None:
            return None
        text = percent(share, 1)
        reason = (
            f"the server was ready without a core for {text} of the window, {allowed}: other processes used the cores,"
            " k6 among them"
        )
        return Value(share, text, reason, trial.variant, moment_of(trial))

    rule = f"<= {percent(most)} of the window, outside throttled periods, with no other variant at work"
    return (
        Check("steal", "machine", f"<= {percent(most)} of the cores' time", machine_windows, steal, most),
        Check("server's wait for a core", "machine", rule, _with_the_cores_alone, core_wait, most),
    )


STEAL, CORE_WAIT = _checks(MOST_TAKEN)
_FOR_P99 = _checks(MOST_FOR_P99, " for p99")
