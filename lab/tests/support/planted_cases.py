"""Planted bottlenecks: the JVMs in which something is scarce, the load, and what must limit each variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.planted_names import Named, Slow
from tests.support.short_lab import SHORT, WITH_TIMERS, Jvms, windows
from vtlab.model.experiment import Experiment

PLATFORM, VIRTUAL = "platform", "virtual"
ON_JDK_21: Mapping[str, object] = {
    name: {"threads": name, "java": 21, "jvm_flags": ["-Djdk.virtualThreadScheduler.parallelism=3"]}
    for name in (PLATFORM, VIRTUAL)
}

#: One of everything that can be scarce at the same time, as each request needs only one of them.
POOLS = Jvms(
    settings={
        "SERVER_TOMCAT_THREADS_MAX": "43",
        "SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE": "7",
        "LAB_DOWNSTREAM_MAX_CONNECTIONS": "9",
        "LAB_FANOUT_EXECUTOR": "pool8",
        "LAB_SEMAPHORE_PERMITS": "11",
        "LAB_PLANTED_CONNECTION": "true",
    },
    needs=["database", "downstream"],
    planted=True,
)
#: A connection serves one request, or the first 19 users would keep theirs; others wait in the accept queue (100).
FEW_CONNECTIONS = Jvms(
    settings={
        "SERVER_TOMCAT_MAX_CONNECTIONS": "19",
        "SERVER_TOMCAT_MAX_KEEP_ALIVE_REQUESTS": "1",
        "LAB_DOWNSTREAM_MAX_CONNECTIONS": "9",
    },
    needs=["downstream"],
    downstream_threads=3,
)
LITTLE_CPU = Jvms(limits={"cpu": 0.37})
MORE_CPU = Jvms(limits={"cpu": 0.71})
TWO_CARRIERS = Jvms(
    limits={"cpu": 0.71},
    properties={
        PLATFORM: {"threads": PLATFORM},
        VIRTUAL: {"threads": VIRTUAL, "jvm_flags": ["-Djdk.virtualThreadScheduler.parallelism=2"]},
    },
)
#: The CPU has room for the compiler of a cold JVM: what the quota stops does not count as a wait for a carrier.
ONE_CARRIER = Jvms(
    limits={"cpu": 1.43},
    properties={
        PLATFORM: {"threads": PLATFORM},
        VIRTUAL: {"threads": VIRTUAL, "jvm_flags": ["-Djdk.virtualThreadScheduler.parallelism=1"]},
    },
)
#: A thread computes in the hold of the only connection: with more of them the CPU would be short.
ONE_CONNECTION = Jvms(
    settings={"SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE": "1", "LAB_PLANTED_CONNECTION": "true"},
    needs=["database"],
    limits={"cpu": 1.43},
    planted=True,
)
FULL_HEAP = Jvms(settings={"LAB_PLANTED_LIVE_SHARE": "0.45"}, limits={"cpu": 0.61, "heap": "157m"}, planted=True)
PINNED = Jvms(settings={"LAB_PINNED_LOCK": "monitor"}, needs=["jdk21"], properties=ON_JDK_21)


@dataclass(frozen=True)
class Case:
    """Users, what they ask for, and what limits each variant."""

    name: str
    jvms: Jvms
    path: str
    query: Mapping[str, str]
    users: int
    named: Mapping[str, Named]
    #: Requests per second that what is planted allows, by variant; without them the CPU does.
    rates: Mapping[str, float] = field(default_factory=dict)
    single: str = WITH_TIMERS
    measure: str = "8s"
    #: Seconds that a window has at least where there are rates.
    least: float = 4.0
    #: What of it must be a finding of the variant on virtual threads.
    findings: frozenset[str] = frozenset()

    def experiment(self, planted_service: Mapping[str, Any] | None) -> Experiment:
        """Returns the experiment that measures the case."""
        requests = [{"path": self.path, "query": dict(self.query)}]
        if self.rates:
            lengths = windows(self.users, self.rates, self.least)
            return self.jvms.experiment(planted_service, requests=requests, **lengths)
        # Of a throttled JVM the figures of the CPU are up to a second late: little of so long a window.
        fixed = {"warmup_users": self.users, "warmup_load": "1500ms", "measure": self.measure}
        load = {"full": {"users": self.users}}
        return self.jvms.experiment(planted_service, requests=requests, load=load, windows=fixed)


def both(rate: float) -> dict[str, float]:
    return {PLATFORM: rate, VIRTUAL: rate}


def named(name: Named) -> dict[str, Named]:
    return {PLATFORM: name, VIRTUAL: name}


def wait(duration: str) -> dict[str, str]:
    return {"duration": duration}


# The waits must be long: what a cold JVM and a busy machine add to them counts as little then.
CASES = [
    Case(
        "more users than threads",
        POOLS,
        "/thread",
        wait("700ms"),
        67,
        {PLATFORM: Named("tomcat-threads", 43, then="load"), VIRTUAL: Named("load", 67)},
        {PLATFORM: 43 / 0.7, VIRTUAL: 67 / 0.7},
        single=SHORT,
    ),
    Case("few users", POOLS, "/thread", wait("430ms"), 11, named(Named("load", 11)), both(11 / 0.43), single=SHORT),
    Case(
        "as many users as threads",
        POOLS,
        "/thread",
        wait("510ms"),
        43,
        {PLATFORM: Named("tomcat-threads", 43, together=("load",)), VIRTUAL: Named("load", 43)},
        both(43 / 0.51),
        single=SHORT,
    ),
    Case(
        "few database connections",
        POOLS,
        "/stress/sleep",
        wait("410ms"),
        17,
        named(Named("db-pool", 7, then="load")),
        both(7 / 0.41),
    ),
    Case(
        "a row that every request locks",
        POOLS,
        "/planted/connection/row",
        wait("60ms"),
        13,
        named(Named("database", inside=Slow("db-pool", "database", 7, 0.06))),
        both(1 / 0.0615),
    ),
    Case(
        "a lock in the hold of a connection",
        POOLS,
        "/planted/connection/lock",
        wait("70ms"),
        15,
        named(Named("ReentrantLock at PlantedConnectionController:", inside=Slow("db-pool", "lock", 7, 0.07))),
        both(1 / 0.0703),
    ),
    Case(
        "a wait in the hold of a connection, longer under load",
        POOLS,
        "/planted/connection/wait",
        wait("23ms"),
        13,
        named(Named("Thread.sleep at PlantedConnectionController:", inside=Slow("db-pool", "wait", 13, 0.023))),
        both(7 / (13 * 0.023)),
    ),
    Case(
        "few connections to the service behind",
        POOLS,
        "/downstream",
        wait("370ms"),
        23,
        named(Named("client-pool", 9, then="load")),
        both(9 / 0.373),
    ),
    # Five tasks of a request are five threads' work for one wait.
    Case(
        "few threads of an executor",
        POOLS,
        "/fan-out",
        {"tasks": "5", "duration": "290ms"},
        3,
        named(Named("executor", 8, then="load")),
        both(8 / (5 * 0.29)),
    ),
    Case(
        "a semaphore that no metric shows",
        POOLS,
        "/semaphore",
        wait("410ms"),
        29,
        named(Named("Semaphore at SemaphoreController:")),
        both(11 / 0.41),
        single=SHORT,
    ),
    Case(
        "fewer connections than users",
        FEW_CONNECTIONS,
        "/thread",
        wait("430ms"),
        31,
        named(Named("connections", 19, then="load")),
        both(19 / 0.433),
        single=SHORT,
    ),
    Case(
        "a slow service behind",
        FEW_CONNECTIONS,
        "/downstream",
        wait("170ms"),
        17,
        named(Named("downstream", inside=Slow("client-pool", "downstream", 3, 0.17))),
        both(3 / 0.172),
    ),
    # Long chains: what the JIT compiler takes counts as little then. Few users, because every thread that computes
    # delays the scrapes of a JVM with so little CPU.
    Case(
        "a computation",
        LITTLE_CPU,
        "/cpu",
        {"iterations": "300000"},
        7,
        named(Named("cpu", 0.37)),
        single="6s",
        measure="11s",
    ),
    # Either would allow about as much without the other. With one carrier virtual threads would be short of carriers.
    Case(
        "a knee of CPU and users",
        TWO_CARRIERS,
        "/mixed",
        {"duration": "150ms", "iterations": "200000"},
        8,
        named(Named("cpu", or_resources=("load",))),
        single="6s",
        measure="9s",
    ),
    # The same users and requests: with two carriers they are served as by platform threads (wait-and-compute).
    Case(
        "computations that keep the only carrier",
        ONE_CARRIER,
        "/mixed",
        {"duration": "150ms", "iterations": "600000"},
        8,
        {PLATFORM: Named("load", or_resources=("cpu",)), VIRTUAL: Named("carriers", starved=True)},
        single="6s",
        measure="9s",
        findings=frozenset({"starved-carriers"}),
    ),
    Case(
        "a computation in the hold of the only connection, longer under load",
        ONE_CONNECTION,
        "/planted/connection/computation",
        {"iterations": "97000"},
        5,
        # The line that computes, in what the controller calls.
        named(Named("HashChain:", inside=Slow("db-pool", "computation", 5))),
    ),
    Case(
        "a heap that is nearly full of what is alive",
        FULL_HEAP,
        "/planted/memory/replace",
        {"kilobytes": "1000"},
        5,
        named(Named("memory")),
    ),
    Case(
        "pinned carriers",
        PINNED,
        "/pinned",
        wait("470ms"),
        7,
        {PLATFORM: Named("load", 7), VIRTUAL: Named("carriers", 3, then="load")},
        {PLATFORM: 7 / 0.47, VIRTUAL: 3 / 0.47},
        single=SHORT,
        # Flight Recorder delivers pins once a second, on a busy machine later: of a window of 4 s a fourth was missing.
        least=30.0,
        findings=frozenset({"pinned-threads", "too-few-carriers"}),
    ),
]
