"""Figures of each variant over the blocks that count, and what limits it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from vtlab.analysis.dumps import breakdown
from vtlab.analysis.latency_over_windows import latency_figures
from vtlab.analysis.laws.demands import capacity
from vtlab.analysis.laws.explanation import explain
from vtlab.analysis.laws.phases import Measured, cpu_per_ok, measured_variant, ratio
from vtlab.analysis.laws.unexplained import UNKNOWN
from vtlab.analysis.pool_times import pool_times
from vtlab.analysis.statistics import paired
from vtlab.analysis.validity import failing, littles_law, overload
from vtlab.catalogue.resources import RESOURCES
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Failure, Trial
from vtlab.model.verdict import Breakdown, VariantResult


def variant_result(experiment: Experiment, accepted: Sequence[Block], variant: str) -> VariantResult:
    """Summarises one variant over the blocks that count.

    Its figures are of the blocks in which it did not fail, its error ratio is of all.
    """
    has_failed = [variant in failing.failed(block, experiment) for block in accepted]
    failed = list(itertools.compress(accepted, has_failed))
    sound = [block for block, is_failed in zip(accepted, has_failed, strict=True) if not is_failed]
    measured = measured_variant(sound, experiment, variant)
    everything = measured_variant(accepted, experiment, variant)
    growths = overload.growths_of_overloaded(sound, experiment, variant)
    missing = [users for t in measured.trials if (users := littles_law.missing_users(t, experiment)) is not None]
    result = _summarise(measured)
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
    """Returns the first failure of the variant in a block: the cause of later ones."""
    return next(failure for failure in failing.failures(block, experiment) if failure.variant == variant)


def _error_ratio(trials: Sequence[Trial]) -> float:
    return ratio((failed, t.ok + failed) for t in trials for failed in [sum(t.failed.values())]) or 0.0


def is_unexplained(blocks: Sequence[Block], experiment: Experiment, variant: str) -> bool:
    """Tells whether only thread dumps can say what limits a variant in these blocks. Blocks in which it failed do not
    count."""
    sound = failing.sound_blocks(blocks, experiment, variant)
    measured = measured_variant(sound, experiment, variant)
    limit = explain(measured, overload.is_growing(measured)).bottleneck
    # Thread dumps tell whether the threads that wait for a carrier are those of requests.
    return bool(measured.throughput) and limit.bound is None and limit.resource in (UNKNOWN.resource, "carriers")


def _summarise(measured: Measured) -> VariantResult:
    """Summarises a variant over the blocks in which it did not fail; without any: throughput 0, no other figure."""
    throughput = measured.throughput or 0.0
    latency = latency_figures(measured.trials)
    times = [(t.server.get("service_time"), t.ok) for t in measured.trials]
    service = ratio((None if seconds is None else seconds * ok, ok) for seconds, ok in times)
    mean = latency["mean"]
    explained = explain(measured, overload.is_growing(measured))
    expected = measured.experiment.expected.get(measured.variant)
    resident = [t.server.get("resident") for t in measured.trials]
    measured_values = [r for r in resident if r is not None]
    return VariantResult(
        throughput=throughput,
        latency=latency,
        error_ratio=_error_ratio(measured.trials),
        dropped_ratio=ratio((t.dropped, t.started + t.dropped) for t in measured.trials) or 0.0,
        cpu_per_request=cpu_per_ok(measured.trials),
        memory=max(measured_values, default=None),
        service_time=service,
        queue_time=_queue_time(measured, mean, service),
        bottleneck=explained.bottleneck,
        next=explained.next,
        bounds=explained.bounds,
        pinned=_pinned(measured),
        time=_breakdown(measured),
        pool_times=pool_times(measured),
        modelled=explained.modelled,
        expected=expected,
        fidelity=throughput / expected if expected and measured.trials else None,
    )


def _queue_time(measured: Measured, mean: float | None, service: float | None) -> float | None:
    """Computes what a request waits for a thread; None for a script: its latency is of an iteration, which may have
    several requests and sleep between them."""
    if service is None or mean is None or any(trial.requests is not None for trial in measured.trials):
        return None
    # Measured by two clocks: the difference may be below zero.
    return max(0.0, mean - service)


def _breakdown(measured: Measured) -> Breakdown | None:
    """Splits the latency by the variant's thread dumps; None without dumps."""
    if not measured.diagnosis:
        return None
    limits = [capacity(measured, resource) for resource in RESOURCES.values() if resource.demand == "request"]
    known_limits = [limit for limit in limits if limit is not None]
    return breakdown.by_dumps(measured.diagnosis, measured.throughput or 0.0, min(known_limits, default=None))


def _pinned(measured: Measured) -> dict[str, float]:
    """Counts pinnings per second over all windows by place, most first."""
    seconds = math.fsum(t.window for t in measured.trials)
    places = {place for t in measured.trials for place in t.pinned}
    rates = {place: math.fsum(t.pinned.get(place, 0.0) for t in measured.trials) / seconds for place in places}
    return dict(sorted(rates.items(), key=lambda item: (-item[1], item[0])))
