"""Planted bottlenecks: the real app under real load must be limited by what was planted, and by that name."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator

import pytest

from tests.support.experiments import tiny
from tests.support.planted import planted_service
from tests.support.privileges import needs_root
from tests.support.runs import RunFolder
from tests.support.stalls import Stalls, undisturbed
from vtlab.analysis import checks, laws
from vtlab.analysis.laws import Measured
from vtlab.errors import BlockFault
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block
from vtlab.targets.local.target import LocalBlock, LocalTarget

__all__ = ["planted_service"]

pytestmark = [
    pytest.mark.timeout(600),
    needs_root,
]

#: A block here is shorter than a run's: little warm-up, one trial for each variant. All other validity checks hold.
NOT_HERE = {"trials complete", "warm-up cycles", "steady state"}


def waiting(
    wait: str, users: int, platform: float, virtual: float, measure: str, path: str = "/thread", **more: object
) -> Experiment:
    """``users`` that wait, served at these rates; ``measure`` must be whole rounds (users / rate), or it cuts bursts.

    The wait must be long: what a cold JVM and a busy machine add to it counts as little then.
    """
    return tiny(
        request={"path": path, "query": {"duration": wait}},
        load={"users": users, "round": {"platform": in_ms(users / platform), "virtual": in_ms(users / virtual)}},
        windows={"warmup_users": 10, "warmup_load": "1s", "measure": measure},
        **more,
    )


def in_ms(seconds: float) -> str:
    return f"{round(1000 * seconds)}ms"


Judge = Callable[[Measured], None]


class Lab:
    """One target for all the tests, and one pair of JVMs for all that have the same settings and limits."""

    def __init__(self, run: RunFolder, target: LocalTarget, stalls: Stalls) -> None:
        self.run = run
        self.target = target
        self.stalls = stalls
        self.numbers = itertools.count(1)
        self.block: LocalBlock | None = None

    def explains(self, planned: Experiment, platform: Judge, virtual: Judge) -> None:
        """Measures a block and has each variant judged.

        Against vtlab counts only a block that its validity checks accept and in which the machine did not stall.
        """
        self.run.plan(planned)
        number = next(self.numbers)

        def judge(block: Block) -> None:
            for variant, judge_variant in (("platform", platform), ("virtual", virtual)):
                judge_variant(laws.measured([block], planned, variant))

        def disturbances(block: Block) -> list[str]:
            return rejected(block, planned) + self.stalls.disturbed([*block.single, *block.trials])

        undisturbed(lambda attempt: self._measured(planned, number, attempt), judge, disturbances, attempts=3)

    def _measured(self, planned: Experiment, number: int, attempt: int) -> Block:
        started = self._started(planned, number, attempt)
        try:
            document = started.load(order=planned.variants, warmup_cycles=2, single="3s")
        except BlockFault:
            self.block = None
            raise
        return Block(
            block=number,
            attempt=attempt,
            order=planned.variants,
            agreed=document.agreed,
            warmup=document.warmup,
            single=document.single,
            trials=document.trials,
            instances=started.instances,
        )

    def _started(self, planned: Experiment, number: int, attempt: int) -> LocalBlock:
        """A name is no ratio: what is planted in different resources is planted in the same JVMs."""
        if self.block and jvms_of(self.block.experiment) == jvms_of(planned):
            self.block = self.block.renumbered(planned, number, attempt)
        else:
            self.block = None
            self.block = self.target.start(planned, number, attempt)
        return self.block


def jvms_of(planned: Experiment) -> object:
    """What JVMs are started with."""
    return planned.service, planned.settings, planned.properties, planned.limits, planned.needs


def rejected(block: Block, planned: Experiment) -> list[str]:
    # The bounds hang on the single-user phases as much as on the trials.
    judged = block.model_copy(update={"trials": [*block.single, *block.trials]})
    failed = [check for check in checks.results([judged], planned) if not check.passed]
    return [f"{check.name}: {check.worst}" for check in failed if check.name not in NOT_HERE]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    run = RunFolder(tmp_path_factory.mktemp("bottlenecks"), tiny())
    with run.target() as target, contextlib.closing(Stalls()) as stalls:
        yield Lab(run, target, stalls)


def limited_by(resource: str, capacity: float, then: str | None = None) -> Judge:
    """By this resource alone, of which there is as much as was planted. Of the other bounds, that of ``then`` is the
    next larger; where a cold JVM's CPU comes in nearer depends on the machine. What would be next is not always said.
    """

    def judge(m: Measured) -> None:
        explained = laws.explain(m)
        assert explained.bottleneck.resource == resource, explained
        assert explained.bottleneck.together == [], explained
        assert explained.bottleneck.utilisation is not None
        assert explained.bottleneck.utilisation <= 1.1
        assert explained.modelled is not None
        assert m.throughput is not None
        assert m.throughput >= 0.9 * explained.modelled
        assert explained.bottleneck.bound is not None
        assert explained.bottleneck.bound * explained.bottleneck.utilisation == pytest.approx(m.throughput)
        bounds = {bound.resource: bound for bound in explained.bounds}
        assert bounds[resource].capacity == pytest.approx(capacity)
        assert ("tomcat-threads" in bounds) == (m.variant == "platform")
        larger = [b for b in explained.bounds if b.bound >= explained.bottleneck.bound and b.resource != resource]
        assert explained.next is None or (explained.next.resource, explained.next.bound) == (
            larger[0].resource,
            larger[0].bound,
        )
        planted = [bound.resource for bound in larger if bound.resource != "cpu"]
        assert then in (None, *planted[:1]), larger

    return judge


#: One of everything that can be scarce at the same time, as each request needs only one of them.
PLANTED = {
    "SERVER_TOMCAT_THREADS_MAX": "50",
    "SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE": "10",
    "LAB_DOWNSTREAM_MAX_CONNECTIONS": "10",
    "LAB_FANOUT_EXECUTOR": "pool8",
    "LAB_SEMAPHORE_PERMITS": "10",
}
BESIDE = ["database", "downstream"]


@pytest.fixture
def planted(planted_service: str) -> dict[str, object]:
    return {"service": planted_service, "settings": PLANTED, "needs": BESIDE}


@pytest.mark.small
def test_tomcat_threads_limit_platform_and_virtual_has_none(lab: Lab, planted: dict[str, object]) -> None:
    """tomcat-threads is named for platform, and load for virtual, where there are more users than threads."""
    planned = waiting("800ms", 100, 62.5, 125, "4800ms", **planted)
    lab.explains(planned, limited_by("tomcat-threads", 50, then="load"), limited_by("load", 100))


def test_a_light_load_limits_both_itself(lab: Lab, planted: dict[str, object]) -> None:
    """users is named for both variants where everything else is plentiful."""
    planned = waiting("400ms", 10, 25, 25, "3200ms", **planted)
    lab.explains(planned, limited_by("load", 10), limited_by("load", 10))


@pytest.mark.small
def test_connections_of_the_database_limit_both(lab: Lab, planted: dict[str, object]) -> None:
    """db-pool is named where requests wait for connections of the pool."""
    planned = waiting("400ms", 16, 25, 25, "6400ms", "/stress/sleep", **planted)
    lab.explains(planned, limited_by("db-pool", 10, then="load"), limited_by("db-pool", 10, then="load"))


@pytest.mark.small
def test_connections_to_the_downstream_limit_both(lab: Lab, planted: dict[str, object]) -> None:
    """client-pool is named where requests wait for connections to another service."""
    planned = waiting("400ms", 16, 25, 25, "6400ms", "/downstream", **planted)
    lab.explains(planned, limited_by("client-pool", 10, then="load"), limited_by("client-pool", 10, then="load"))


@pytest.mark.small
def test_an_executor_limits_both(lab: Lab, planted: dict[str, object]) -> None:
    """executor is named where tasks wait for threads of an executor."""
    # Eight tasks are eight threads' work for one wait.
    planned = tiny(
        request={"path": "/fan-out", "query": {"tasks": "8", "duration": "400ms"}},
        load={"users": 2, "round": {"platform": "800ms", "virtual": "800ms"}},
        windows={"warmup_users": 2, "warmup_load": "1s", "measure": "8s"},
        **planted,
    )
    lab.explains(planned, limited_by("executor", 8, then="load"), limited_by("executor", 8, then="load"))


@pytest.mark.small
def test_what_no_metric_shows_is_unknown(lab: Lab, planted: dict[str, object]) -> None:
    """unknown is named where requests wait for a semaphore that no metric shows."""

    def unexplained(m: Measured) -> None:
        shortest = laws.shortest_response(m)
        assert shortest is not None
        assert m.throughput is not None
        assert 1 <= shortest / 0.4 < 1 / 0.9, "a request alone does not wait for a permit"
        assert 0.9 <= m.throughput * shortest / 10 <= 1 / 0.9, "under load the permits are the bound"
        explained = laws.explain(m)
        assert explained.bottleneck.resource == "unknown", explained
        assert (explained.bottleneck.bound, explained.bottleneck.utilisation) == (None, None)
        assert {bound.resource for bound in explained.bounds} >= {"connections", "load"}
        assert max(bound.utilisation for bound in explained.bounds) < 0.5, "no bound is anywhere near"

    # Few enough that fewer than half of the threads wait.
    planned = waiting("400ms", 22, 25, 25, "3200ms", "/semaphore", **planted)
    lab.explains(planned, unexplained, unexplained)


@pytest.mark.small
def test_connections_limit_both(lab: Lab) -> None:
    """connections is named where Tomcat accepts fewer connections than there are users."""
    # 10 users wait in Tomcat's accept queue (100). A connection serves one request, or the first 20 would keep theirs.
    few = {"SERVER_TOMCAT_MAX_CONNECTIONS": "20", "SERVER_TOMCAT_MAX_KEEP_ALIVE_REQUESTS": "1"}
    planned = waiting("400ms", 30, 50, 50, "3600ms", settings=few)
    connections = limited_by("connections", 20, then="load")
    lab.explains(planned, connections, connections)


@pytest.mark.small
def test_the_cpu_limits_both(lab: Lab) -> None:
    """cpu is named where requests compute under a CPU limit."""
    planned = tiny(
        # Long chains: what the JIT compiler takes counts as little then.
        request={"path": "/cpu", "query": {"iterations": "200000"}},
        # Few, because every thread that computes delays the scrapes of a JVM with so little CPU.
        load={"users": 5},
        # What a throttled JVM says of its CPU is up to a second late: little of ten.
        windows={"warmup_users": 5, "warmup_load": "1s", "measure": "10s"},
        limits={"cpu": 0.25},
    )
    lab.explains(planned, limited_by("cpu", 0.25), limited_by("cpu", 0.25))


@pytest.mark.small
def test_carriers_limit_virtual_where_they_are_pinned(lab: Lab) -> None:
    """carriers is named, with the place in the code, where virtual threads of JDK 21 are pinned."""
    both: dict[str, object] = {name: {"threads": name, "java": 21} for name in ("platform", "virtual")}
    planned = waiting(
        "400ms",
        2,
        5,
        2.5,
        "8s",
        "/pinned",
        settings={"LAB_PINNED_LOCK": "monitor"},
        properties=both,
        needs=["jdk21"],
    )

    def pinned(m: Measured) -> None:
        limited_by("carriers", 1, then="load")(m)
        (place, waits), *_ = m.trials[0].pinned.items()
        assert re.fullmatch(r"lab\.virtualthreads\.pinned\.\w+:\d+", place)
        assert waits == pytest.approx(m.trials[0].ok, rel=0.5), "one for each request"

    lab.explains(planned, limited_by("load", 2), pinned)
