"""Where the time of a request goes: every row of the table of frames on two JDKs, sums, and what is not printed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtlab.analysis.dumps import breakdown, places
from vtlab.model.records import Activity, Diagnosis, Place
from vtlab.model.verdict import Breakdown

RECORDED = Path(__file__).parent / "recorded" / "dumps"
JVMS = ["21-platform", "21-virtual", "25-platform", "25-virtual"]


def trial(shown: Diagnosis, in_flight: float, throughput: float = 10.0) -> Diagnosis:
    """Those dumps, of a trial with so many requests in flight by the client's figures."""
    return shown.model_copy(update={"throughput": throughput, "latency": in_flight / throughput})


def recorded(jvm: str, workload: str, requests: float) -> Breakdown:
    """The breakdown by a recorded dump (``recorded/README.md``), in a trial with so many requests in flight."""
    path = RECORDED / f"{jvm}-{workload}"
    text, printed = (
        gzip.decompress(file.read_bytes()).decode() if file.exists() else ""
        for file in (Path(f"{path}.json.gz"), Path(f"{path}.txt.gz"))
    )
    shown = places.diagnose([places.parse_dump(text, printed)])
    assert shown is not None
    return known(breakdown.by_dumps(trial(shown, requests), 10.0, threads=200))


def known(time: Breakdown | None) -> Breakdown:
    assert time is not None
    return time


def shares(time: Breakdown) -> dict[str, float]:
    """By activity, in eighths of a request."""
    sums: dict[str, float] = {}
    for part in time.parts:
        sums[part.activity] = sums.get(part.activity, 0.0) + 8 * part.share
    return sums


@pytest.mark.parametrize("jvm", JVMS)
@pytest.mark.parametrize(
    ("workload", "eighths"),
    [
        ("query", {"db-pool": 5, "database": 3}),
        ("hold", {"db-pool": 5, "lock": 2, "wait": 1}),
        ("permit", {"lock": 7, "wait": 1}),
        ("monitor", {"lock": 7, "wait": 1}),
        ("tasks", {"executor": 8}),
    ],
)
def test_the_parts_of_a_request_in_recorded_dumps(jvm: str, workload: str, eighths: dict[str, float]) -> None:
    if (jvm, workload) == ("21-virtual", "monitor"):
        # The one that sleeps holds the only carrier.
        eighths = {"wait": 8}
    if (jvm, workload) == ("21-platform", "query"):
        eighths = {"db-pool": 5, "database": 2, "wait": 1}
    time = recorded(jvm, workload, requests=8)
    assert shares(time) == pytest.approx(eighths)
    assert time.explained == pytest.approx(1)


@pytest.mark.parametrize("jvm", JVMS)
@pytest.mark.parametrize(
    ("workload", "requests", "parts"),
    [
        # The service calls itself: a request downstream is one of its own, which sleeps.
        ("apache", 11, {"client-pool": 5, "downstream": 3, "wait": 3}),
        ("http-client", 16, {"downstream": 8, "wait": 8}),
        ("url-connection", 16, {"downstream": 8, "wait": 8}),
    ],
)
def test_the_parts_of_requests_that_wait_for_a_downstream(
    jvm: str, workload: str, requests: int, parts: dict[str, float]
) -> None:
    time = recorded(jvm, workload, requests)
    sums: dict[str, float] = {}
    for part in time.parts:
        sums[part.activity] = sums.get(part.activity, 0.0) + part.requests
    assert sums == pytest.approx(parts)


@pytest.mark.parametrize(
    ("jvm", "running"), [("21-platform", 2), ("21-virtual", 1), ("25-platform", 2), ("25-virtual", 1)]
)
def test_what_computes_is_a_part(jvm: str, running: int) -> None:
    time = recorded(jvm, "compute", requests=2)
    computing = [part for part in time.parts if part.activity == "computation"]
    assert [(part.requests, part.is_explained) for part in computing] == [(running, True)]


def stack(*frames: str, name: str, state: str | None, virtual: bool = False) -> dict[str, Any]:
    """A thread as JDK 25 writes it, with a state, or JDK 21, without."""
    told = {"state": state} if state else {}
    return {"tid": "7", "name": name, "stack": list(frames), **told, **({"virtual": True} if virtual and state else {})}


