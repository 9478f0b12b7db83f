"""From runs to verdicts: which blocks count, the ratios over them, and what limits each variant.

Each further variant of the experiment is compared with its first (virtual over platform). Only the primary metric
has p values and a verdict; the others have a ratio and an interval.

Failing is a result. A block in which a variant failed counts. Ratios are over the blocks in which neither of the two
failed. A variant fails where it failed in at least two blocks and in more than half of them. One that failed in fewer
is not compared: the verdict is ``inconclusive``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from vtlab.analysis import breakdown, checks, comparable, findings, laws, sequential, statistics
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Comparison, Decision, Failure, Rejection, Trial, VariantResult, Verdict
from vtlab.model.run import Analysis, Run
from vtlab.planning.plan import FULL_RUN

PERCENTILES = ("p50", "p90", "p95", "p99", "p99_9")
#: What a figure is counted in: bytes of a page of memory, seconds of a recorded time.
PAGE, MICROSECOND = 4096, 1e-6
#: Blocks in which a variant must have failed, at least and all of the first so many, for the run to end.
ENDING = 3

Better = Literal["higher", "lower"]


def _percentile(name: str) -> Callable[[Trial], float | None]:
    return lambda t: cast("float | None", getattr(t.latency, name))


@dataclass(frozen=True)
class Metric:
    """A metric of a trial. ``weight`` turns the mean over a block's trials into a ratio of sums. ``step``
    is what its values are whole multiples of; without one they come from counting the OK answers of a window."""

    better: Better
    value: Callable[[Trial], float | None]
    weight: Callable[[Trial], float] | None = None
    step: float | None = None

    def count(self, trial: Trial) -> float:
        """The whole number that the value comes from, which bounds its resolution."""
        return trial.ok if self.step is None else (self.value(trial) or 0.0) / self.step


#: What is compared, in this order (the primary first).
METRICS: dict[str, Metric] = {
    "throughput": Metric("higher", lambda t: t.throughput),
    "latency_mean": Metric("lower", lambda t: t.latency.mean, lambda t: t.latency.count, MICROSECOND),
    "latency_p50": Metric("lower", _percentile("p50"), step=MICROSECOND),
    "latency_p99": Metric("lower", _percentile("p99"), step=MICROSECOND),
    "cpu_per_request": Metric("lower", lambda t: laws.demand_per_ok([t], "cpu_cores"), lambda t: t.ok),
    "memory": Metric("lower", lambda t: t.server.get("resident"), step=PAGE),
    "service_time": Metric("lower", lambda t: t.server.get("service_time"), lambda t: t.ok, MICROSECOND),
}


@dataclass(frozen=True)
class _Judged:
    """A run with what counts of it, before the other runs of its report are looked at."""

    accepted: list[Block]
    rejected: list[Rejection]
    #: The primary ones first.
    comparisons: list[Comparison]
    decision: Decision | None
    is_complete: bool


def analyse_all(runs: Sequence[Run]) -> list[Analysis]:
    """The runs of one report, in order.

    Of runs with a fixed number of blocks the primary p values, each of the claim that the ratio points to, are adjusted
    together (Holm): ``faster``, ``slower`` and ``equivalent`` need, besides the interval, an adjusted p of at most the
    one-sided level, else the verdict is ``inconclusive``. An overload is no test, so it is not touched. A run that
    lacks blocks, for any reason, is ``inconclusive`` and does not count for the others. Runs with looks need no
    adjustment: their levels allow for the other comparisons of the call (``sequential``).
    """
    judged = [_judge(run) for run in runs]
    adjusted = statistics.holm(
        [
            c.p_t if j.is_complete and j.decision is None else None
            for run, j in zip(runs, judged, strict=True)
            for c in _primaries(run.experiment, j.comparisons)
        ]
    )
    family = sum(p is not None for p in adjusted)
    given = iter(adjusted)
    analyses = []
    for run, j in zip(runs, judged, strict=True):
        level = statistics.LEVEL / (j.decision.comparisons if j.decision else 1)
        primaries = [_adjusted(c, next(given), family, level) for c in _primaries(run.experiment, j.comparisons)]
        if not j.is_complete:
            primaries = [c.model_copy(update={"verdict": "inconclusive", "fails": []}) for c in primaries]
        others = [c for c in j.comparisons if c.metric != run.experiment.primary]
        analyses.append(_analysis(run, j, [*primaries, *others]))
    return analyses


def _primaries(experiment: Experiment, comparisons: Sequence[Comparison]) -> list[Comparison]:
    return [c for c in comparisons if c.metric == experiment.primary]


def split_by_comparison(analysis: Analysis) -> list[Analysis]:
    """One analysis for each comparison of an experiment of more than two variants, for the report: of each with the
    first. The validity checks are still of them all, for a block counts with all its variants or not at all."""
    over, *others = analysis.run.experiment.variants
    if len(others) == 1:
        return [analysis]
    compared = []
    for of in others:
        verdict = analysis.verdict.model_copy(
            update={
                "comparisons": [c for c in analysis.verdict.comparisons if c.of == of],
                "variants": {name: analysis.verdict.variants[name] for name in (over, of)},
                "findings": [f for f in analysis.verdict.findings if f.variant in (None, over, of)],
            }
        )
        experiment = analysis.run.experiment.model_copy(update={"variants": [over, of]})
        compared.append(replace(analysis, run=replace(analysis.run, experiment=experiment), verdict=verdict))
    return compared


def _judge(run: Run) -> _Judged:
    standing = _standing(run)
    reached = standing.decision
    accepted, rejected = _selected(run, standing)
    comparisons = _comparisons(run.experiment, accepted, 1 - reached.level if reached else statistics.CONFIDENCE)
    return _Judged(accepted, rejected, comparisons, reached, _blocks_left(run, standing) == 0)


@dataclass(frozen=True)
class _Standing:
    """How far a run is."""

    #: Against each of its blocks.
    reasons: list[list[str]]
    #: Where its blocks without a reason against them are, the first of each number.
    sound: list[int]
    decision: Decision | None


def _standing(run: Run) -> _Standing:
    reasons = [checks.reasons(block, run.experiment) for block in run.blocks]
    first: dict[int, int] = {}
    for index, block in enumerate(run.blocks):
        if not reasons[index]:
            first.setdefault(block.block, index)
    sound = list(first.values())
    return _Standing(reasons, sound, _decision(run, sound))


def _decision(run: Run, sound: Sequence[int]) -> Decision | None:
    rule = run.manifest.rule
    if rule is None:
        return None
    blocks = [run.blocks[index] for index in sound]
    # A rejected attempt takes time, too.
    spent = [0.0, *itertools.accumulate(block.seconds or 0.0 for block in run.blocks)]
    ends = [0.0, *(spent[index + 1] for index in sound)]
    seconds = [end - begin for begin, end in itertools.pairwise(ends)]

    def comparisons(look: int) -> list[Comparison]:
        return _primary_comparisons(run.experiment, blocks[:look], 1 - sequential.level(rule, look))

    return sequential.decision(rule, seconds, comparisons, lambda look: failing_ends(run.experiment, blocks[:look]))


def decision(run: Run) -> Decision | None:
    """The look at which a run ended, or where it stands; None where its number of blocks was fixed."""
    return _standing(run).decision


def select_blocks(run: Run) -> tuple[list[Block], list[Rejection]]:
    """The blocks that count: the first of those without a reason against them, one per block number.

    Any further block is set aside with that reason, so that measuring on cannot change a verdict.
    """
    return _selected(run, _standing(run))


def _selected(run: Run, standing: _Standing) -> tuple[list[Block], list[Rejection]]:
    most = standing.decision.blocks if standing.decision else run.manifest.blocks
    counting = set(standing.sound[:most])
    rejected: list[Rejection] = []
    for index, (block, reasons) in enumerate(zip(run.blocks, standing.reasons, strict=True)):
        if index in counting:
            continue
        if not reasons and index in standing.sound:
            reasons = [f"the run has its {most} blocks already"]
        elif not reasons:
            reasons = ["an earlier attempt at this block counts already"]
        rejected.append(Rejection(block=block.block, attempt=block.attempt, reasons=reasons))
    return [run.blocks[index] for index in sorted(counting)], rejected


def blocks_left(run: Run) -> int:
    """How many blocks the run still needs, in all or up to its next look; 0 where it has ended."""
    return _blocks_left(run, _standing(run))


def _blocks_left(run: Run, standing: _Standing) -> int:
    rule, reached = run.manifest.rule, standing.decision
    if rule and reached:
        following = sequential.next_look(rule, reached.blocks)
        return 0 if reached.ended or following is None else following - reached.blocks
    accepted = [run.blocks[index] for index in standing.sound]
    return 0 if failing_ends(run.experiment, accepted) else max(0, run.manifest.blocks - len(accepted))


def failing_ends(experiment: Experiment, accepted: Sequence[Block]) -> bool:
    """Whether further blocks are not needed: in every comparison one of the two failed in all of the first three
    blocks that count."""
    first = [checks.failed(block, experiment) for block in accepted[:ENDING]]
    always = set.intersection(*first) if len(first) == ENDING else set()
    over, *others = experiment.variants
    return over in always or always.issuperset(others)


def fails(failed: int, blocks: int) -> bool:
    """Whether a variant that failed in so many of these blocks fails under the load."""
    return failed >= 2 and 2 * failed > blocks


def _comparisons(experiment: Experiment, accepted: Sequence[Block], confidence: float) -> list[Comparison]:
    over, *others = experiment.variants
    comparisons = _primary_comparisons(experiment, accepted, confidence)
    for of in others:
        sound = _without_failing(experiment, accepted, of, over)
        for name in METRICS:
            if name == experiment.primary or not _latency_holds(name, sound, (of, over), experiment):
                continue
            if logs := _log_ratios(name, sound, of, over):
                estimate = statistics.estimate(logs, counting_floor(name, sound, of, over), confidence=confidence)
                comparisons.append(_comparison(name, of, over, logs, estimate, []))
    return comparisons


def _primary_comparisons(experiment: Experiment, accepted: Sequence[Block], confidence: float) -> list[Comparison]:
    over, *others = experiment.variants
    failed = [checks.failed(block, experiment) for block in accepted]
    comparisons = []
    for of in others:
        failing = {v: sum(v in names for names in failed) for v in (over, of)}
        sound = _without_failing(experiment, accepted, of, over)
        primary = _primary(experiment, sound, of, over, confidence)
        comparisons.append(_with_failing(primary, failing, len(accepted)))
    return comparisons


def _without_failing(experiment: Experiment, accepted: Sequence[Block], of: str, over: str) -> list[Block]:
    """The blocks in which neither of the two failed."""
    return [block for block in accepted if checks.failed(block, experiment).isdisjoint((of, over))]


def _latency_holds(metric: str, blocks: Sequence[Block], of: Sequence[str], experiment: Experiment) -> bool:
    """Whether a metric is no latency, or one that depends neither on the length of an overloaded window nor on users
    who had no answer."""
    if not metric.startswith("latency"):
        return True
    if any(_growths(blocks, variant, experiment) for variant in of):
        return False
    trials = [t for block in blocks for t in block.trials if t.variant in of]
    return all(checks.missing_users(t, experiment) is None for t in trials)


def _with_failing(primary: Comparison, failed: dict[str, int], blocks: int) -> Comparison:
    """A primary comparison where ``failed`` says in how many of the blocks each of the two failed: there is no test
    where one did, however narrow the interval of the blocks is in which none did."""
    if not any(failed.values()):
        return primary
    failing = [variant for variant, count in failed.items() if fails(count, blocks)]
    return primary.model_copy(
        update={
            "verdict": "fails" if failing else "inconclusive",
            "fails": failing,
            "p_t": None,
            "p_sign_flip": None,
        }
    )


def _log_ratios(metric: str, accepted: Sequence[Block], of: str, over: str) -> list[float]:
    """Log ratio of each block; empty unless every trial of every block has the value, above 0, and where there is no
    block."""
    pairs = [(_values(metric, block, of), _values(metric, block, over)) for block in accepted]
    if any(not values for pair in pairs for values in pair):
        return []
    return [float(statistics.log_ratio(np.asarray(a), np.asarray(b))) for a, b in pairs]


def counting_floor(metric: str, accepted: Sequence[Block], *variants: str) -> float:
    """The least standard deviation of these blocks' log ratios: what counting allows."""
    resolutions = [
        statistics.resolution(*([METRICS[metric].count(t) for t in block.trials if t.variant == v] for v in variants))
        for block in accepted
    ]
    return float(statistics.floor(np.asarray(resolutions)))


