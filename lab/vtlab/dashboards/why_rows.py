"""The closed rows of *Why*: what only some services have, each named as in the table of resources, and details. Their
lines show all of the time range, with the warm-up."""

from __future__ import annotations

from grafana_foundation_sdk.builders import timeseries

from vtlab.catalogue.resources import RESOURCES
from vtlab.dashboards import queries, style
from vtlab.dashboards.frame import Part
from vtlab.dashboards.over_time import OverTime
from vtlab.dashboards.parts import Line

_NO_CADVISOR = (
    "no data because no cAdvisor was scraped: outside Kubernetes vtlab judges the load generator by the machine's idle"
    " time"
)


def closed() -> list[Part]:
    """Lists title and panels of each row."""
    return [
        (RESOURCES["db-pool"].title, [_pool("db_pool", "database connection")]),
        (RESOURCES["client-pool"].title, [_pool("client_pool", "connection to the service downstream")]),
        (RESOURCES["executor"].title, [_executor()]),
        (RESOURCES["connections"].title, _connections()),
        (f"{RESOURCES['carriers'].title} (JDK 24 and newer)", _carriers()),
        ("Arrivals (open load)", [_arrivals()]),
        ("Utilisation over time", [_utilisation()]),
        ("Garbage collection", _collections()),
        ("Platform threads by state", [_states()]),
        ("Load generator's pod and cAdvisor (Kubernetes)", _kubernetes()),
    ]


def _pool(pool: str, unit: str) -> timeseries.Panel:
    return OverTime(
        f"Pool: {unit}s in use, and waiting",
        f"Each {unit} that a thread holds; threads that wait for one (dashed). A lasting queue means that the pool, or"
        " the server behind it, is the bottleneck.",
        "none",
        [
            Line(queries.metric(f"{pool}_active"), "{{variant}} in use"),
            Line(queries.metric(f"{pool}_pending"), "{{variant}} waiting", dashed=True),
        ],
        width=24,
        no_value=f"no data because no pool with a {unit} was scraped in this time range",
    ).panel()


def _executor() -> timeseries.Panel:
    return OverTime(
        "Executor threads at work, and waiting tasks",
        "Busy threads of executors; tasks that wait in their queues (dashed).",
        "none",
        [
            Line(queries.metric("executor_active"), "{{variant}} at work"),
            Line(queries.metric("executor_queued"), "{{variant}} waiting", dashed=True),
        ],
        width=24,
    ).panel()


def _connections() -> list[timeseries.Panel]:
    return [
        OverTime(
            "Clients beyond the server's connections",
            "Requests whose connection the server has not accepted: above 0, connections are the bottleneck, and the"
            " server's figures do not show the wait.",
            "none",
            [Line(queries.metric("beyond_connections", "now"))],
            maximum=1,
        ).panel(),
        OverTime(
            "Wait for a connection",
            "Means over all requests: the whole wait for a connection, and TCP handshakes alone (dashed). Milliseconds"
            " mean that connections are reopened or not accepted.",
            "s",
            [
                Line(queries.metric("blocked", "now"), "{{variant}} total"),
                Line(queries.metric("connecting", "now"), "{{variant}} handshakes", dashed=True),
            ],
        ).panel(),
    ]


def _carriers() -> list[timeseries.Panel]:
    return [
        OverTime(
            "Virtual threads mounted and queued",
            "Mounted threads run on a carrier; queued threads (dashed) are ready and wait for a carrier. A lasting"
            " queue means that carriers, or their CPU, are short. Threads that wait for I/O are neither.",
            "none",
            [
                Line(queries.metric("virtual_mounted"), "{{variant}} mounted"),
                Line(queries.metric("virtual_queued"), "{{variant}} queued", dashed=True),
            ],
        ).panel(),
        OverTime(
            "Carriers",
            "Live carriers, and the target of the scheduler (dashed). More than the target means that it compensates"
            " for pinned or blocked carriers.",
            "none",
            [
                Line(queries.metric("carriers_alive"), "{{variant}} alive"),
                Line(queries.metric("carriers"), "{{variant}} target", dashed=True),
            ],
            decimals=0,
        ).panel(),
    ]


def _arrivals() -> timeseries.Panel:
    return OverTime(
        "Requests sent and arrivals planned",
        "Under open load the sent requests (solid) must follow the planned arrivals (dashed). Under closed load no"
        " rate is planned, and requests follow the answers.",
        "reqps",
        [
            Line(queries.metric("started"), "{{variant}} sent"),
            Line(queries.metric("arrivals", "now"), "{{variant}} planned", dashed=True),
        ],
        width=24,
    ).panel()


def _utilisation() -> timeseries.Panel:
    return (
        OverTime(
            "Utilisation over time: $variants",
            "Plain utilisations while trials are measured, 100 % where a resource is at its limit. Only the verdict"
            " says which of them is the bottleneck: a short resource makes others look busy.",
            "percentunit",
            [Line(queries.metric("utilization", "now"), "{{resource}}")],
            width=24,
            colours=style.RESOURCES,
            line_at=1,
        )
        .panel()
        .repeat("variants")
        .repeat_direction("h")
        .max_per_row(2)
    )


def _collections() -> list[timeseries.Panel]:
    return [
        OverTime(
            "Time in garbage collection",
            "Share of the time in which the JVM paused and served no request. Below 5 % it explains no difference.",
            "percentunit",
            [Line(queries.metric("gc_share"))],
            maximum=0.05,
        ).panel(),
        OverTime(
            "Heap allocated per request",
            "By the collections of the last minute: more allocation, more collections. The stacks of virtual threads"
            " are on the heap.",
            "bytes",
            [Line(queries.metric("allocated_per_request"), step="15s")],
        ).panel(),
    ]


def _states() -> timeseries.Panel:
    return (
        OverTime(
            "Platform threads by state: $variants",
            "Timed waiting and waiting threads wait for work, a timer or I/O. Many runnable threads on few CPUs wait"
            " for the CPU. Blocked threads wait for a lock, which should not last.",
            "none",
            [Line(queries.metric("threads_by_state", "now"), "{{state}}")],
            width=24,
            colours=style.STATES,
            stacked=True,
            points=False,
        )
        .panel()
        .repeat("variants")
        .repeat_direction("h")
        .max_per_row(2)
    )


def _kubernetes() -> list[timeseries.Panel]:
    return [
        OverTime(
            "CPU periods throttled, by cAdvisor",
            "Share of the CFS periods in which the variant's quota ran out, by the kubelet's cAdvisor.",
            "percentunit",
            [Line(queries.CADVISOR_THROTTLED)],
            width=8,
            maximum=1,
            no_value=_NO_CADVISOR,
        ).panel(),
        OverTime(
            "CPU of the load generator",
            "CPU that k6's pods use, by the kubelet's cAdvisor: about 0.14 ms per request. 7,000 requests per second"
            " use up one CPU.",
            "suffix: CPU",
            [Line(queries.K6_CPU, "k6")],
            width=8,
            colours={"k6": style.GENERATOR},
            no_value=_NO_CADVISOR,
        ).panel(),
        OverTime(
            "Throttling of the load generator",
            "Share of the CFS periods in which k6's quota ran out. Above 5 % (dashed) k6 measures itself, and the"
            " block is rejected.",
            "percentunit",
            [Line(queries.K6_THROTTLED, "k6")],
            width=8,
            colours={"k6": style.GENERATOR},
            line_at=0.05,
            maximum=0.1,
            no_value=_NO_CADVISOR,
        ).panel(),
    ]
