"""Whether each variant meets the user's latency objective (``--slo``), at which load, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vtlab.analysis.criteria.criterion import windows
from vtlab.analysis.validity import failing, generator
from vtlab.model.load import NONE
from vtlab.model.objective import Objective
from vtlab.model.outcome import Key, LoadName
from vtlab.model.run import Analysis
from vtlab.report.words import figures
from vtlab.report.words.outcome_rows import load_words


def sentence(analysis: Analysis) -> str | None:
    """Says which variants meet the objective under each load; None where the call named none. No outcome changes by
    it."""
    objective = analysis.run.manifest.slo
    if objective is None or not analysis.verdict.n:
        return None
    limit = f"{objective.percentile} of at most {figures.duration(objective.seconds)}"
    return f"{limit}: " + "; ".join(_at(analysis, objective, load) for load in _loads(analysis))


def _loads(analysis: Analysis) -> Sequence[LoadName]:
    experiment = analysis.run.experiment
    loads: list[LoadName] = []
    if experiment.typical_beside is not None or experiment.load_.full == NONE:
        loads.append("typical")
    return [*loads, "full"] if experiment.load_.full != NONE else loads


def _at(analysis: Analysis, objective: Objective, load: LoadName) -> str:
    """Says it of one load: ``at 29.3/s met by platform (38.0 ms) and virtual (10.0 ms)``."""
    met, missed, unknown = [], [], []
    for name in analysis.run.experiment.variants:
        result = analysis.verdict.variants[name]
        if load == "typical" and result.overloaded_blocks:
            missed.append(f"{name} (overloaded)")
        elif result.failed_blocks == analysis.verdict.n or failing.fails_under_load(
            result.failed_blocks, analysis.verdict.n
        ):
            missed.append(f"{name} (fails)")
        elif (value := _value(analysis, objective, load, name)) is None:
            unknown.append(name)
        elif value <= objective.seconds:
            met.append(f"{name} ({figures.duration(value)})")
        else:
            over = figures.duration(value - objective.seconds)
            missed.append(f"{name} by {over} ({figures.duration(value)})")
    said = [
        f"{word} {figures.listed(names)}"
        for word, names in (("met by", met), ("missed by", missed), ("not known of", unknown))
        if names
    ]
    return f"at {load_words(load, analysis.run.experiment, analysis.run.manifest)} {', '.join(said)}"


def _value(analysis: Analysis, objective: Objective, load: LoadName, variant: str) -> float | None:
    """Averages the percentile over the windows of a variant; None where a window lacks it, or where it misses the limit
    by a p99 of which k6's lateness may be most."""
    experiment = analysis.run.experiment
    key = Key(criterion="tail", load=load)
    blocks = failing.sound_blocks(analysis.accepted, experiment, variant)
    trials = [t for block in blocks for t in windows(block, experiment, key) if t.variant == variant]
    values = [getattr(t.user_latency, objective.percentile) for t in trials]
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    mean = math.fsum(known) / len(known)
    is_blurred = objective.percentile == "p99" and any(map(generator.blurs_p99, trials))
    return None if is_blurred and mean > objective.seconds else mean
