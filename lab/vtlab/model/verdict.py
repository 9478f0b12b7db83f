"""Conclusions from the records: the verdict with its outcomes, and what limits each variant.

Latencies and durations are seconds, memory bytes, CPU seconds per request.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from vtlab.model.experiment import Limits
from vtlab.model.finding import Finding
from vtlab.model.outcome import Decision, LoadName, Outcome, ProbeResult
from vtlab.model.records import Activity, Failure


class _Conclusion(BaseModel):
    """Base of all conclusions: unknown keys are errors, as in records."""

    model_config = ConfigDict(extra="forbid")


class Bound(_Conclusion):
    """Most throughput that one resource allows: capacity over service demand."""

    resource: str
    #: Requests per second, with its 95 % interval; None where single values give none.
    bound: float
    low: float | None = None
    high: float | None = None
    #: Measured throughput over the bound.
    utilisation: float
    #: Cores, threads, connections, users.
    capacity: float
    #: Resource-seconds per request.
    service_demand: float

    @property
    def has_interval(self) -> bool:
        """Tells whether several values tell how well it is known."""
        return self.low is not None and self.high is not None


class Inside(_Conclusion):
    """A pool that is full below its bound: what is inside it has become slow. Far below, enlarging it does not help."""

    pool: str
    #: Seconds that a request holds one unit of it: alone, and under this load.
    alone: float
    loaded: float
    #: What the holders do, by thread dumps; None without these.
    activity: Activity | None = None
    #: The line of code of a lock, a wait or a computation.
    place: str | None = None


class Bottleneck(_Conclusion):
    """What limits a variant: a resource, or a place in the code; ``unknown`` when nothing measured explains it (no
    bound then)."""

    resource: str
    utilisation: float | None
    bound: float | None
    #: Resources that share the blame with it: as much more of one of them would help as much.
    together: list[str] = []
    inside: Inside | None = None
    #: The line of code that waits for the resource, where thread dumps name it and it has no meter.
    place: str | None = None

    @property
    def resources(self) -> list[str]:
        """All resources that limit the variant, the first one first."""
        return [self.resource, *self.together]

    @property
    def is_load_alone(self) -> bool:
        """Tells whether only the load limits the variant."""
        return self.resource == "load" and not self.together


class TimePart(_Conclusion):
    """Where a request spends a part of its time. ``outside``: no thread has it, and it is not known why: it may be on
    the network, in the server's connector or in the load generator."""

    activity: Activity | Literal["outside"]
    #: Place as of ``Place``; empty for ``server-queue`` and ``outside``.
    place: str
    #: Share of the client's mean latency.
    share: float
    #: None where the trial was slower than the blocks.
    seconds: float | None
    #: Requests there at a time, mean.
    requests: float
    #: It has a resource or a place.
    is_explained: bool


class Breakdown(_Conclusion):
    """Where the time of a request goes, of one trial that does not count: all figures are that trial's."""

    dumps: int
    throughput: float
    #: Mean, as the client saw it.
    latency: float
    #: The largest first; none where the dumps contradict the latency.
    parts: list[TimePart]
    #: Share of the latency that has a resource or a place.
    explained: float
    #: Share of the latency that the threads which handle requests account for.
    accounted: float
    #: The trial's throughput is more than 10 % below the blocks': there are shares and no seconds.
    is_slowed: bool
    #: The same as of ``Diagnosis``.
    dump_cpu: float | None = None
    cpu_share: float | None = None
    is_held_back: bool = False


class PoolTime(_Conclusion):
    """Time of a request at one pool, by the pool's own meters: means under the load of the trials, in seconds.

    Those of an executor are of all tasks of the request, which may run at the same time and may hold connections: times
    of several pools overlap, and may be more than the request takes.
    """

    #: Name as of ``Bound.resource``: ``db-pool``, ``client-pool``, ``executor``.
    name: str
    waiting: float
    holding: float


