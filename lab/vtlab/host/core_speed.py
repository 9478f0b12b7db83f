"""How much all cores of this machine compute at once, beside one of them alone."""

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


def together(cores: int, seconds: float = SECONDS) -> float:
    """Measures how much so many processes compute at once, as a multiple of what one computes alone: almost ``cores``
    where each core is one. Hypervisors give out threads of one core as two, or cap both together, and count neither as
    steal. Takes some 4 x ``seconds``."""
    alone, at_once = 0, 0
    # Twice, in mirrored order: other machines take their turns in between.
    for order in ((1, cores), (cores, 1)):
        for processes in order:
            rounds = _compute(processes, seconds)
            if processes == 1:
                alone += rounds
            else:
                at_once += rounds
    return at_once / alone


def _compute(processes: int, seconds: float) -> int:
    """Counts the rounds that so many processes compute at the same time."""
    command = [sys.executable, "-S", "-c", _COUNT.format(seconds=seconds)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return sum(int(process.communicate()[0]) for process in started)
