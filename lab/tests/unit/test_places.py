"""Thread dumps, and what makes the holders of a pool slow: recorded dumps, stacks by hand, and any numbers."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtlab.analysis.dumps import places
from vtlab.analysis.dumps.places import Cause
from vtlab.errors import LabError
from vtlab.model.records import Activity, Diagnosis, Place

SPRING = [
    "app//org.springframework.web.servlet.FrameworkServlet.doGet(FrameworkServlet.java:891)",
    "app//jakarta.servlet.http.HttpServlet.service(HttpServlet.java:633)",
]
TOMCAT = [*SPRING, "app//org.apache.catalina.connector.CoyoteAdapter.service(CoyoteAdapter.java:342)"]
JETTY = [*SPRING, "app//org.eclipse.jetty.server.Server.handle(Server.java:182)"]
SERVICE = "app//shop.OrderService.order(OrderService.java:42)"
PARK = [
    "java.base/jdk.internal.misc.Unsafe.park(Native Method)",
    "java.base/java.util.concurrent.locks.LockSupport.park(LockSupport.java:223)",
]
SLEEP = ["java.base/java.lang.Thread.sleepNanos0(Native Method)", "java.base/java.lang.Thread.sleep(Thread.java:540)"]
READ = [
    "java.base/sun.nio.ch.SocketDispatcher.read0(Native Method)",
    "java.base/sun.nio.ch.NioSocketImpl.read(NioSocketImpl.java:346)",
    "java.base/java.net.Socket$SocketInputStream.read(Socket.java:974)",
]
QUEUE = "java.base/java.util.concurrent.locks.AbstractQueuedSynchronizer"
AWAIT = [*PARK, f"{QUEUE}$ConditionObject.await(AbstractQueuedSynchronizer.java:1763)"]
ACQUIRE = [*PARK, f"{QUEUE}.acquire(AbstractQueuedSynchronizer.java:790)"]
GET = [*PARK, "java.base/java.util.concurrent.CompletableFuture.get(CompletableFuture.java:2096)"]
HIKARI = "app//com.zaxxer.hikari.pool.HikariPool.getConnection(HikariPool.java:175)"
BORROW = "app//org.apache.commons.pool2.impl.GenericObjectPool.borrowObject(GenericObjectPool.java:306)"
LETTUCE = (
    "app//org.springframework.data.redis.connection.lettuce.LettucePoolingConnectionProvider.getConnection"
    "(LettucePoolingConnectionProvider.java:110)"
)
TASK = "java.base/java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1090)"


def thread(*stack: str, name: str = "http-nio-8080-exec-1", **more: Any) -> dict[str, Any]:
    return {"tid": "7", "name": name, "stack": list(stack), **more}


def dump(*threads: dict[str, Any]) -> str:
    return json.dumps({"threadDump": {"processId": "1", "threadContainers": [{"threads": list(threads)}]}})


def diagnosis(*threads: dict[str, Any], printed: str = "") -> Diagnosis:
    result = places.diagnose([places.parse_dump(dump(*threads), printed)])
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("stack", "state", "activity", "place"),
    [
        ([*PARK, HIKARI, SERVICE], "TIMED_WAITING", "db-pool", "HikariCP at OrderService:42"),
        # The pool tries a connection before it lends it.
        (
            [*READ, "app//com.mysql.cj.jdbc.ConnectionImpl.isValid(ConnectionImpl.java:1)", HIKARI, SERVICE],
            "RUNNABLE",
            "database",
            "Connector/J at OrderService:42",
        ),
        (
            [*AWAIT, "app//org.apache.http.pool.AbstractConnPool$2.get(AbstractConnPool.java:253)", SERVICE],
            "TIMED_WAITING",
            "client-pool",
            "Apache HttpClient at OrderService:42",
        ),
        (
            [*AWAIT, BORROW, "app//redis.clients.jedis.util.Pool.getResource(Pool.java:38)", SERVICE],
            "WAITING",
            "client-pool",
            "Jedis at OrderService:42",
        ),
        (
            [*READ, BORROW, "app//redis.clients.jedis.util.Pool.getResource(Pool.java:38)", SERVICE],
            "RUNNABLE",
            "downstream",
            "Jedis at OrderService:42",
        ),
        ([*AWAIT, BORROW, LETTUCE, SERVICE], "WAITING", "client-pool", "Lettuce at OrderService:42"),
        # DBCP has a pool of the same library inside.
        (
            [*AWAIT, BORROW, "app//org.apache.commons.dbcp2.PoolingDataSource.getConnection(P.java:1)", SERVICE],
            "WAITING",
            "db-pool",
            "DBCP at OrderService:42",
        ),
        (
            [*READ, "app//org.postgresql.core.PGStream.receiveChar(PGStream.java:467)", SERVICE],
            "RUNNABLE",
            "database",
            "pgJDBC at OrderService:42",
        ),
        (
            [*READ, "app//com.microsoft.sqlserver.jdbc.TDSChannel.read(IOBuffer.java:2)", SERVICE],
            None,
            "database",
            "SQL Server's driver at OrderService:42",
        ),
        # What a driver computes is not the database's.
        (
            ["app//org.postgresql.util.PGbytea.toBytes(PGbytea.java:9)", SERVICE],
            "RUNNABLE",
            "computation",
            "OrderService:42",
        ),
        # A database inside the JVM computes and locks.
        (["app//org.h2.mvstore.MVMap.get(MVMap.java:9)", SERVICE], "RUNNABLE", "database", "H2 at OrderService:42"),
        (["app//org.h2.engine.User.lock(User.java:9)", SERVICE], "BLOCKED", "database", "H2 at OrderService:42"),
        # Two threads that share a connection wait for each other, not for the database.
        (
            [
                *ACQUIRE,
                "java.base/java.util.concurrent.locks.ReentrantLock.lock(ReentrantLock.java:323)",
                "app//com.mysql.cj.jdbc.ConnectionImpl.commit(ConnectionImpl.java:1)",
                SERVICE,
            ],
            "WAITING",
            "lock",
            "ReentrantLock at OrderService:42",
        ),
        (
            [*GET, "java.net.http/jdk.internal.net.http.HttpClientImpl.send(HttpClientImpl.java:927)", SERVICE],
            "WAITING",
            "downstream",
            "java.net.http.HttpClient at OrderService:42",
        ),
        (
            [*READ, "java.base/sun.net.www.http.HttpClient.parseHTTP(HttpClient.java:9)", SERVICE],
            "RUNNABLE",
            "downstream",
            "HttpURLConnection at OrderService:42",
        ),
        (
            [*READ, "app//okio.InputStreamSource.read(JvmOkio.kt:9)", "app//okhttp3.Call.execute(Call.kt:1)", SERVICE],
            "RUNNABLE",
            "downstream",
            "OkHttp at OrderService:42",
        ),
        (
            [*GET, "app//org.eclipse.jetty.client.HttpRequest.send(HttpRequest.java:9)", SERVICE],
            "WAITING",
            "downstream",
            "Jetty's HttpClient at OrderService:42",
        ),
        (
            [
                *ACQUIRE,
                "java.base/java.util.concurrent.CountDownLatch.await(CountDownLatch.java:235)",
                "app//reactor.core.publisher.BlockingSingleSubscriber.blockingGet(BlockingSingleSubscriber.java:91)",
                SERVICE,
            ],
            "WAITING",
            "downstream",
            "Reactor at OrderService:42",
        ),
        # Of a library that nobody listed.
        ([*READ, "app//acme.Wire.receive(Wire.java:5)", SERVICE], "RUNNABLE", "downstream", "a socket at Wire:5"),
        (
            [*ACQUIRE, "java.base/java.util.concurrent.Semaphore.acquire(Semaphore.java:318)", SERVICE],
            "WAITING",
            "lock",
            "Semaphore at OrderService:42",
        ),
        (
            [
                *ACQUIRE,
                "java.base/java.util.concurrent.Semaphore.tryAcquire(Semaphore.java:415)",
                "app//io.github.resilience4j.bulkhead.internal.SemaphoreBulkhead.tryAcquire(SemaphoreBulkhead.java:1)",
                "app//shop.OrderService$$SpringCGLIB$$0.order(<generated>)",
                "app//shop.Shop$Till.pay(Shop.java:7)",
            ],
            "TIMED_WAITING",
            "lock",
            "Semaphore at Shop:7",
        ),
        (
            [
                *ACQUIRE,
                "java.base/java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock.lock(ReentrantReadWriteLock.java:738)",
                SERVICE,
            ],
            None,
            "lock",
            "ReentrantReadWriteLock at OrderService:42",
        ),
        ([SERVICE], "BLOCKED", "lock", "monitor at OrderService:42"),
        (
            [
                "java.base/java.util.concurrent.ConcurrentHashMap.computeIfAbsent(ConcurrentHashMap.java:1740)",
                SERVICE,
            ],
            "BLOCKED",
            "lock",
            "ConcurrentHashMap at OrderService:42",
        ),
        # Without a state nobody knows whether it runs.
        ([SERVICE], None, "computation", "computation or a monitor at OrderService:42"),
        ([SERVICE], "RUNNABLE", "computation", "OrderService:42"),
        (
            ["java.base/sun.security.provider.SHA2.implCompress0(SHA2.java:9)", SERVICE],
            "RUNNABLE",
            "computation",
            "OrderService:42",
        ),
        (
            [*PARK, "java.base/java.util.concurrent.FutureTask.get(FutureTask.java:187)", SERVICE],
            "WAITING",
            "executor",
            "FutureTask at OrderService:42",
        ),
        ([*GET, SERVICE], "WAITING", "executor", "CompletableFuture at OrderService:42"),
        ([*SLEEP, SERVICE], "TIMED_WAITING", "wait", "Thread.sleep at OrderService:42"),
        (
            [
                *AWAIT,
                "java.base/java.util.concurrent.LinkedBlockingQueue.take(LinkedBlockingQueue.java:435)",
                SERVICE,
            ],
            "WAITING",
            "wait",
            "LinkedBlockingQueue at OrderService:42",
        ),
        ([*AWAIT, SERVICE], "WAITING", "wait", "Condition at OrderService:42"),
        (
            [
                "java.base/java.lang.Object.wait0(Native Method)",
                "java.base/java.lang.Object.wait(Object.java:389)",
                SERVICE,
            ],
            None,
            "wait",
            "Object.wait at OrderService:42",
        ),
        (
            ["java.base/java.io.FileInputStream.readBytes(Native Method)", SERVICE],
            "RUNNABLE",
            "wait",
            "a file at OrderService:42",
        ),
        (
            [*READ, "app//org.apache.tomcat.util.net.NioChannel.write(NioChannel.java:9)", SERVICE],
            "RUNNABLE",
            "wait",
            "the client at OrderService:42",
        ),
        # The place is the service's even where a library of it is called back by the service.
        (
            [*SLEEP, "app//shop.Row.map(Row.java:3)", "app//com.mysql.cj.jdbc.ResultSet.next(R.java:1)", SERVICE],
            "TIMED_WAITING",
            "wait",
            "Thread.sleep at Row:3",
        ),
        # Without any code of the service the innermost frame outside the JDK is the place.
        (
            [*SLEEP, "app//org.springframework.security.Filter.doFilter(Filter.java:8)"],
            "TIMED_WAITING",
            "wait",
            "Thread.sleep at Filter:8",
        ),
        (
            [*SLEEP, "app//org.springframework.samples.petclinic.OwnerController.find(OwnerController.java:8)"],
            "TIMED_WAITING",
            "wait",
            "Thread.sleep at OwnerController:8",
        ),
    ],
)
def test_a_thread_does_what_its_stack_says(stack: list[str], state: str | None, activity: str, place: str) -> None:
    more = {"state": state} if state else {}
    for container in (TOMCAT, JETTY):
        expected = [Place(activity=activity, place=place, threads=1)]
        assert diagnosis(thread(*stack, *container, **more)).places == expected


@pytest.mark.parametrize(
    "idle",
    [
        thread(*AWAIT, "java.base/java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1016)", TASK),
        thread(*SLEEP, "app//shop.Main.main(Main.java:3)", name="main"),
        thread(*SLEEP, SERVICE, "java.base/java.lang.Thread.run(Thread.java:1474)", name="a loop of the service"),
        thread(
            *SLEEP,
            SERVICE,
            "java.base/java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask.run(S.java:309)",
            TASK,
        ),
        thread(
            SERVICE,
            "app//org.springframework.boot.actuate.endpoint.invoke.reflect.ReflectiveOperationInvoker.invoke(R.java:76)",
            *TOMCAT,
        ),
        thread(name="a virtual thread that has not begun"),
    ],
)
def test_what_works_for_no_request_is_not_counted(idle: dict[str, Any]) -> None:
    assert diagnosis(idle) == Diagnosis(dumps=1, threads=0, places=[])


@pytest.mark.parametrize("server", ["tomcat-handler-8", "jetty-8"])
def test_a_task_of_an_executor_and_a_request_without_a_carrier_are_counted(server: str) -> None:
    counted = diagnosis(thread(*SLEEP, SERVICE, TASK, name="pool-1-thread-1"), thread(name=server))
    assert counted.threads == 2
    assert [place.place for place in counted.places] == ["Thread.sleep at OrderService:42", "a carrier"]


PRINTED = """2026-11-23 05:52:54
Full thread dump OpenJDK 64-Bit Server VM (21.0.8+9-LTS mixed mode, sharing):