SLEEP = ["java.base/java.lang.Thread.sleep0(Native Method)", "java.base/java.lang.Thread.sleep(Thread.java:540)"]
PARK = [
    "java.base/jdk.internal.misc.Unsafe.park(Native Method)",
    "java.base/java.util.concurrent.locks.LockSupport.park(LockSupport.java:223)",
]
ACQUIRE = [*PARK, "java.base/java.util.concurrent.Semaphore.acquire(Semaphore.java:318)"]
SERVICE = "app//shop.OrderService.order(OrderService.java:42)"
TOMCAT = [
    "app//jakarta.servlet.http.HttpServlet.service(HttpServlet.java:633)",
    "app//org.apache.catalina.connector.CoyoteAdapter.service(CoyoteAdapter.java:342)",
    "app//org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:936)",
]
JETTY = [
    "app//jakarta.servlet.http.HttpServlet.service(HttpServlet.java:633)",
    "app//org.eclipse.jetty.server.Server.handle(Server.java:182)",
    "app//org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run(QueuedThreadPool.java:1149)",
]
IDLE_TOMCAT = [
    *PARK,
    "app//org.apache.tomcat.util.threads.TaskQueue.take(TaskQueue.java:126)",
    "app//org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:999)",
    "app//org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:932)",
]
IDLE_JETTY = [
    *PARK,
    "app//org.eclipse.jetty.util.BlockingArrayQueue.poll(BlockingArrayQueue.java:219)",
    "app//org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll(QueuedThreadPool.java:1060)",
    "app//org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run(QueuedThreadPool.java:1110)",
]
ADMISSION = [
    *ACQUIRE,
    "app//org.eclipse.jetty.util.thread.VirtualThreadPool.lambda$execute$0(VirtualThreadPool.java:260)",
]
STATES = pytest.mark.parametrize("states", [True, False], ids=["jdk25", "jdk21"])


def dumped(*threads: dict[str, Any]) -> Diagnosis:
    text = json.dumps({"threadDump": {"threadContainers": [{"threads": list(threads)}]}})
    shown = places.diagnose([places.parse_dump(text)])
    assert shown is not None
    return shown


@STATES
@pytest.mark.parametrize(
    ("prefix", "container", "idle"), [("http-nio-8080-exec-", TOMCAT, IDLE_TOMCAT), ("qtp58-", JETTY, IDLE_JETTY)]
)
def test_what_no_thread_has_waits_for_one_where_the_pool_has_none_to_spare(
    states: bool, prefix: str, container: list[str], idle: list[str]
) -> None:
    def state(text: str) -> str | None:
        return text if states else None

    busy = [stack(*SLEEP, SERVICE, *container, name=f"{prefix}{i}", state=state("TIMED_WAITING")) for i in range(20)]
    # Of the monitoring's own pool.
    other = stack(*idle, name="http-nio-9090-exec-1", state=state("WAITING"))
    full = trial(dumped(*busy, other), in_flight=80)
    time = known(breakdown.by_dumps(full, 10.0, threads=20))
    assert [(part.activity, part.share, part.requests) for part in time.parts] == [
        ("server-queue", 0.75, 60.0),
        ("wait", 0.25, 20.0),
    ]
    assert time.explained == pytest.approx(1)
    assert known(breakdown.by_dumps(full, 10.0)).explained == pytest.approx(1), "how many it may have is not known"

    growing = known(breakdown.by_dumps(full, 10.0, threads=200))
    spare = [stack(*idle, name=f"{prefix}{i}", state=state("WAITING")) for i in range(20, 25)]
    with_spare = known(breakdown.by_dumps(trial(dumped(*busy, *spare), in_flight=80), 10.0, threads=25))
    for time in (growing, with_spare):
        assert time.parts[0].activity == "outside", "a thread would have taken it"
        assert time.explained == pytest.approx(0.25)


@STATES
def test_virtual_threads_that_jetty_does_not_let_begin_are_its_queue(states: bool) -> None:
    waiting = stack(*ADMISSION, name="", state="WAITING" if states else None, virtual=True)
    serving = stack(
        *SLEEP, SERVICE, *JETTY[:2], ADMISSION[-1], name="", state="TIMED_WAITING" if states else None, virtual=True
    )
    time = known(breakdown.by_dumps(trial(dumped(waiting, waiting, waiting, serving), in_flight=4), 10.0))
    assert [(part.activity, part.share) for part in time.parts] == [("server-queue", 0.75), ("wait", 0.25)]
    assert time.explained == pytest.approx(1)


@STATES
def test_a_wait_of_the_server_itself_explains_nothing(states: bool) -> None:
    waiting = stack(*PARK, *TOMCAT[1:], name="http-nio-8080-exec-1", state="WAITING" if states else None)
    served = stack(*SLEEP, SERVICE, *TOMCAT, name="http-nio-8080-exec-2", state="TIMED_WAITING" if states else None)
    time = known(breakdown.by_dumps(trial(dumped(waiting, served), in_flight=2), 10.0))
    assert {part.place: part.is_explained for part in time.parts} == {
        "Thread.sleep at OrderService:42": True,
        "LockSupport.park at CoyoteAdapter:342": False,
    }
    assert time.explained == pytest.approx(0.5)