def _values(metric: str, block: Block, variant: str) -> list[float]:
    """What enters a block's mean: the trials' values, or of a metric that is a ratio, its ratio of sums."""
    m, trials = METRICS[metric], [t for t in block.trials if t.variant == variant]
    values = [m.value(t) for t in trials]
    known = [v for v in values if v is not None and v > 0]
    if not known or len(known) != len(values):
        return []
    if m.weight is None:
        return known
    mean = _weighted(m, trials)
    return [mean] if mean else []


def _weighted(metric: Metric, trials: Sequence[Trial]) -> float | None:
    """The metric over several trials: mean, or ratio of sums; None where a trial lacks it."""
    values = [(metric.value(t), metric.weight(t) if metric.weight else 1.0) for t in trials]
    return laws.ratio((None if v is None else v * w, w) for v, w in values)


def _overloads(experiment: Experiment, metric: str, accepted: Sequence[Block], of: Sequence[str]) -> list[str]:
    """Which of these variants were overloaded in any trial that counts; only latencies are touched by it."""
    if not metric.startswith("latency"):
        return []
    return [v for v in experiment.variants if v in of and _growths(accepted, v, experiment)]


def _growths(blocks: Sequence[Block], variant: str, experiment: Experiment) -> list[float]:
    """Of each of the variant's trials in which it was overloaded."""
    return checks.growths([t for block in blocks for t in block.trials if t.variant == variant], experiment)


