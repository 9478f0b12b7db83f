"""The verdict, what limits each variant, and the figures of each."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders import stat, table, timeseries

from vtlab.catalogue.published import Name
from vtlab.dashboards import frame, queries, style
from vtlab.dashboards.figures import NAME_ONLY, Figures, bottleneck, verdict
from vtlab.dashboards.over_time import OverTime
from vtlab.dashboards.parts import NO_VERDICT, Line, fixed
from vtlab.dashboards.tables import NOT_SETTLED, TOO_FEW, Column, Table

_WARNINGS = (
    'label_replace(count by (alertname) (last_over_time(ALERTS{alertname=~"Vtlab.*",alertstate="firing",'
    'namespace=~"$namespace"}[$__range])), "warning", "$1", "alertname", "Vtlab(.*)")'
    # Only where the rules are there nothing means none.
    " or on () label_replace(0 * max(last_over_time(vtlab:cpu_cores:cores[$__range])),"
    ' "warning", "none", "", "")'
)


#: With the margin of a verdict.
HOW_SURE = "Confidence (differences up to 5 % are too small to matter)"


def dashboard() -> dict[str, Any]:
    """Builds the document."""
    return frame.build(
        "verdict",
        "Verdict",
        "vtlab's verdict, the limit of each variant, and their figures. They are the figures of vtlab's report,"
        " written at the end of the run. Before that, and for a block by hand, these are plain figures of the measured"
        " windows.",
        [
            verdict(width=12),
            bottleneck(width=12),
            _interval(),
            _limits(),
            _warnings(),
            _figures_of_each(),
            *_in_windows(),
            ("Ratios of all metrics", [_ratios()]),
            ("With the warm-up", _with_warm_up()),
        ],
    )


def _limits() -> stat.Panel:
    return Figures(
        "Limits",
        "The limits of a variant, the largest if they differ. A comparison holds for these limits only.",
        "suffix: CPU",
        [
            Line(f"max({queries.metric('cpu_limit', 'run')})", "CPU"),
            Line(f"max({queries.metric('memory_limit', 'run')})", "memory"),
        ],
        width=5,
        height=5,
        size=28,
        units={"memory": "bytes"},
        no_value="no data because no variant with a limit was scraped in this time range",
    ).panel()


def _warnings() -> stat.Panel:
    return (
        Figures(
            "Warnings",
            "Alerts of the lab that fired in this time range, for any run. If there are any, check the load generator"
            " in the dashboard Why and vtlab's validity checks before trusting the figures.",
            "none",
            [Line(_WARNINGS, "{{warning}}")],
            width=5,
            height=5,
            text=NAME_ONLY,
            size=20,
            vertical=True,
            no_value="no data because Prometheus has not loaded the lab's rules",
        )
        .panel()
        .override_by_regexp("/^(?!none$)/", [fixed(style.REACHED)])
    )


def _in_windows() -> list[timeseries.Panel]:
    return [
        OverTime(
            "Throughput in the measured windows",
            "OK requests per second. It should be level in a window: if it still rises, the warm-up was too short.",
            "reqps",
            [Line(queries.in_windows("throughput"))],
            height=8,
        ).panel(),
        OverTime(
            "Client latency, 99th percentile, in the measured windows",
            "Includes the wait for a connection. A rise within a window means a growing queue.",
            "s",
            [Line(queries.in_windows("latency_p99"))],
            height=8,
        ).panel(),
    ]


def _interval() -> table.Panel:
    by = "variant, verdict, over, sign"

    def column(name: str, published: Name) -> Column:
        return Column(name, "suffix:×", f"max by ({by}) ({queries.published(published, queries.PRIMARY)})", 3)

    ratio = queries.published("vtlab_comparison_ratio", queries.PRIMARY)
    blocks = queries.published("vtlab_verdict_blocks", queries.NAMESPACE)
    # A verdict without a ratio has blocks, too.
    by_comparison = f"max by ({by}) (0 * ({ratio} == bool 0) + on (namespace, testid) group_left () {blocks})"
    return Table(
        HOW_SURE,
        "The confidence interval of each ratio, as in the report, and the number of blocks that count. With fewer than"
        " 6 blocks it is a quick look. The verdict is clear if the interval lies beyond the margin.",
        {"variant": "variant", "verdict": "verdict", "over": "over", "sign": " "},
        [
            column("ratio", "vtlab_comparison_ratio"),
            column("95 % from", "vtlab_comparison_low"),
            column("95 % to", "vtlab_comparison_high"),
            Column("blocks", "none", by_comparison, 0),
        ],
        sort="variant",
        width=14,
        height=5,
        no_value=NO_VERDICT,
        pixels={"variant": 120, "verdict": 95, "over": 110, " ": 60, "blocks": 60},
    ).panel()


def _figures_of_each() -> table.Panel:
    def column(name: str, unit: str, published: Name, plain: str, decimals: int | None = None) -> Column:
        return Column(name, unit, queries.by_variant_or_plain(published, plain), decimals)

    return Table(
        "Figures of each variant",
        "Over all measured windows that count. Unsettled latency does not match the number of users, or still"
        " grew. Compare memory at equal throughput only. Throttled: share of CPU periods in which the quota ran out.",
        {"variant": "variant"},
        [
            column("throughput", "reqps", "vtlab_throughput_rate", "throughput"),
            Column("latency, mean", "s", queries.latency_mean(), texts=[NOT_SETTLED]),
            Column("latency, p99", "s", queries.latency_p99(), texts=[NOT_SETTLED, TOO_FEW]),
            column("memory", "bytes", "vtlab_memory_bytes", "resident"),
            column("CPU throttled", "percentunit", "vtlab_throttled_ratio", "throttled_periods", 1),
            column("errors", "percentunit", "vtlab_error_ratio", "error_ratio", 2),
        ],
        sort="variant",
        height=5,
    ).panel()


_OF_COMPARISONS: dict[str, Name] = {
    "ratio": "vtlab_comparison_ratio",
    "from": "vtlab_comparison_low",
    "to": "vtlab_comparison_high",
}


def _ratios() -> table.Panel:
    # Where a variant fails there is a verdict, and no ratio.
    return Table(
        "Ratios to the first variant",
        "By vtlab's verdict, with confidence intervals. A metric that cannot be compared in this run has no ratio.",
        {"metric": "metric", "variant": "variant", "over": "over", "sign": " "},
        [
            Column(name, "suffix:×", f"max by (metric, variant, over, sign) ({queries.published(published)})", 3)
            for name, published in _OF_COMPARISONS.items()
        ],
        sort="metric",
        height=8,
        no_value=NO_VERDICT,
    ).panel()


def _with_warm_up() -> list[timeseries.Panel]:
    return [
        OverTime(
            "Throughput over time",
            "OK requests per second of warm-ups, single users and trials.",
            "reqps",
            [Line(queries.metric("throughput"))],
            width=8,
        ).panel(),
        OverTime(
            "CPU per request over time",
            "It falls while the JIT compiler works; once it is level, the variant is warm.",
            "s",
            [Line(queries.metric("cpu_per_request"))],
            width=8,
        ).panel(),
        OverTime(
            "JIT compilation over time",
            "Compiler time in seconds per second, under the same CPU limit. In the windows it should be low; if not,"
            " the warm-up was too short.",
            "s",
            [Line(queries.metric("jit_seconds"))],
            width=8,
        ).panel(),
    ]
