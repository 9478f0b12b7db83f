"""What a service uses, as the kernel counts it: CPU and memory of its process, throttling by its control group."""

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
    """Counters since the service started: seconds of CPU, periods of the quota. Memory as it is now, in bytes."""

    cpu: float
    resident: int
    #: 0, as the rest, where no control group limits it.
    periods: int = 0
    throttled_periods: int = 0
    throttled_seconds: float = 0.0
    #: Seconds of the JIT compiler's threads, and without a core; None where nothing tells (``vtlab.host.threads``).
    jit_cpu: float | None = None
    core_wait: float | None = None


class Reader:
    """Reads the usage of a process in its own control group. What it says of threads is since its first reading."""

    def __init__(self, pid: int, group: Cgroup | None, cpu_limit: float | None, proc: Path = Path("/proc")) -> None:
        """``cpu_limit``: in cores; None where nothing limits it."""
        self._process = proc / str(pid)
        self._group = group
        self._threads = Threads(pid, cpu_limit, proc)

    def __call__(self) -> ServiceUsage | None:
        """The usage now; None once the process is gone."""
        try:
            fields = (self._process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            resident = int((self._process / "statm").read_text(encoding="ascii").split()[1]) * _PAGE
        except OSError:
            return None
        cpu = (int(fields[11]) + int(fields[12])) / _TICK
        threads = self._threads
        now = time.monotonic()
        changes = threads.changes() if threads.due(now) else None
        # After the threads: a throttled period that a wait ended with is counted by now.
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
