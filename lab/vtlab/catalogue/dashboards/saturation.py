"""Which resource limits each variant, and how near the others are."""

from __future__ import annotations

from typing import Any

from vtlab.catalogue.dashboards import frame, queries, style
from vtlab.catalogue.dashboards.panels import Column, Line, bottleneck, figures, over_time, rows
from vtlab.catalogue.resources import REACHED


def dashboard() -> dict[str, Any]:
    return frame.build(
        "saturation",
        "Saturation",
        "Which resource limits each variant, by vtlab's verdict, and how near the others are: utilisation = throughput"
        " × service demand / capacity. The figures are over all measured windows of the chosen run.",
        [
            bottleneck(width=12),
            figures(
                "Queue time and service time",
                "What a client waits before a thread has its request, and what the request then takes (means). Queue"
                " time is what the bottleneck costs clients.",
                "s",
                [
                    Line(queries.metric("queue_time", "run"), "{{variant}} queue"),
                    Line(queries.metric("service_time", "run"), "{{variant}} service"),
                ],
                width=12,
                height=5,
                size=32,
            ),
            rows(
                "Resources of $variants",
                "By vtlab's verdict, the smallest bound first: capacity / service demand, the most throughput that the"
                " resource allows. Red: it is reached. A run without a verdict shows plain utilisations only.",
                {"resource": "resource"},
                [
                    Column(
                        "utilisation",
                        "percentunit",
                        queries.of_resources_or_plain("vtlab_utilization_ratio", "utilization"),
                        0,
                        REACHED,
                    ),
                    Column("bound", "reqps", queries.of_resources("vtlab_bound_rate")),
                    Column("service demand", "s", queries.of_resources("vtlab_demand_seconds")),
                    Column("capacity", "none", queries.of_resources_or_plain("vtlab_capacity_count", "capacity")),
                ],
                sort="utilisation",
                descending=True,
                height=9,
            )
            .repeat("variants")
            .repeat_direction("h")
            .max_per_row(2),
            over_time(
                "Utilisation over time: $variants",
                "Plain utilisations while trials are measured, 100 % where a resource is at its limit. Which of those"
                " is the bottleneck is for the verdict: one that is short makes others look busy.",
                "percentunit",
                [Line(queries.metric("utilization", "now"), "{{resource}}")],
                width=24,
                colours=style.RESOURCES,
                line_at=1,
            )
            .repeat("variants")
            .repeat_direction("h")
            .max_per_row(2),
            "Throttling and queues",
            over_time(
                "CPU periods throttled",
                "Share of the CFS periods in which the quota ran out, as the process's cgroup says (on Kubernetes also"
                " the kubelet's cAdvisor, dashed). Requests wait out the rest of such a period.",
                "percentunit",
                [
                    Line(queries.metric("throttled_periods")),
                    Line(queries.CADVISOR_THROTTLED, "{{variant}} cAdvisor", dashed=True),
                ],
            ),
            over_time(
                "Time stopped by the CPU quota",
                "Seconds per second, over all CPUs, that runnable threads were stopped. Throttled without much time"
                " stopped costs little.",
                "s",
                [Line(queries.metric("throttled_seconds"))],
            ),
            over_time(
                "Requests in flight",
                "Those that clients wait for, and those of them that have a thread in the server (dashed). What lies"
                " between is the queue.",
                "none",
                [
                    Line(queries.metric("in_flight_client"), "{{variant}} client"),
                    Line(queries.metric("in_flight"), "{{variant}} server", dashed=True),
                ],
            ),
            over_time(
                "Queue time over time",
                "Client latency − service time, means: what clients wait before a thread has their request.",
                "s",
                [Line(queries.metric("queue_time"))],
            ),
            over_time(
                "Clients beyond the server's connections",
                "Requests whose connection the server has not accepted: above 0 connections are the bottleneck, and the"
                " server's own figures do not show the wait.",
                "none",
                [Line(queries.metric("beyond_connections", "now"))],
            ),
            over_time(
                "Queues inside the server",
                "Virtual threads ready without a carrier, tasks in executors, threads that wait for a database"
                " connection or for one to the downstream. The one that grows is in front of the bottleneck.",
                "none",
                [
                    Line(queries.metric("virtual_queued"), "{{variant}} without a carrier"),
                    Line(queries.metric("executor_queued"), "{{variant}} in executors", dashed=True),
                    Line(queries.metric("db_pool_pending"), "{{variant}} for the database", dashed=True),
                    Line(queries.metric("client_pool_pending"), "{{variant}} for the downstream", dashed=True),
                ],
            ),
        ],
    )
