"""What the JVM does: threads of both kinds, garbage collection, memory, compilation."""

from __future__ import annotations

from typing import Any

from vtlab.catalogue.dashboards import frame, queries, style
from vtlab.catalogue.dashboards.panels import NAME_ONLY, Line, figures, over_time


def dashboard() -> dict[str, Any]:
    return frame.build(
        "jvm",
        "JVM and virtual threads",
        "What the JVM does under load: threads of both kinds, garbage collection, memory, compilation.",
        [
            figures(
                "Java",
                "The variants should differ in their threads only: another Java is another comparison.",
                "none",
                [Line(queries.metric("java", "run"), "{{variant}} {{version}}")],
                text=NAME_ONLY,
                size=24,
                vertical=True,
            ),
            figures(
                "Platform threads",
                "Mean in the measured windows. One per request in flight, up to Tomcat's 200, or a handful: this shows"
                " that the switch did what it should.",
                "none",
                [Line(queries.metric("threads", "run"))],
                decimals=0,
                size=32,
            ),
            figures(
                "Carriers utilised",
                "Carriers that have a virtual thread mounted, in the measured windows. Near 100 % virtual threads wait"
                " for the CPU, or are pinned.",
                "percentunit",
                [Line(queries.utilization_of_run("carriers"))],
                decimals=0,
                size=32,
            ),
            figures(
                "Time in garbage collection",
                "Share of the measured windows in which the JVM paused. Under 5 % it explains no difference.",
                "percentunit",
                [Line(queries.metric("gc_share", "run"))],
                decimals=1,
                size=32,
            ),
            "Threads",
            over_time(
                "Virtual threads mounted and queued",
                "Mounted ones run on a carrier, queued ones (dashed) are ready and wait for one: a queue that stays"
                " means that carriers, or the CPU below them, are short. Those that wait for I/O are neither.",
                "none",
                [
                    Line(queries.metric("virtual_mounted"), "{{variant}} mounted"),
                    Line(queries.metric("virtual_queued"), "{{variant}} queued", dashed=True),
                ],
            ),
            over_time(
                "Carriers",
                "Carriers alive, and how many the scheduler aims at (dashed). More alive than aimed at means that it"
                " makes up for pinned or blocked ones.",
                "none",
                [
                    Line(queries.metric("carriers_alive"), "{{variant}} alive"),
                    Line(queries.metric("carriers"), "{{variant}} aimed at", dashed=True),
                ],
                decimals=0,
            ),
            over_time(
                "Pinnings of virtual threads",
                "Per second. A pinned thread keeps its carrier while it waits: from JDK 24 on native calls only, before"
                " also synchronized. Should be 0.",
                "suffix:/s",
                [Line(queries.metric("pinned_events"))],
                maximum=1,
            ),
            over_time(
                "Time pinned",
                "Seconds per second that carriers were kept, over all of them. As much as there are carriers means that"
                " pinning is the bottleneck.",
                "s",
                [Line(queries.metric("pinned_seconds"))],
                maximum=0.1,
            ),
            over_time(
                "Platform threads by state: $variants",
                "Timed waiting and waiting threads wait for work, a timer or I/O; many runnable ones on few CPUs wait"
                " for the CPU; blocked ones wait for a lock, which should not last.",
                "none",
                [Line(queries.metric("threads_by_state", "now"), "{{state}}")],
                width=24,
                colours=style.STATES,
                stacked=True,
            )
            .repeat("variants")
            .repeat_direction("h")
            .max_per_row(2),
            "Memory and compilation",
            over_time(
                "Heap used",
                "Against its maximum (dashed). Near it the collections become long and frequent.",
                "bytes",
                [
                    Line(queries.metric("heap_used")),
                    Line(f"max({queries.metric('heap_max', 'now')})", "maximum", dashed=True),
                ],
                width=8,
                colours={"maximum": style.NEUTRAL},
            ),
            over_time(
                "Heap allocated per request",
                "As the collections of a minute find it: more allocation, more collections. The stacks of virtual"
                " threads are on the heap.",
                "bytes",
                [Line(queries.metric("allocated_per_request"), step="15s")],
                width=8,
            ),
            over_time(
                "Time in garbage collection over time",
                "Share of the time in which the JVM paused and served no request. Long pauses show in the 99th"
                " percentile of latency.",
                "percentunit",
                [Line(queries.metric("gc_share"))],
                width=8,
            ),
            over_time(
                "Pauses of the garbage collector",
                "Per second. Few long ones hurt latency, many short ones throughput.",
                "suffix:/s",
                [Line(queries.metric("gc_pauses", "now"))],
                width=8,
            ),
            over_time(
                "JIT compilation",
                "Seconds per second that compiler threads work, on the same CPU limit. In the bands it should be low:"
                " else the warm-up was too short.",
                "s",
                [Line(queries.metric("jit_seconds"))],
                width=8,
            ),
            over_time(
                "Platform threads over time",
                "Under platform threads as many as requests in flight, up to the pool's maximum (dashed).",
                "none",
                [
                    Line(queries.metric("threads")),
                    Line(queries.metric("tomcat_threads_max"), "{{variant}} Tomcat's maximum", dashed=True),
                ],
                width=8,
            ),
        ],
    )
