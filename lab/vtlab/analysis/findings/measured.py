"""Known problems under virtual threads that a run shows: the measured rows of ``findings.json``.

Every detector compares a variant on virtual threads with the first on platform threads of the same run, over the
blocks that count. Figures are means over the windows of trials. A detector says nothing where the records lack a
figure that it needs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vtlab.analysis.findings import static
from vtlab.catalogue import findings
from vtlab.catalogue.findings import Row
from vtlab.catalogue.resources import REACHED
from vtlab.model import maven
from vtlab.model.experiment import Experiment
from vtlab.model.finding import Finding
from vtlab.model.inspection import Inspection
from vtlab.model.records import ALL_VARIANTS, Activity, Block, ServerFigure, Trial
from vtlab.model.verdict import Bottleneck, VariantResult

#: Share of the carriers' time, and of a request's, from which on keeping or waiting for carriers is worth a finding.
LEAST_SHARE = 0.05
LEAST_WAIT = 0.25
#: Ratio of virtual over platform threads from which on a cost counts as larger.
MORE = 1.25
#: The same for concurrent calls, and how many more calls there must be.
MORE_CALLS, LEAST_CALLS = 1.5, 10.0
#: Bytes that a request must allocate more: each has a virtual thread, whose own stack is a quarter of a small request.
LEAST_ALLOCATED = 8 * 1024
#: Throughput of virtual over platform threads up to which it counts as no higher, and from which as no lower.
NO_HIGHER, NO_LOWER = 1.05, 0.95
#: Share of the heap in use after a full collection from which on memory is short.
SHORT_OF_HEAP = 0.7
#: Share of the quota's periods from which on a variant is throttled in most; of another that is not so, at most half as
#: many, while it uses nearly as much CPU.
MOST_PERIODS, HALF_AS_MANY, AS_MUCH_CPU = 0.5, 0.5, 0.8
#: Percentiles that tell of a tail, the highest first.
_TAILS = ("p99", "p95", "p90")
_NAMED_PLACES = 3
#: Jar of a service that no jar is known of.
ANY_JAR = "app.jar"


@dataclass(frozen=True)
class Side:
    """One variant of a pair."""

    variant: str
    trials: Sequence[Trial]
    result: VariantResult
    blocks: Sequence[Block]

    def mean(self, figure: ServerFigure) -> float | None:
        """Averages a server's figure over the trials; None where no trial has it."""
        values = [value for t in self.trials if (value := t.server.get(figure)) is not None]
        return math.fsum(values) / len(values) if values else None

    def calls(self, activity: Activity, pool: ServerFigure) -> float | None:
        """Calls at a time of a database or of a downstream, by the pool's meter, else by thread dumps."""
        # 0 where the calls go by another client than the one that is metered.
        metered = self.mean(pool)
        dumps = [block.diagnosis[self.variant] for block in self.blocks if self.variant in block.diagnosis]
        if metered or not dumps:
            return metered
        counts = [math.fsum(p.threads for p in dump.places if p.activity == activity) for dump in dumps]
        return math.fsum(counts) / len(counts)

    @property
    def java(self) -> str | None:
        """Version of the variant's JVMs; None where no JVM reported it."""
        return next((i.java for block in self.blocks for i in block.instances if i.variant == self.variant), None)

    @property
    def in_flight(self) -> float:
        """Mean requests in flight as the clients count them at the edges of windows, with the requests that wait for a
        carrier before their first step."""
        edges = [edge for t in self.trials for edge in (t.in_flight.start, t.in_flight.end)]
        return math.fsum(edges) / len(edges) if edges else 0.0

    @property
    def memory_failures(self) -> list[str]:
        """Reasons of the failures for lack of memory, one for each such block."""
        return [failure.reason for failure in self.result.failures if "memory" in failure.reason]


@dataclass(frozen=True)
class Pair:
    """A variant on virtual threads, and the first on platform threads; None where the run has none."""

    virtual: Side
    platform: Side | None
    inspection: Inspection | None
    #: Differences of the variants in the pre-flight, in sentences.
    differences: Sequence[str] = ()


