"""The time of a service without a core, and the CPU of its JIT compiler, from the counters of its threads."""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from vtlab import shipped
from vtlab.host import threads as threads_module
from vtlab.host.threads import CoreWait, Schedule, Threads

MS = 1_000_000
#: Milliseconds between samples, of a time slice, and of a period of the quota.
SAMPLE, SLICE, PERIOD = 100, 4, 100


class Machine:
    """Some cores, threads of a service with its quota, and others. Gives cores to threads in turn, as long as any is
    free, and counts as the kernel does: a wait when it is over, a throttled period at its end."""

    def __init__(self, cores: int, limit: float, others: Callable[[int], int] = lambda ms: 0) -> None:
        """``others``: how many cores do not run the service in that millisecond."""
        self.cores, self.quota, self.others = cores, round(limit * PERIOD), others
        self.core_wait = CoreWait(min(limit, cores))
        self.work: dict[int, int] = {}
        self.queue: deque[int] = deque()
        self.running: dict[int, int] = {}
        self.ready_since: dict[int, int] = {}
        self.counted: dict[int, Schedule] = {}
        self.seen: dict[int, Schedule] = {}
        self.now = self.used = self.left = self.throttled_periods = 0
        self.was_throttled = False
        #: Milliseconds in which a thread was ready, none had a core, and the quota was not used up.
        self.stood = 0

    def wake(self, thread: int, work: int) -> None:
        """Gives a thread some milliseconds of work."""
        if thread not in self.work:
            self.queue.append(thread)
            self.ready_since[thread] = self.now
        self.work[thread] = self.work.get(thread, 0) + work

    def run(self, ms: int, arrivals: Callable[[int], list[tuple[int, int]]] = lambda ms: []) -> None:
        """Goes on for that long; ``arrivals``: threads that get work in a millisecond, and how much."""
        for _ in range(ms):
            for thread, work in arrivals(self.now):
                self.wake(thread, work)
            self._step()
            if self.now % SAMPLE == 0:
                changes = [now.since(self.seen.get(name, Schedule())) for name, now in self.counted.items()]
                self.core_wait.update(self.now / 1000, self.used / 1000, self.throttled_periods, changes)
                self.seen = dict(self.counted)

    def _step(self) -> None:
        if self.now % PERIOD == 0:
            self.throttled_periods += self.was_throttled
            self.left, self.was_throttled = self.quota, False
        free = self.cores - self.others(self.now)
        for thread, left in list(self.running.items()):
            if left == 0 or len(self.running) > free or self.left < len(self.running):
                self._stop(thread)
        while self.queue and len(self.running) < free and self.left > len(self.running):
            self._start(self.queue.popleft())
        self.was_throttled |= bool(self.queue) and len(self.running) < free
        self.stood += bool(self.queue) and not self.running and self.left > 0
        for thread in list(self.running):
            self.running[thread] -= 1
            self.left -= 1
            self.used += 1
            self.work[thread] -= 1
            was = self.counted[thread]
            self.counted[thread] = Schedule(was.ran + MS, was.waited, was.slices)
            if self.work[thread] == 0:
                del self.work[thread], self.running[thread]
        self.now += 1

    def _start(self, thread: int) -> None:
        was = self.counted.get(thread, Schedule())
        waited = was.waited + (self.now - self.ready_since[thread]) * MS
        self.counted[thread] = Schedule(was.ran, waited, was.slices + 1)
        self.running[thread] = SLICE

    def _stop(self, thread: int) -> None:
        del self.running[thread]
        self.ready_since[thread] = self.now
        self.queue.append(thread)


@pytest.mark.parametrize("limit", [0.25, 0.7, 1, 1.5, 2])
@pytest.mark.parametrize("threads", [1, 2, 3, 50, 400])
def test_threads_that_wait_for_each_other_or_for_the_quota_wait_for_no_core(limit: float, threads: int) -> None:
    machine = Machine(2, limit)
    for thread in range(threads):
        machine.wake(thread, 10**9)
    machine.run(10_000)
    assert machine.used >= 0.98 * min(limit, threads, 2) * 10_000, "it had what it may have"
    assert machine.core_wait.seconds == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("limit", [0.25, 1, 2])
