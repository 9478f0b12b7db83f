"""Measures the blocks of a run on a target and keeps every finished block."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from vtlab import results
from vtlab.analysis import standing
from vtlab.analysis.validity import checks, failing
from vtlab.attempt import Attempt
from vtlab.errors import InvalidRun
from vtlab.host import processes
from vtlab.model import units
from vtlab.model.experiment import OpenLoad
from vtlab.model.records import Facts, Manifest
from vtlab.model.run import Run
from vtlab.planning import load, plan
from vtlab.progress import Progress
from vtlab.report.words import block_counts
from vtlab.targets.target import Target


def measure(
    folder: Path, target: Target, progress: Progress, name: str, wait: Callable[[float], None] = time.sleep
) -> None:
    """Measures what the run in ``folder`` still lacks. InvalidRun when too many blocks are rejected."""
    run = results.read(folder)
    manifest, experiment = run.manifest, run.experiment
    judged = [(block, checks.reasons(block, experiment)) for block in run.blocks]
    accepted = [block for block, reasons in judged if not reasons]
    rejected = [(block, reasons) for block, reasons in judged if reasons]
    planned = f"at most {manifest.blocks}" if manifest.rule else str(manifest.blocks)
    while left := standing.blocks_left(run):
        if len(rejected) > manifest.max_rejected:
            raise InvalidRun(
                f"{name}: {block_counts.rejected_blocks(len(rejected))}, {len(accepted)} of {planned} count; the last: "
                + "; ".join(rejected[-1][1][:3]),
                f"see the reasons in the report (vtlab report {folder}); is something else running there?",
            )
        number = len(accepted) + 1
        tries = 1 + sum(block.block == number for block, _ in rejected)
        title = f"{name}: block {number} of {planned}"
        attempt = Attempt(experiment, manifest.seed, progress, title, number, tries, wait)
        order = plan.order(experiment.variants, manifest.seed, number, experiment.windows.trials)
        # Of a variant that failed before it was alone there is nothing yet.
        alone = {phase.variant for block in accepted for phase in block.single}
        lit = {phase.variant for block in accepted for phase in block.light}
        began = time.monotonic()
        block, samples = attempt.measure(
            target,
            order,
            with_single=not alone.issuperset(experiment.variants),
            beside=[variant for variant in experiment.variants if variant not in lit],
            before=accepted,
            diagnosis=manifest.diagnosis,
        )
        block.seconds = round(time.monotonic() - began, 3)
        # Ctrl-C must not cost a block that is measured.
        with processes.uninterrupted():
            results.append_block(folder, block)
            if samples:
                results.append_series(folder, block, samples)
        run = replace(run, blocks=[*run.blocks, block])
        reasons = checks.reasons(block, experiment)
        if reasons:
            rejected.append((block, reasons))
            # The disturbance may last a moment: each rejection waits longer than the one before.
            wait(min(2.0 * len(rejected), 10.0))
        else:
            accepted.append(block)
        failures = [] if reasons else failing.failures(block, experiment)
        progress.block_done(name, block, reasons, failures, len(accepted), planned)
        _say_where_it_stands(run, progress, name, left if reasons else left - 1)
    if rejected and not accepted:
        raise InvalidRun(
            f"{name}: {block_counts.rejected_blocks(len(rejected))}, none counts, and another does not fit into the"
            " time (--within)",
            f"see the reasons in the report (vtlab report {folder}); give it more time, such as --within 20m",
        )


def _say_where_it_stands(run: Run, progress: Progress, name: str, planned: int) -> None:
    """That a run ends here, or goes on to its next look; ``planned``: blocks that were still expected."""
    left, reached = standing.blocks_left(run), standing.decision(run)
    if left > planned:
        progress.go_on(left - planned)
    elif left < planned:
        progress.give_up(planned - left)
    if reached and (reached.ended or left > planned):
        progress.say(f"{name}: {block_counts.after_look(reached)}")
    elif not left and planned:
        progress.say(f"{name}: no further blocks: a variant failed in each of the first {standing.ENDING}")


def seconds_beside(run: Run) -> float:
    """About how long what is measured once, beside the trials, will take in the next block."""
    accepted = [block for block in run.blocks if not checks.reasons(block, run.experiment)]
    variants = set(run.experiment.variants)
    has_single = variants <= {phase.variant for block in accepted for phase in block.single}
    has_light = variants <= {phase.variant for block in accepted for phase in block.light}
    always = run.manifest.diagnosis == "always"
    return load.beside_seconds(run.experiment, not has_single, not has_light, always)


def seconds_longer(run: Run) -> float | None:
    """How much longer than planned the windows of one block are; None where the first warm-up is to tell."""
    if not isinstance(run.experiment.load, OpenLoad):
        return 0.0
    measured = [block.trials for block in run.blocks if block.trials]
    if not measured:
        return None
    return max(0.0, sum(t.window - units.seconds(run.experiment.window_of(t.variant)) for t in measured[-1]))


def manifest_of(planned: plan.PlannedRun, facts: Facts, **fields: Any) -> Manifest:
    """The manifest of a planned run."""
    return Manifest(name=planned.name, experiment=planned.experiment, **facts.model_dump(), **fields)
