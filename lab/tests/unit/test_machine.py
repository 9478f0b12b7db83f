"""The machine's sampler: differences, threads that vanish, and the real /proc."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from vtlab.host import cgroup, machine
from vtlab.host.cgroup import Cgroup
from vtlab.host.machine import Delays, Sample, Sampler, Usage


def test_shares_and_rates_between_two_samples() -> None:
    samples = [
        Sample(1000, 400, 100, Usage(1.0, 0.5, 1000), (10, 1)),
        Sample(3000, 800, 300, Usage(2.0, 0.6, 2000), (30, 6)),
    ]
    assert machine.difference(samples, 1000, 3000) == pytest.approx(
        {
            "idle_cores": 0.5,
            "generator_cpu": 0.5,
            "generator_wait": 1e-4,
            "generator_throttled": 0.25,
        }
    )


def test_between_samples_it_is_linear() -> None:
    samples = [
        Sample(0, 0, 0, Usage(0.0, 0.0)),
        Sample(1000, 100, 100, Usage(0.0, 0.0)),
        Sample(2000, 200, 100, Usage(1.0, 0.5)),
    ]
    found = machine.difference(samples, 500, 1500)
    assert found["idle_cores"] == pytest.approx(0.5)
    assert found["generator_cpu"] == pytest.approx(0.5)


def test_what_was_not_sampled_is_none() -> None:
    samples = [
        Sample(1000, 100, 50),
        Sample(2000, 200, 100, Usage(1, 0)),
        Sample(3000, 300, 150, Usage(1, 0)),
    ]
    outside = dict.fromkeys(machine.difference(samples, 1000, 2000))
    assert machine.difference(samples, 900, 2000) == outside
    assert machine.difference(samples, 1000, 3001) == outside
    assert machine.difference([], 1000, 2000) == outside
    found = machine.difference(samples, 1000, 3000)
    assert found["idle_cores"] == 0.5
    assert found["generator_cpu"] is None, "k6 did not run yet"
    assert found["generator_throttled"] is None
    assert machine.difference(samples, 2000, 3000)["generator_wait"] is None, "no time slice, no wait in it"


def test_a_window_that_ends_just_after_k6_did_is_measured_to_its_last_sample() -> None:
    samples = [
        Sample(1000, 100, 50, Usage(1, 0)),
        Sample(2000, 200, 100, Usage(2, 0)),
        Sample(2250, 225, 112),
    ]
    assert machine.reaching(samples, 2400, within_ms=500) == 2000
    assert machine.reaching(samples, 2501, within_ms=500) == 2501, "that much is missing: no measurement"
    assert machine.reaching(samples, 1500, within_ms=500) == 1500
    assert machine.reaching([], 5, within_ms=500) == 5


def test_delays_of_vanished_threads_stay() -> None:
    delays = Delays()
    assert delays.update({"1": (1_000_000_000, 5), "2": (500_000_000, 3)}) == (1.5, 8)
    assert delays.update({"1": (2_000_000_000, 6)}) == (2.5, 9)
    assert delays.update({"1": (2_000_000_000, 6), "2": (100_000_000, 1)}) == (pytest.approx(2.6), 10), "a new thread 2"
    assert delays.update({"1": (0, 0), "2": (100_000_000, 1)}) == (pytest.approx(2.6), 10), "number 1 is another now"
    assert delays.update({}) == (pytest.approx(2.6), 10)


def test_it_describes_this_machine() -> None:
    found = machine.describe()
    assert found["kernel"] == os.uname().release
    assert found["cores"] == str(os.cpu_count())
    assert found["memory"].endswith(" GiB")
    assert found["cgroup"] in ("v1", "v2", "none")
    assert all(found.values())
    json.dumps(found)


def until(done: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


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
    each = [threading.Thread(target=busy, args=(0.05,)) for _ in range(4)]
    for thread in each: thread.start()
    for thread in each: thread.join()
"""


@pytest.mark.real
@pytest.mark.skipif(os.geteuid() != 0, reason="writes control groups: root only")
def test_a_squeezed_process_shows_its_throttling_and_its_delay() -> None:
    # So little that neighbours leave it to the process.
    cpu = 0.05
    group = Cgroup.create(f"test-{os.getpid()}-sampler", cpu, 256 * 1024**2)
    with subprocess.Popen([*group.prefix, sys.executable, "-c", THREADS]) as busy:
        try:
            until(lambda: cgroup.limited_cpu_stat(busy.pid))
            sampler = Compared(group, busy.pid)
            with sampler:
                # Until it was throttled in most periods, and had its quota; on each CPU a tick more.
                until(lambda: _squeezed(sampler._samples, cpu * cgroup.PERIOD / 1e6, 0.01 * (os.cpu_count() or 1)))
        finally:
            group.remove()
    samples = [sample for sample in sampler._samples if sample.generator]
    first, last = samples[0], samples[-1]
    found = sampler.window(first.at, last.at)
    assert found["generator_cpu"] is not None
    used = found["generator_cpu"] * (last.at - first.at) / 1000
    (low, begun), (ended, high) = sampler.used[0], sampler.used[len(samples) - 1]
    # The kernel tells a process's time in ticks, of user and system apart.
    assert ended - begun - 0.03 <= used <= high - low + 0.03
    assert found["generator_throttled"] is not None
    assert found["generator_throttled"] > 0.5
    assert found["generator_wait"] is not None
    assert found["generator_wait"] > 0
    assert found["idle_cores"] is not None
    assert 0 <= found["idle_cores"] <= 1
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


@pytest.mark.real
def test_a_process_that_ends_while_sampled_is_no_error() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as short, Sampler(short.pid) as sampler:
        until(lambda: len(sampler._samples) >= 3)
        assert short.stdin is not None
        short.stdin.close()
        # So late that the window to there is no longer cut at the last sample with it.
        until(lambda: sampler._samples[-1].at > 500 + max(each.at for each in sampler._samples if each.generator))
    assert sampler._samples[0].generator is not None
    assert sampler._samples[-1].generator is None
    assert sampler._thread.is_alive() is False
    first, last = (sampler._samples[i].at for i in (0, -1))
    seen = [sample.at for sample in sampler._samples if sample.generator]
    assert sampler.window(first, seen[-1] + 200)["generator_cpu"] is not None
    assert sampler.window(first, last)["generator_cpu"] is None
