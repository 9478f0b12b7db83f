"""The usage of a service, read from its process and its control group, then over a window."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from vtlab.host import machine
from vtlab.host.cgroup import Cgroup
from vtlab.host.cgroup_hierarchies import CpuStat
from vtlab.host.machine import Sample
from vtlab.host.usage import Reader, ServiceUsage, resident_peak

TICK, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


class Group(Cgroup):
    """A control group with these counters."""

    def __init__(self, stat: CpuStat | None) -> None:
        self.stat = stat

    @property
    def prefix(self) -> list[str]:
        raise AssertionError("it is only read")

    def entry(self) -> dict[str, Any]:
        return {}

    def make(self, cpu: float, memory: int) -> None:
        raise AssertionError("it is only read")

    def set_cpu(self, cpu: float) -> None:
        raise AssertionError("it is only read")

    def cpu_stat(self) -> CpuStat | None:
        return self.stat

    def oom_kills(self) -> int:
        return 0

    def remove(self) -> None:
        raise AssertionError("it is only read")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A /proc with the process 7: 3 s in user mode, 1 s in the kernel, 10 pages resident."""
    directory = tmp_path / "7"
    directory.mkdir()
    times = f"{3 * TICK} {TICK}"
    (directory / "stat").write_text(f"7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 {times} 0 0 20", encoding="utf-8")
    (directory / "statm").write_text("100 10 5 1 0 20 0", encoding="ascii")
    return tmp_path


def test_without_a_group_the_process_alone_counts(proc: Path) -> None:
    assert Reader(7, None, None, proc)() == ServiceUsage(4.0, 10 * PAGE)
    assert Reader(7, Group(None), 1, proc)() == ServiceUsage(4.0, 10 * PAGE), "a group that cannot be read"
    assert Reader(8, None, None, proc)() is None, "a process that is gone"


def test_the_counters_of_the_group_come_first(proc: Path) -> None:
    reading = Reader(7, Group(CpuStat(100, 30, 2.5, 4.123)), 1, proc)()
    assert reading == ServiceUsage(4.123, 10 * PAGE, 100, 30, 2.5)
    reading = Reader(7, Group(CpuStat(100, 30, 2.5, None)), 1, proc)()
    assert reading == ServiceUsage(4.0, 10 * PAGE, 100, 30, 2.5), "a group that does not count the CPU time"


def test_the_threads_count_with_the_process(proc: Path) -> None:
    task = proc / "7" / "task" / "8"
    task.mkdir(parents=True)
    (task / "comm").write_text("C2 CompilerThre\n", encoding="ascii")
    (task / "schedstat").write_text("3000000000 0 1\n", encoding="ascii")
    reading = Reader(7, None, 1, proc)()
    assert reading is not None
    assert (reading.jit_cpu, reading.core_wait) == (3.0, 0.0)


def test_this_process_is_read() -> None:
    reading = Reader(os.getpid(), None, None)()
    assert reading is not None
    assert reading.cpu > 0
    assert reading.resident > 1024**2
    assert reading.core_wait == 0, "it begins to count"
    assert reading.jit_cpu is None, "this is no JVM"


def test_the_largest_resident_memory_of_a_process(proc: Path) -> None:
    (proc / "7" / "status").write_text("Name:\tjava\nVmHWM:\t    3072 kB\nVmRSS:\t    2048 kB\n", encoding="utf-8")
    assert resident_peak(7, proc) == 3 * 1024**2
    (proc / "7" / "status").write_text("Name:\tjava\nState:\tZ (zombie)\n", encoding="utf-8")
    assert resident_peak(7, proc) is None, "it has ended"
    assert resident_peak(8, proc) is None
    assert (resident_peak(os.getpid()) or 0) > 1024**2


def sample(at: int, **services: ServiceUsage) -> Sample:
    return Sample(at, 0, 0, services=services)


SAMPLES = [
    sample(0, a=ServiceUsage(1.0, 100, 0, 0, 0.0)),
    sample(1000, a=ServiceUsage(1.5, 300, 10, 1, 0.1, 1.0, 0.0)),
    sample(2000, a=ServiceUsage(2.0, 200, 20, 6, 0.3, 1.5, 0.25), b=ServiceUsage(0.0, 50)),
    sample(9000, a=ServiceUsage(2.0, 999, 20, 6, 0.3), b=ServiceUsage(0.7, 60)),
]


def test_the_usage_of_a_window() -> None:
    assert machine.service_difference(SAMPLES, "a", 1000, 2000) == pytest.approx(
        {
            "cpu_cores": 0.5,
            "resident": 300,
            "throttled_periods": 0.5,
            "throttled_seconds": 0.2,
            "jit_cpu": 0.5,
            "core_wait": 0.25,
        }
    )
    between = machine.service_difference(SAMPLES, "a", 500, 1500)
    assert between["cpu_cores"] == pytest.approx(0.5), "linear between two samples"


def test_without_a_quota_nothing_is_throttled() -> None:
    difference = machine.service_difference(SAMPLES, "b", 2000, 9000)
    assert difference == pytest.approx(
        {
            "cpu_cores": 0.1,
            "resident": 60,
            "throttled_periods": None,
            "throttled_seconds": None,
            "jit_cpu": None,
            "core_wait": None,
        }
    )


def test_a_window_that_no_sample_reaches_has_no_figures() -> None:
    names = ("cpu_cores", "resident", "throttled_periods", "throttled_seconds", "jit_cpu", "core_wait")
    nothing = dict.fromkeys(names)
    assert machine.service_difference(SAMPLES, "b", 0, 1000) == nothing, "it did not run yet"
    assert machine.service_difference(SAMPLES, "c", 0, 1000) == nothing
    assert machine.service_difference([], "a", 0, 1000) == nothing
