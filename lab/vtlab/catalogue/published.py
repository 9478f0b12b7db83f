"""The metrics that vtlab writes to Prometheus at the end of a run: its decision and outcomes, for the dashboards.

Nothing here is computed by PromQL, so that dashboards and report say the same. A value that does not exist (the ratio
where a variant fails, the utilisation of an unknown bottleneck) is NaN where its labels still say something.

Labels: ``experiment``, ``testid`` (the run), on Kubernetes ``namespace``, and those named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Name = Literal[
    "vtlab_decision_info",
    "vtlab_outcome_info",
    "vtlab_outcome_ratio",
    "vtlab_outcome_low",
    "vtlab_outcome_high",
    "vtlab_outcome_margin",
    "vtlab_outcome_base_value",
    "vtlab_outcome_value",
    "vtlab_verdict_blocks",
    "vtlab_bottleneck_ratio",
    "vtlab_utilization_ratio",
    "vtlab_bound_rate",
    "vtlab_demand_seconds",
    "vtlab_capacity_count",
    "vtlab_used_count",
    "vtlab_failed_blocks",
    "vtlab_throughput_rate",
    "vtlab_latency_mean_seconds",
    "vtlab_latency_p99_seconds",
    "vtlab_memory_bytes",
    "vtlab_throttled_ratio",
    "vtlab_error_ratio",
]
#: Labels of an outcome: ``variant`` beside ``over``; ``load``, ``percentile`` and ``judgement`` where there is one.
#: ``sign`` is ``≥`` or ``≤`` where the ratio is a bound, ``=`` where the two are the same.
_JUDGED = "variant, over, criterion, load, percentile, judgement, sign"
#: Labels of an outcome with the words of its row in the report.
_WORDS = "title, at, unit, base, measured, change, outcome"
_UNITS = "OK answers a second, seconds, CPU seconds per 1,000 OK answers, or bytes"
#: What limits a variant that the load alone does: its ``bottleneck``.
KEEPS_UP: Final = "Load (it keeps up)"

#: Name -> what it is, with its labels.
PUBLISHED: Final[Mapping[Name, str]] = {
    "vtlab_decision_info": "Decision for a pair of variants, always 1 (by variant, over, advice, headline)",
    "vtlab_outcome_info": f"Place of an outcome in the report, from 1, with the words there (by {_JUDGED}, {_WORDS})",
    "vtlab_outcome_ratio": f"Ratio of a criterion between two variants (by {_JUDGED})",
    "vtlab_outcome_low": f"Lower end of the confidence interval of that ratio (by {_JUDGED})",
    "vtlab_outcome_high": f"Upper end of the confidence interval of that ratio (by {_JUDGED})",
    "vtlab_outcome_margin": f"Differences up to this share are too small to matter (by {_JUDGED})",
    "vtlab_outcome_base_value": f"Value of the variant over: {_UNITS} (by {_JUDGED})",
    "vtlab_outcome_value": f"Value of the variant: {_UNITS} (by {_JUDGED})",
    "vtlab_verdict_blocks": "Blocks that count",
    "vtlab_bottleneck_ratio": "Utilisation of the resource that limits a variant (by variant, resource, bottleneck)",
    "vtlab_utilization_ratio": "Throughput over the bound of a resource (by variant, resource)",
    "vtlab_bound_rate": "Most requests per second that a resource allows (by variant, resource)",
    "vtlab_demand_seconds": "Seconds of the resource that a request takes (by variant, resource)",
    "vtlab_capacity_count": "Capacity of a resource (by variant, resource)",
    "vtlab_used_count": "Amount of a resource in use (by variant, resource)",
    "vtlab_failed_blocks": "Blocks in which a variant failed (by variant)",
    "vtlab_throughput_rate": "OK requests per second (by variant)",
    "vtlab_latency_mean_seconds": "Client latency, mean (by variant)",
    "vtlab_latency_p99_seconds": "Client latency, 99th percentile (by variant)",
    "vtlab_memory_bytes": "Maximum resident memory (by variant)",
    "vtlab_throttled_ratio": "Share of the CFS periods in which the CPU quota ran out (by variant)",
    "vtlab_error_ratio": "Share of the requests that failed (by variant)",
}
