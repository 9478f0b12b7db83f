"""Idle cores that stay awake while vtlab measures.

A hypervisor may take milliseconds to wake a core that an idle guest has halted. Those are the neighbours', not the
service's, and p99 is full of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

#: Takes the longest time to wake up, a 32-bit number of microseconds, and holds it while it is open:
#: https://docs.kernel.org/power/pm_qos_interface.html
_LATENCY = Path("/dev/cpu_dma_latency")
_AT_ONCE = bytes(4)
AWAKE, ASLEEP = "kept awake", "may sleep"


@contextlib.contextmanager
def kept_awake(latency: Path = _LATENCY) -> Iterator[str]:
    """Keeps idle cores in a loop within the context, where root may and the kernel can; they count as idle all the
    same. Yields what they do: ``kept awake`` or ``may sleep``. The kernel ends it with this process at the latest."""
    with contextlib.ExitStack() as end:
        try:
            held = os.open(latency, os.O_WRONLY | os.O_CLOEXEC)
            end.callback(os.close, held)
            os.write(held, _AT_ONCE)
        except OSError:
            yield ASLEEP
        else:
            yield AWAKE


def state(latency: Path = _LATENCY) -> str:
    """Tells what idle cores will do while vtlab measures."""
    with kept_awake(latency) as idle:
        return idle
