"""What a call of vtlab will do: which runs, in which folders, in which order the variants take turns."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vtlab.errors import BadInput
from vtlab.model import variant
from vtlab.model.experiment import ClosedLoad, Experiment

_Value = TypeVar("_Value")

#: Blocks of a full run (docs/explanation/method-details.md); fewer is a quick look.
FULL_RUN = 6
#: Seconds for the JVMs to start under a CPU limit and for k6 to come up: an estimate, for the progress only.
START = 12.0


@dataclass(frozen=True)
class PlannedRun:
    """One run to be: a name that is also its folder's, and the resolved experiment."""

    name: str
    experiment: Experiment
    #: Fixed for this run alone; None: as the call has it.
    blocks: int | None = None


def runs(experiments: Sequence[Experiment], cpus: Sequence[float]) -> list[PlannedRun]:
    """Every experiment at every CPU limit; at its own where none is given."""
    planned = []
    for experiment in experiments:
        if not cpus:
            planned.append(PlannedRun(experiment.name, experiment))
        for cpu in cpus:
            limited = experiment.model_copy(update={"limits": experiment.limits.model_copy(update={"cpu": cpu})})
            planned.append(PlannedRun(f"{experiment.name}@{cpu:g}cpu", limited))
    if len({run.name for run in planned}) != len(planned):
        raise BadInput("an experiment or a CPU limit is named twice", "name each once")
    return planned


def max_rejected(blocks: int) -> int:
    """Rejected blocks after which a run of so many blocks is given up: noise of this size is no accident."""
    return max(2, blocks // 2)


def identical(experiment: Experiment, kind: str) -> Experiment:
    """The A/A form of an experiment: the same kind of variant twice, so that any difference is noise."""
    if kind not in variant.ENVIRONMENT:
        raise BadInput(f"unknown variant '{kind}'", f"known are: {', '.join(variant.ENVIRONMENT)}")
    names = [f"{kind}-a", f"{kind}-b"]
    windows = experiment.windows.model_copy(update={"measure": experiment.window_of(kind), "measure_by_variant": {}})
    load = experiment.load
    if isinstance(load, ClosedLoad):
        times = {key: _of_both(getattr(load, key), kind, names) for key in ("round", "service_time")}
        load = load.model_copy(update=times)
    return experiment.model_copy(
        update={
            "variants": names,
            "properties": {},
            "load": load,
            "windows": windows,
            "expected": _of_both(experiment.expected, kind, names),
        }
    )


def _of_both(values: Mapping[str, _Value], kind: str, names: Sequence[str]) -> dict[str, _Value]:
    return dict.fromkeys(names, values[kind]) if kind in values else {}


def order(variants: Sequence[str], seed: int, block: int, trials: int = 2) -> list[str]:
    """The mirrored order of one block: ABBA or BAAB, drawn from the run's seed for every pair of blocks; ABCCBA and the
    like of more than two.

    The second block of a pair has the reverse order, so that no variant is first much more often. With one trial of
    each that pair alone is mirrored.
    """
    drawn = random.Random(f"{seed}/{(block + 1) // 2}")
    forth = drawn.random() < 0.5
    turns = drawn.sample(variants, len(variants)) if len(variants) > 2 else list(variants)
    if forth != (block % 2 == 1):
        turns.reverse()
    return mirrored(turns, trials)


def mirrored(turns: Sequence[str], trials: int) -> list[str]:
    """The order of a block whose variants take their first turns like this, with 1, 2 or 4 trials of each: AB, ABBA or
    ABBABAAB. A linear drift cancels in ABBA, in ABBABAAB one that is a parabola, too (Thue-Morse sequence)."""
    back = list(reversed(turns))
    return [*turns, *(back if trials >= 2 else ()), *([*back, *turns] if trials == 4 else ())]
