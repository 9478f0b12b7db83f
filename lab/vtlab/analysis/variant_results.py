"""What the blocks that count say of each variant: its figures, and what limits it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from vtlab.analysis.dumps import breakdown
from vtlab.analysis.laws.explanation import Explanation, explain
from vtlab.analysis.laws.phases import Measured, cpu_per_ok, of_variant, ratio
from vtlab.analysis.laws.unexplained import UNKNOWN
from vtlab.analysis.metrics import METRICS, PERCENTILES, Metric, percentile, weighted_mean
from vtlab.analysis.statistics import paired
from vtlab.analysis.validity import failing, littles_law, overload
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Failure, Trial
from vtlab.model.verdict import VariantResult


def variant_result(experiment: Experiment, accepted: Sequence[Block], variant: str) -> VariantResult:
    """One variant over the blocks that count: its figures where it did not fail, its error ratio everywhere."""
    has_failed = [variant in failing.failed(block, experiment) for block in accepted]
    failed = list(itertools.compress(accepted, has_failed))
    sound = [block for block, is_failed in zip(accepted, has_failed, strict=True) if not is_failed]
    m = of_variant(sound, experiment, variant)
    everything = of_variant(accepted, experiment, variant)
    growths = overload.growths(m.trials, experiment)
    missing = [users for t in m.trials if (users := littles_law.missing_users(t, experiment)) is not None]
    result = _summarise_variant(m)
    without_latency = dict.fromkeys(result.latency)
    return result.model_copy(
        update={
            "error_ratio": _error_ratio(everything.trials),
            "failed_blocks": len(failed),
            "failed_interval": paired.binomial(len(failed), len(accepted)) if accepted else None,
            "failures": [_first_failure(block, experiment, variant) for block in failed],
            "growth": math.fsum(growths) / len(growths) if growths else None,
            "missing_users": max(missing, key=abs, default=None),
            **({"latency": without_latency, "queue_time": None} if growths or missing else {}),
        }
    )


def _first_failure(block: Block, experiment: Experiment, variant: str) -> Failure:
    """What failed the variant in a block: the cause of what followed."""
    return next(failure for failure in failing.failures(block, experiment) if failure.variant == variant)


def _error_ratio(trials: Sequence[Trial]) -> float:
    return ratio((failed, t.ok + failed) for t in trials for failed in [sum(t.failed.values())]) or 0.0


def is_unexplained(blocks: Sequence[Block], experiment: Experiment, variant: str) -> bool:
    """Whether only thread dumps can say what limits a variant in these blocks, of which those count in which it did not
    fail."""
    sound = failing.sound_blocks(blocks, experiment, variant)
    m = of_variant(sound, experiment, variant)
    limit = _explained(m).bottleneck
    # Thread dumps tell whether the threads that wait for a carrier are those of requests.
    return bool(m.throughput) and limit.bound is None and limit.resource in (UNKNOWN.resource, "carriers")


def _explained(m: Measured) -> Explanation:
    return explain(m, overloaded=bool(overload.growths(m.trials, m.experiment)))


def _summarise_variant(m: Measured) -> VariantResult:
    """One variant over the blocks in which it did not fail; without any, throughput 0 and nothing known."""
    throughput = m.throughput or 0.0
    latency = {"mean": weighted_mean(METRICS["latency_mean"], [t for t in m.trials if t.latency.count])}
    for name in PERCENTILES:
        latency[name] = weighted_mean(Metric("lower", percentile(name)), m.trials)
    latency["max"] = max((t.latency.max for t in m.trials if t.latency.max is not None), default=None)
    service = weighted_mean(METRICS["service_time"], m.trials)
    mean = latency["mean"]
    explained = _explained(m)
    expected = m.experiment.expected.get(m.variant)
    resident = [t.server.get("resident") for t in m.trials]
    known = [r for r in resident if r is not None]
    return VariantResult(
        throughput=throughput,
        latency=latency,
        error_ratio=_error_ratio(m.trials),
        dropped_ratio=ratio((t.dropped, t.started + t.dropped) for t in m.trials) or 0.0,
        cpu_per_request=cpu_per_ok(m.trials),
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


def _pinned(m: Measured) -> dict[str, float]:
    """Pinnings per second of all windows by place, most first."""
    seconds = math.fsum(t.window for t in m.trials)
    places = {place for t in m.trials for place in t.pinned}
    rates = {place: math.fsum(t.pinned.get(place, 0.0) for t in m.trials) / seconds for place in places}
    return dict(sorted(rates.items(), key=lambda item: (-item[1], item[0])))