def _always_overloaded(blocks: Sequence[Block], variant: str, experiment: Experiment) -> bool:
    """Whether every trial of at least two blocks was, and no trial was not."""
    trials = sum(t.variant == variant for block in blocks for t in block.trials)
    return len(blocks) >= 2 and len(_growths(blocks, variant, experiment)) == trials


def _comparison(
    metric: str, of: str, over: str, logs: Sequence[float], e: statistics.Estimate, overloaded: list[str]
) -> Comparison:
    return Comparison(
        metric=metric,
        of=of,
        over=over,
        ratio=e.ratio,
        low=e.low,
        high=e.high,
        better=METRICS[metric].better,
        overloaded=overloaded,
        log_ratios=list(logs),
        sd=e.sd,
    )


def _primary(experiment: Experiment, accepted: Sequence[Block], of: str, over: str, confidence: float) -> Comparison:
    """The primary comparison, its verdict not yet adjusted.

    Overload, on a latency: where one variant was overloaded in every trial of at least two blocks and the other in
    none, the other is faster, and the ratio None, for the overloaded one's latency has no bound. Where it was
    overloaded in some trials only, its measured latencies are below the true ones; the interval can then show that the
    other is faster, by a ratio that is a lower bound, but neither that it is slower nor that they are alike. Where it
    shows nothing, and where both were overloaded, there is no ratio.
    """
    metric, better = experiment.primary, METRICS[experiment.primary].better
    overloaded = _overloads(experiment, metric, accepted, (of, over))
    nothing = Comparison(
        metric=metric,
        of=of,
        over=over,
        ratio=None,
        low=None,
        high=None,
        better=better,
        overloaded=overloaded,
        verdict="inconclusive",
    )
    if len(overloaded) == 1 and _always_overloaded(accepted, overloaded[0], experiment):
        return nothing.model_copy(update={"verdict": "faster" if overloaded == [over] else "slower"})
    logs = _log_ratios(metric, accepted, of, over)
    if not logs:
        return nothing
    e = statistics.estimate(logs, counting_floor(metric, accepted, of, over), confidence=confidence)
    outcome = statistics.outcome(e.low, e.high, better)
    possible = {of: "slower", over: "faster"}
    if overloaded and (len(overloaded) > 1 or outcome != possible[overloaded[0]]):
        return nothing
    comparison = _comparison(metric, of, over, logs, e, overloaded)
    return comparison.model_copy(
        update={
            "p_t": e.p_t,
            "p_sign_flip": e.p_sign_flip,
            "verdict": outcome,
            "is_lower_bound": bool(overloaded),
        }
    )


