"""The verdict, what limits each variant, and the figures of each."""

from __future__ import annotations

from typing import Any

from vtlab.catalogue.dashboards import frame, queries, style
from vtlab.catalogue.dashboards.panels import NAME_ONLY, Line, bottleneck, compared, figures, fixed, over_time, verdict

_WARNINGS = (
    'label_replace(count by (alertname) (last_over_time(ALERTS{alertname=~"Vtlab.*",alertstate="firing",'
    'namespace=~"$namespace"}[$__range])), "warning", "$1", "alertname", "Vtlab(.*)")'
    # Only where the rules are there nothing means none.
    " or on () label_replace(0 * max(last_over_time(vtlab:cpu_cores:cores[$__range])),"
    ' "warning", "none", "", "")'
)


def dashboard() -> dict[str, Any]:
    return frame.build(
        "comparison",
        "Comparison",
        "vtlab's verdict, what limits each variant, and the figures of each. Verdict, bottleneck and ratios are those"
        " of vtlab's report, written here at the run's end; the other figures are over all measured windows of the"
        " chosen run.",
        [
            verdict(width=8),
            bottleneck(width=8),
            figures(
                "Limits of each variant",
                "What a variant may use: the most, where they differ. A comparison holds for these limits only.",
                "suffix: CPU",
                [
                    Line(f"max({queries.metric('cpu_limit', 'run')})", "CPU"),
                    Line(f"max({queries.metric('memory_limit', 'run')})", "memory"),
                ],
                width=4,
                height=5,
                size=26,
                units={"memory": "bytes"},
                no_value="no data because no variant with a limit was scraped in this time range",
            ),
            figures(
                "Warnings",
                "Alerts of the lab that fired in this time range, for any run: then look at the panel Load and at"
                " vtlab's validity checks before trusting the figures.",
                "none",
                [Line(_WARNINGS, "{{warning}}")],
                width=4,
                height=5,
                text=NAME_ONLY,
                size=20,
                vertical=True,
                no_value="no data because Prometheus has not loaded the lab's rules",
            ).override_by_regexp("/^(?!none$)/", [fixed(style.REACHED)]),
            compared(
                "Throughput",
                "OK requests per second as clients saw them, over all measured windows: higher is better.",
                "reqps",
                "throughput",
                ratio="throughput",
            ),
            compared(
                "Latency, median",
                "What half of the clients waited less than: lower is better. Under closed load it follows from"
                " throughput.",
                "s",
                "latency_p50",
                ratio="latency_p50",
            ),
            compared(
                "Latency, 95th percentile",
                "What 5 % of the clients waited longer than. Under closed load it follows from throughput.",
                "s",
                "latency_p95",
            ),
            compared(
                "Latency, 99th percentile",
                "What 1 % of the clients waited longer than. Under closed load it follows from throughput.",
                "s",
                "latency_p99",
                ratio="latency_p99",
            ),
            compared(
                "Errors",
                "Share of requests that failed. Beyond the experiment's max_errors (0.1 % where it has none) vtlab"
                " counts the block as one in which the variant failed.",
                "percentunit",
                "error_ratio",
                width=8,
                difference=True,
            ),
            compared(
                "CPU per request",
                "CPU time that an OK request costs. It compares at equal throughput only: the JVM's own CPU time is in"
                " it.",
                "s",
                "cpu_per_request",
                width=8,
                ratio="cpu_per_request",
            ),
            compared(
                "Memory",
                "Resident memory of the process, the most in the windows. It compares at equal throughput only. At the"
                " limit the kernel kills it.",
                "bytes",
                "resident",
                width=8,
                ratio="memory",
            ),
            over_time(
                "Throughput over time",
                "OK requests per second. In the bands, where a variant is measured, it should be level: if it still"
                " rises, the warm-up was too short.",
                "reqps",
                [Line(queries.metric("throughput"))],
            ),
            over_time(
                "Client latency, 99th percentile, over time",
                "With the wait for a connection. What rises within a band is a queue that grows.",
                "s",
                [Line(queries.metric("latency_p99"))],
            ),
            over_time(
                "Client latency, median and 95th percentile, over time",
                "Far apart means that some requests wait and others do not.",
                "s",
                [
                    Line(queries.metric("latency_p50"), "{{variant}} median"),
                    Line(queries.metric("latency_p95"), "{{variant}} 95th percentile", dashed=True),
                ],
            ),
            over_time(
                "Errors over time",
                "Share of requests that failed: with more than the experiment's max_errors in a band the variant failed"
                " there.",
                "percentunit",
                [Line(queries.metric("error_ratio"))],
                maximum=0.01,
            ),
            over_time(
                "CPU used over time",
                "Against the limit (dashed): a variant that stays at it has the CPU as its bottleneck.",
                "suffix: CPU",
                [
                    Line(queries.metric("cpu_cores")),
                    Line(f"max({queries.metric('cpu_limit')})", "limit", dashed=True),
                ],
                width=8,
                colours={"limit": style.NEUTRAL},
            ),
            over_time(
                "CPU per request over time",
                "It falls while the JIT compiler works; where it is level the variant is warm.",
                "s",
                [Line(queries.metric("cpu_per_request"))],
                width=8,
                logarithmic=True,
            ),
            over_time(
                "Memory over time",
                "Resident memory against the limit (dashed): at the limit the kernel kills the process.",
                "bytes",
                [
                    Line(queries.metric("resident")),
                    Line(f"max({queries.metric('memory_limit')})", "limit", dashed=True),
                ],
                width=8,
                colours={"limit": style.NEUTRAL},
            ),
        ],
    )
