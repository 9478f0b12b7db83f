"""Share of the cores' time that the hypervisor gives to others, with idle cores that may sleep and kept awake.

    cd lab && ../.venv/bin/python -m benchmarks.idle_cores [--pairs N]

Each core computes for 2 ms and waits for 1 ms, for ten seconds, in mirrored pairs. Prints a line for each pair, and the
medians. Exit code 1 where idle cores cannot be kept awake: that takes root and a kernel with /dev/cpu_dma_latency.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from vtlab.host import idle_cores, machine

SECONDS = 10.0
_LOAD = """
import time
end = time.monotonic() + {seconds}
while time.monotonic() < end:
    busy = time.monotonic() + 0.002
    while time.monotonic() < busy:
        pass
    time.sleep(0.001)
"""


def steal(is_awake: bool) -> float:
    """Loads every core in part; returns the share of their time that went to others meanwhile."""
    sampler = machine.Sampler()
    command = [sys.executable, "-S", "-c", _LOAD.format(seconds=SECONDS)]
    with idle_cores.kept_awake() if is_awake else contextlib.nullcontext():
        before = sampler.sample()
        loads = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
        for load in loads:
            load.wait()
        after = sampler.sample()
    return (after.steal - before.steal) / (after.total - before.total)


def main(arguments: Sequence[str]) -> int:
    """Measures the pairs and prints their shares."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.idle_cores", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", type=int, default=6, metavar="N", help="pairs of ten seconds each (6)")
    options = parser.parse_args(arguments)
    if options.pairs < 1:
        parser.error(f"--pairs {options.pairs}: at least one is needed")
    if idle_cores.state() != idle_cores.AWAKE:
        print("idle cores cannot be kept awake here: that takes root and /dev/cpu_dma_latency", file=sys.stderr)
        return 1
    described = ", ".join(f"{key} {value}" for key, value in machine.describe().items())
    print(f"{datetime.now(UTC):%Y-%m-%d}, {described}\n\n| pair | may sleep | kept awake |\n|---|---|---|")
    shares: dict[bool, list[float]] = {False: [], True: []}
    for pair in range(options.pairs):
        for is_awake in (False, True) if pair % 2 == 0 else (True, False):
            shares[is_awake].append(steal(is_awake))
        print(f"| {pair + 1} | {shares[False][-1]:.1%} | {shares[True][-1]:.1%} |", flush=True)
    asleep, awake = (statistics.median(shares[is_awake]) for is_awake in (False, True))
    print(f"| median | {asleep:.1%} | {awake:.1%} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
