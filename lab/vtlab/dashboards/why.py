"""Why: which resource limits each variant, where requests wait, and whether the load generator did its work.

What only some services have is a line of the table of resources; its series are in a closed row of that name.
"""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders import table, timeseries

from vtlab.catalogue.resources import REACHED
from vtlab.dashboards import felt, frame, queries, style, why_rows
from vtlab.dashboards.figures import bottleneck
from vtlab.dashboards.over_time import OverTime
from vtlab.dashboards.parts import Line
from vtlab.dashboards.tables import NOT_SETTLED, Column, Table


def dashboard() -> dict[str, Any]:
    """Builds the document."""
    return frame.build(
        "why",
        "Why",
        "Which resource limits each variant, and where requests wait. Lines show the measured windows, without the"
        " warm-up.",
        [
            bottleneck(width=12),
            _parts(),
            _resources(),
            felt.TITLE,
            *felt.panels(),
            "Requests and queues",
            *_requests(),
            "CPU and throttling",
            *_cpu(),
            "Pinned virtual threads",
            _pinned(),
            _places(),
            "Threads and memory",
            *_threads_and_memory(),
            "Load generator",
            _load_generator(),
            *why_rows.closed(),
        ],
    )


def _parts() -> table.Panel:
    return Table(
        "Response time and its parts",
        "The wait of a client for its answer: before a thread has its request (queue), and what the request then takes"
        " (service), where the server tells them. Means. Queue time is the cost of too few threads; a script"
        " has none here.",
        {"variant": "variant"},
        [
            Column("response", "s", queries.latency_mean(), texts=[NOT_SETTLED]),
            Column("= queue", "s", queries.where_settled("queue_time"), texts=[NOT_SETTLED]),
            Column("+ service", "s", f"max by (namespace, variant) ({queries.metric('service_time', 'run')})"),
        ],
        sort="variant",
        width=12,
        height=5,
    ).panel()


def _resources() -> table.Panel:
    return (
        Table(
            "Resources of $variants",
            "By utilisation. Bound: capacity / service demand, the maximum throughput that the resource allows."
            " Needed: throughput × service demand. Red: the bound is reached (not for a load that is fully served). A"
            " run without a verdict has plain utilisations.",
            {"resource": "resource"},
            [
                Column(
                    "utilisation",
                    "percentunit",
                    queries.utilization(),
                    0,
                    REACHED,
                ),
                Column("needed", "none", queries.by_resource_or_plain("vtlab_used_count", queries.USED)),
                Column(
                    "there are",
                    "none",
                    queries.by_resource_or_plain("vtlab_capacity_count", queries.metric("capacity", "run")),
                ),
                Column("bound", "reqps", queries.by_resource("vtlab_bound_rate")),
                Column("service demand", "s", queries.by_resource("vtlab_demand_seconds")),
            ],
            sort="utilisation",
            descending=True,
            height=7,
        )
        .panel()
        .repeat("variants")
        .repeat_direction("v")
    )


def _requests() -> list[timeseries.Panel]:
    return [
        OverTime(
            "Requests in flight",
            "Requests that clients wait for, and those with a server thread (dashed). The gap between them is the"
            " queue. A closed load with unsettled latency has no line.",
            "none",
            [
                Line(queries.settled_in_windows("in_flight_client"), "{{variant}} client"),
                Line(queries.in_windows("in_flight"), "{{variant}} server", dashed=True),
            ],
        ).panel(),
        OverTime(
            "Response time",
            "The wait of clients for an answer, and its queue time (dashed), before a thread has their request, where"
            " the server tells the rest. Means. A closed load with unsettled latency has no line.",
            "s",
            [
                Line(queries.settled_in_windows("latency_mean"), "{{variant}} response"),
                Line(queries.settled_in_windows("queue_time"), "{{variant}} queue", dashed=True),
            ],
        ).panel(),
    ]


