"""Time to ready of the image under the chart's limit of one CPU: without its ahead-of-time cache, over that with it.

    e2e/up --without-lab && eval "$(e2e/up env)" && .venv/bin/python -m e2e.on_cluster.ready [STARTS]

Both start the image's java with the chart's options, in turn; "without" leaves out only the cache, so it still has the
JDK's own archive of classes (-XX:AOTMode=off would take that away, too, and flatter the cache). Exit code 1 unless the
whole interval lies above 1.2, 4 when the machine was too busy to tell. Needs two cores, one of them idle.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence

import numpy as np

from e2e.on_cluster import lab, pods
from vtlab.analysis.statistics import moderated, paired
from vtlab.analysis.statistics.stopping_rule import ALPHA
from vtlab.host import machine

STARTS = 10
LEAST = 1.2
#: A pair counts only when at least this share of the cores was idle throughout: nothing else held the image back.
IDLE = 0.05
#: Milliseconds: the machine's counters are sampled every quarter of a second.
MARGIN = 300
WITHOUT = ["java", "-jar", "/app/app.jar"]


def seconds_to_ready(name: str, cache: bool) -> float:
    """Measures from the start of the JVM until the application has started, by the application's log."""
    pod = pods.pod_of_chart(name, 25, environment={"SPRING_MAIN_LOG_STARTUP_INFO": "true"})
    if not cache:
        pod["spec"]["containers"][0]["command"] = WITHOUT
    pods.start(pod)
    started = re.search(r"process running for ([\d.]+)", lab.kubectl("logs", name))
    assert started, "the application says how long its start took"
    lab.kubectl("delete", "pod", name)
    return float(started[1])


def main(arguments: Sequence[str]) -> int:
    """Measures, and prints every pair and the interval."""
    starts = int(arguments[0]) if arguments else STARTS
    lab.fresh_namespace()
    pairs: list[dict[bool, float]] = []
    with machine.Sampler() as sampler:
        # The first pair only fills the page cache.
        for number in range(2 * starts + 1):
            seconds, idle = {}, 1.0
            for cache in sorted((True, False), reverse=len(pairs) % 2 == 0):
                begun = round(time.time() * 1000)
                seconds[cache] = seconds_to_ready(f"ready-{number}-{cache}".lower(), cache)
                window = sampler.window(begun, round(time.time() * 1000) - MARGIN)
                idle = min(idle, window["idle_cores"] or 0.0)
            times = f"with {seconds[True]:.2f} s, without {seconds[False]:.2f} s"
            print(f"{number}: {times}, at least {idle:.0%} of the cores idle", end="")
            if number == 0:
                print("; does not count, fills the page cache")
            elif idle < IDLE:
                print("; does not count, the machine was busy")
            else:
                pairs.append(seconds)
                print(flush=True)
            if len(pairs) == starts:
                break
    if len(pairs) < starts:
        print(f"only {len(pairs)} of {starts} pairs count: something else uses this machine", file=sys.stderr)
        return 4
    counted = {cache: np.array([pair[cache] for pair in pairs]) for cache in (True, False)}
    logs = list(np.log(counted[False]) - np.log(counted[True]))
    interval = moderated.interval(logs, None, 0.0, ALPHA)
    low, mean, high = (None if log is None else paired.exp(log) for log in (interval.low, interval.mean, interval.high))
    print(f"time to ready, means: with {np.mean(counted[True]):.2f} s, without {np.mean(counted[False]):.2f} s")
    width = "no interval" if low is None else f"95 % interval {low:.2f} to {high:.2f}"
    print(f"without / with the cache: {mean:.2f}, {width}, n = {len(logs)}")
    print(", ".join(f"{key} {value}" for key, value in machine.describe().items()))
    return 0 if low is not None and low > LEAST else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
