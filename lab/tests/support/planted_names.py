"""Expected bottlenecks where one was planted, with their figures."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from vtlab.analysis.laws.demands import capacity, demand
from vtlab.analysis.laws.explanation import COLLECTING, Explanation, explain
from vtlab.analysis.laws.phases import Measured
from vtlab.analysis.laws.single_user import estimate_alone, round_alone, shortest_response
from vtlab.catalogue.resources import REACHED, RESOURCES, WORDS
from vtlab.model.records import Activity


@dataclass(frozen=True)
class Slow:
    """A slow activity of the holders of a full pool's units, and how much longer it takes under load than alone."""

    pool: str
    activity: Activity
    times: float
    #: Seconds, where that is no matter of the machine.
    alone: float | None = None


@dataclass(frozen=True)
class Named:
    """The bottleneck that a variant must be said to have."""

    #: Resource, or the beginning of a place in the code.
    resource: str
    #: How much of it was planted.
    capacity: float | None = None
    together: tuple[str, ...] = ()
    #: Further names that are as right: at a knee noise decides which of two it is.
    or_resources: tuple[str, ...] = ()
    inside: Slow | None = None
    #: The next planted bound.
    then: str | None = None
    #: Whether virtual threads are ready and wait for it, and no bound says so.
    starved: bool = False

    def judge(self, m: Measured) -> None:
        """Raises AssertionError where the bottleneck of a measurement is another, or has other figures."""
        explained = explain(m)
        limit = explained.bottleneck
        if self.inside or self.resource not in WORDS:
            assert limit.resource.startswith(self.resource), explained
            assert (limit.utilisation, limit.bound, limit.together) == (None, None, []), explained
            self._judge_inside(m, explained)
            self._judge_without_dumps(m, explained)
        else:
            assert limit.resource in (self.resource, *self.or_resources), explained
            if not self.or_resources:
                assert tuple(limit.together) == self.together, explained
            self._judge_bounds(m, explained)

    def _judge_inside(self, m: Measured, explained: Explanation) -> None:
        inside = explained.bottleneck.inside
        assert (inside is None) == (self.inside is None), explained
        if inside is None or self.inside is None:
            return
        assert (inside.pool, inside.activity) == (self.inside.pool, self.inside.activity), explained
        assert inside.loaded / inside.alone == pytest.approx(self.inside.times, rel=0.25), explained
        if self.inside.alone is not None:
            # A cold JVM on a slow machine adds milliseconds: to what its lone user waits, too.
            waited = shortest_response(m)
            assert waited is not None
            # Holds and answers have a meter each: at its edges a phase may have the one without the other.
            least = self.inside.alone * (1 - len(m.single) / sum(phase.ok for phase in m.single))
            assert least <= inside.alone <= 1.1 * waited, explained
        expected = explained.bottleneck.resource if inside.place else None
        assert inside.place == expected, explained
        assert explained.next is None or explained.next.resource != inside.pool, explained

    def _judge_without_dumps(self, m: Measured, explained: Explanation) -> None:
        """Asserts that without thread dumps the same is unknown, with the same pool."""
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
        assert m.throughput is not None
        # Where a machine lets the times of a lone user scatter, vtlab has no model, and says so. The name stands.
        alone = estimate_alone(m, round_alone)
        is_alone_known = alone is not None and alone.high is not None and alone.is_known
        assert explained.modelled is not None or not is_alone_known, (alone, explained)
        least = REACHED * (limit.bound if explained.modelled is None else explained.modelled)
        assert m.throughput >= least, explained
        assert limit.bound * limit.utilisation == pytest.approx(m.throughput)
        bounds = {bound.resource: bound for bound in explained.bounds}
        # The bound of the threads, too, rests on what a lone user's requests take.
        threads, has_threads = RESOURCES["tomcat-threads"], m.variant == "platform"
        assert (capacity(m, threads) is not None) == has_threads
        alone = demand(m, threads)
        is_known = alone is not None and alone.is_known
        assert ("tomcat-threads" in bounds) == (has_threads and is_known), (alone, explained)
        if self.capacity is not None:
            assert bounds[limit.resource].capacity == pytest.approx(self.capacity)
        shared = (limit.resource, *limit.together)
        larger = [b for b in explained.bounds if b.bound >= limit.bound and b.resource not in shared]
        assert explained.next is None or explained.next.resource == larger[0].resource, explained
        # Where a cold JVM's CPU comes in depends on the machine.
        planted = [bound.resource for bound in larger if bound.resource != "cpu"]
        assert self.then is None or planted[:1] == [self.then], larger
