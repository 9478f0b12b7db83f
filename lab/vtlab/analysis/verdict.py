"""Verdicts of runs: the outcomes and decisions of the blocks that count.

Failing is a result. A block in which a variant failed counts. A variant fails where it failed in at least two blocks
and in more than half of them. One that failed in fewer leaves every outcome of its pair undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from vtlab.analysis.criteria.conclusions import judge
from vtlab.analysis.criteria.judged import Judged
from vtlab.analysis.criteria.levels import levels_of_end
from vtlab.analysis.findings import run_findings
from vtlab.analysis.run_status import blocks_left, select_blocks, status_of
from vtlab.analysis.statistics import paired
from vtlab.analysis.validity import checks
from vtlab.analysis.variant_results import variant_result
from vtlab.model.blocks import FULL_RUN
from vtlab.model.records import Block
from vtlab.model.run import Analysis, Run
from vtlab.model.verdict import Verdict


def analyse_all(runs: Sequence[Run]) -> list[Analysis]:
    """Analyses runs, in order. Each is a question of its own: none changes what another says."""
    return [_analyse(run) for run in runs]


def split_by_pair(analysis: Analysis) -> list[Analysis]:
    """Makes one analysis for each pair of an experiment of more than two variants, for the report: of each beside the
    first. The validity checks are still of them all, for a block counts with all its variants or not at all."""
    over, *others = analysis.run.experiment.variants
    if len(others) == 1:
        return [analysis]
    compared = []
    for variant in others:
        verdict = analysis.verdict.model_copy(
            update={
                "variants": {name: analysis.verdict.variants[name] for name in (over, variant)},
                "findings": [f for f in analysis.verdict.findings if f.variant in (None, over, variant)],
                "outcomes": [o for o in analysis.verdict.outcomes if o.of == variant],
                "decisions": [d for d in analysis.verdict.decisions if d.of == variant],
            }
        )
        experiment = analysis.run.experiment.model_copy(update={"variants": [over, variant]})
        compared.append(replace(analysis, run=replace(analysis.run, experiment=experiment), verdict=verdict))
    return compared


def _analyse(run: Run) -> Analysis:
    status, experiment = status_of(run), run.experiment
    accepted, rejected = select_blocks(run, status)
    n = len(accepted)
    # Without a block that counts even a run that has ended lacks some.
    is_valid = blocks_left(run, status) == 0 and bool(accepted)
    results = {v: variant_result(experiment, accepted, v) for v in experiment.variants}
    conclusions = judge(Judged(experiment, run.manifest, accepted, levels_of_end(run, status.end, n)), results)
    verdict = Verdict(
        experiment=experiment.name,
        n=n,
        confidence=paired.CONFIDENCE,
        valid=is_valid,
        # A full run that failing ended is no quick look.
        quick=status.end is None and (run.manifest.blocks if is_valid else n) < FULL_RUN,
        end=status.end,
        limits=experiment.limits,
        outcomes=conclusions.outcomes,
        decisions=conclusions.decisions,
        variants=conclusions.variants,
        rejected=rejected,
        findings=run_findings.findings_of_run(run, accepted, conclusions.variants),
        environment=_environment(run, accepted or run.blocks),
    )
    return Analysis(run, accepted, rejected, verdict, checks.results(accepted or run.blocks, experiment))


def _environment(run: Run, blocks: Sequence[Block]) -> dict[str, Any]:
    """Collects the facts that a reader needs to trust or repeat the run: the manifest, and each JVM's own report."""
    m = run.manifest
    instances = {i.variant: i for block in reversed(blocks) for i in block.instances}
    return {
        "run_id": m.run_id,
        "started": m.started,
        "target": m.target,
        "command": m.command,
        "commit": m.commit,
        "seed": m.seed,
        "planned_blocks": m.blocks,
        "cpu_limited": m.cpu_limited,
        "versions": m.versions,
        "jvm_flags": m.jvm_flags,
        "machine": m.machine,
        #: Cores that each variant had in the first part of the warm-up, where they were more than the limit.
        "raised_cpu": max((t.raised_cpu for b in blocks for t in b.warmup if t.raised_cpu), default=None),
        "instances": {
            v: instances[v].model_dump(mode="json", include={"java", "gc", "processors", "cpu_limit", "class_archives"})
            for v in run.experiment.variants
            if v in instances
        },
    }
