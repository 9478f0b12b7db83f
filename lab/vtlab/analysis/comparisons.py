"""Each further variant of an experiment, compared with its first (virtual over platform).

Only the primary metric has p values and a verdict; the others have a ratio and an interval. Ratios are over the blocks
in which neither of the two failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtlab.analysis.metrics import METRICS, counting_floor, log_ratios
from vtlab.analysis.statistics import paired
from vtlab.analysis.validity import failing, littles_law, overload
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block
from vtlab.model.verdict import Comparison


@dataclass(frozen=True)
class _Pair:
    """Pair of variants: ``of`` is compared with ``over``."""

    of: str
    over: str


def with_verdict(experiment: Experiment, comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Selects the comparisons of the primary metric, which has the verdict."""
    return [c for c in comparisons if c.metric == experiment.primary]


def all_comparisons(experiment: Experiment, accepted: Sequence[Block], confidence: float) -> list[Comparison]:
    """Compares the primary metric, then every other metric that can be compared in these blocks."""
    over, *others = experiment.variants
    comparisons = primary_comparisons(experiment, accepted, confidence)
    for variant in others:
        sound = failing.sound_blocks(accepted, experiment, variant, over)
        for name in METRICS:
            if name == experiment.primary or not _latency_holds(name, sound, (variant, over), experiment):
                continue
            if logs := log_ratios(name, sound, variant, over):
                estimate = paired.estimate(logs, counting_floor(name, sound, variant, over), confidence=confidence)
                comparisons.append(_with_ratio(name, _Pair(variant, over), logs, estimate))
    return comparisons


def primary_comparisons(experiment: Experiment, accepted: Sequence[Block], confidence: float) -> list[Comparison]:
    """Compares the primary metric, once for each further variant; the verdicts are not yet adjusted over a report."""
    over, *others = experiment.variants
    failed = [failing.failed(block, experiment) for block in accepted]
    comparisons = []
    for variant in others:
        failed_blocks = {v: sum(v in names for names in failed) for v in (over, variant)}
        sound = failing.sound_blocks(accepted, experiment, variant, over)
        primary = _primary(experiment, sound, _Pair(variant, over), confidence)
        comparisons.append(_with_failing(primary, failed_blocks, len(accepted)))
    return comparisons


def _latency_holds(metric: str, blocks: Sequence[Block], variants: Sequence[str], experiment: Experiment) -> bool:
    """Tells whether a metric is no latency, or one that depends neither on the length of an overloaded window nor on
    users who had no answer."""
    if not metric.startswith("latency"):
        return True
    if any(_growths(blocks, variant, experiment) for variant in variants):
        return False
    trials = [t for block in blocks for t in block.trials if t.variant in variants]
    return all(littles_law.missing_users(t, experiment) is None for t in trials)


def _with_failing(primary: Comparison, failed: dict[str, int], blocks: int) -> Comparison:
    """Adds the numbers of ``failed`` blocks to a primary comparison.

    There is no test where a variant failed, however narrow the interval of the other blocks is.
    """
    if not any(failed.values()):
        return primary
    not_surviving = [variant for variant, count in failed.items() if failing.fails_under_load(count, blocks)]
    return primary.model_copy(
        update={
            "verdict": "fails" if not_surviving else "inconclusive",
            "fails": not_surviving,
            "p_t": None,
            "p_sign_flip": None,
        }
    )


def _overloaded_variants(
    experiment: Experiment, metric: str, accepted: Sequence[Block], variants: Sequence[str]
) -> list[str]:
    """Lists which of these variants were overloaded in any trial that counts; only latencies are touched by it."""
    if not metric.startswith("latency"):
        return []
    return [v for v in experiment.variants if v in variants and _growths(accepted, v, experiment)]


def _growths(blocks: Sequence[Block], variant: str, experiment: Experiment) -> list[float]:
    """Computes the growth of each of the variant's trials in which it was overloaded."""
    return overload.growths([t for block in blocks for t in block.trials if t.variant == variant], experiment)


def _always_overloaded(blocks: Sequence[Block], variant: str, experiment: Experiment) -> bool:
    """Tells whether the variant was overloaded in every trial, of two blocks or more."""
    trials = sum(t.variant == variant for block in blocks for t in block.trials)
    return len(blocks) >= 2 and len(_growths(blocks, variant, experiment)) == trials


def _with_ratio(
    metric: str, pair: _Pair, logs: Sequence[float], estimate: paired.Estimate, overloaded: Sequence[str] = ()
) -> Comparison:
    return Comparison(
        metric=metric,
        of=pair.of,
        over=pair.over,
        ratio=estimate.ratio,
        low=estimate.low,
        high=estimate.high,
        better=METRICS[metric].better,
        overloaded=list(overloaded),
        log_ratios=list(logs),
        sd=estimate.sd,
    )


def _without_ratio(metric: str, pair: _Pair, overloaded: Sequence[str]) -> Comparison:
    return Comparison(
        metric=metric,
        of=pair.of,
        over=pair.over,
        ratio=None,
        low=None,
        high=None,
        better=METRICS[metric].better,
        overloaded=list(overloaded),
        verdict="inconclusive",
    )


def _primary(experiment: Experiment, accepted: Sequence[Block], pair: _Pair, confidence: float) -> Comparison:
    """Compares the primary metric; the verdict is not yet adjusted.

    Overload, on a latency: where one variant was overloaded in every trial of at least two blocks and the other in
    none, the other is faster, and the ratio None, for the overloaded one's latency has no bound. Where it was
    overloaded in some trials only, its measured latencies are below the true ones; the interval can then show that the
    other is faster, by a ratio that is a lower bound, but neither that it is slower nor that they are alike. Where it
    shows nothing, and where both were overloaded, there is no ratio.
    """
    metric, variant, over = experiment.primary, pair.of, pair.over
    overloaded = _overloaded_variants(experiment, metric, accepted, (variant, over))
    without_ratio = _without_ratio(metric, pair, overloaded)
    if len(overloaded) == 1 and _always_overloaded(accepted, overloaded[0], experiment):
        return without_ratio.model_copy(update={"verdict": "faster" if overloaded == [over] else "slower"})
    logs = log_ratios(metric, accepted, variant, over)
    if not logs:
        return without_ratio
    estimate = paired.estimate(logs, counting_floor(metric, accepted, variant, over), confidence=confidence)
    outcome = paired.outcome(estimate.low, estimate.high, METRICS[metric].better)
    possible = {variant: "slower", over: "faster"}
    if overloaded and (len(overloaded) > 1 or outcome != possible[overloaded[0]]):
        return without_ratio
    return _with_ratio(metric, pair, logs, estimate, overloaded).model_copy(
        update={
            "p_t": estimate.p_t,
            "p_sign_flip": estimate.p_sign_flip,
            "verdict": outcome,
            "is_lower_bound": bool(overloaded),
        }
    )
