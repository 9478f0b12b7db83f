"""What the variants were asked to do, whether the load generator did it, and what clients saw."""

from __future__ import annotations

from typing import Any

from vtlab.catalogue.dashboards import frame, queries, style
from vtlab.catalogue.dashboards.panels import Line, figures, over_time

_NO_CADVISOR = (
    "no data because no cAdvisor was scraped: outside Kubernetes vtlab itself judges the load generator, by the"
    " machine's idle time"
)


def dashboard() -> dict[str, Any]:
    return frame.build(
        "load",
        "Load",
        "What the variants were asked to do, whether the load generator did it, and what clients saw. A generator that"
        " is late, drops arrivals or is throttled measures itself.",
        [
            figures(
                "Load asked for",
                "Users under closed load, arrivals per second under open load: the same for every variant.",
                "none",
                [Line(queries.LOAD)],
                decimals=0,
                size=32,
            ),
            figures(
                "Arrivals dropped",
                "Share of all arrivals in trials that k6 could not send because its users still waited. Beyond 0.1 %,"
                " with a healthy generator, the variant is overloaded. Closed load drops none.",
                "percentunit",
                [Line(queries.metric("dropped_ratio", "run"))],
                size=32,
            ),
            figures(
                "Requests late by",
                "How much later than due k6 sent a request, about the most in all trials. Tens of milliseconds are"
                " usual; beyond that the generator is short of CPU.",
                "s",
                [Line(queries.metric("late", "run"))],
                size=32,
            ),
            figures(
                "Queue time",
                "Client latency − service time (means): what clients wait before a thread has their request, and no"
                " metric of the server shows.",
                "s",
                [Line(queries.metric("queue_time", "run"))],
                size=32,
            ),
            "Load",
            over_time(
                "Users",
                "Users of the phase that is under way: few in warm-ups and single-user phases, the experiment's in"
                " trials.",
                "none",
                [Line(queries.metric("users", "now"))],
                decimals=0,
            ),
            over_time(
                "Requests sent and arrivals asked for",
                "Under open load the sent ones (solid) must follow what was asked for (dashed); under closed load"
                " there is no such rate, and they follow the answers.",
                "reqps",
                [
                    Line(queries.metric("started"), "{{variant}} sent"),
                    Line(queries.metric("arrivals", "now"), "{{variant}} asked for", dashed=True),
                ],
            ),
            over_time(
                "Arrivals dropped, of the last phases",
                "Counted at the end of a phase, and shown for 5 minutes. Any at all: the variant did not keep up, or"
                " the generator did not.",
                "none",
                [Line(queries.metric("dropped", "now"))],
                maximum=1,
                decimals=0,
            ),
            over_time(
                "Lateness of the load generator",
                "How much later than due a phase's requests were sent, told at its end. If it grows with the load, k6"
                " is short of CPU.",
                "s",
                [Line(queries.metric("late", "now"))],
                bars=True,
            ),
            "Latency",
            over_time(
                "Client latency and service time",
                "Means. The client's clock starts when it wants to send, the server's (dashed) when a thread has the"
                " request: what lies between is the queue time.",
                "s",
                [
                    Line(queries.metric("latency_mean"), "{{variant}} client"),
                    Line(queries.metric("service_time"), "{{variant}} service", dashed=True),
                ],
            ),
            over_time(
                "Wait for a connection",
                "Means over all requests: for a connection in all, and TCP handshakes alone (dashed). Milliseconds"
                " mean that connections are opened anew or not accepted.",
                "s",
                [
                    Line(queries.metric("blocked", "now"), "{{variant}} in all"),
                    Line(queries.metric("connecting", "now"), "{{variant}} handshakes", dashed=True),
                ],
            ),
            (
                "On Kubernetes: the load generator's pod",
                [
                    over_time(
                        "CPU of the load generator",
                        "CPU that k6's pods use, by the kubelet's cAdvisor: about 0.14 ms per request. One CPU is gone"
                        " at 7,000 requests per second.",
                        "suffix: CPU",
                        [Line(queries.K6_CPU, "k6")],
                        bands=False,
                        colours={"k6": style.PURPLE},
                        no_value=_NO_CADVISOR,
                    ),
                    over_time(
                        "Throttling of the load generator",
                        "Share of the CFS periods in which k6's quota ran out. Above 5 % (dashed) it measures itself:"
                        " the block is rejected.",
                        "percentunit",
                        [Line(queries.K6_THROTTLED, "k6")],
                        bands=False,
                        colours={"k6": style.PURPLE},
                        line_at=0.05,
                        maximum=0.1,
                        no_value=_NO_CADVISOR,
                    ),
                ],
            ),
        ],
    )