@dataclass(frozen=True)
class Shown:
    """Amount and place that a detector saw."""

    amount: str
    place: str
    #: The variant that shows it, where that is not the one on virtual threads.
    variant: str | None = None


def measured_findings(
    experiment: Experiment,
    blocks: Sequence[Block],
    results: Mapping[str, VariantResult],
    inspection: Inspection | None = None,
    differences: Sequence[str] = (),
) -> list[Finding]:
    """Finds the measured rows that the blocks that count show, for each variant on virtual threads, and once for the
    first on platform threads.

    ``inspection``: the look into the service's jar, for rows that are about a version of a library. ``differences``:
    what a pre-flight showed that the variants do differently, in sentences.
    """

    def side(variant: str) -> Side:
        trials = [t for block in blocks for t in block.trials if t.variant == variant]
        return Side(variant, trials, results[variant], blocks)

    kinds = {v: experiment.properties_of(v).threads for v in experiment.variants if v in results}
    platform = next((side(v) for v, kind in kinds.items() if kind == "platform"), None)
    jar = inspection.jar if inspection else ANY_JAR
    virtuals = [side(v) for v, kind in kinds.items() if kind == "virtual"] if blocks else []
    found = [
        _finding(row, evidence.variant or virtual.variant, evidence, jar)
        for virtual in virtuals
        for row, detector in ((findings.row(identifier), detector) for identifier, detector in DETECTORS.items())
        if _is_of(row, virtual) and (evidence := detector(Pair(virtual, platform, inspection, differences))) is not None
    ]
    return list({(finding.id, finding.variant): finding for finding in reversed(found)}.values())[::-1]


def _is_of(row: Row, virtual: Side) -> bool:
    """Tells whether a row concerns the JDK of a variant."""
    return row.jdk is None or (virtual.java is not None and virtual.java in maven.parse_range(row.jdk))


def _finding(row: Row, variant: str, evidence: Shown, jar: str) -> Finding:
    return Finding(
        id=row.id,
        kind="measured",
        title=row.title,
        variant=variant,
        symptom=row.symptom,
        cause=row.cause,
        amount=evidence.amount,
        place=evidence.place,
        source=row.source,
        cure=row.cure_for(jar),
        command=row.command_for(jar),
    )


def answers_differ(pair: Pair) -> Shown | None:
    """Detects requests of the pre-flight that failed, or were answered in another shape, on virtual threads."""
    name = re.compile(rf"(?<![\w-]){re.escape(pair.virtual.variant)}(?![\w-])")
    differing = [text for text in pair.differences if text.startswith(ALL_VARIANTS) or name.search(text)]
    return Shown("; ".join(dict.fromkeys(differing)), "pre-flight") if differing else None


def pinned_threads(pair: Pair) -> Shown | None:
    """Detects pinned threads that keep at least 5 % of the carriers' time."""
    virtual = pair.virtual
    pinned, carriers = virtual.mean("pinned_seconds"), _carriers(virtual)
    if pinned is None or carriers is None or pinned < LEAST_SHARE * carriers:
        return None
    request = f", {_seconds(pinned / virtual.result.throughput)} per request" if virtual.result.throughput else ""
    places = list(virtual.result.pinned)[:_NAMED_PLACES]
    return Shown(f"{_count(pinned)} of {_carriers_words(carriers)} kept{request}", ", ".join(places) or "unknown")


def too_few_carriers(pair: Pair) -> Shown | None:
    """Detects carriers as the bottleneck, or as one of several."""
    bottleneck = pair.virtual.result.bottleneck
    if "carriers" not in bottleneck.resources or _are_starved(bottleneck):
        return None
    carriers = _carriers(pair.virtual)
    bound = "" if bottleneck.bound is None else f": at most {_count(bottleneck.bound)} requests per second"
    return Shown(f"{'the carriers' if carriers is None else _carriers_words(carriers)}{bound}", "carriers")


def _are_starved(bottleneck: Bottleneck) -> bool:
    """Tells whether carriers are the bottleneck, and not because pinned threads keep them."""
    return bottleneck.resource == "carriers" and bottleneck.bound is None


