"""The machine's sampler: differences, threads that vanish, and the real /proc."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import pytest

from vtlab.host import machine
from vtlab.host.machine import Delays, Sample, Usage


def test_shares_and_rates_between_two_samples() -> None:
    samples = [
        Sample(1000, 400, 100, 10, Usage(1.0, 0.5, 1000), (10, 1)),
        Sample(3000, 800, 300, 20, Usage(2.0, 0.6, 2000), (30, 6)),
    ]
    assert machine.difference(samples, 1000, 3000) == pytest.approx(
        {
            "idle_cores": 0.5,
            "generator_cpu": 0.5,
            "generator_wait": 1e-4,
            "generator_throttled": 0.25,
            "steal": 0.025,
        }
    )


def test_a_signal_while_the_sampler_starts_leaves_no_half_started_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """vtlab's handler raises: in the middle of Thread.start() Python then prints a traceback of the new thread."""

    class Stop(Exception):
        pass

    raised, ended = threading.Event(), threading.Event()

    def stop(*_: object) -> None:
        raised.set()
        raise Stop

    def interrupted(bootstrap: Callable[[], None], arguments: tuple[()]) -> object:
        """What Thread.start() calls: the signal comes before the new thread has registered itself."""

        def later() -> None:
            raised.wait(0.5)
            time.sleep(0.05)
            try:
                bootstrap()
            finally:
                ended.set()

        begun = begin(later, arguments)
        signal.raise_signal(signal.SIGINT)
        return begun

    ignored: list[object] = []
    begin = threading._start_new_thread  # type: ignore[attr-defined]
    before = signal.signal(signal.SIGINT, stop)
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    monkeypatch.setattr(threading, "_start_new_thread", interrupted)
    sampler = machine.Sampler(os.getpid())
    try:
        with pytest.raises(Stop):
            sampler.__enter__()
    finally:
        signal.signal(signal.SIGINT, before)
        sampler._stop.set()
    assert ended.wait(60)
    assert ignored == []


def test_between_samples_it_is_linear() -> None:
    samples = [
        Sample(0, 0, 0, 0, Usage(0.0, 0.0)),
        Sample(1000, 100, 100, 0, Usage(0.0, 0.0)),
        Sample(2000, 200, 100, 0, Usage(1.0, 0.5)),
    ]
    usage = machine.difference(samples, 500, 1500)
    assert usage["idle_cores"] == pytest.approx(0.5)
    assert usage["generator_cpu"] == pytest.approx(0.5)


def test_what_was_not_sampled_is_none() -> None:
    samples = [
        Sample(1000, 100, 50),
        Sample(2000, 200, 100, 0, Usage(1, 0)),
        Sample(3000, 300, 150, 0, Usage(1, 0)),
    ]
    outside = dict.fromkeys(machine.difference(samples, 1000, 2000))
    assert machine.difference(samples, 900, 2000) == outside
    assert machine.difference(samples, 1000, 3001) == outside
    assert machine.difference([], 1000, 2000) == outside
    usage = machine.difference(samples, 1000, 3000)
    assert usage["idle_cores"] == 0.5
    assert usage["generator_cpu"] is None, "k6 did not run yet"
    assert usage["generator_throttled"] is None
    assert machine.difference(samples, 2000, 3000)["generator_wait"] is None, "no time slice, no wait in it"


def test_a_window_that_ends_just_after_k6_did_is_measured_to_its_last_sample() -> None:
    samples = [
        Sample(1000, 100, 50, 0, Usage(1, 0)),
        Sample(2000, 200, 100, 0, Usage(2, 0)),
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
    description = machine.describe()
    assert description["kernel"] == os.uname().release
    assert description["cores"] == str(os.cpu_count())
    assert description["memory"].endswith(" GiB")
    assert description["cgroup"] in ("v1", "v2", "none")
    assert all(description.values())
    json.dumps(description)