@STATES
def test_a_task_of_an_executor_is_no_part_of_a_request(states: bool) -> None:
    task = stack(
        *SLEEP,
        SERVICE,
        "java.base/java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1090)",
        name="pool-1-thread-1",
        state="TIMED_WAITING" if states else None,
    )
    waiting = stack(
        *PARK,
        "java.base/java.util.concurrent.FutureTask.get(FutureTask.java:187)",
        SERVICE,
        *TOMCAT,
        name="http-nio-8080-exec-1",
        state="WAITING" if states else None,
    )
    shown = dumped(task, task, task, waiting)
    assert shown.threads == 4
    time = known(breakdown.by_dumps(trial(shown, in_flight=1), 10.0))
    assert [(part.activity, part.place, part.share) for part in time.parts] == [
        ("executor", "FutureTask at OrderService:42", 1.0)
    ]


def lock(threads: float) -> Diagnosis:
    standing = Place(activity="lock", place="Semaphore at OrderService:42", threads=threads)
    return Diagnosis(dumps=20, threads=threads, places=[standing])


def test_seconds_are_requests_there_over_the_throughput_of_the_same_trial() -> None:
    # 18 of 29 in flight wait at a semaphore, at 9.5/s where the blocks had 10/s.
    time = known(breakdown.by_dumps(trial(lock(18), in_flight=29, throughput=9.5), throughput=10.0))
    first, outside = time.parts
    assert (first.share, first.seconds, first.requests) == pytest.approx((18 / 29, 18 / 9.5, 18))
    assert (outside.activity, outside.is_explained) == ("outside", False)
    assert outside.seconds == pytest.approx(11 / 9.5)
    assert time.explained == pytest.approx(18 / 29)


@pytest.mark.parametrize(("throughput", "is_slowed"), [(9.1, False), (9.0, False), (8.9, True), (11.0, False)])
def test_a_trial_that_is_slower_than_the_blocks_by_more_than_a_tenth_has_no_seconds(
    throughput: float, is_slowed: bool
) -> None:
    time = known(breakdown.by_dumps(trial(lock(18), in_flight=20, throughput=throughput), throughput=10.0))
    assert time.is_slowed == is_slowed
    assert [part.seconds is None for part in time.parts] == [is_slowed, is_slowed]
    assert time.parts[0].share == pytest.approx(0.9)


@pytest.mark.parametrize(("in_flight", "is_refused"), [(20.0, False), (18.2, False), (18.1, True)])
def test_more_threads_than_requests_in_flight_are_an_error(in_flight: float, is_refused: bool) -> None:
    time = known(breakdown.by_dumps(trial(lock(20), in_flight=in_flight), 10.0))
    assert (time.parts == []) == is_refused
    assert time.accounted == pytest.approx(20 / in_flight)
    assert (time.explained == 0) == is_refused


def test_without_the_figures_of_the_trial_there_is_no_breakdown() -> None:
    assert breakdown.by_dumps(lock(3), 10.0) is None
    assert breakdown.by_dumps(lock(3).model_copy(update={"throughput": 10.0}), 10.0) is None


ACTIVITIES: list[Activity] = ["database", "db-pool", "executor", "lock", "wait", "computation", "server-queue"]
STANDING = st.builds(
    Place,
    activity=st.sampled_from(ACTIVITIES),
    place=st.sampled_from("ABC"),
    threads=st.floats(0.05, 500),
    is_task=st.booleans(),
    is_unnamed=st.booleans(),
)


@given(
    st.lists(STANDING, max_size=8),
    st.floats(0.1, 5000),
    st.floats(0.001, 30),
    st.one_of(st.none(), st.floats(0, 50)),
)
def test_the_parts_are_the_latency(
    standing: list[Place], throughput: float, latency: float, idle: float | None
) -> None:
    """The seconds of all parts are the latency, and where the dumps show more than are in flight, a tenth more at most;
    what is explained is a part of them."""
    diagnosis = Diagnosis(dumps=7, threads=1, places=standing, throughput=throughput, latency=latency, idle=idle)
    time = known(breakdown.by_dumps(diagnosis, throughput))
    if time.accounted > breakdown.CONTRADICTED:
        assert time.parts == []
        return
    seconds = [part.seconds for part in time.parts if part.seconds is not None]
    assert len(seconds) == len(time.parts)
    assert sum(seconds) == pytest.approx(latency * max(1.0, time.accounted))
    assert sum(part.share for part in time.parts) == pytest.approx(max(1.0, time.accounted))
    assert all(part.requests == pytest.approx((part.seconds or 0.0) * throughput) for part in time.parts)
    assert time.explained <= sum(part.share for part in time.parts) + 1e-9
    assert [part.share for part in time.parts] == sorted((part.share for part in time.parts), reverse=True)