def _adjusted(primary: Comparison, p: float | None, family: int, level: float) -> Comparison:
    """``primary`` with its p by Holm, if it has one, among so many comparisons; ``level``: of a new run alone."""
    verdict = primary.verdict
    if verdict in ("faster", "slower", "equivalent") and p is not None and p > level:
        # Settled but for the other experiments: then the strictest of Holm's levels must be met.
        verdict, level = "inconclusive", level / family
    needed = None
    # Without a p value there was no test: a variant failed.
    if verdict == "inconclusive" and primary.ratio and primary.p_t is not None and not primary.overloaded:
        n = len(primary.log_ratios)
        needed = statistics.blocks_needed(n, math.log(primary.ratio), primary.sd, level=level)
    return primary.model_copy(update={"p_holm": p, "verdict": verdict, "blocks_needed": needed})


def _analysis(run: Run, judged: _Judged, comparisons: list[Comparison]) -> Analysis:
    experiment, accepted, rejected = run.experiment, judged.accepted, judged.rejected
    n, is_valid = len(accepted), judged.is_complete
    variants = {v: _variant_result(experiment, accepted, v) for v in experiment.variants}
    verdict = Verdict(
        experiment=experiment.name,
        n=n,
        confidence=statistics.CONFIDENCE,
        margin=statistics.MARGIN,
        primary=experiment.primary,
        valid=is_valid,
        # A full run that failing ended is no quick look.
        quick=judged.decision is None and (run.manifest.blocks if is_valid else n) < FULL_RUN,
        decision=judged.decision,
        limits=experiment.limits,
        comparisons=comparable.kept([_bounded_by_load(c, variants) for c in comparisons], variants, experiment),
        variants=variants,
        rejected=rejected,
        findings=findings.of_run(run, accepted, variants),
        environment=_environment(run, accepted or run.blocks),
    )
    return Analysis(run, accepted, rejected, verdict, checks.results(accepted or run.blocks, experiment))


