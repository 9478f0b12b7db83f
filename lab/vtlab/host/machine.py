"""This machine while k6 loads the variants: whether it could generate the load, and whether it was disturbed."""

from __future__ import annotations

import bisect
import os
import platform
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from vtlab.host import cgroup_hierarchies, processes
from vtlab.host.usage import ServiceUsage
from vtlab.model.records import MachineFigure, ServerFigure

#: Seconds between samples.
INTERVAL = 0.1
#: Samples after which the group that limits k6 is looked up again, which costs more than to read its counters.
_SAMPLES_OF_GROUP = 10
#: Milliseconds that k6 may end before its last window does.
_ENDS_BEFORE = 500
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """Counters of one process since it started, in seconds: CPU time, and time that its threads were ready to
    run but waited for a CPU."""

    cpu: float
    delay: float
    #: Number of times that one of its threads was given a CPU.
    slices: int = 0


@dataclass(frozen=True)
class Sample:
    """All counters at one time (epoch ms). The machine's counters are ticks over all cores since boot."""

    at: int
    total: int
    idle: int
    #: Ticks that the hypervisor gave to others.
    steal: int = 0
    generator: Usage | None = None
    #: Periods and throttled periods of the group that limits k6; None where nothing does.
    periods: tuple[int, int] | None = None
    #: Usage by variant, without variants that are gone.
    services: Mapping[str, ServiceUsage] = field(default_factory=dict)


@dataclass
class Delays:
    """Sum of the run-queue delays of a process's threads, with those that have ended."""

    _last: dict[str, tuple[int, int]] = field(default_factory=dict)
    _ended: tuple[int, int] = (0, 0)

    def update(self, tasks: Mapping[str, tuple[int, int]]) -> tuple[float, int]:
        """Adds a reading. ``tasks``: nanoseconds waited and time slices of each living thread. Returns the sums, of
        seconds and of slices; never less than before."""
        for task, before in self._last.items():
            # The thread is gone, or a new one has its number and smaller counters.
            if tasks.get(task, (-1, -1)) < before:
                self._ended = (self._ended[0] + before[0], self._ended[1] + before[1])
        self._last = dict(tasks)
        waited, slices = (self._ended[i] + sum(task[i] for task in tasks.values()) for i in (0, 1))
        return waited / 1e9, slices


def difference(samples: list[Sample], start_ms: int, end_ms: int) -> dict[MachineFigure, float | None]:
    """Computes the machine's figures between two times, from the samples around them (linear in between).

    - ``idle_cores``: share of all cores that was idle
    - ``generator_cpu``: cores that k6 used
    - ``generator_wait``: its run-queue delay in seconds per time slice: how long a ready thread waited for a CPU on
      average
    - ``generator_throttled``: share of k6's quota periods that were throttled; None without a quota
    - ``steal``: share of all cores' time that the hypervisor gave to others

    A value is None where the samples do not reach.
    """

    def counter(name: str) -> float | None:
        return _increase(samples, start_ms, end_ms, lambda sample: _read(sample, name))

    seconds = (end_ms - start_ms) / 1000
    return {
        "idle_cores": _ratio(counter("idle"), counter("total")),
        "generator_cpu": _ratio(counter("generator.cpu"), seconds),
        "generator_wait": _ratio(counter("generator.delay"), counter("generator.slices")),
        "generator_throttled": _ratio(counter("periods.1"), counter("periods.0")),
        "steal": _ratio(counter("steal"), counter("total")),
    }


def service_difference(
    samples: Sequence[Sample], variant: str, start_ms: int, end_ms: int
) -> dict[ServerFigure, float | None]:
    """Computes a variant's usage between two times, under the names of the figures of a trial's ``server``.

    - ``cpu_cores``: cores that it used; ``resident``: its largest resident memory, in bytes
    - ``throttled_periods``: share of the quota's periods in which it ran out; ``throttled_seconds``: seconds per second
      that CPUs were stopped; both None without a quota
    - ``jit_cpu``: cores that the JIT compiler's threads used
    - ``core_wait``: seconds per second that it stood ready without the cores of its limit, outside its throttled
      periods (``vtlab.host.threads.CoreWait``)

    A value is None where the samples do not reach.
    """

    def counter(read: Callable[[ServiceUsage], float | None]) -> float | None:
        def read_variant(sample: Sample) -> float | None:
            usage = sample.services.get(variant)
            return None if usage is None else read(usage)

        return _increase(samples, start_ms, end_ms, read_variant)

    seconds = (end_ms - start_ms) / 1000
    around = (
        bisect.bisect_left(samples, start_ms - 1000 * INTERVAL, key=lambda sample: sample.at),
        bisect.bisect_right(samples, end_ms + 1000 * INTERVAL, key=lambda sample: sample.at),
    )
    resident = [usage.resident for sample in samples[slice(*around)] if (usage := sample.services.get(variant))]
    periods = counter(lambda usage: usage.periods)
    return {
        "cpu_cores": _ratio(counter(lambda usage: usage.cpu), seconds),
        "resident": float(max(resident)) if resident else None,
        "throttled_periods": _ratio(counter(lambda usage: usage.throttled_periods), periods),
        "throttled_seconds": _ratio(counter(lambda usage: usage.throttled_seconds), seconds) if periods else None,
        "jit_cpu": _ratio(counter(lambda usage: usage.jit_cpu), seconds),
        "core_wait": _ratio(counter(lambda usage: usage.core_wait), seconds),
    }


def reaching(samples: Sequence[Sample], end_ms: int, within_ms: float) -> int:
    """Returns ``end_ms``, or the time of k6's last sample where that is at most ``within_ms`` earlier: k6 ends with its
    last window when every request is answered at once."""
    last = next((sample.at for sample in reversed(samples) if sample.generator), end_ms)
    return last if end_ms - within_ms <= last < end_ms else end_ms


