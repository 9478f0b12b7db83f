"""The decision, the outcomes that it follows from, what limits each variant, and the figures of each."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders import stat, table, timeseries

from vtlab.catalogue.published import Name
from vtlab.dashboards import frame, queries, style
from vtlab.dashboards.figures import NAME_ONLY, Figures, bottleneck
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
#: Stand in place of the decision of a run that has none, by the blocks that there are.
_NO_DECISION = {"== 1": "One block: no verdict", "> 1": "No verdict yet: vtlab writes it when the run has ended"}


def dashboard() -> dict[str, Any]:
    """Builds the document."""
    return frame.build(
        "verdict",
        "Verdict",
        "vtlab's verdict, the limit of each variant, and their figures. They are the figures of vtlab's report,"
        " written at the end of the run. Before that, and for a block by hand, these are plain figures of the measured"
        " windows.",
        [
            _decision(),
            _outcomes(),
            bottleneck(width=12),
            _limits(),
            _warnings(),
            _figures_of_each(),
            *_in_windows(),
            "Over time, with the warm-up",
            *_with_warm_up(),
            ("Outcomes in numbers", [_outcomes_in_numbers()]),
        ],
    )


def _limits() -> stat.Panel:
    return Figures(
        "Limits",
        "The limits of a variant, the largest if they differ. A decision holds for these limits only.",
        "suffix: CPU",
        [
            Line(f"max({queries.metric('cpu_limit', 'run')})", "CPU"),
            Line(f"max({queries.metric('memory_limit', 'run')})", "memory"),
        ],
        width=6,
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
            width=6,
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


def _decision() -> table.Panel:
    by = "namespace, testid, variant, headline"
    decided = queries.published("vtlab_decision_info")
    blocks = queries.published("vtlab_verdict_blocks", queries.NAMESPACE)
    of_decision = f"max by ({by}) ({decided} * on (namespace, testid) group_left () {blocks})"
    so_far = f"max by (namespace, testid) ({queries.metric('blocks_so_far', 'run')})"
    others = [
        f'label_replace({queries.without_verdict(f"{so_far} {count}")}, "headline", "{text}", "", "")'
        for count, text in _NO_DECISION.items()
    ]
    return Table(
        "Verdict",
        "The decision for each variant beside the first, as in vtlab's report, and the number of blocks that count."
        " A single block, as by hand, has no verdict.",
        {"variant": "variant", "headline": "verdict"},
        [Column("blocks", "none", " or ".join([of_decision, *others]), 0)],
        sort="variant",
        height=4,
        no_value="no data because no trial",
        pixels={"variant": 150, "blocks": 70},
    ).panel()


#: Labels of an outcome -> columns. What each variant measured stands beside its name.
_ROW = {
    "title": "criterion",
    "at": "load",
    "unit": "unit",
    "over": "first variant",
    "base": "measured",
    "variant": "variant",
    "measured": "measured ",
    "change": "change (95 %)",
    "outcome": "outcome",
}
_PIXELS = {"criterion": 110, "load": 95, "unit": 75, "first variant": 120, "variant": 120, "outcome": 120}
_PIXELS |= {_ROW["base"]: 90, _ROW["measured"]: 90}


def _outcomes() -> table.Panel:
    by = ", ".join(_ROW)
    return Table(
        "Outcomes",
        "Each variant beside the first, as in vtlab's report. Outcomes are better, same, worse, undecided and"
        " fails; a criterion without one could not be judged.",
        _ROW,
        [Column("place", "none", f"max by ({by}) ({queries.published('vtlab_outcome_info')})", hidden=True)],
        sort="place",
        height=11,
        no_value=NO_VERDICT,
        pixels=_PIXELS,
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
            Column("ratio (one block)", "none", queries.ratio_by_hand(), 2),
            Column("latency, mean", "s", queries.latency_mean(), texts=[NOT_SETTLED]),
            Column("latency, p99", "s", queries.latency_p99(), texts=[NOT_SETTLED, TOO_FEW]),
            column("memory", "bytes", "vtlab_memory_bytes", "resident"),
            column("CPU throttled", "percentunit", "vtlab_throttled_ratio", "throttled_periods", 1),
            column("errors", "percentunit", "vtlab_error_ratio", "error_ratio", 2),
            Column(
                "failed blocks", "none", f"max by (namespace, variant) ({queries.published('vtlab_failed_blocks')})", 0
            ),
        ],
        sort="variant",
        height=5,
    ).panel()


#: Published -> column, and its decimals.
_NUMBERS: dict[Name, tuple[str, int | None]] = {
    "vtlab_outcome_base_value": ("first variant", None),
    "vtlab_outcome_value": ("variant ", None),
    "vtlab_outcome_ratio": ("ratio", 3),
    "vtlab_outcome_low": ("from", 3),
    "vtlab_outcome_high": ("to", 3),
    "vtlab_outcome_margin": ("margin", 3),
}


def _outcomes_in_numbers() -> table.Panel:
    labels = {"criterion": "criterion", "load": "load", "variant": "variant", "sign": "bound"}
    return Table(
        "Outcomes in numbers",
        "Values are OK answers a second, seconds, CPU seconds per 1,000 OK answers, or bytes. With ≥ or ≤ the load"
        " limited a variant: the true ratio may be further from 1.",
        labels,
        [
            Column(name, "none", f"max by ({', '.join(labels)}) ({queries.published(published)})", decimals)
            for published, (name, decimals) in _NUMBERS.items()
        ],
        sort="criterion",
        height=10,
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
