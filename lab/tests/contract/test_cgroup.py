"""Control groups of this machine: limits hold, are read back, and go with their processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.privileges import needs_root
from tests.support.waiting import until
from vtlab.host import cgroup, cgroup_hierarchies
from vtlab.host.cgroup import Cgroup
from vtlab.host.cgroup_hierarchies import Limit


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


#: As many loops as its first argument says.
BUSY = 'for _ in $(seq "$1"); do while :; do :; done & done; echo busy; wait'


@needs_root
def test_busy_loops_get_a_tenth_of_a_cpu_and_are_throttled() -> None:
    """A control group holds its processes to their share of a CPU, and counts periods, throttling and CPU time."""
    # So little that neighbours leave it to them, and on every CPU a loop that wants more.
    cpu, loops = 0.1, os.cpu_count() or 1
    quota = cpu * cgroup.PERIOD / 1e6
    group = Cgroup.create(f"test-{os.getpid()}-tenth", cpu, 256 * 1024**2)

    def held() -> bool:
        """What a stall or a neighbour takes from some periods, the next ones even out."""
        stat = group.cpu_stat()
        assert stat is not None
        assert stat.usage_seconds is not None
        # The quota of the period that has begun, too, and on each CPU a tick more.
        most = quota * (stat.periods + 1) + 0.01 * loops
        return (
            stat.periods >= 40
            and stat.throttled_periods / stat.periods > 0.5
            and stat.throttled_seconds > 0.4
            and 0.7 * quota * stat.throttled_periods <= stat.usage_seconds <= most
        )

    command = [*group.prefix, "/bin/sh", "-c", BUSY, "sh", str(loops)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as busy:
        try:
            assert busy.stdout is not None
            assert busy.stdout.readline() == "busy\n"
            assert cgroup_hierarchies.limit_of(busy.pid) == Limit(cpu, 256 * 1024**2), (
                "in the group before exec, with its own pid"
            )
            until(held)
            assert group.oom_kills() == 0
        finally:
            group.remove()
    assert not any(Path(directory).exists() for directory in group.entry()["directories"].values())


@needs_root
def test_a_quota_is_raised_and_set_back_under_a_running_process() -> None:
    """A control group takes another CPU quota while its processes run, which is read back from that of a process."""
    memory = 32 * 1024**2
    group = Cgroup.create(f"test-{os.getpid()}-raised", 0.5, memory)
    try:
        child = subprocess.Popen([*group.prefix, "/bin/sleep", "600"])
        # It enters one controller's group after the other.
        until(lambda: cgroup_hierarchies.limit_of(child.pid) == Limit(0.5, memory))
        for cpu in (1.5, 0.5):
            group.set_cpu(cpu)
            assert cgroup_hierarchies.limit_of(child.pid) == Limit(cpu, memory)
    finally:
        group.remove()
    assert child.wait(60) == -9


@needs_root
def test_a_process_beyond_its_memory_is_killed_and_counted() -> None:
    """A control group kills what exceeds its memory, counts that, and ends what still runs in it when it is removed."""
    group = Cgroup.create(f"test-{os.getpid()}-small", 1, 32 * 1024**2)
    try:
        done = subprocess.run([*group.prefix, sys.executable, "-c", "b'x' * (1 << 28)"], check=False)
        assert done.returncode == -9
        assert group.oom_kills() == 1
        child = subprocess.Popen([*group.prefix, "/bin/sleep", "600"])
        joined = [Path(directory) / "cgroup.procs" for directory in group.entry()["directories"].values()]
        until(lambda: all(str(child.pid) in text(procs).split() for procs in joined))
    finally:
        group.remove()
    assert child.wait(60) == -9, "what still runs in a removed group is ended"
    assert not any(Path(directory).exists() for directory in group.entry()["directories"].values())