def starved_carriers(pair: Pair) -> Shown | None:
    """Detects a wait for carriers: it is the bottleneck, or virtual threads spend a quarter of a request's time or more
    ready and without a carrier, while the CPU has time to spare. Beyond what is ready in pauses of collections, in
    throttled periods, and in an ordinary queue at a CPU in such use, which platform threads have, too. That of a CPU
    that is used up may be of any length: it counts where the slowest requests wait longer in it at the same
    throughput, as behind computations that keep a carrier until they end."""
    virtual = pair.virtual
    queued, in_flight = virtual.mean("virtual_queued"), virtual.in_flight
    cpu, limit = virtual.mean("cpu_cores"), virtual.mean("cpu_limit") or virtual.mean("processors")
    if queued is None or cpu is None or not limit:
        return None
    amount = (
        f"{_count(queued)} threads wait for a carrier, with {_count(in_flight)} requests in flight,"
        f" while {_share(cpu / limit)} of the CPU is in use"
    )
    is_used_up = cpu >= REACHED * limit
    beyond = queued - _ready_anyway(virtual, 0.0 if is_used_up else cpu / limit)
    is_much = beyond >= 1 and beyond >= LEAST_WAIT * in_flight
    if is_used_up:
        p95, before = (side.result.latency.get("p95") if side else None for side in (virtual, pair.platform))
        if not is_much or not _serve_alike(pair) or not p95 or not before or p95 < MORE * before:
            return None
        # More carriers would lengthen the bursts that the quota stops.
        if throttled_bursts(pair):
            return None
        return Shown(f"{amount}; p95 is {_seconds(p95)}, {_seconds(before)} on platform threads", "carriers")
    return Shown(amount, "carriers") if is_much or _are_starved(virtual.result.bottleneck) else None


def _serve_alike(pair: Pair) -> bool:
    """Tells whether both variants have about the same throughput."""
    if pair.platform is None:
        return False
    served, served_before = pair.virtual.result.throughput, pair.platform.result.throughput
    return NO_LOWER * served_before <= served <= NO_HIGHER * served_before


def _ready_anyway(virtual: Side, use: float) -> float:
    """Estimates the threads at a time that are ready while none may run, or in the queue of one server in such use,
    ρ²/(1-ρ): the longest of any number of cores."""
    stopped, throttled = (virtual.mean(name) or 0.0 for name in ("gc_share", "throttled_periods"))
    running = max(0.0, 1 - stopped) * max(0.0, 1 - throttled)
    return (1 - running) * virtual.in_flight + (use**2 / (1 - use) if use < 1 else math.inf)


def db_pool_time_outs(pair: Pair) -> Shown | None:
    """Detects requests that fail under virtual threads alone while threads wait for a full pool of connections."""
    virtual, platform = pair.virtual, pair.platform
    pending, used = virtual.mean("db_pool_pending"), virtual.mean("utilization_db-pool")
    errors, before = virtual.result.error_ratio, platform.result.error_ratio if platform else 0.0
    if not pending or pending < 1 or used is None or used < REACHED or errors <= 2 * before:
        return None
    wait = f", {_seconds(pending / virtual.result.throughput)} each" if virtual.result.throughput else ""
    return Shown(
        f"{_share(errors)} of the answers are errors ({_share(before)} on platform threads);"
        f" {_count(pending)} requests wait{wait}",
        "db-pool",
    )


def cpu_without_throughput(pair: Pair) -> Shown | None:
    """Detects a HikariCP that spins: threads wait for connections, more CPU time is used, and no more is served.

    CPU seconds a second are compared, at equal or lower throughput: of CPU per request the fixed costs would grow as
    throughput falls.
    """
    virtual, platform = pair.virtual, pair.platform
    if platform is None or pair.inspection is None:
        return None
    library = static.affected(findings.row("cpu-without-throughput"), pair.inspection)
    cpu, before, pending = virtual.mean("cpu_cores"), platform.mean("cpu_cores"), virtual.mean("db_pool_pending")
    if library is None or cpu is None or not before or not pending or pending < 1:
        return None
    served, served_before = virtual.result.throughput, platform.result.throughput
    # Of a variant that failed in every block no throughput is known: answers that are errors take CPU time, too.
    if not served or served > NO_HIGHER * served_before or cpu < MORE * before:
        return None
    return Shown(
        f"{_count(cpu)} cores for {_count(served)} requests per second,"
        f" {_count(before)} cores for {_count(served_before)} on platform threads",
        f"HikariCP {library.version}, ConcurrentBag.requite",
    )