def _bounded_by_load(comparison: Comparison, variants: dict[str, VariantResult]) -> Comparison:
    """``comparison``; a lower bound where more load would have raised the throughput of the better variant alone."""
    ratio = comparison.ratio
    if comparison.metric != "throughput" or ratio is None or comparable.alike(ratio, 1):
        return comparison
    names = (comparison.of, comparison.over) if ratio > 1 else (comparison.over, comparison.of)
    better, worse = (variants[name] for name in names)
    is_by_load = comparable.keeps_up(better) and not comparable.keeps_up(worse)
    return comparison.model_copy(update={"is_lower_bound": is_by_load})


def _variant_result(experiment: Experiment, accepted: Sequence[Block], variant: str) -> VariantResult:
    """One variant over the blocks that count: its figures where it did not fail, its error ratio everywhere."""
    has_failed = [variant in checks.failed(block, experiment) for block in accepted]
    failed = list(itertools.compress(accepted, has_failed))
    sound = [block for block, is_failed in zip(accepted, has_failed, strict=True) if not is_failed]
    m = laws.measured(sound, experiment, variant)
    everything = laws.measured(accepted, experiment, variant)
    growths = checks.growths(m.trials, experiment)
    missing = [users for t in m.trials if (users := checks.missing_users(t, experiment)) is not None]
    result = _summarise_variant(m)
    without_latency = dict.fromkeys(result.latency)
    return result.model_copy(
        update={
            "error_ratio": _error_ratio(everything.trials),
            "failed_blocks": len(failed),
            "failed_interval": statistics.binomial(len(failed), len(accepted)) if accepted else None,
            "failures": [_first_failure(block, experiment, variant) for block in failed],
            "growth": math.fsum(growths) / len(growths) if growths else None,
            "missing_users": max(missing, key=abs, default=None),
            **({"latency": without_latency, "queue_time": None} if growths or missing else {}),
        }
    )


