"""Limits without a meter, planted in a service that knows nothing of vtlab, below and above the load.

Below it each must be named for both variants; above it the load, and nothing else that would be reached first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from tests.support import short_lab
from tests.support.experiments import tiny
from tests.support.foreign import SHOP, built
from tests.support.planted_cases import PLATFORM, VIRTUAL, both
from tests.support.privileges import needs_root
from tests.support.short_lab import SHORT, Jvms, Lab, ShortBlock, windows
from vtlab.analysis.findings.measured import measured_findings
from vtlab.analysis.variant_results import variant_result
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block
from vtlab.model.verdict import VariantResult
from vtlab.services.resolve import complete

pytestmark = [pytest.mark.timeout(1800), needs_root]

#: H2 hands a row's lock to any of those who wait: the unluckiest would wait for longer than its time-out.
PATIENT = Jvms(settings={"SPRING_DATASOURCE_HIKARI_CONNECTIONINITSQL": "set lock_timeout 60000"})
VARIANTS = (PLATFORM, VIRTUAL)


@dataclass(frozen=True)
class Limit:
    """A limit whose size is asked for, and what names it."""

    kind: str
    #: How long a request has a unit of it, or works after it has a token.
    milliseconds: int
    users: int
    #: Too few of it for the users, and more than enough.
    below: int
    above: int
    #: The requests a second of the smaller size.
    rate: float
    #: A regular expression of the resource, and of the place beside it.
    resource: str
    place: str = ""

    @property
    def load_rate(self) -> float:
        """The requests a second of users who never wait."""
        return 1000 * self.users / self.milliseconds

    def experiment(self, size: int, rate: float) -> Experiment:
        """Returns the experiment that asks for this size, at so many requests a second."""
        service = {"jar": str(built(SHOP)), "directory": str(SHOP.parent)}
        query = {"kind": self.kind, "size": str(size), "duration": f"{self.milliseconds}ms"}
        requests = [{"path": "/limited", "query": query}]
        settings = dict(PATIENT.settings)
        return complete(tiny(service=service, settings=settings, requests=requests, **windows(self.users, both(rate))))


LIMITS = [
    Limit("executor", 210, 19, 5, 61, 5 / 0.21, "executor", r"FutureTask at LimitController:\d+"),
    Limit("semaphore", 210, 19, 5, 61, 5 / 0.21, r"Semaphore at LimitController:\d+"),
    # Who works after the wait for a token is no queue: three users of four must wait.
    Limit("bucket", 110, 19, 40, 4000, 40, r"Thread\.sleep at TokenBucket:\d+"),
    Limit("lock", 90, 13, 1, 61, 1 / 0.0903, r"ReentrantLock at LimitController:\d+"),
    # Fewer users than the six connections: only the row is scarce.
    Limit("row", 130, 5, 1, 61, 1 / 0.132, "database"),
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with short_lab.lab(tmp_path_factory.mktemp("limits")) as made:
        yield made


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.kind)
def test_a_limit_below_the_load_is_named(lab: Lab, limit: Limit) -> None:
    """An executor, a semaphore, a token bucket, a lock and a row of a foreign service that are too few for the load are
    named for both variants, with their place in the code."""
    planned = limit.experiment(limit.below, limit.rate)

    def judge(result: VariantResult) -> None:
        assert result.throughput == pytest.approx(limit.rate, rel=0.15), result
        assert re.fullmatch(limit.resource, result.bottleneck.resource), result
        assert re.fullmatch(limit.place, result.bottleneck.place or ""), result
        assert (result.bottleneck.bound, result.bottleneck.inside) == (None, None), result
        # With more of it these users would all be served: no metered resource comes before the load.
        assert result.next is None or result.next.resource == "load", result

    judged(lab, planned, VARIANTS, judge)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.kind)
def test_a_limit_above_the_load_is_not_named(lab: Lab, limit: Limit) -> None:
    """The same limits, where there are more than enough, are not named: the load is."""
    planned = limit.experiment(limit.above, limit.load_rate)

    def judge(result: VariantResult) -> None:
        assert (result.bottleneck.resource, result.bottleneck.together) == ("load", []), result
        assert result.throughput == pytest.approx(limit.load_rate, rel=0.15), result

    # Each waits for the same there: one variant tells.
    judged(lab, planned, [VIRTUAL], judge)


def judged(lab: Lab, planned: Experiment, variants: Sequence[str], judge: Callable[[VariantResult], None]) -> None:
    """Measures a block of these variants and has the result of each judged; what limits both alike is no finding."""

    def check(block: Block) -> None:
        results = {name: variant_result(planned, [block], name) for name in variants}
        for result in results.values():
            judge(result)
        assert measured_findings(planned, [block], results) == []

    lab.judged(ShortBlock(PATIENT, planned, variants, single=SHORT), check)