@pytest.mark.parametrize("rate", [0.005, 0.05, 0.3])
def test_bursts_of_requests_wait_for_no_core(limit: float, rate: float) -> None:
    machine, chance = Machine(2, limit), random.Random(1)

    def arrivals(ms: int) -> list[tuple[int, int]]:
        many = 20 if ms % 1000 == 0 else chance.random() < rate
        return [(chance.randrange(200), chance.randint(1, 4)) for _ in range(many)]

    machine.run(20_000, arrivals)
    assert machine.core_wait.seconds < 0.005 * 20


@pytest.mark.parametrize("threads", [1, 2, 3, 50])
@pytest.mark.parametrize("limit", [0.7, 1, 2])
def test_a_service_that_others_keep_from_all_cores_is_seen(threads: int, limit: float) -> None:
    # Both cores for 90 of 100 ms: of its limit it gets no more than 0.2 cores.
    machine = Machine(2, limit, others=lambda ms: 2 if ms % 100 < 90 else 0)
    for thread in range(threads):
        machine.wake(thread, 10**9)
    machine.run(10_000)
    assert machine.stood == 9_000
    assert 5 <= machine.core_wait.seconds <= 9.1, "a lower bound, and no small one"


@pytest.mark.parametrize("threads", [1, 20])
def test_requests_that_find_no_core_are_seen(threads: int) -> None:
    machine, chance = Machine(2, 1, others=lambda ms: 2 if ms % 50 < 40 else 0), random.Random(1)
    machine.run(20_000, lambda ms: [(chance.randrange(threads), 1)] if chance.random() < 0.01 else [])
    assert 0.02 * 20 < machine.core_wait.seconds <= machine.stood / 1000


def test_who_has_its_limit_does_not_wait_for_the_rest() -> None:
    machine = Machine(2, 1, others=lambda ms: 1)
    for thread in range(5):
        machine.wake(thread, 10**9)
    machine.run(10_000)
    assert machine.used == pytest.approx(10_000, abs=50)
    assert machine.core_wait.seconds == pytest.approx(0, abs=0.05)


def test_with_a_core_too_few_for_its_limit_it_waits() -> None:
    machine = Machine(4, 2, others=lambda ms: 3)
    for thread in range(50):
        machine.wake(thread, 10**9)
    machine.run(10_000)
    assert 1 < machine.core_wait.seconds <= 5, "a lower bound: it missed half of its limit"


def test_no_time_counts_twice() -> None:
    core_wait = CoreWait(1)
    core_wait.update(0, 0, 0, [])
    core_wait.update(0.1, 0, 0, [])
    for tenth in range(2, 6):
        # Each had waited since 0.1 s, for other processes.
        core_wait.update(tenth / 10, 0, 0, [Schedule(0, (tenth - 1) * 100 * MS, 1)])
    core_wait.update(0.7, 0, 0, [])
    assert core_wait.seconds == pytest.approx(0.4, abs=0.001), "but for its waking up"


def test_a_wait_that_began_before_the_first_sample_counts_from_there() -> None:
    core_wait = CoreWait(1)
    core_wait.update(5, 0, 0, [])
    core_wait.update(5.1, 0, 0, [Schedule(0, 3000 * MS, 1)])
    assert core_wait.seconds == 0, "the period may yet be counted as throttled"
    core_wait.update(5.2, 0, 0, [])
    assert core_wait.seconds == pytest.approx(0.1, abs=0.001), "but for its waking up"


@pytest.mark.parametrize(("wait", "counted"), [(0.08, 0), (0.2, 0), (1, 1 - 0.2)])
def test_what_waking_up_takes_on_an_idle_machine_does_not_count(wait: float, counted: float) -> None:
    """One thread that wakes up 400 times a second, and waits so many milliseconds for a core each time."""
    core_wait = CoreWait(1)
    for tenth in range(102):
        core_wait.update(tenth / 10, 0, 0, [Schedule(0, round(40 * wait * MS), 40)] if tenth else [])
    assert core_wait.seconds / 10 == pytest.approx(400 * counted / 1000, abs=0.01)


def test_a_period_that_is_counted_as_throttled_just_after_a_wait_explains_it() -> None:
    core_wait = CoreWait(1)
    core_wait.update(0, 0, 0, [])
    core_wait.update(0.1, 0, 0, [Schedule(0, 50 * MS, 1)])
    core_wait.update(0.2, 0, 1, [])
    core_wait.update(0.3, 0, 1, [])
    assert core_wait.seconds == 0