def _first_failure(block: Block, experiment: Experiment, variant: str) -> Failure:
    """What failed the variant in a block: the cause of what followed."""
    return next(failure for failure in checks.failures(block, experiment) if failure.variant == variant)


def _error_ratio(trials: Sequence[Trial]) -> float:
    return laws.ratio((failed, t.ok + failed) for t in trials for failed in [sum(t.failed.values())]) or 0.0


def is_unexplained(blocks: Sequence[Block], experiment: Experiment, variant: str) -> bool:
    """Whether only thread dumps can say what limits a variant in these blocks, of which those count in which it did not
    fail."""
    sound = [block for block in blocks if variant not in checks.failed(block, experiment)]
    m = laws.measured(sound, experiment, variant)
    return bool(m.throughput) and _explained(m).bottleneck.resource == laws.UNKNOWN.resource


def _explained(m: laws.Measured) -> laws.Explanation:
    return laws.explain(m, overloaded=bool(checks.growths(m.trials, m.experiment)))


def _summarise_variant(m: laws.Measured) -> VariantResult:
    """One variant over the blocks in which it did not fail; without any, throughput 0 and nothing known."""
    throughput = m.throughput or 0.0
    latency = {"mean": _weighted(METRICS["latency_mean"], [t for t in m.trials if t.latency.count])}
    for name in PERCENTILES:
        latency[name] = _weighted(Metric("lower", _percentile(name)), m.trials)
    latency["max"] = max((t.latency.max for t in m.trials if t.latency.max is not None), default=None)
    service = _weighted(METRICS["service_time"], m.trials)
    mean = latency["mean"]
    explained = _explained(m)
    expected = m.experiment.expected.get(m.variant)
    resident = [t.server.get("resident") for t in m.trials]
    known = [r for r in resident if r is not None]
    return VariantResult(
        throughput=throughput,
        latency=latency,
        error_ratio=_error_ratio(m.trials),
        dropped_ratio=laws.ratio((t.dropped, t.started + t.dropped) for t in m.trials) or 0.0,
        cpu_per_request=laws.demand_per_ok(m.trials, "cpu_cores"),
        memory=max(known, default=None),
        service_time=service,
        # Measured by two clocks: the difference may be below zero.
        queue_time=None if service is None or mean is None else max(0.0, mean - service),
        bottleneck=explained.bottleneck,
        next=explained.next,
        bounds=explained.bounds,
        pinned=_pinned(m),
        time=breakdown.of(m),
        modelled=explained.modelled,
        expected=expected,
        fidelity=throughput / expected if expected and m.trials else None,
    )


def _pinned(m: laws.Measured) -> dict[str, float]:
    """Pinnings per second of all windows by place, most first."""
    seconds = math.fsum(t.window for t in m.trials)
    places = {place for t in m.trials for place in t.pinned}
    rates = {place: math.fsum(t.pinned.get(place, 0.0) for t in m.trials) / seconds for place in places}
    return dict(sorted(rates.items(), key=lambda item: (-item[1], item[0])))


def _environment(run: Run, blocks: Sequence[Block]) -> dict[str, Any]:
    """What a reader needs to trust or repeat it: the manifest, and what each JVM told of itself."""
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
        "instances": {
            v: instances[v].model_dump(mode="json", include={"java", "gc", "processors", "cpu_limit"})
            for v in run.experiment.variants
            if v in instances
        },
    }
