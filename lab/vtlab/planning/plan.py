"""What a call of vtlab will do: which runs, in which folders, in which order the variants take turns."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from vtlab.errors import BadInput
from vtlab.model import units, variant
from vtlab.model.experiment import ClosedLoad, Experiment

#: Blocks of a full run (DESIGN: statistics); fewer is a quick look.
FULL_RUN = 6
#: Length of the single-user phase, which gives the shortest response time.
SINGLE = "5s"
#: Seconds for two JVMs to start under a CPU limit and for k6 to come up: an estimate for the progress only.
_START = 12.0
_PHASE_OVERHEAD = 1.0
#: Seconds for each user to begin in, as in k6/lib/plan.ts.
_GENTLY = 0.005


@dataclass(frozen=True)
class PlannedRun:
    """One run to be: a name that is also its folder's, and the resolved experiment."""

    name: str
    experiment: Experiment


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
    rate = (experiment.ideal or {}).get(kind)
    windows = experiment.windows.model_copy(update={"measure": experiment.window_of(kind), "measure_of": {}})
    return experiment.model_copy(
        update={
            "variants": names,
            "publication": None,
            "properties": {},
            "windows": windows,
            "ideal": dict.fromkeys(names, rate) if rate else None,
        }
    )


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
    return [*turns, *reversed(turns)] if trials == 2 else turns


def block_seconds(experiment: Experiment) -> float:
    """Roughly how long one block takes, for the progress; its true length depends on the responses."""
    windows, load = experiment.windows, experiment.load
    ideal = (experiment.ideal or {}) if isinstance(load, ClosedLoad) else {}
    known = {name: load.users / rate for name, rate in ideal.items()}
    # As in k6/lib/plan.ts: a round is no shorter than that of the variant whose users wait least.
    unknown = max(units.seconds(windows.spread), min(known.values(), default=0.0))
    rounds = {name: known.get(name, unknown) for name in experiment.variants}
    warm = min(units.seconds(windows.spread), 1.0) + units.seconds(windows.warmup_load) + _PHASE_OVERHEAD
    total = _START + windows.warmup_cycles * warm * len(rounds)
    for name, own in rounds.items():
        window = units.seconds(experiment.window_of(name))
        total += windows.trials * (own * math.ceil(_GENTLY * load.users / own) + 2 * own + window + _PHASE_OVERHEAD)
    return total