class VariantResult(_Conclusion):
    """One variant over all accepted blocks: means of trials; ratios of sums for the shares."""

    throughput: float
    latency: dict[str, float | None]
    error_ratio: float
    #: Share of the scheduled arrivals (open load) that was dropped.
    dropped_ratio: float
    #: CPU seconds per OK request.
    cpu_per_request: float | None
    #: Largest resident set, bytes.
    memory: float | None
    #: Server side mean, seconds; the client's mean minus it is the queue time.
    service_time: float | None
    queue_time: float | None
    #: Blocks that count and in which the variant failed; with the exact 95 % interval of their share.
    failed_blocks: int = 0
    failed_interval: tuple[float, float] | None = None
    failures: list[Failure] = []
    #: Blocks that count in which it was overloaded at typical load.
    overloaded_blocks: int = 0
    #: Probes by load.
    probes: dict[LoadName, ProbeResult] = {}
    #: Open load: requests in flight that were added each second, where that is more than chance: it is overloaded, and
    #: its latency depends on the length of the window alone.
    growth: float | None = None
    #: Closed load: users that no answer accounts for, where Little's law does not hold: the mean latency is too short.
    missing_users: float | None = None
    bottleneck: Bottleneck
    #: What would limit the variant next, were there more of the bottleneck.
    next: Bottleneck | None
    bounds: list[Bound]
    #: Pinnings of virtual threads per second by the place that had them wait, ``class:line``; most first.
    pinned: dict[str, float]
    #: Where the time of a request goes; None without thread dumps.
    time: Breakdown | None = None
    #: Times of the pools that its requests use and that have meters, with and without thread dumps.
    pool_times: list[PoolTime] = []
    #: Throughput by mean value analysis of what was measured of the variant alone; None where that is not enough.
    modelled: float | None = None
    #: Throughput by the operational laws, where the experiment has it, and measured over it.
    expected: float | None
    fidelity: float | None

    @property
    def has_latency(self) -> bool:
        """The clients' latency belongs to the variant: it depends neither on the window's length nor on users without
        an answer."""
        return self.growth is None and self.missing_users is None

    @property
    def keeps_up(self) -> bool:
        """The load alone limits the variant, which is not overloaded."""
        return self.bottleneck.is_load_alone and self.growth is None


class Rejection(_Conclusion):
    """A block attempt that does not count, with every reason."""

    block: int
    attempt: int
    reasons: list[str]


#: Why a run ended at a look: its claims are settled; a variant failed in each of the first three blocks; settling them
#: has become improbable; the next look does not fit into the time given; there is no further look.
Ended = Literal["settled", "failing", "futile", "within", "last look"]


class RunEnd(_Conclusion):
    """How a run with looks ended."""

    looks: list[int]
    #: At the look at which the run ended, else so far.
    blocks: int
    #: Two-sided level of a claim's interval: with those of the other looks and claims it adds up to 5 %.
    level: float
    #: Claims of the run that share the level of 5 %.
    claims: int
    #: The half-width of the interval of ``capacity`` that was wanted.
    precision: float
    #: Seconds that the run was given.
    within: float | None
    #: None: blocks are missing.
    ended: Ended | None
    #: Probability that a run which ended as ``futile`` would have been settled by the last look.
    chance: float | None = None


class Verdict(_Conclusion):
    """``verdict.json``."""

    version: Literal[3] = 3
    experiment: str
    n: int
    confidence: float
    #: All planned blocks were measured and passed the validity checks.
    valid: bool
    #: Fewer than six blocks, a number fixed before the start.
    quick: bool
    #: End of a run with looks; None where the number of blocks was fixed.
    end: RunEnd | None = None
    limits: Limits
    #: By pair, in the order of the experiment; of a pair in the order of ``vtlab.analysis.criteria``.
    outcomes: list[Outcome] = []
    #: One for each pair.
    decisions: list[Decision] = []
    variants: dict[str, VariantResult]
    rejected: list[Rejection]
    #: What is known to break under virtual threads, of the service's jar and of what was measured.
    findings: list[Finding] = []
    environment: dict[str, Any]
