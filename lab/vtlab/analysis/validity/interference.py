"""The checks of the machine: nothing else used the cores that the server needed, or it used them alike beside each
variant.

A hypervisor that shares its cores may take 1 or 2 % all day. What all variants lose alike changes no ratio.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from vtlab.analysis.validity.check import TYPICAL, Value, block_check, machine_windows, moment_of
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial
from vtlab.model.units import percent

#: Share that each variant may lose: of the cores' time to others, by the hypervisor, or of the window while a thread of
#: the server is ready without a core, other than by its quota. With a limit of half the cores, 2 % of their time is 4 %
#: of the server's, less than the margin of ``capacity``.
MOST_LOST = 0.02
#: Share that a variant may lose beyond the one that loses least. With such a limit a ratio is off by 2 % then.
MOST_APART = 0.01
_ALLOWED = f"at most {percent(MOST_LOST)} is allowed, and {percent(MOST_APART)} more than beside another variant"


def is_disturbed(block: Block, experiment: Experiment) -> bool:
    """Tells whether others used the cores that a block needed."""
    return any(True for check in (STEAL, CORE_WAIT) for _ in check.beyond(block, experiment))


def disturbed_window(block: Block, experiment: Experiment, phase: Literal["measure", "typical"]) -> str | None:
    """Says how others used the cores in the windows of this phase; None where they did in none."""
    beyond = (value for check in (STEAL, CORE_WAIT) for value in check.beyond(block, experiment))
    return next((f"{v.variant}: {v.reason}" for v in beyond if (v.moment == TYPICAL) is (phase == "typical")), None)


def _with_the_cores_alone(block: Block, experiment: Experiment) -> list[Trial]:
    """Selects the windows in which no other variant had load: at the same time, variants wait for each other's
    cores."""
    alone = [t for t in block.typical if not any(_are_at_once(t, other) for other in block.typical)]
    return [*(t for t in machine_windows(block, experiment) if t.phase != "typical"), *alone]


def _are_at_once(trial: Trial, other: Trial) -> bool:
    return trial.variant != other.variant and trial.start < other.end and other.start < trial.end


def _steal(block: Block, experiment: Experiment) -> Iterator[Value]:
    return _lost(
        machine_windows(block, experiment),
        lambda trial: trial.machine.get("steal"),
        "the hypervisor gave {share} of the cores' time to others",
    )


def _core_wait(block: Block, experiment: Experiment) -> Iterator[Value]:
    return _lost(
        _with_the_cores_alone(block, experiment),
        lambda trial: trial.server.get("core_wait"),
        "the server was ready without a core for {share} of the window: other processes used the cores, k6 among them",
    )


def _lost(windows: Sequence[Trial], read: Callable[[Trial], float | None], words: str) -> Iterator[Value]:
    """Reads what each variant lost on average, in the windows of each phase: a ratio is over these averages, too."""
    for phase in dict.fromkeys(trial.phase for trial in windows):
        of_phase = [trial for trial in windows if trial.phase == phase]
        figures = {
            variant: [share for trial in of_phase if trial.variant == variant and (share := read(trial)) is not None]
            for variant in dict.fromkeys(trial.variant for trial in of_phase)
        }
        means = {variant: statistics.fmean(shares) for variant, shares in figures.items() if shares}
        for variant, mean in means.items():
            shown = percent(mean, 1)
            moments = dict.fromkeys(moment_of(trial) for trial in of_phase if trial.variant == variant)
            yield Value(
                mean,
                shown,
                f"{words.format(share=shown)}; {_ALLOWED}",
                variant,
                next(iter(moments)) if len(moments) == 1 else "trials",
                limit=min(MOST_LOST, min(means.values()) + MOST_APART),
            )


_APART = f"and <= {percent(MOST_APART)} more than beside another variant"
STEAL = block_check("steal", "machine", f"<= {percent(MOST_LOST)} of the cores' time, {_APART}", _steal, MOST_LOST)
CORE_WAIT = block_check(
    "server's wait for a core",
    "machine",
    f"<= {percent(MOST_LOST)} of the window, outside throttled periods, with no other variant at work, {_APART}",
    _core_wait,
    MOST_LOST,
)