class Process:
    """A /proc with the process 7, whose threads a test makes."""

    def __init__(self, proc: Path) -> None:
        self.proc, self.tasks = proc, proc / "7" / "task"
        self.tasks.mkdir(parents=True)

    def thread(self, number: int, name: str, *schedule: int) -> None:
        folder = self.tasks / str(number)
        folder.mkdir(exist_ok=True)
        (folder / "comm").write_text(f"{name}\n", encoding="ascii")
        (folder / "schedstat").write_text(" ".join(map(str, schedule)) + "\n", encoding="ascii")

    def end(self, number: int) -> None:
        for file in (self.tasks / str(number)).iterdir():
            file.unlink()
        (self.tasks / str(number)).rmdir()


@pytest.fixture
def process(tmp_path: Path) -> Process:
    return Process(tmp_path)


def test_the_compiler_threads_are_those_with_their_names(process: Process) -> None:
    threads = Threads(7, 1, process.proc)
    process.thread(7, "java", 9 * 10**9, 0, 1)
    threads.changes()
    assert threads.jit_cpu is None, "no JVM, or one that does not compile"
    process.thread(8, "C1 CompilerThre", 10**9, 0, 1)
    process.thread(9, "java", 2 * 10**9, 0, 1)
    threads.changes()
    assert threads.jit_cpu == 1
    process.thread(9, "C2 CompilerThre", 3 * 10**9, 0, 2)
    threads.changes()
    assert threads.jit_cpu == 4, "it had not named itself before"
    process.end(9)
    threads.changes()
    assert threads.jit_cpu == 4, "it ended"
    process.thread(8, "http-nio", 10**6, 0, 1)
    threads.changes()
    assert threads.jit_cpu == 4, "another thread with its number"


@pytest.mark.parametrize("compiler", ["C2 CompilerThread0", "JVMCI CompilerThread0", "JVMCI-native CompilerThread0"])
def test_compilers_of_every_jvm_are_known_by_what_the_kernel_keeps_of_their_names(
    process: Process, compiler: str
) -> None:
    threads = Threads(7, 1, process.proc)
    process.thread(8, compiler[:15], 10**9, 0, 1)
    threads.changes()
    assert threads.jit_cpu == 1


def test_what_threads_did_is_told_from_the_second_reading_on(process: Process) -> None:
    threads = Threads(7, 1, process.proc)
    assert threads.core_wait is None
    process.thread(7, "java", 5, 6, 7)
    process.thread(8, "java", 5, 6, 7)
    assert threads.changes() == []
    assert threads.core_wait == 0
    process.thread(7, "java", 15, 26, 8)
    process.thread(9, "java", 1, 2, 3)
    assert sorted(change.ran for change in threads.changes()) == [1, 10], "nothing of the one that had no core"
    assert threads.changes() == []


def test_a_thread_that_a_listing_leaves_out_has_not_ended(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    # The kernel's listing may miss a thread where others end meanwhile.
    threads = Threads(7, 1, process.proc)
    process.thread(7, "java", 10, 0, 1)
    process.thread(8, "C2 CompilerThre", 9 * 10**9, 10**10, 99)
    threads.changes()
    with monkeypatch.context() as patched:
        patched.setattr("vtlab.host.threads.os.listdir", lambda _: ["7"])
        assert threads.changes() == []
    process.thread(8, "C2 CompilerThre", 10 * 10**9, 10**10 + 5, 100)
    assert threads.changes() == [Schedule(10**9, 5, 1)], "and nothing of what it did before"
    assert threads.jit_cpu == 10


def test_a_process_that_is_gone_or_does_not_count_has_no_figures(process: Process) -> None:
    threads = Threads(8, None, process.proc)
    assert threads.changes() == []
    assert (threads.core_wait, threads.jit_cpu) == (None, None)
    threads = Threads(7, None, process.proc)
    process.thread(7, "java", 1, 1, 1)
    (process.tasks / "7" / "schedstat").unlink()
    assert threads.changes() == []
    assert (threads.core_wait, threads.jit_cpu) == (None, None)


def test_the_agent_knows_the_compilers_by_the_same_names() -> None:
    """In a pod it counts what vtlab counts on this machine."""
    source = shipped.ROOT / "agent/src/main/java/vtlab/agent/jvm/JitThreads.java"
    (names,) = re.findall(r"NAMES = List\.of\((.*?)\);", source.read_text(encoding="utf-8"), re.S)
    assert re.findall(r'"([^"]+)"', names) == [name.decode() for name in threads_module._COMPILERS]
