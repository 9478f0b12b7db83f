"""Thread dumps of real JVMs under real load must show what the requests were made to wait for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from tests.support.experiments import tiny
from tests.support.privileges import needs_root
from tests.support.runs import RunFolder
from vtlab.analysis.dumps import breakdown, places
from vtlab.analysis.dumps.places import Cause
from vtlab.model.experiment import Experiment
from vtlab.model.records import Diagnosis
from vtlab.planning import dump_schedule
from vtlab.planning.load_call import AS_PLANNED
from vtlab.targets.local.block import LocalBlock
from vtlab.targets.local.target import LocalTarget

pytestmark = [pytest.mark.timeout(600), needs_root]

USERS = 16
POOLS = {"SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE": "10", "LAB_DOWNSTREAM_MAX_CONNECTIONS": "10"}
ON_JDK_21 = {name: {"threads": name, "java": 21} for name in ("platform", "virtual")}


@dataclass
class Lab:
    """One pair of JVMs for all workloads that have the same JDK."""

    run: RunFolder
    target: LocalTarget
    block: LocalBlock | None = None

    def diagnoses(self, path: str, jdk21: bool) -> dict[str, Diagnosis]:
        """What dumps show of 16 users whose requests take 400 ms where nothing queues."""
        more = {"properties": ON_JDK_21} if jdk21 else {}
        planned = tiny(
            requests=[{"path": path, "query": {"duration": "400ms"}}],
            load={"full": {"users": USERS}},
            windows={"measure": "5s"},
            settings=POOLS,
            needs=["database", "downstream", *(["jdk21"] if jdk21 else [])],
            **more,
        )
        self.run.plan(planned)
        if self.block and same_jvms(self.block.experiment, planned):
            self.block = self.block.renumbered(planned, self.block.start.number + 1, 1)
        else:
            self.block = self.target.start(planned, 1, 1)
        diagnoses = self.block.diagnose(dict.fromkeys(planned.variants, AS_PLANNED))
        assert list(self.run.folder.rglob("dumps-*")) == [], "nothing of them is left"
        return diagnoses


def same_jvms(one: Experiment, other: Experiment) -> bool:
    return one.properties == other.properties


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    run = RunFolder(tmp_path_factory.mktemp("diagnosis"), tiny())
    with run.target() as target:
        yield Lab(run, target)


def check(
    diagnoses: dict[str, Diagnosis], variants: Sequence[str], pool: str | None, activity: str, place: str
) -> None:
    assert list(diagnoses) == list(variants)
    for diagnosis in diagnoses.values():
        assert diagnosis.dumps >= 1
        # All users wait for an answer all the time, but for k6's and Tomcat's parts of it.
        # A thread that has just answered still counts while its user asks another.
        assert USERS / 2 < diagnosis.threads <= breakdown.CONTRADICTED * USERS, diagnosis
        # What of a request's time has a resource or a place in the code.
        time = breakdown.by_dumps(diagnosis, diagnosis.throughput or 0.0)
        assert time is not None, diagnosis
        assert time.explained >= 0.8, time
        assert time.cpu_share is not None, "what the dumps cost was measured"
        assert time.cpu_share <= 2 * dump_schedule.SHARE, time
        cause = places.cause(diagnosis, pool)
        assert isinstance(cause, Cause), diagnosis
        assert cause.activity == activity, diagnosis
        assert cause.place is not None
        assert cause.place.startswith(place), diagnosis


WORKLOADS = [
    ("/thread", None, "wait", "Thread.sleep at SleepController:"),
    ("/stress/sleep", "db-pool", "database", "Connector/J at StressController:"),
    ("/downstream", "client-pool", "downstream", "Apache HttpClient at DownstreamController:"),
]


@pytest.mark.parametrize(("path", "pool", "activity", "place"), WORKLOADS)
def test_dumps_show_what_holders_wait_for(lab: Lab, path: str, pool: str | None, activity: str, place: str) -> None:
    """Thread dumps name what the requests, or the holders of a full pool, wait for, with the line of code, and four
    fifths of a request's time at least. They take about a tenth of the CPU limit at most."""
    check(lab.diagnoses(path, jdk21=False), ["platform", "virtual"], pool, activity, place)


@pytest.mark.parametrize(("path", "pool", "activity", "place"), WORKLOADS)
def test_dumps_of_jdk_21_show_the_same(lab: Lab, path: str, pool: str | None, activity: str, place: str) -> None:
    """Thread dumps of JDK 21, which have no states, name the same."""
    check(lab.diagnoses(path, jdk21=True), ["platform", "virtual"], pool, activity, place)
