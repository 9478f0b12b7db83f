"""Estimates of how long the blocks of a run will take, for the progress."""

from __future__ import annotations

from pathlib import Path

from vtlab import shipped
from vtlab.analysis import run_status
from vtlab.analysis.validity import checks
from vtlab.errors import PrerequisiteMissing
from vtlab.host import tools
from vtlab.k6 import call as k6
from vtlab.measuring.schedule import RunTime
from vtlab.model import normalised, units
from vtlab.model.experiment import Experiment
from vtlab.model.load import OpenLoad
from vtlab.model.run import Run
from vtlab.planning import light_load, planned_runs, typical_load


def block_seconds(plan_file: Path, experiment: Experiment) -> float | None:
    """Estimates the length of a block by the plan of k6; None where k6 is not set up here (a run in a cluster)."""
    try:
        tool = tools.find_k6()
    except PrerequisiteMissing:
        return None
    seconds = k6.block_seconds(tool.path, shipped.ROOT / "k6" / "block.ts", plan_file, experiment.variants)
    return None if seconds is None else planned_runs.START_SECONDS + seconds


def remaining_block_seconds(folder: Path, run: Run) -> list[float | None]:
    """Estimates the length of each block that the run in ``folder`` lacks, in all or up to its next look. Before its
    load is known none is."""
    blocks_left = run_status.blocks_left(run)
    if run.experiment.is_searched:
        return [None] * blocks_left
    seconds = block_seconds(folder / normalised.PLAN, run.experiment)
    if seconds is None or not blocks_left:
        return [seconds] * blocks_left
    seconds += window_overrun_seconds(run) or 0.0
    seconds += typical_load.expected_seconds(run.experiment, run.manifest.typical)
    return [seconds + extra_phase_seconds(run), *[seconds] * (blocks_left - 1)]


def run_time(folder: Path, run: Run) -> RunTime:
    """Plans the time of the run in ``folder`` by its time budget, and by the estimated lengths of the blocks that it
    lacks."""
    blocks, rule = remaining_block_seconds(folder, run), run.manifest.rule
    if not blocks:
        return RunTime()
    spent = sum(block.seconds or 0.0 for block in run.blocks)
    budget = None if rule is None or rule.within is None else max(0.0, rule.within - spent)
    return RunTime(blocks, budget, may_take_longer(run))


def may_take_longer(run: Run) -> bool:
    """Tells whether a run may need more blocks than up to its next look, or longer ones: before its first warm-up the
    length of an open load's windows is unknown."""
    return (run.manifest.rule is not None and run_status.blocks_left(run) > 0) or window_overrun_seconds(run) is None


def extra_phase_seconds(run: Run) -> float:
    """Estimates the seconds of the phases that a run measures once, as far as the next block has them."""
    accepted = [block for block in run.blocks if not checks.reasons(block, run.experiment)]
    variants = set(run.experiment.variants)
    has_single = variants <= {phase.variant for block in accepted for phase in block.single}
    has_light = variants <= {phase.variant for block in accepted for phase in block.light}
    always = run.manifest.diagnosis == "always"
    return light_load.extra_phase_seconds(run.experiment, not has_single, not has_light, always)


def window_overrun_seconds(run: Run) -> float | None:
    """Returns how much longer than planned the windows of one block are; None where the first warm-up is to tell."""
    if not isinstance(run.experiment.load, OpenLoad):
        return 0.0
    measured = [block.trials for block in run.blocks if block.trials]
    if not measured:
        return None
    return max(0.0, sum(t.window - units.seconds(run.experiment.window_of(t.variant)) for t in measured[-1]))
