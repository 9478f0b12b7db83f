"""Planted bottlenecks: the real app under real load must be limited by what was planted, and by that name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pytest

from tests.support import short_lab
from tests.support.planted import planted_service
from tests.support.privileges import needs_root
from tests.support.short_lab import SHORT, WITH_TIMERS, Jvms, Lab, windows
from tests.support.stalls import undisturbed
from vtlab.analysis.laws.explanation import COLLECTING, Explanation, explain
from vtlab.analysis.laws.phases import Measured, of_variant
from vtlab.catalogue.resources import WORDS
from vtlab.model.experiment import Experiment
from vtlab.model.records import Activity, Block

__all__ = ["planted_service"]

pytestmark = [pytest.mark.timeout(600), needs_root]

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
        "LAB_PLANTED_LOCK": "true",
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
class Slow:
    """What is slow inside a full pool: what the holders of its units do, and how much longer under load than alone."""

    pool: str
    activity: Activity
    times: float
    #: Seconds, where that is no matter of the machine.
    alone: float | None = None


@dataclass(frozen=True)
class Named:
    """What a variant must be told to be limited by."""

    #: Of a place in the code, the beginning.
    resource: str
    #: How much of it was planted.
    capacity: float | None = None
    together: tuple[str, ...] = ()
    #: Further names that are as right: at a knee noise decides which of two it is.
    or_resources: tuple[str, ...] = ()
    inside: Slow | None = None
    #: Of the planted bounds that are larger, the smallest.
    then: str | None = None
    #: Whether virtual threads are ready and wait for it, and no bound says so.
    starved: bool = False

    def judge(self, m: Measured) -> None:
        """AssertionError where a measurement is named otherwise, or with other figures."""
        explained = explain(m)
        limit = explained.bottleneck
        if self.inside or self.resource not in WORDS:
            assert limit.resource.startswith(self.resource), explained
            assert (limit.utilisation, limit.bound, limit.together) == (None, None, []), explained
            self._judge_inside(explained)
            self._judge_without_dumps(m, explained)
        else:
            assert limit.resource in (self.resource, *self.or_resources), explained
            if not self.or_resources:
                assert tuple(limit.together) == self.together, explained
            self._judge_bounds(m, explained)

    def _judge_inside(self, explained: Explanation) -> None:
        inside = explained.bottleneck.inside
        assert (inside is None) == (self.inside is None), explained
        if inside is None or self.inside is None:
            return
        assert (inside.pool, inside.activity) == (self.inside.pool, self.inside.activity), explained
        assert inside.loaded / inside.alone == pytest.approx(self.inside.times, rel=0.25), explained
        if self.inside.alone is not None:
            # A cold JVM adds some milliseconds.
            assert self.inside.alone <= inside.alone <= 1.1 * self.inside.alone + 0.005, explained
        expected = explained.bottleneck.resource if inside.place else None
        assert inside.place == expected, explained
        assert explained.next is None or explained.next.resource != inside.pool, explained

    def _judge_without_dumps(self, m: Measured, explained: Explanation) -> None:
        """Without thread dumps the same is unknown, with the same pool."""
        blind = replace(m, blocks=[replace(phases, diagnosis=None) for phases in m.blocks])
        without = explain(blind).bottleneck
        assert without.resource == "unknown", without
        pool = explained.bottleneck.inside.pool if explained.bottleneck.inside else None
        assert (without.inside.pool if without.inside else None) == pool, without

    def _judge_bounds(self, m: Measured, explained: Explanation) -> None:
        limit = explained.bottleneck
        if limit.resource == "memory":
            assert any((t.server.get("gc_share") or 0) >= COLLECTING for t in m.trials), explained
            return
        if self.starved:
            assert (limit.utilisation, limit.bound, limit.together) == (None, None, []), explained
            assert all((t.server.get("virtual_queued") or 0) >= 1 for t in m.trials), explained
            return
        assert limit.utilisation is not None
        assert limit.bound is not None
        assert limit.utilisation <= 1.1, explained
        assert explained.modelled is not None
        assert m.throughput is not None
        assert m.throughput >= 0.9 * explained.modelled
        assert limit.bound * limit.utilisation == pytest.approx(m.throughput)
        bounds = {bound.resource: bound for bound in explained.bounds}
        assert ("tomcat-threads" in bounds) == (m.variant == PLATFORM)
        if self.capacity is not None:
            assert bounds[limit.resource].capacity == pytest.approx(self.capacity)
        shared = (limit.resource, *limit.together)
        larger = [b for b in explained.bounds if b.bound >= limit.bound and b.resource not in shared]
        assert explained.next is None or explained.next.resource == larger[0].resource, explained
        # Where a cold JVM's CPU comes in depends on the machine.
        planted = [bound.resource for bound in larger if bound.resource != "cpu"]
        assert self.then is None or planted[:1] == [self.then], larger


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

    def experiment(self, planted_service: str) -> Experiment:
        """What is measured."""
        request = {"path": self.path, "query": dict(self.query)}
        if self.rates:
            return self.jvms.experiment(planted_service, request=request, **windows(self.users, self.rates))
        # Of a throttled JVM the figures of the CPU are up to a second late: little of so long a window.
        lengths = {"warmup_users": self.users, "warmup_load": "1500ms", "measure": self.measure}
        return self.jvms.experiment(planted_service, request=request, load={"users": self.users}, windows=lengths)


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
        97,
        {PLATFORM: Named("tomcat-threads", 43, then="load"), VIRTUAL: Named("load", 97)},
        {PLATFORM: 43 / 0.7, VIRTUAL: 97 / 0.7},
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
        "a lock outside of any pool",
        POOLS,
        "/planted/lock",
        wait("90ms"),
        13,
        named(Named("ReentrantLock at PlantedLockController:")),
        both(1 / 0.0903),
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
        {"duration": "150ms", "iterations": "200000"},
        8,
        {PLATFORM: Named("load", or_resources=("cpu",)), VIRTUAL: Named("carriers", starved=True)},
        single="6s",
        measure="9s",
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
    ),
]
#: One of each name.
OF_EACH_NAME = {
    "more users than threads": (PLATFORM, VIRTUAL),
    "few database connections": (VIRTUAL,),
    "a row that every request locks": (PLATFORM,),
    "few connections to the service behind": (PLATFORM,),
    "few threads of an executor": (VIRTUAL,),
    "a semaphore that no metric shows": (VIRTUAL,),
    "fewer connections than users": (PLATFORM,),
    "a slow service behind": (VIRTUAL,),
    "a computation": (PLATFORM,),
    "a heap that is nearly full of what is alive": (VIRTUAL,),
    "pinned carriers": (VIRTUAL,),
    "computations that keep the only carrier": (VIRTUAL,),
}
SMALL = [(case, variant) for case in CASES for variant in OF_EACH_NAME.get(case.name, ())]
REST = [(case, variant) for case in CASES for variant in (PLATFORM, VIRTUAL) if (case, variant) not in SMALL]


def ids(pairs: list[tuple[Case, str]]) -> list[str]:
    return [f"{case.name.replace(' ', '-')}-{variant}" for case, variant in pairs]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with short_lab.lab(tmp_path_factory.mktemp("bottlenecks")) as made:
        yield made


def check(lab: Lab, case: Case, variant: str, service: str) -> None:
    planned = case.experiment(service)

    def judge(block: Block) -> None:
        case.named[variant].judge(of_variant([block], planned, variant))
        if case.jvms is PINNED and variant == VIRTUAL:
            check_pinned(block)

    lab.judged(case.jvms, planned, [variant], judge, single=case.single)


def check_pinned(block: Block) -> None:
    """The place in the code is known where virtual threads of JDK 21 are pinned."""
    (trial,) = block.trials
    (place, waits), *_ = trial.pinned.items()
    assert re.fullmatch(r"lab\.virtualthreads\.pinned\.\w+:\d+", place)
    assert waits == pytest.approx(trial.ok, rel=0.5), "one for each request"


@pytest.mark.small
@pytest.mark.parametrize(("case", "variant"), SMALL, ids=ids(SMALL))
def test_each_name_is_given_where_it_was_planted(lab: Lab, planted_service: str, case: Case, variant: str) -> None:
    """Every name of a bottleneck is given where it was planted; what only thread dumps show is unknown without them."""
    check(lab, case, variant, planted_service)


@pytest.mark.parametrize(("case", "variant"), REST, ids=ids(REST))
def test_what_was_planted_is_named_for_the_other_variant_too(
    lab: Lab, planted_service: str, case: Case, variant: str
) -> None:
    """What was planted is named for both variants; locks, waits and computations in a pool's hold by their place, a tie
    by both names, a knee never as unknown.
    """
    check(lab, case, variant, planted_service)


def test_what_is_next_is_what_more_users_reach(lab: Lab) -> None:
    """The CPU's bound that phases of light load give, named as what would limit next, is what more users reach."""
    # Users whose waits are equal go in step: they wait all at once, and the CPU has nothing to do.
    many, few = (
        MORE_CPU.experiment(
            "",
            request={"path": "/mixed", "query": {"duration": duration, "iterations": "60000"}},
            load={"users": users},
            windows={
                "warmup_users": users,
                # Some 10,000 short requests: the slope is that of a JVM whose compiler is done.
                "warmup_query": {"duration": "5ms", "iterations": "600"},
                "warmup_load": "10s",
                "measure": "9s",
            },
        )
        # The fewer use almost half of the CPU: with less, five short phases seldom tell its slope within 20 %.
        for users, duration in ((41, "exp(130ms)"), (9, "130ms"))
    )

    def measure(attempt: int) -> tuple[Block, Block]:
        # More load first: the compiler is done then.
        return (
            lab.measured(MORE_CPU, many, [VIRTUAL], 1, attempt, single=SHORT),
            lab.measured(MORE_CPU, few, [VIRTUAL], 2, attempt, single=SHORT, with_light=True),
        )

    def judge(blocks: tuple[Block, Block]) -> None:
        under_load, alone = (
            of_variant([block], planned, VIRTUAL) for block, planned in zip(blocks, (many, few), strict=True)
        )
        assert explain(under_load).bottleneck.resource == "cpu", explain(under_load)
        explained = explain(alone)
        assert explained.bottleneck.resource == "load", explained
        assert explained.next is not None, explained
        assert explained.next.resource == "cpu", explained
        assert under_load.throughput == pytest.approx(explained.next.bound, rel=0.12)

    def disturbances(blocks: tuple[Block, Block]) -> list[str]:
        return [reason for block, of in zip(blocks, (many, few), strict=True) for reason in lab.disturbances(block, of)]

    undisturbed(measure, judge, disturbances, attempts=3)
