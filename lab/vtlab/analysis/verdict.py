"""Verdicts of runs: the comparisons of the blocks that count, adjusted over the runs of a report.

Failing is a result. A block in which a variant failed counts. A variant fails where it failed in at least two blocks
and in more than half of them. One that failed in fewer is not compared: the verdict is ``inconclusive``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from vtlab.analysis import comparable
from vtlab.analysis.comparisons import all_comparisons, with_verdict
from vtlab.analysis.criteria.conclusions import judge
from vtlab.analysis.criteria.judged import Judged
from vtlab.analysis.criteria.levels import levels_at
from vtlab.analysis.findings import run_findings
from vtlab.analysis.run_status import blocks_left, select_blocks, status_of
from vtlab.analysis.statistics import paired
from vtlab.analysis.validity import checks
from vtlab.analysis.variant_results import variant_result
from vtlab.model.blocks import FULL_RUN
from vtlab.model.records import Block
from vtlab.model.run import Analysis, Run
from vtlab.model.verdict import Comparison, Rejection, RunEnd, VariantResult, Verdict


@dataclass(frozen=True)
class _Judged:
    """A run and its accepted blocks, before it is judged together with the other runs of its report."""

    accepted: list[Block]
    rejected: list[Rejection]
    #: The primary ones first.
    comparisons: list[Comparison]
    end: RunEnd | None
    is_complete: bool


def analyse_all(runs: Sequence[Run]) -> list[Analysis]:
    """Analyses the runs of one report, in order.

    Of runs with a fixed number of blocks the primary p values, each of the claim that the ratio points to, are adjusted
    together (Holm): ``faster``, ``slower`` and ``equivalent`` need, besides the interval, an adjusted p of at most the
    one-sided level, else the verdict is ``inconclusive``. An overload is no test, so it is not touched. A run that
    lacks blocks, for any reason, is ``inconclusive`` and does not count for the others. Runs with looks need no
    adjustment: their levels allow for the other comparisons of the call (``stopping_rule``).
    """
    judged = [_judge(run) for run in runs]
    adjusted = paired.holm(
        [
            c.p_t if j.is_complete and j.end is None else None
            for run, j in zip(runs, judged, strict=True)
            for c in with_verdict(run.experiment, j.comparisons)
        ]
    )
    family = sum(p is not None for p in adjusted)
    adjusted_p = iter(adjusted)
    analyses = []
    for run, j in zip(runs, judged, strict=True):
        level = paired.LEVEL / (j.end.claims if j.end else 1)
        primaries = [_adjusted(c, next(adjusted_p), family, level) for c in with_verdict(run.experiment, j.comparisons)]
        if not j.is_complete:
            primaries = [c.model_copy(update={"verdict": "inconclusive", "fails": []}) for c in primaries]
        others = [c for c in j.comparisons if c.metric != run.experiment.primary]
        analyses.append(_analysis(run, j, [*primaries, *others]))
    return analyses


def split_by_comparison(analysis: Analysis) -> list[Analysis]:
    """Makes one analysis for each comparison of an experiment of more than two variants, for the report: of each with
    the first. The validity checks are still of them all, for a block counts with all its variants or not at all."""
    over, *others = analysis.run.experiment.variants
    if len(others) == 1:
        return [analysis]
    compared = []
    for variant in others:
        verdict = analysis.verdict.model_copy(
            update={
                "comparisons": [c for c in analysis.verdict.comparisons if c.of == variant],
                "variants": {name: analysis.verdict.variants[name] for name in (over, variant)},
                "findings": [f for f in analysis.verdict.findings if f.variant in (None, over, variant)],
                "outcomes": [o for o in analysis.verdict.outcomes if o.of == variant],
                "decisions": [d for d in analysis.verdict.decisions if d.of == variant],
            }
        )
        experiment = analysis.run.experiment.model_copy(update={"variants": [over, variant]})
        compared.append(replace(analysis, run=replace(analysis.run, experiment=experiment), verdict=verdict))
    return compared


def _judge(run: Run) -> _Judged:
    status = status_of(run)
    reached = status.end
    accepted, rejected = select_blocks(run, status)
    comparisons = all_comparisons(run.experiment, accepted, 1 - reached.level if reached else paired.CONFIDENCE)
    # Without a block that counts even a run that has ended lacks some.
    is_complete = blocks_left(run, status) == 0 and bool(accepted)
    return _Judged(accepted, rejected, comparisons, reached, is_complete)


def _adjusted(primary: Comparison, p: float | None, family: int, level: float) -> Comparison:
    """Adjusts ``primary`` with its p by Holm, if it has one, among so many comparisons; ``level``: of a new run
    alone."""
    verdict = primary.verdict
    if verdict in ("faster", "slower", "equivalent") and p is not None and p > level:
        # Settled but for the other experiments: then the strictest of Holm's levels must be met.
        verdict, level = "inconclusive", level / family
    needed = None
    # Without a p value there was no test: a variant failed.
    if verdict == "inconclusive" and primary.ratio and primary.p_t is not None and not primary.overloaded:
        n = len(primary.log_ratios)
        needed = paired.blocks_needed(n, math.log(primary.ratio), primary.sd, level=level)
    return primary.model_copy(update={"p_holm": p, "verdict": verdict, "blocks_needed": needed})


def _analysis(run: Run, judged: _Judged, comparisons: list[Comparison]) -> Analysis:
    experiment, accepted, rejected = run.experiment, judged.accepted, judged.rejected
    n, is_valid = len(accepted), judged.is_complete
    results = {v: variant_result(experiment, accepted, v) for v in experiment.variants}
    conclusions = judge(Judged(experiment, run.manifest, accepted, levels_at(run, n)), results)
    variants = conclusions.variants
    verdict = Verdict(
        experiment=experiment.name,
        n=n,
        confidence=paired.CONFIDENCE,
        margin=paired.MARGIN,
        primary=experiment.primary,
        valid=is_valid,
        # A full run that failing ended is no quick look.
        quick=judged.end is None and (run.manifest.blocks if is_valid else n) < FULL_RUN,
        end=judged.end,
        limits=experiment.limits,
        comparisons=comparable.meaningful_comparisons(
            [_bounded_by_load(c, variants) for c in comparisons], variants, experiment
        ),
        outcomes=conclusions.outcomes,
        decisions=conclusions.decisions,
        variants=variants,
        rejected=rejected,
        findings=run_findings.findings_of_run(run, accepted, variants),
        environment=_environment(run, accepted or run.blocks),
    )
    return Analysis(run, accepted, rejected, verdict, checks.results(accepted or run.blocks, experiment))


def _bounded_by_load(comparison: Comparison, variants: dict[str, VariantResult]) -> Comparison:
    """Marks ``comparison`` as a lower bound where more load would have raised the throughput of the better variant
    alone."""
    ratio = comparison.ratio
    if comparison.metric != "throughput" or ratio is None or comparable.agree_within_margin(ratio, 1):
        return comparison
    names = (comparison.of, comparison.over) if ratio > 1 else (comparison.over, comparison.of)
    better, worse = (variants[name] for name in names)
    is_by_load = comparable.keeps_up(better) and not comparable.keeps_up(worse)
    return comparison.model_copy(update={"is_lower_bound": is_by_load})


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