def _increase(
    samples: Sequence[Sample], start_ms: int, end_ms: int, read: Callable[[Sample], float | None]
) -> float | None:
    ends = [_at(samples, moment, read) for moment in (start_ms, end_ms)]
    return None if ends[0] is None or ends[1] is None else ends[1] - ends[0]


def _ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or below is None or below <= 0 else above / below


def _at(samples: Sequence[Sample], moment: int, read: Callable[[Sample], float | None]) -> float | None:
    after = bisect.bisect_left(samples, moment, key=lambda sample: sample.at)
    if after == len(samples) or (after == 0 and samples[0].at != moment):
        return None
    right = read(samples[after])
    if samples[after].at == moment or right is None:
        return right
    left = read(samples[after - 1])
    if left is None:
        return None
    share = (moment - samples[after - 1].at) / (samples[after].at - samples[after - 1].at)
    return left + share * (right - left)


def _read(sample: Sample, name: str) -> float | None:
    part, _, key = name.partition(".")
    value = getattr(sample, part)
    if value is None or not key:
        return None if value is None else float(value)
    return float(value[int(key)] if isinstance(value, tuple) else getattr(value, key))


class Sampler:
    """A sampler in a separate thread, from entry to exit; its windows are read afterwards or meanwhile."""

    def __init__(
        self,
        generator: int | None = None,
        proc: Path = Path("/proc"),
        services: Mapping[str, Callable[[], ServiceUsage | None]] | None = None,
    ) -> None:
        """Prepares the sampling. ``generator``: the pid of k6; ``services``: read the usage of each variant."""
        self._services = services or {}
        self._generator = generator
        self._delays = Delays()
        self._proc = proc
        self._group: Path | None = None
        self._samples: list[Sample] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="machine", daemon=True)

    def window(self, start_ms: int, end_ms: int) -> dict[MachineFigure, float | None]:
        """Computes the machine's figures, as ``difference`` and ``reaching`` do."""
        samples = list(self._samples)
        return difference(samples, start_ms, reaching(samples, end_ms, _ENDS_BEFORE))

    def service_window(self, variant: str, start_ms: int, end_ms: int) -> dict[ServerFigure, float | None]:
        """Computes a variant's usage, as ``service_difference`` does."""
        return service_difference(list(self._samples), variant, start_ms, end_ms)

    def sample(self) -> Sample:
        """Reads everything once."""
        total, idle, steal = _machine(self._proc)
        if self._generator is not None and len(self._samples) % _SAMPLES_OF_GROUP == 0:
            self._group = cgroup_hierarchies.limited_group(self._generator)
        stat = cgroup_hierarchies.read_cpu_stat(self._group) if self._group else None
        return Sample(
            at=round(time.time() * 1000),
            total=total,
            idle=idle,
            steal=steal,
            generator=self._usage(),
            periods=(stat.periods, stat.throttled_periods) if stat else None,
            services={name: usage for name, read in self._services.items() if (usage := read())},
        )

    def _usage(self) -> Usage | None:
        if self._generator is None:
            return None
        process = self._proc / str(self._generator)
        try:
            fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        if fields[0] in ("Z", "X"):
            return None
        cpu = (int(fields[11]) + int(fields[12])) / _TICK
        return Usage(cpu, *self._delays.update(_task_delays(process / "task")))

    def _run(self) -> None:
        while True:
            self._samples.append(self.sample())
            if self._stop.wait(INTERVAL):
                self._samples.append(self.sample())
                return

    def __enter__(self) -> Sampler:
        # A signal while a thread starts would leave it half registered, and Python would print a traceback.
        with processes.uninterrupted():
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()


def _task_delays(tasks: Path) -> dict[str, tuple[int, int]]:
    """Reads the nanoseconds that each thread has waited for a CPU, and its time slices, without threads just ended."""
    delays = {}
    try:
        names = os.listdir(tasks)  # noqa: PTH208
    except OSError:
        return {}
    for name in names:
        try:
            with open(f"{tasks}/{name}/schedstat", "rb") as file:  # noqa: PTH123 (many, ten times a second)
                _, waited, slices = file.read().split()
            delays[name] = (int(waited), int(slices))
        except (OSError, ValueError):
            continue
    return delays


def _machine(proc: Path) -> tuple[int, int, int]:
    """Reads ticks over all cores: all, idle (also while waiting for a disk), stolen."""
    with (proc / "stat").open(encoding="ascii") as file:
        ticks = [int(value) for value in file.readline().split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4], ticks[7]


def describe(host: cgroup_hierarchies.Host | None = None) -> dict[str, str]:
    """Describes this machine, for the manifest."""
    host = host or cgroup_hierarchies.Host()
    cpu = _field(host.proc("cpuinfo"), "model name") or _field(host.proc("cpuinfo"), "Hardware") or platform.machine()
    memory = _field(host.proc("meminfo"), "MemTotal").split()
    return {
        "kernel": platform.release(),
        "cgroup": host.version(),
        "cpu": cpu,
        "cores": str(os.cpu_count() or 1),
        "memory": f"{int(memory[0]) / 1024 / 1024:.1f} GiB" if memory else "unknown",
        "load": " ".join(f"{value:.2f}" for value in os.getloadavg()),
    }


def available_memory(host: cgroup_hierarchies.Host | None = None) -> int:
    """Returns the bytes of memory that new processes can have without swapping; 0 where the kernel does not say."""
    memory = _field((host or cgroup_hierarchies.Host()).proc("meminfo"), "MemAvailable").split()
    return int(memory[0]) * 1024 if memory else 0


def _field(path: Path, name: str) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == name), "")
