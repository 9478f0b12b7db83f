"""CPU time and waits of a service's threads, by the kernel's counters of each thread."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

#: Names of the JIT compiler's threads, cut as the kernel cuts them. A GraalVM has JVMCI's threads in place of C2's
#: (OpenJDK, ``JVMCICompiler::name``).
_COMPILERS = (b"C1 CompilerThre", b"C2 CompilerThre", b"JVMCI CompilerT", b"JVMCI-native Co")
#: Seconds of a period of the CPU quota: the group may count a throttling that much later.
_PERIOD = 0.1
#: Seconds that a thread waits for a core at each wake-up, even on an idle machine: 60 to 80 µs there. A thread that
#: serves 400 requests a second so waits for 3 % of the time. Where others occupy the cores it is milliseconds.
_WAKE_UP = 0.0002
#: Seconds of the past in which a wait may have begun.
_REMEMBERED = 10.0
#: Threads that are read in a tenth of a second, for about 1 % of a core. More threads are read less often.
_PER_TENTH = 250


class Schedule(NamedTuple):
    """One thread's line in ``/proc/PID/task/TID/schedstat``: nanoseconds on a core, nanoseconds ready without one, and
    how often it was given one; since it began, or between two samples."""

    ran: int = 0
    waited: int = 0
    slices: int = 0

    def since(self, before: Schedule) -> Schedule:
        """Subtracts earlier counters."""
        return Schedule(self.ran - before.ran, self.waited - before.waited, self.slices - before.slices)


class _Moment(NamedTuple):
    """Counters of the whole service at one time, in seconds."""

    at: float
    cpu: float
    throttled_periods: int


class _Wait(NamedTuple):
    """A wait of one thread."""

    seconds: float
    #: The part without the time in which the service's other threads had its cores, and without wake-ups.
    unexplained: float
    began: _Moment
    seen_at: float

    def after(self, moment: float) -> float:
        """Returns the unexplained part of the wait after a moment."""
        return min(self.seconds, self.seen_at - moment) * self.unexplained / self.seconds


@dataclass
class CoreWait:
    """Time for which a service stood ready without the cores that its limit allows, outside its throttled periods.

    When a thread gets a core, the kernel adds the wait to its run-queue delay. A wait has three causes: the quota
    (threads of a throttled group wait in the queue, too), the service's other threads, and everything else on the
    machine. Only the last one counts here:

    - A wait is left out where a period of the quota was throttled during it, or in the period after it: the service
      had all the CPU that its limit allows. (The group counts a throttled period when it is over.)
    - What the service's other threads used since the wait began is subtracted: that much over ``cores`` is the longest
      that they can have kept all of its cores busy.
    - What a wait takes on an idle machine, each time that a thread wakes up, is subtracted.
    - Of all threads only the one that waited longest counts in each sample, and no time counts twice.

    So it is a lower bound, and more ready threads than cores alone do not raise it.
    """

    #: Cores that the service may use at once: its limit, at most those of the machine.
    cores: float
    #: Seconds so far; up to two samples late.
    seconds: float = 0.0
    _past: deque[_Moment] = field(default_factory=deque)
    _undecided: deque[_Wait] = field(default_factory=deque)
    _counted_until: float = 0.0

    def update(self, at: float, cpu: float, throttled_periods: int, changes: Sequence[Schedule]) -> None:
        """Adds a sample. ``cpu``: CPU seconds of the service so far; ``changes``: the threads that had a core since the
        previous update."""
        now = _Moment(at, cpu, throttled_periods)
        if not self._past:
            self._counted_until = at
        else:
            longest = self._longest(now, changes)
            if longest:
                self._undecided.append(longest)
        self._past.append(now)
        while self._past[0].at < at - _REMEMBERED:
            self._past.popleft()
        while self._undecided and self._undecided[0].seen_at + _PERIOD <= at:
            wait = self._undecided.popleft()
            if wait.began.throttled_periods == throttled_periods:
                self.seconds += wait.after(self._counted_until)
                self._counted_until = wait.seen_at

    def _longest(self, now: _Moment, changes: Iterable[Schedule]) -> _Wait | None:
        """Returns the wait that explains most of the time since the last update."""
        longest, most = None, 0.0
        for change in sorted(changes, key=lambda change: change.waited, reverse=True):
            if change.waited <= most * 1e9:
                break
            wait = self._wait(now, change)
            if wait.unexplained > 0 and (share := wait.after(self._past[-1].at)) > most:
                longest, most = wait, share
        return longest

    def _wait(self, now: _Moment, change: Schedule) -> _Wait:
        # The time before the first sample is unknown.
        waited = min(change.waited / 1e9, now.at - self._past[0].at)
        # Only the first of its waits may have begun before the last update.
        began = self._at(self._past[-1].at - waited / max(change.slices, 1))
        others = max(now.cpu - began.cpu - change.ran / 1e9, 0.0)
        return _Wait(waited, waited - others / self.cores - change.slices * _WAKE_UP, began, now.at)

    def _at(self, moment: float) -> _Moment:
        """Returns the counters at a moment, linear between two updates."""
        after = self._past[-1]
        for before in reversed(self._past):
            if before.at <= moment:
                share = (moment - before.at) / (after.at - before.at) if after is not before else 0.0
                return _Moment(moment, before.cpu + share * (after.cpu - before.cpu), before.throttled_periods)
            after = before
        return after


class Threads:
    """The threads of one process, sampled."""

    def __init__(self, pid: int, cpu_limit: float | None, proc: Path = Path("/proc")) -> None:
        """Prepares the sampling. ``cpu_limit``: in cores; None without one."""
        available = len(os.sched_getaffinity(0))
        self._tasks = str(proc / str(pid) / "task")
        self._core_wait = CoreWait(min(cpu_limit or available, available))
        self._lines: dict[str, bytes] = {}
        self._schedules: dict[str, Schedule] = {}
        #: Nanoseconds of the threads that have ended.
        self._ended_ran = self._ended_compiled = 0
        self._compilers: set[str] = set()
        #: Threads that began just before the previous sample: they may not have had their own name yet.
        self._young: set[str] = set()
        self._read_at = -math.inf

    def due(self, at: float) -> bool:
        """Tells whether to read the threads, at a time in seconds."""
        # Half a tenth of a second early is on time.
        return at - self._read_at >= 0.1 * math.ceil(len(self._lines) / _PER_TENTH) - 0.05

    @property
    def core_wait(self) -> float | None:
        """Seconds of ``CoreWait`` so far; None where the kernel does not count them."""
        return self._core_wait.seconds if self._schedules else None

    @property
    def jit_cpu(self) -> float | None:
        """CPU seconds of the JIT compiler's threads so far; None where there are none."""
        if not self._compilers and not self._ended_compiled:
            return None
        return (self._ended_compiled + sum(self._schedules[name].ran for name in self._compilers)) / 1e9

    def update(self, at: float, cpu: float | None, throttled_periods: int, changes: Sequence[Schedule]) -> None:
        """Accounts for ``changes`` and the group's counters. ``cpu``: CPU seconds so far; None to sum those of the
        threads."""
        if cpu is None:
            cpu = (self._ended_ran + sum(schedule.ran for schedule in self._schedules.values())) / 1e9
        self._read_at = at
        self._core_wait.update(at, cpu, throttled_periods, changes)

    def changes(self) -> list[Schedule]:
        """Reads all threads. Returns the changes of those that had a core since the previous reading; none at first."""
        try:
            names = set(os.listdir(self._tasks))  # noqa: PTH208
        except OSError:
            return []
        # The kernel omits threads from a listing while others end: later they would seem new, and all their past would
        # count once more.
        for missing in self._lines.keys() - names:
            if _read(f"{self._tasks}/{missing}/schedstat"):
                names.add(missing)
            else:
                self._forget(missing)
        changes = []
        young, self._young = self._young, set()
        is_first = not self._lines
        for name in names:
            line = _read(f"{self._tasks}/{name}/schedstat")
            if not line or line == self._lines.get(name):
                continue
            schedule = Schedule(*map(int, line.split()))
            if name in self._lines and schedule.ran < self._schedules[name].ran:
                # A new thread with the number of an old one.
                self._forget(name)
            if name not in self._lines:
                self._young.add(name)
            changes.append(schedule.since(self._schedules.get(name, Schedule())))
            self._lines[name], self._schedules[name] = line, schedule
        for name in (young | self._young) & self._lines.keys():
            if _read(f"{self._tasks}/{name}/comm").strip() in _COMPILERS:
                self._compilers.add(name)
        return [] if is_first else changes

    def _forget(self, name: str) -> None:
        ran = self._schedules.pop(name).ran
        del self._lines[name]
        self._ended_ran += ran
        if name in self._compilers:
            self._compilers.remove(name)
            self._ended_compiled += ran


def compilers(pid: int) -> list[int]:
    """Returns the threads of a process's JIT compilers. OSError where the process has ended."""
    tasks = f"/proc/{pid}/task"
    return [int(name) for name in os.listdir(tasks) if _read(f"{tasks}/{name}/comm").strip() in _COMPILERS]  # noqa: PTH208


def _read(path: str) -> bytes:
    """Reads the first bytes of a kernel's file; empty where it is gone.

    There are thousands of files a second: this is far cheaper than a file object.
    """
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, 128)
    except OSError:
        return b""
    finally:
        os.close(file)
