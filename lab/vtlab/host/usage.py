"""Usage of a service, as the kernel counts it: CPU and memory of its process, throttling of its control group."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from vtlab.host.cgroup import Cgroup
from vtlab.host.threads import Threads

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class ServiceUsage:
    """Counters since the service started: seconds of CPU, periods of the quota. Memory is the current one, in bytes."""

    cpu: float
    resident: int
    #: 0, like the other counters of the quota, where no control group limits the service.
    periods: int = 0
    throttled_periods: int = 0
    throttled_seconds: float = 0.0
    #: CPU seconds of the JIT compiler's threads, and seconds without a core; None if unknown (``vtlab.host.threads``).
    jit_cpu: float | None = None
    core_wait: float | None = None


def resident_peak(pid: int, proc: Path = Path("/proc")) -> float | None:
    """Returns the largest resident memory of a process since it started, in bytes; None once it is gone, and where
    there is no ``/proc``."""
    try:
        lines = (proc / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    # A process that has ended and is not yet waited for has no memory.
    sizes = (line.split() for line in lines if line.startswith("VmHWM:"))
    return next((1024.0 * int(words[1]) for words in sizes), None)


class Reader:
    """A reader of the usage of a process in its own control group. Figures of threads count from its first reading."""

    def __init__(self, pid: int, group: Cgroup | None, cpu_limit: float | None, proc: Path = Path("/proc")) -> None:
        """Prepares the reader. ``cpu_limit``: in cores; None without one."""
        self._process = proc / str(pid)
        self._group = group
        self._threads = Threads(pid, cpu_limit, proc)

    def __call__(self) -> ServiceUsage | None:
        """Returns the current usage; None once the process is gone."""
        try:
            fields = (self._process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            resident = int((self._process / "statm").read_text(encoding="ascii").split()[1]) * _PAGE
        except OSError:
            return None
        cpu = (int(fields[11]) + int(fields[12])) / _TICK
        threads = self._threads
        now = time.monotonic()
        changes = threads.changes() if threads.due(now) else None
        # Read after the threads: by now a throttled period that ended a wait is counted.
        stat = self._group.cpu_stat() if self._group else None
        used = stat.usage_seconds if stat else None
        if changes is not None:
            threads.update(now, used, stat.throttled_periods if stat else 0, changes)
        if stat is None:
            return ServiceUsage(cpu, resident, jit_cpu=threads.jit_cpu, core_wait=threads.core_wait)
        return ServiceUsage(
            # The group's counter is finer than clock ticks.
            cpu if used is None else used,
            resident,
            stat.periods,
            stat.throttled_periods,
            stat.throttled_seconds,
            threads.jit_cpu,
            threads.core_wait,
        )