def _cpu() -> list[timeseries.Panel]:
    return [
        OverTime(
            "CPU used",
            "Against the limit (dashed): a variant that stays at it has the CPU as its bottleneck.",
            "suffix: CPU",
            [
                Line(queries.in_windows("cpu_cores")),
                Line(queries.most_of_run("cpu_limit"), "limit", dashed=True),
            ],
            width=8,
            colours={"limit": style.NEUTRAL},
        ).panel(),
        OverTime(
            "CPU periods throttled",
            "Share of the CFS periods in which the quota ran out, by the process's cgroup. Requests wait for the rest"
            " of such a period.",
            "percentunit",
            [Line(queries.in_windows("throttled_periods"))],
            width=8,
            maximum=1,
        ).panel(),
        OverTime(
            "Time stopped by the CPU quota",
            "Seconds per second, over all CPUs, that runnable threads were stopped. Throttling with little time"
            " stopped costs little.",
            "suffix: s/s",
            [Line(queries.in_windows("throttled_seconds"))],
            width=8,
            maximum=0.1,
        ).panel(),
    ]


def _pinned() -> timeseries.Panel:
    return OverTime(
        "Carriers that pinned threads keep",
        "Seconds per second, over all virtual threads, that they kept their carriers while waiting. A value equal to"
        " the number of carriers means that pinning is the bottleneck.",
        "none",
        [Line(queries.in_windows("pinned_seconds"))],
        maximum=1,
    ).panel()


def _threads_and_memory() -> list[timeseries.Panel]:
    return [
        OverTime(
            "Platform threads",
            "With platform threads, as many as requests in flight, up to Tomcat's maximum (dashed). Virtual threads"
            " are not included.",
            "none",
            [
                Line(queries.in_windows("threads")),
                Line(queries.in_windows("tomcat_threads_max"), "{{variant}} Tomcat's maximum", dashed=True),
            ],
            decimals=0,
        ).panel(),
        OverTime(
            "Memory",
            "Resident memory of the process, and the heap in use (dashed), against the limit: at the limit the"
            " kernel kills the process.",
            "bytes",
            [
                Line(queries.in_windows("resident"), "{{variant}} resident"),
                Line(queries.in_windows("heap_used"), "{{variant}} heap", dashed=True),
                Line(queries.most_of_run("memory_limit"), "limit", dashed=True),
            ],
            colours={"limit": style.NEUTRAL},
        ).panel(),
    ]


def _places() -> table.Panel:
    scraped = f"0 * max(last_over_time(up{{{queries.SERVER}}}[$__range]))"
    none = f'label_replace({scraped}, "place", "none", "", "")'
    pinned = (
        f'sum by (variant, place) (label_join({queries.metric("pinned_places", "run")}, "place", ":", "class", "line"))'
    )
    return Table(
        "Where they were pinned",
        "The line of code that waited while it kept its carrier, in the measured windows. Before JDK 24 synchronized"
        " pins, too. A carrier that waits runs no other thread.",
        {"variant": "variant", "place": "class and line"},
        [Column("pinnings/s", "none", f"{pinned} or on () {none}", 1)],
        sort="pinnings/s",
        descending=True,
        width=12,
        no_value="no data because no variant was scraped in this time range",
        pixels={"variant": 120, "pinnings/s": 100},
    ).panel()


def _load_generator() -> table.Panel:
    by_variant = "max by (namespace, variant)"
    return Table(
        "Planned load, and what the load generator sent",
        "Planned: users, or arrivals per second under open load. Late: the largest delay of a request in k6; beyond"
        " tens of milliseconds k6 lacks CPU. Dropped: arrivals that it could not send.",
        {"variant": "variant"},
        [
            Column("users, or arrivals/s", "none", f"{by_variant} (last_over_time(({queries.LOAD})[$__range:10s]))", 0),
            Column("answered OK", "reqps", f"{by_variant} ({queries.metric('throughput', 'run')})"),
            Column("late, maximum", "s", f"{by_variant} ({queries.metric('late', 'run')})"),
            Column("dropped", "percentunit", f"{by_variant} ({queries.metric('dropped_ratio', 'run')})", 1),
        ],
        sort="variant",
        height=5,
    ).panel()