def lost_back_pressure(pair: Pair) -> Shown | None:
    """Detects a database or a service downstream that gets at least half more calls at a time, and ten more."""
    if pair.platform is None:
        return None
    kinds: tuple[tuple[Activity, ServerFigure], ...] = (
        ("database", "db_pool_active"),
        ("downstream", "client_pool_active"),
    )
    for activity, pool in kinds:
        calls, before = (side.calls(activity, pool) for side in (pair.virtual, pair.platform))
        if calls is not None and before is not None and calls >= max(MORE_CALLS * before, before + LEAST_CALLS):
            return Shown(f"{_count(calls)} calls at a time, {_count(before)} on platform threads (mean)", activity)
    return None


def memory_of_requests(pair: Pair) -> Shown | None:
    """Detects virtual threads that run out of memory where platform threads do not, or come near it by requests in
    flight."""
    virtual, platform = pair.virtual, pair.platform
    if virtual.memory_failures and not (platform and platform.memory_failures):
        failed = len(virtual.memory_failures)
        return Shown(f"{virtual.memory_failures[0]}, in {failed} of {len(virtual.blocks)} blocks", "heap")
    live = virtual.mean("live_heap_share")
    if platform is None or live is None or live < SHORT_OF_HEAP or virtual.in_flight < MORE_CALLS * platform.in_flight:
        return None
    # 0 where there was no full collection, which tells it.
    before = platform.mean("live_heap_share") or 0.0
    if live < MORE * before:
        return None
    heap_remark = f"{_share(before)} is in use" if before else "there was no full collection"
    return Shown(
        f"{_share(live)} of the heap is in use with {_count(virtual.in_flight)} requests in flight;"
        f" {heap_remark} with {_count(platform.in_flight)} on platform threads",
        "heap",
    )


def allocation_per_request(pair: Pair) -> Shown | None:
    """Detects requests that allocate at least a quarter and some KiB more, at a throughput that is no lower: else what
    the JVM allocates by itself would count for fewer requests."""
    virtual, platform = pair.virtual, pair.platform
    if platform is None or virtual.result.throughput < NO_LOWER * platform.result.throughput:
        return None
    allocated, before = (side.mean("allocated_per_request") for side in (virtual, platform))
    if allocated is None or not before or allocated < max(MORE * before, before + LEAST_ALLOCATED):
        return None
    return Shown(f"{allocated / 1024:,.0f} KiB per request, {before / 1024:,.0f} KiB on platform threads", "heap")


def unfair_pool(pair: Pair) -> Shown | None:
    """Detects a longer tail at equal throughput where both variants wait for the same pool of connections: requests
    overtake each other in its queue."""
    virtual, platform = pair.virtual, pair.platform
    if platform is None or any(_full_pool(side.result.bottleneck) != "db-pool" for side in (virtual, platform)):
        return None
    served = virtual.result.throughput
    if not _serve_alike(pair):
        return None
    for name in _TAILS:
        tail, before = (side.result.latency.get(name) for side in (virtual, platform))
        if tail and before:
            amount = (
                f"{name} is {_seconds(tail)}, {_seconds(before)} on platform threads,"
                f" both at {_count(served)} requests per second"
            )
            return Shown(amount, "db-pool") if tail >= MORE * before else None
    return None


def _full_pool(bottleneck: Bottleneck) -> str:
    """Returns the pool whose units all requests wait for; else what limits."""
    return bottleneck.inside.pool if bottleneck.inside else bottleneck.resource


def throttled_bursts(pair: Pair) -> Shown | None:
    """Detects virtual threads that their CPU quota stops in bursts, and platform threads not."""
    return _bursts(pair.virtual, pair.platform) if pair.platform else None