"http-nio-8080-exec-1" #7 [2727] daemon prio=5 os_prio=0 cpu=0.30ms tid=0x00007f nid=2727 waiting for monitor entry  []
   java.lang.Thread.State: BLOCKED (on object monitor)
	at shop.OrderService.order(OrderService.java:42)
	- waiting to lock <0x000000069dc08658> (a java.lang.Object)

"http-nio-8080-exec-2" #8 [2728] daemon prio=5 os_prio=0 cpu=0.30ms tid=0x00007f nid=2728 runnable  []
   java.lang.Thread.State: RUNNABLE
	at sun.security.provider.SHA2.implCompress0(java.base@21.0.8/Unknown Source)
"""


def test_before_jdk_25_the_other_command_tells_the_states() -> None:
    digest = "java.base/sun.security.provider.SHA2.implCompress0(Unknown Source)"
    blocked, running = thread(SERVICE, *TOMCAT), thread(digest, SERVICE, *TOMCAT, tid="8")
    shown = diagnosis(blocked, running, printed=PRINTED)
    assert {place.place for place in shown.places} == {"monitor at OrderService:42", "OrderService:42"}
    # It has moved on between the two.
    elsewhere = thread("app//shop.Other.go(Other.java:1)", *TOMCAT)
    assert diagnosis(elsewhere, printed=PRINTED).places[0].place == "computation or a monitor at Other:1"


def test_numbers_may_be_numbers() -> None:
    # As JDK 26 writes them.
    assert diagnosis(thread(SERVICE, *TOMCAT, tid=7), printed=PRINTED).places[0].activity == "lock"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Full thread dump",
        "[]",
        "{}",
        '{"threadDump": {"threadContainers": [{}]}}',
        dump({"name": "without a stack"}),
        dump(thread("no frame")),
    ],
)
def test_an_unknown_format_is_named(text: str) -> None:
    with pytest.raises(LabError, match="has an unknown format") as error:
        places.parse_dump(text)
    assert "JDK 21" in error.value.fix


def test_means_over_dumps_the_most_first() -> None:
    sleeping, blocked = thread(*SLEEP, SERVICE, *TOMCAT), thread(SERVICE, *TOMCAT, state="BLOCKED")
    taken = [
        places.parse_dump(dump(*threads)) for threads in ([sleeping], [sleeping, blocked, blocked], [], [sleeping])
    ]
    assert places.diagnose(taken) == Diagnosis(
        dumps=4,
        threads=1.25,
        places=[
            Place(activity="wait", place="Thread.sleep at OrderService:42", threads=0.75),
            Place(activity="lock", place="monitor at OrderService:42", threads=0.5),
        ],
    )
    assert places.diagnose([]) is None


RECORDED = Path(__file__).parent / "recorded" / "dumps"


def recorded(jvm: str, workload: str) -> Diagnosis:
    """What a recorded dump shows (``recorded/README.md``)."""
    path = RECORDED / f"{jvm}-{workload}"
    text, printed = (
        gzip.decompress(file.read_bytes()).decode() if file.exists() else ""
        for file in (Path(f"{path}.json.gz"), Path(f"{path}.txt.gz"))
    )
    result = places.diagnose([places.parse_dump(text, printed)])
    assert result is not None
    return result


@pytest.mark.parametrize("jvm", ["21-platform", "21-virtual", "25-platform", "25-virtual"])
@pytest.mark.parametrize(
    ("workload", "pool", "activity", "place"),
    [
        # 8 users and 3 of each: of 8 in flight 3 hold, and 5 wait for the pool.
        ("query", "db-pool", "database", "Connector/J at Shop:96"),
        ("hold", "db-pool", "lock", "Semaphore at Shop:101"),
        ("tasks", "executor", "wait", "Thread.sleep at Shop:123"),
        ("permit", None, "lock", "Semaphore at Shop:101"),
        ("monitor", None, "lock", "monitor at Shop:118"),
        ("http-client", "wait", "downstream", "java.net.http.HttpClient at Shop:83"),
        ("url-connection", "wait", "downstream", "HttpURLConnection at Shop:85"),
        ("compute", None, "computation", "Shop:131"),
    ],
)
def test_recorded_dumps_name_what_was_made_scarce(
    jvm: str, workload: str, pool: str | None, activity: str, place: str
) -> None:
    if (jvm, workload) == ("21-virtual", "monitor"):
        # The one that sleeps holds the only carrier.
        activity, place = "wait", "a carrier"
    cause = places.cause(recorded(jvm, workload), pool)
    assert cause is not None
    assert cause.activity == activity
    assert cause.place in (place, f"{places.UNTOLD} at {place}")
    assert jvm.startswith("21") or cause.place == place, "the states are known"


@pytest.mark.parametrize("jvm", ["21-platform", "21-virtual", "25-platform", "25-virtual"])
def test_recorded_waits_for_connections_to_a_downstream(jvm: str) -> None:
    shown = recorded(jvm, "apache")
    standing = {(place.activity, place.place): place.threads for place in shown.places}
    # The service calls itself.
    assert standing == {
        ("client-pool", "Apache HttpClient at Shop:82"): 5,
        ("downstream", "Apache HttpClient at Shop:82"): 3,
        ("wait", "Thread.sleep at Shop:76"): 3,
    }
    assert places.cause(shown, "client-pool", held=3) == Cause("downstream", "Apache HttpClient at Shop:82", 1.0)


KINDS = [
    thread(*SLEEP, SERVICE, *TOMCAT),
    thread(*PARK, HIKARI, SERVICE, *TOMCAT, state="WAITING"),
    thread(SERVICE, *JETTY, state="BLOCKED"),
    thread(name="tomcat-handler-1"),
    thread(*SLEEP, name="idle"),
    thread(*SLEEP, SERVICE, TASK),
]


@given(st.lists(st.lists(st.sampled_from(range(len(KINDS))), max_size=9), min_size=1, max_size=5))
def test_counts_add_up(taken: list[list[int]]) -> None:
    result = places.diagnose([places.parse_dump(dump(*(KINDS[kind] for kind in kinds))) for kinds in taken])
    assert result is not None
    total = sum(kind != 4 for kinds in taken for kind in kinds)
    assert result.threads * len(taken) == pytest.approx(total)
    assert sum(place.threads for place in result.places) == pytest.approx(result.threads)
    waiting = sum(kind == 1 for kinds in taken for kind in kinds)
    holding = sum(place.threads for place in places.holders(result, "db-pool"))
    assert holding * len(taken) == pytest.approx(total - waiting)
    assert places.holders(result, "tomcat-threads") == places.holders(result) == result.places


def standing(**threads: float) -> Diagnosis:
    """``lock_A``: 5 threads at the lock A; activities with ``_`` for ``-``."""
    shown = []
    for name, count in threads.items():
        activity, _, place = name.rpartition("_")
        shown.append(Place.model_validate({"activity": activity.replace("_", "-"), "place": place, "threads": count}))
    return Diagnosis(dumps=1, threads=sum(threads.values()), places=shown)


def test_what_most_holders_do_is_the_cause() -> None:
    taken = standing(db_pool_W=30, database_Q=9, computation_C=1)
    assert places.cause(taken, "db-pool") == Cause("database", "Q", 0.9)
    assert places.cause(taken) == Cause("db-pool", "W", 0.75), "what requests wait for is the pool"


def test_where_no_place_has_half_of_the_holders_there_is_no_cause() -> None:
    assert places.cause(standing(lock_A=4, lock_B=3, wait_S=3)) is None
    assert places.cause(standing(db_pool_W=5), "db-pool") is None, "nobody holds it"
    assert places.cause(Diagnosis(dumps=3, threads=0, places=[])) is None


def test_requests_that_the_server_does_not_let_begin_hold_nothing() -> None:
    taken = standing(server_queue_J=90, lock_A=6, wait_S=4)
    assert places.cause(taken, "db-pool") == Cause("lock", "A", 0.6)
    assert places.cause(taken) == Cause("lock", "A", 0.6)


def test_a_place_of_tasks_and_of_requests_is_one() -> None:
    place, tasks = (
        Place(activity="wait", place="S", threads=3),
        Place(activity="wait", place="S", threads=3, is_task=True),
    )
    taken = Diagnosis(dumps=1, threads=10, places=[Place(activity="lock", place="L", threads=4), place, tasks])
    assert places.cause(taken) == Cause("wait", "S", 0.6)


def test_queries_of_many_lines_are_one_database() -> None:
    assert places.cause(standing(database_Q=3, database_P=3, wait_S=4)) == Cause("database", None, 0.6)


def test_who_may_not_hold_the_pool_does_not_count() -> None:
    # 10 connections are held. 90 requests sleep, perhaps all without one.
    taken = standing(db_pool_W=50, wait_S=90, database_Q=6)
    assert places.cause(taken, "db-pool", held=10) == Cause("database", "Q", 0.6)
    assert places.cause(standing(db_pool_W=50, wait_S=90, lock_L=6), "db-pool", held=10) is None
    assert places.cause(standing(db_pool_W=50, wait_S=8, lock_L=6), "db-pool", held=10) is None
    assert places.cause(standing(db_pool_W=50, wait_S=3, lock_L=9), "db-pool", held=10) == Cause("lock", "L", 0.9)


def test_what_takes_as_long_alone_does_not_count() -> None:
    # A semaphore of 10 permits, held for 0.4 s: of 15 requests at 25/s 10 sleep, as they do alone.
    taken = standing(wait_S=10, lock_L=5)
    assert places.cause(taken, alone=25 * 0.4) == Cause("lock", "L", pytest.approx(1 / 3))
    # A database that takes 480 ms under load and 35 ms alone.
    assert places.cause(standing(database_Q=9.5, computation_C=0.5), "db-pool", alone=0.73) == Cause(
        "database", "Q", 0.95
    )
    assert places.cause(standing(database_Q=6, wait_S=4), "db-pool", alone=5) is None, "of 5 in excess 1 for certain"
    assert places.cause(taken, alone=15) is None, "nothing takes longer than alone"


ACTIVITIES: list[Activity] = ["database", "downstream", "executor", "lock", "wait", "computation", "client-pool"]
STANDING = st.tuples(st.sampled_from(ACTIVITIES), st.sampled_from("AB"), st.sampled_from(["idle", "alone", "excess"]))


@given(st.lists(STANDING, min_size=1, max_size=25))
def test_a_cause_has_half_of_the_excess_whoever_of_the_others_holds(threads: list[tuple[Activity, str, str]]) -> None:
    """Each thread holds none, holds one as it would alone, or is in excess: only the counts are told."""
    threads = [
        (activity, place, role)
        for activity, place, role in threads
        if not (role == "idle" and activity == "database") and not (role == "alone" and activity in places.QUEUES)
    ]
    counts = Counter((activity, place) for activity, place, _ in threads)
    shown = [Place(activity=activity, place=place, threads=count) for (activity, place), count in counts.items()]
    roles = Counter(role for _, _, role in threads)
    cause = places.cause(
        Diagnosis(dumps=1, threads=len(threads), places=shown),
        "db-pool",
        held=roles["alone"] + roles["excess"],
        alone=roles["alone"],
    )
    if cause is not None:
        there = [
            role for activity, place, role in threads if activity == cause.activity and cause.place in (None, place)
        ]
        assert there.count("excess") >= roles["excess"] / 2
        assert 0 < cause.share <= 1
