"""The metrics that vtlab writes to Prometheus at the end of a run: its verdict, for the dashboards.

Nothing here is computed by PromQL, so that dashboards and report say the same. A value that does not exist (the ratio
where a variant fails, the utilisation of an unknown bottleneck) is NaN where its labels still say something.

Labels: ``experiment``, ``testid`` (the run), on Kubernetes ``namespace``, and those named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Name = Literal[
    "vtlab_comparison_ratio",
    "vtlab_comparison_low",
    "vtlab_comparison_high",
    "vtlab_verdict_blocks",
    "vtlab_verdict_margin",
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
#: Of a comparison: ``variant`` with ``over``, of one ``metric``. That of the primary metric has ``verdict``, ``fails``
#: (the names of those that fail) and ``headline``, too. ``sign`` is ``≥`` or ``≤`` where the ratio is a bound, ``=``
#: where the two are equivalent.
_COMPARED = "variant, over, metric, verdict, fails, headline, sign"

#: What limits a variant that the load alone does: its ``bottleneck``.
KEEPS_UP: Final = "Load (it keeps up)"

#: Name -> what it is, with its labels.
PUBLISHED: Final[Mapping[Name, str]] = {
    "vtlab_comparison_ratio": f"Ratio of a metric between two variants (by {_COMPARED})",
    "vtlab_comparison_low": f"Lower end of the confidence interval of that ratio (by {_COMPARED})",
    "vtlab_comparison_high": f"Upper end of the confidence interval of that ratio (by {_COMPARED})",
    "vtlab_verdict_blocks": "Blocks that count",
    "vtlab_verdict_margin": "Differences up to this share are too small to matter",
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