def throttled_platform_threads(pair: Pair) -> Shown | None:
    """Detects platform threads that their CPU quota stops in bursts, and virtual threads not."""
    return _bursts(pair.platform, pair.virtual) if pair.platform else None


def _bursts(side: Side, other: Side) -> Shown | None:
    """Detects a variant that its CPU quota stops in most periods, while it stops the other, which uses as much CPU, in
    at most half as many: its threads run on several cores at once."""
    stopped, others = side.mean("throttled_periods"), other.mean("throttled_periods")
    cpu, others_cpu = side.mean("cpu_cores"), other.mean("cpu_cores")
    if stopped is None or others is None or cpu is None or others_cpu is None or stopped < MOST_PERIODS:
        return None
    if others > HALF_AS_MANY * stopped or others_cpu < AS_MUCH_CPU * cpu:
        return None
    amount = f"stopped in {_share(stopped)} of the periods, {other.variant} in {_share(others)}"
    return Shown(amount, "CPU quota", side.variant)


def probe_starved(pair: Pair) -> Shown | None:
    """Detects virtual threads with which too many liveness probes take over a second, and with platform threads not."""
    return _late_probes(pair.virtual, pair.platform) if pair.platform else None


def probe_behind_requests(pair: Pair) -> Shown | None:
    """Detects platform threads with which too many liveness probes take over a second, and with virtual threads not."""
    return _late_probes(pair.platform, pair.virtual) if pair.platform else None


def _late_probes(side: Side, other: Side) -> Shown | None:
    late = {load: p for load, p in side.result.probes.items() if p.restarts in ("yes", "at risk")}
    if not late or any(p.restarts != "no" for p in other.result.probes.values()) or not other.result.probes:
        return None
    load, probe = max(late.items(), key=lambda item: item[1].over_second / item[1].sent)
    amount = f"{_share(probe.over_second / probe.sent)} of the probes took over 1 s at {load} load"
    longest = f", the longest {_seconds(probe.longest)}" if probe.longest else ""
    return Shown(amount + longest, "liveness probe", side.variant)


def different_nodes(pair: Pair) -> Shown | None:
    """Detects variants that ran on nodes of a cluster with different CPUs, or with CPUs that nobody knows."""
    if pair.platform is None:
        return None
    names = (pair.platform.variant, pair.virtual.variant)
    places = [{i.variant: i for i in block.instances if i.node} for block in pair.virtual.blocks]
    apart = [tuple(at[name] for name in names) for at in places if all(name in at for name in names)]
    apart = [(a, b) for a, b in apart if a.node != b.node and (a.node_cpu is None or a.node_cpu != b.node_cpu)]
    if not apart:
        return None
    nodes = [f"{i.variant} on {i.node} ({i.node_cpu or 'CPU unknown'})" for i in apart[0]]
    return Shown(f"in {len(apart)} of {len(pair.virtual.blocks)} blocks, such as {' and '.join(nodes)}", "nodes")


#: By the id of the row that says what it means.
DETECTORS: Mapping[str, Callable[[Pair], Shown | None]] = {
    "answers-differ": answers_differ,
    "pinned-threads": pinned_threads,
    "pinned-threads-natively": pinned_threads,
    "too-few-carriers": too_few_carriers,
    "starved-carriers": starved_carriers,
    "db-pool-time-outs": db_pool_time_outs,
    "cpu-without-throughput": cpu_without_throughput,
    "lost-back-pressure": lost_back_pressure,
    "memory-of-requests": memory_of_requests,
    "allocation-per-request": allocation_per_request,
    "unfair-pool": unfair_pool,
    "throttled-bursts": throttled_bursts,
    "throttled-platform-threads": throttled_platform_threads,
    "probe-starved": probe_starved,
    "probe-behind-requests": probe_behind_requests,
    "different-nodes": different_nodes,
}


def _carriers(side: Side) -> float | None:
    return side.mean("capacity_carriers") or side.mean("carriers") or side.mean("processors")


def _carriers_words(carriers: float) -> str:
    return f"{_count(carriers)} carrier{'' if carriers == 1 else 's'}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"


def _seconds(value: float) -> str:
    return f"{_count(value)} s" if value >= 1 else f"{_count(1000 * value)} ms"
