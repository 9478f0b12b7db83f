"""The checks of the machine: nothing else used the cores that the server needed."""

from __future__ import annotations

from typing import Literal

from vtlab.analysis.validity.check import Check, Value, machine_windows, moment_of
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial
from vtlab.model.units import percent

#: Share of the cores' time that the hypervisor may give to others.
MOST_STEAL = 0.01
#: Share of the window in which a thread of the server may stand ready without a core, other than by its quota.
MOST_CORE_WAIT = 0.01


def disturbed_window(block: Block, experiment: Experiment, phase: Literal["measure", "typical"]) -> str | None:
    """Says how others used the cores in a trial of this phase; None where they did in none."""
    moments = {moment_of(trial) for trial in (*block.trials, *block.typical) if trial.phase == phase}
    beyond = (value for check in (STEAL, CORE_WAIT) for value in check.beyond(block, experiment))
    return next((f"{value.variant}: {value.reason}" for value in beyond if value.moment in moments), None)


def _with_the_cores_alone(block: Block, experiment: Experiment) -> list[Trial]:
    """Selects the windows in which no other variant had load: at the same time, variants wait for each other's
    cores."""
    alone = [t for t in block.typical if not any(_are_at_once(t, other) for other in block.typical)]
    return [*(t for t in machine_windows(block, experiment) if t.phase != "typical"), *alone]


def _are_at_once(trial: Trial, other: Trial) -> bool:
    return trial.variant != other.variant and trial.start < other.end and other.start < trial.end


def _steal(trial: Trial, _: Experiment) -> Value | None:
    steal = trial.machine.get("steal")
    if steal is None:
        return None
    share = percent(steal, 1)
    reason = f"the hypervisor gave {share} of the cores' time to others, at most {percent(MOST_STEAL)} allowed"
    return Value(steal, share, reason, trial.variant, moment_of(trial))


def _core_wait(trial: Trial, _: Experiment) -> Value | None:
    wait = trial.server.get("core_wait")
    if wait is None:
        return None
    share = percent(wait, 1)
    reason = (
        f"the server was ready without a core for {share} of the window, at most {percent(MOST_CORE_WAIT)} allowed:"
        " other processes used the cores, k6 among them"
    )
    return Value(wait, share, reason, trial.variant, moment_of(trial))


STEAL = Check("steal", "machine", f"<= {percent(MOST_STEAL)} of the cores' time", machine_windows, _steal, MOST_STEAL)
CORE_WAIT = Check(
    "server's wait for a core",
    "machine",
    f"<= {percent(MOST_CORE_WAIT)} of the window, outside throttled periods, with no other variant at work",
    _with_the_cores_alone,
    _core_wait,
    MOST_CORE_WAIT,
)
