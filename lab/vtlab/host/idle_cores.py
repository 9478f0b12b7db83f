"""Idle cores that stay awake while vtlab measures.

A hypervisor may take milliseconds to wake a core that its guest has halted. A percentile then shows the neighbours, not
the service.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

#: Device that takes the longest time of a wake-up, a 32-bit number of microseconds, and keeps to it while it is open:
#: https://docs.kernel.org/power/pm_qos_interface.html
_DEVICE = Path("/dev/cpu_dma_latency")
_AT_ONCE = bytes(4)
AWAKE, MAY_SLEEP = "kept awake", "may sleep"


@contextlib.contextmanager
def kept_awake(device: Path = _DEVICE) -> Iterator[str]:
    """Keeps idle cores awake within the context, where vtlab runs as root and the kernel can; they still count as idle.
    Yields what they do: ``kept awake`` or ``may sleep``. The kernel ends it with this process at the latest."""
    with contextlib.ExitStack() as end:
        try:
            held = os.open(device, os.O_WRONLY | os.O_CLOEXEC)
            end.callback(os.close, held)
            os.write(held, _AT_ONCE)
        except OSError:
            yield MAY_SLEEP
        else:
            yield AWAKE


def state(device: Path = _DEVICE) -> str:
    """Tells what idle cores will do while vtlab measures."""
    with kept_awake(device) as idle:
        return idle
