"""The sampler against real processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping

from tests.support.privileges import needs_root
from tests.support.waiting import PATIENCE, until
from vtlab.host import cgroup, cgroup_hierarchies
from vtlab.host.cgroup import Cgroup
from vtlab.host.machine import Sample, Sampler
from vtlab.host.usage import Reader
from vtlab.model.records import ServerFigure


class Compared(Sampler):
    """Asks the group for its own account of the CPU, too, just before and just after each sample."""

    def __init__(self, group: Cgroup, generator: int) -> None:
        super().__init__(generator)
        self.group = group
        self.used: list[tuple[float, float]] = []

    def sample(self) -> Sample:
        before = self._usage_of_group()
        sample = super().sample()
        self.used.append((before, self._usage_of_group()))
        return sample

    def _usage_of_group(self) -> float:
        stat = self.group.cpu_stat()
        assert stat is not None
        assert stat.usage_seconds is not None
        return stat.usage_seconds


THREADS = """
import threading, time
def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
while True:
    threads = [threading.Thread(target=busy, args=(0.05,)) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


@needs_root
def test_a_squeezed_process_shows_its_throttling_and_its_delay() -> None:
    """The sampler's CPU time of the load generator is the kernel's; throttling and waiting for a CPU are shown."""
    # So little that neighbours leave it to the process.
    cpu = 0.05
    group = Cgroup.create(f"test-{os.getpid()}-sampler", cpu, 256 * 1024**2)
    with subprocess.Popen([*group.prefix, sys.executable, "-c", THREADS]) as busy:
        try:
            until(lambda: cgroup_hierarchies.limited_group(busy.pid))
            sampler = Compared(group, busy.pid)
            with sampler:
                # Until it was throttled in most periods, and had its quota; on each CPU a tick more.
                until(lambda: _squeezed(sampler._samples, cpu * cgroup.PERIOD / 1e6, 0.01 * (os.cpu_count() or 1)))
        finally:
            group.remove()
    samples = [sample for sample in sampler._samples if sample.generator]
    first, last = samples[0], samples[-1]
    figures = sampler.window(first.at, last.at)
    assert figures["generator_cpu"] is not None
    used = figures["generator_cpu"] * (last.at - first.at) / 1000
    (low, begun), (ended, high) = sampler.used[0], sampler.used[len(samples) - 1]
    # The kernel tells a process's time in ticks, of user and system apart.
    assert ended - begun - 0.03 <= used <= high - low + 0.03
    assert figures["generator_throttled"] is not None
    assert figures["generator_throttled"] > 0.5
    assert figures["generator_wait"] is not None
    assert figures["generator_wait"] > 0
    assert figures["idle_cores"] is not None
    assert 0 <= figures["idle_cores"] <= 1
    deltas = [sample.generator.delay for sample in sampler._samples if sample.generator]
    assert deltas == sorted(deltas), "threads come and go; the sum never goes down"


def _squeezed(samples: list[Sample], quota: float, slack: float) -> bool:
    if len(samples) < 2:
        return False
    first, last = samples[0], samples[-1]
    if not (first.generator and first.periods and last.generator and last.periods):
        return False
    periods, throttled = (last.periods[i] - first.periods[i] for i in (0, 1))
    used = last.generator.cpu - first.generator.cpu
    return periods >= 60 and throttled / periods > 0.6 and used <= quota * (periods + 1) + slack


def test_a_process_that_ends_while_sampled_is_no_error() -> None:
    """A load generator that ends while it is sampled is measured up to its end."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as short, Sampler(short.pid) as sampler:
        until(lambda: len(sampler._samples) >= 3)
        assert short.stdin is not None
        short.stdin.close()
        # So late that the window to there is no longer cut at the last sample with it.
        until(lambda: sampler._samples[-1].at > 500 + max(sample.at for sample in sampler._samples if sample.generator))
    assert sampler._samples[0].generator is not None
    assert sampler._samples[-1].generator is None
    assert sampler._thread.is_alive() is False
    first, last = (sampler._samples[i].at for i in (0, -1))
    seen = [sample.at for sample in sampler._samples if sample.generator]
    assert sampler.window(first, seen[-1] + 200)["generator_cpu"] is not None
    assert sampler.window(first, last)["generator_cpu"] is None


CORES = os.cpu_count() or 1
#: As many threads that are never done as its first argument says. Hashes of much data do not hold Python's lock.
BUSY = """
import hashlib, sys, threading
def busy():
    while True: hashlib.sha256(bytes(1 << 20))
for _ in range(int(sys.argv[1])): threading.Thread(target=busy).start()
print("busy", flush=True)
"""
#: As many processes that are never done as the first argument says.
OTHERS = 'for _ in $(seq "$1"); do while :; do :; done & done; echo busy; wait'


@contextlib.contextmanager
def started(command: list[str]) -> Iterator[int]:
    """Its pid, once it says that it is busy. At the end it and its children are killed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "busy\n"
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def service(cpu: float) -> Iterator[Sampler]:
    """The sampler of a service of twice as many busy threads as there are cores, with so many cores as its limit."""
    group = Cgroup.create(f"test-{os.getpid()}-service", cpu, 256 * 1024**2)
    try:
        command = [*group.prefix, sys.executable, "-c", BUSY, str(2 * CORES)]
        with started(command) as pid, Sampler(services={"service": Reader(pid, group, cpu)}) as sampler:
            yield sampler
    finally:
        group.remove()


def figures_after(sampler: Sampler, seconds: float) -> dict[ServerFigure, float | None]:
    """The figures of the next seconds."""
    until(lambda: sampler._samples)
    begin = sampler._samples[-1].at
    end = begin + round(1000 * seconds)
    until(lambda: sampler._samples[-1].at > end)
    return sampler.service_window("service", begin, end)


@needs_root
def test_a_service_whose_cores_others_take_waits_for_them() -> None:
    """A service stands ready without a core for far more than 1 % of the time while others keep the cores."""
    # The kernel may give the others as a whole half of the cores, as one session: a limit of half would be reached.
    with service(cpu=CORES) as sampler, started(["/bin/sh", "-c", OTHERS, "sh", str(8 * CORES)]):
        figures = figures_after(sampler, 3)
    assert figures["core_wait"] is not None
    assert figures["core_wait"] > 0.1, figures


def is_stopped_by_quota_alone(figures: Mapping[ServerFigure, float | None]) -> bool:
    throttled, wait = figures["throttled_periods"], figures["core_wait"]
    return throttled is not None and wait is not None and throttled > 0.8 and wait < 0.01


@needs_root
def test_a_service_that_its_quota_stops_waits_for_no_core() -> None:
    """A service that its quota alone stops does not stand without a core for 1 % of the time."""
    with service(cpu=0.1) as sampler:
        end = time.monotonic() + PATIENCE
        # On a machine that stalls something else stops it, too.
        while not is_stopped_by_quota_alone(figures := figures_after(sampler, 3)) and time.monotonic() < end:
            pass
    assert figures["throttled_periods"] is not None
    assert figures["throttled_periods"] > 0.8, figures
    assert figures["core_wait"] is not None
    assert figures["core_wait"] < 0.01, figures
