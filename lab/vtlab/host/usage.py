"""What a service uses, as the kernel counts it: CPU and memory of its process, throttling by its control group."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from vtlab.host.cgroup import Cgroup

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


def read(pid: int, group: Cgroup | None, proc: Path = Path("/proc")) -> ServiceUsage | None:
    """The usage of a process in its own control group; None once it is gone."""
    try:
        fields = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        resident = int((proc / str(pid) / "statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except OSError:
        return None
    cpu = (int(fields[11]) + int(fields[12])) / _TICK
    stat = group.cpu_stat() if group else None
    if stat is None:
        return ServiceUsage(cpu, resident)
    # The group's counter is finer than clock ticks.
    used = cpu if stat.usage_seconds is None else stat.usage_seconds
    return ServiceUsage(used, resident, stat.periods, stat.throttled_periods, stat.throttled_seconds)
