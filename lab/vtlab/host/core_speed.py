"""Speed of two cores of this machine at once, beside one of them alone."""

from __future__ import annotations

import subprocess
import sys

#: Seconds of one computation.
SECONDS = 0.4
_COUNT = """
import time
end = time.perf_counter() + {seconds}
rounds = 0
while time.perf_counter() < end:
    sum(range(1000))
    rounds += 1
print(rounds)
"""


def two_over_one(seconds: float = SECONDS) -> float:
    """Measures how much two processes compute at once, as a multiple of what one computes alone: almost 2 where each
    has a core. Less where two cores are threads of one, are capped together, or another program computes meanwhile.
    Takes some 4 x ``seconds``."""
    counts = {1: 0, 2: 0}
    # In mirrored order: others take their turns in between.
    for processes in (1, 2, 2, 1):
        counts[processes] += _compute(processes, seconds)
    return counts[2] / counts[1]


def _compute(processes: int, seconds: float) -> int:
    """Counts the rounds that so many processes compute at the same time."""
    command = [sys.executable, "-S", "-c", _COUNT.format(seconds=seconds)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return sum(int(process.communicate()[0]) for process in started)
