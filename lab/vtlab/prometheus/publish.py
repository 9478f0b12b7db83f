"""The verdict of a run in Prometheus, written by the OpenTelemetry protocol, so that dashboards show the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vtlab.catalogue import resources
from vtlab.catalogue.published import KEEPS_UP, PUBLISHED, Name
from vtlab.catalogue.resources import EXCEEDED
from vtlab.model.outcome import Outcome
from vtlab.model.run import Analysis, Run
from vtlab.model.verdict import Bottleneck, Bound, Verdict
from vtlab.prometheus.api import PrometheusApi

#: Milliseconds: Prometheus refuses samples an hour older than its newest sample, of any series.
_OLDEST = 50 * 60 * 1000


@dataclass(frozen=True)
class Sample:
    """One value of a published metric; NaN where there is none."""

    name: Name
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class Words:
    """Words of the report, so that dashboards say the same."""

    #: The sentence of each decision, by the variant that it is about.
    headlines: Mapping[str, str]
    #: Labels of ``vtlab_outcome_info``, a row of the report each, in the order of ``Verdict.outcomes``.
    rows: Sequence[Mapping[str, str]]


def has_verdict(verdict: Verdict) -> bool:
    """Tells whether there is something to publish: a run that is invalid or has not ended has no verdict."""
    return verdict.valid or any(outcome.judgement == "fails" for outcome in verdict.outcomes)


def publish(client: PrometheusApi, analysis: Analysis, words: Words) -> int:
    """Writes the verdict, dated at the run's end; returns that date (epoch ms). BlockFault where Prometheus refuses
    it."""
    at = ended(analysis.run)
    if analysis.run.manifest.target == "kubernetes":
        # A shared Prometheus has newer samples than this run's. Its clock may differ from k6's.
        now = client.now()
        at = min(now, max(at or now, now - _OLDEST))
    dated = at or client.now()
    client.write(document(list(samples(analysis, words)), dated))
    return dated


def ended(run: Run) -> int | None:
    """Returns the time of a run's last answer; None where nothing was measured."""
    kinds = ((*b.warmup, *b.single, *b.light, *b.trials, *b.typical) for b in run.blocks)
    phases = (phase for kind in kinds for phase in kind)
    return max((phase.drained for phase in phases), default=None)


def samples(analysis: Analysis, words: Words) -> Iterator[Sample]:
    """Yields the samples of a verdict that dashboards need."""
    verdict, manifest = analysis.verdict, analysis.run.manifest
    run_labels = {"experiment": verdict.experiment, "testid": manifest.run_id}
    if "namespace" in manifest.cluster:
        run_labels["namespace"] = manifest.cluster["namespace"]
    yield Sample("vtlab_verdict_blocks", run_labels, verdict.n)
    for decision in verdict.decisions:
        labels = {"variant": decision.of, "over": decision.over, "advice": decision.advice}
        yield Sample("vtlab_decision_info", {**run_labels, **labels, "headline": words.headlines[decision.of]}, 1)
    for place, (outcome, row) in enumerate(zip(verdict.outcomes, words.rows, strict=True), 1):
        labels = {**run_labels, **_labels(outcome)}
        yield Sample("vtlab_outcome_info", {**labels, **row}, place)
        yield from (Sample(name, labels, value) for name, value in _numbers(outcome) if value is not None)
    for name in verdict.variants:
        yield from _samples_of_variant(analysis, name, {**run_labels, "variant": name})


def _numbers(outcome: Outcome) -> Iterator[tuple[Name, float | None]]:
    yield "vtlab_outcome_ratio", _number(outcome.ratio)
    yield "vtlab_outcome_low", outcome.low
    yield "vtlab_outcome_high", outcome.high
    yield "vtlab_outcome_margin", outcome.margin
    yield "vtlab_outcome_base_value", outcome.base_value
    yield "vtlab_outcome_value", outcome.value


def _labels(outcome: Outcome) -> dict[str, str]:
    key = outcome.key
    labels = {
        "variant": outcome.of,
        "over": outcome.over,
        "criterion": key.criterion,
        "load": key.load,
        "percentile": outcome.percentile,
        "judgement": outcome.judgement,
        "sign": _sign(outcome),
    }
    return {name: value for name, value in labels.items() if value}


def _sign(outcome: Outcome) -> str | None:
    """Tells what a ratio is: a bound, where the true one may be further from 1, or as good as equal."""
    if outcome.is_one_sided and outcome.ratio is not None:
        return "≤" if outcome.ratio < 1 else "≥"
    return "=" if outcome.judgement == "same" else None


def _samples_of_variant(analysis: Analysis, name: str, labels: Mapping[str, str]) -> Iterator[Sample]:
    variant = analysis.verdict.variants[name]
    limit = variant.bottleneck
    bottleneck_labels = {**labels, "resource": limit.resource, "bottleneck": bottleneck(limit)}
    yield Sample("vtlab_bottleneck_ratio", bottleneck_labels, _number(limit.utilisation))
    yield Sample("vtlab_failed_blocks", labels, variant.failed_blocks)
    yield from (Sample(figure, labels, _number(value)) for figure, value in _figures(analysis, name))
    for bound in variant.bounds:
        resource_labels = {**labels, "resource": bound.resource}
        yield Sample("vtlab_utilization_ratio", resource_labels, bound.utilisation)
        yield Sample("vtlab_bound_rate", resource_labels, bound.bound)
        yield Sample("vtlab_demand_seconds", resource_labels, bound.service_demand)
        yield Sample("vtlab_capacity_count", resource_labels, bound.capacity)
        yield Sample("vtlab_used_count", resource_labels, _number(_used(bound)))


def _figures(analysis: Analysis, variant: str) -> Iterator[tuple[Name, float | None]]:
    result = analysis.verdict.variants[variant]
    latency = result.latency if result.has_latency else {}
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
    if limit.is_load_alone:
        return KEEPS_UP
    names = " and ".join(_short(name) for name in limit.resources)
    if limit.resource in resources.WORDS:
        names = names[0].upper() + names[1:]
    return f"{names}, inside {_short(limit.inside.pool)}" if limit.inside else names


def _short(name: str) -> str:
    return resources.without_article(resources.bottleneck_words(name))


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


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _point(sample: Sample, at_ms: int) -> dict[str, Any]:
    labels = [{"key": key, "value": {"stringValue": value}} for key, value in sorted(sample.labels.items())]
    # JSON knows no NaN: protobuf writes it as a string.
    value = sample.value if math.isfinite(sample.value) else str(sample.value).replace("nan", "NaN")
    return {"timeUnixNano": f"{at_ms}000000", "asDouble": value, "attributes": labels}
