"""The runs of one call of vtlab: their names, which are also their folders', and their experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vtlab.errors import BadInput
from vtlab.model import variant
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad

_Value = TypeVar("_Value")

#: Seconds for the JVMs to start under a CPU limit and for k6 to come up: an estimate, for the progress only.
START_SECONDS = 12.0


@dataclass(frozen=True)
class PlannedRun:
    """One run to be: a name that is also its folder's, and the resolved experiment."""

    name: str
    experiment: Experiment
    #: Fixed for this run alone; None: as the call has it.
    blocks: int | None = None


def runs(experiments: Sequence[Experiment], cpus: Sequence[float]) -> list[PlannedRun]:
    """Plans a run of every experiment at every CPU limit; at its own limit where ``cpus`` is empty."""
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
    """Returns how many blocks a run of this length may have rejected. One more ends it: noise of this size is no
    accident."""
    return max(2, blocks // 2)


def identical(experiment: Experiment, kind: str) -> Experiment:
    """Returns the A/A form of an experiment: the same kind of variant twice, so that any difference is noise."""
    if kind not in variant.ENVIRONMENT:
        raise BadInput(f"unknown variant '{kind}'", f"known are: {', '.join(variant.ENVIRONMENT)}")
    if experiment.is_searched:
        raise BadInput(
            f"{experiment.name}: vtlab searches no load for a comparison of a variant with itself",
            "name the users: load: {full: {users: 200}}",
        )
    names = [f"{kind}-a", f"{kind}-b"]
    windows = experiment.windows.model_copy(update={"measure": experiment.window_of(kind), "measure_by_variant": {}})
    load = experiment.load
    if isinstance(load, ClosedLoad):
        times = {key: _for_both(getattr(load, key), kind, names) for key in ("round", "service_time")}
        load = load.model_copy(update=times)
    return experiment.with_load(load).model_copy(
        update={
            "variants": names,
            "properties": {},
            "windows": windows,
            "expected": _for_both(experiment.expected, kind, names),
        }
    )


def _for_both(values: Mapping[str, _Value], kind: str, names: Sequence[str]) -> dict[str, _Value]:
    return dict.fromkeys(names, values[kind]) if kind in values else {}
