"""The verdict of a run in Prometheus, written by the OpenTelemetry protocol, so that dashboards show the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vtlab.analysis import comparable
from vtlab.catalogue import resources
from vtlab.catalogue.published import KEEPS_UP, PUBLISHED, Name
from vtlab.catalogue.resources import EXCEEDED
from vtlab.model.run import Analysis, Run
from vtlab.model.verdict import Bottleneck, Bound, Comparison, Verdict
from vtlab.prometheus.api import PrometheusApi

#: Milliseconds: Prometheus refuses samples an hour older than its newest sample, of any series.
_OLDEST = 50 * 60 * 1000


@dataclass(frozen=True)
class Sample:
    """One value of a published metric; NaN where there is none."""

    name: Name
    labels: Mapping[str, str]
    value: float


def has_verdict(verdict: Verdict) -> bool:
    """Tells whether there is something to publish: a run that is invalid or has not ended has no verdict."""
    return verdict.valid or any(c.verdict == "fails" for c in verdict.comparisons)


def publish(client: PrometheusApi, analysis: Analysis) -> int:
    """Writes the verdict, dated at the run's end; returns that date (epoch ms). BlockFault where Prometheus refuses
    it."""
    at = ended(analysis.run)
    if analysis.run.manifest.target == "kubernetes":
        # A shared Prometheus has newer samples than this run's. Its clock may differ from k6's.
        now = client.now()
        at = min(now, max(at or now, now - _OLDEST))
    dated = at or client.now()
    client.write(document(list(samples(analysis)), dated))
    return dated


def ended(run: Run) -> int | None:
    """Returns the time of a run's last answer; None where nothing was measured."""
    kinds = ((*b.warmup, *b.single, *b.light, *b.trials, *b.typical) for b in run.blocks)
    phases = (phase for kind in kinds for phase in kind)
    return max((phase.drained for phase in phases), default=None)


def samples(analysis: Analysis) -> Iterator[Sample]:
    """Yields the samples of a verdict that dashboards need."""
    verdict, manifest = analysis.verdict, analysis.run.manifest
    run_labels = {"experiment": verdict.experiment, "testid": manifest.run_id}
    if "namespace" in manifest.cluster:
        run_labels["namespace"] = manifest.cluster["namespace"]
    yield Sample("vtlab_verdict_blocks", run_labels, verdict.n)
    yield Sample("vtlab_verdict_margin", run_labels, verdict.margin)
    for comparison in verdict.comparisons:
        labels = {**run_labels, **_labels(comparison)}
        if comparison.ratio is not None or comparison.verdict is not None:
            yield Sample("vtlab_comparison_ratio", labels, _number(comparison.ratio))
        if comparison.low is not None and comparison.high is not None:
            yield Sample("vtlab_comparison_low", labels, comparison.low)
            yield Sample("vtlab_comparison_high", labels, comparison.high)
    for name, variant in verdict.variants.items():
        variant_labels = {**run_labels, "variant": name}
        limit = variant.bottleneck
        bottleneck_labels = {**variant_labels, "resource": limit.resource, "bottleneck": bottleneck(limit)}
        yield Sample("vtlab_bottleneck_ratio", bottleneck_labels, _number(limit.utilisation))
        yield Sample("vtlab_failed_blocks", variant_labels, variant.failed_blocks)
        yield from (Sample(figure, variant_labels, _number(value)) for figure, value in _figures(analysis, name))
        for bound in variant.bounds:
            resource_labels = {**variant_labels, "resource": bound.resource}
            yield Sample("vtlab_utilization_ratio", resource_labels, bound.utilisation)
            yield Sample("vtlab_bound_rate", resource_labels, bound.bound)
            yield Sample("vtlab_demand_seconds", resource_labels, bound.service_demand)
            yield Sample("vtlab_capacity_count", resource_labels, bound.capacity)
            yield Sample("vtlab_used_count", resource_labels, _number(_used(bound)))


def _figures(analysis: Analysis, variant: str) -> Iterator[tuple[Name, float | None]]:
    result = analysis.verdict.variants[variant]
    latency = result.latency if comparable.has_latency(result) else {}
    yield "vtlab_throughput_rate", result.throughput
    yield "vtlab_latency_mean_seconds", latency.get("mean")
    yield "vtlab_latency_p99_seconds", latency.get("p99")
    yield "vtlab_memory_bytes", result.memory
    yield "vtlab_throttled_ratio", analysis.over_windows(variant, "throttled_periods")
    yield "vtlab_error_ratio", result.error_ratio


def _used(bound: Bound) -> float | None:
    """Returns the used part of a resource; None for a throughput far above the bound, which refutes it. A bound is
    measured, too: a throughput a little above it uses the whole resource."""
    return None if bound.utilisation > EXCEEDED else bound.capacity * min(bound.utilisation, 1)


def bottleneck(limit: Bottleneck) -> str:
    """Names the bottleneck of a variant briefly, for a panel, in the words of the dashboards' table of resources: ``CPU
    and load``, ``Database, inside database connections``."""
    if comparable.is_only_load(limit):
        return KEEPS_UP
    names = " and ".join(_short(name) for name in [limit.resource, *limit.together])
    if limit.resource in resources.WORDS:
        names = names[0].upper() + names[1:]
    return f"{names}, inside {_short(limit.inside.pool)}" if limit.inside else names


def _short(name: str) -> str:
    return resources.without_article(resources.bottleneck_words(name))


def headline(comparison: Comparison) -> str:
    """Names the verdict as briefly: ``virtual is faster``, ``platform fails``."""
    variant, over, verdict = comparison.of, comparison.over, comparison.verdict
    if verdict == "fails":
        failing = " and ".join(comparison.fails) or variant
        return f"{failing} fail" if len(comparison.fails) > 1 else f"{failing} fails"
    if verdict == "equivalent":
        return f"{variant}, {over}: equivalent"
    if verdict == "inconclusive":
        return f"{variant}, {over}: inconclusive"
    return f"{variant} is {verdict}"


def document(written: Sequence[Sample], at_ms: int) -> dict[str, Any]:
    """Returns an ExportMetricsServiceRequest in JSON.

    It has no resource and no unit: Prometheus would turn them into the series ``target_info`` and suffixes of names.
    """
    metrics = [
        {
            "name": name,
            "description": PUBLISHED[name],
            "gauge": {"dataPoints": [_point(sample, at_ms) for sample in written if sample.name == name]},
        }
        for name in PUBLISHED
        if any(sample.name == name for sample in written)
    ]
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}


def _labels(comparison: Comparison) -> dict[str, str]:
    labels = {"variant": comparison.of, "over": comparison.over, "metric": comparison.metric}
    if comparison.is_lower_bound and comparison.ratio is not None:
        # The true ratio is further from 1.
        labels["sign"] = "≥" if comparison.ratio > 1 else "≤"
    elif comparison.verdict == "equivalent":
        labels["sign"] = "="
    if comparison.verdict is not None:
        labels |= {"verdict": comparison.verdict, "headline": headline(comparison)}
    if comparison.fails:
        labels["fails"] = ",".join(comparison.fails)
    return labels


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _point(sample: Sample, at_ms: int) -> dict[str, Any]:
    labels = [{"key": key, "value": {"stringValue": value}} for key, value in sorted(sample.labels.items())]
    # JSON knows no NaN: protobuf writes it as a string.
    value = sample.value if math.isfinite(sample.value) else str(sample.value).replace("nan", "NaN")
    return {"timeUnixNano": f"{at_ms}000000", "asDouble": value, "attributes": labels}
