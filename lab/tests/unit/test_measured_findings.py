"""What a run shows: each measured row in built records, and in records that miss it by a little."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.support import recorded
from vtlab.analysis.findings import measured
from vtlab.model.finding import Finding
from vtlab.model.inspection import Inspection, Library
from vtlab.model.outcome import ProbeResult
from vtlab.model.records import Block, Diagnosis, InFlight, Place, Trial
from vtlab.model.run import Analysis, Run
from vtlab.model.verdict import Bottleneck, Inside

Figures = Mapping[str, float | None]


def inspection(hikari: str = "7.0.2") -> Inspection:
    libraries = [Library(group="com.zaxxer", artifact="HikariCP", version=hikari)]
    return Inspection(
        jar="shop.jar", packaging="extracted", boot="4.0.3", java=21, server="tomcat", libraries=libraries
    )


@dataclass(frozen=True)
class Case:
    """A run of ``blocking``: what is otherwise in the trials of each variant."""

    virtual: Figures = field(default_factory=dict)
    platform: Figures = field(default_factory=dict)
    #: Errors in each trial of virtual threads.
    errors: int = 0
    #: Fields of the trials of virtual threads.
    trial: Mapping[str, Any] = field(default_factory=dict)
    #: Threads that call a downstream, by variant, as thread dumps show.
    dumps: Mapping[str, float] = field(default_factory=dict)
    inspection: Inspection | None = None
    #: Fields of the result of virtual threads.
    result: Mapping[str, Any] = field(default_factory=dict)
    java: str = "25.0.3"
    #: Of the pre-flight.
    differences: tuple[str, ...] = ()
    #: By block, how a variant fails in it.
    failing: Mapping[int, str] = field(default_factory=dict)
    failing_variant: str = "virtual"
    #: Of the throughputs; None: as recorded.
    ratio: float | None = None
    #: Fields of the result of platform threads.
    platform_result: Mapping[str, Any] = field(default_factory=dict)
    #: The variant that has the finding.
    shown_by: str = "virtual"
    #: Node and its processors, by variant.
    nodes: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)

    def built(self) -> Run:
        whole = recorded.run(blocks=2, inspection=self.inspection)
        run = recorded.with_failing(whole, self.failing, self.failing_variant)
        if self.ratio is not None:
            run = recorded.with_ratio(run, self.ratio)
        run.blocks[:] = [self._changed(block) for block in run.blocks]
        return run

    def _changed(self, block: Block) -> Block:
        diagnosis = {
            variant: Diagnosis(
                dumps=10,
                threads=threads + 2,
                places=[
                    Place(activity="downstream", place="java.net.http.HttpClient at Shop:42", threads=threads),
                    Place(activity="computation", place="Shop:7", threads=2),
                ],
            )
            for variant, threads in self.dumps.items()
        }
        instances = [
            instance.model_copy(update={"java": self.java, "node": node, "node_cpu": node_cpu})
            for instance in block.instances
            for node, node_cpu in [self.nodes.get(instance.variant, (None, None))]
        ]
        trials = list(map(self._trial, block.trials))
        return block.model_copy(update={"trials": trials, "diagnosis": diagnosis, "instances": instances})

    def _trial(self, trial: Trial) -> Trial:
        figures = {"virtual": self.virtual, "platform": self.platform}[trial.variant]
        update: dict[str, Any] = {"server": {**trial.server, **figures}}
        if trial.variant == "virtual":
            update |= self.trial
            update |= {"failed": {"status-500": self.errors}} if self.errors else {}
        return trial.model_copy(update=update)


def found(case: Case) -> dict[str, Finding]:
    """The measured findings of a case, by id."""
    analysis = recorded.analysed(case.built())
    results = dict(analysis.verdict.variants)
    for variant, changes in (("virtual", case.result), ("platform", case.platform_result)):
        results[variant] = results[variant].model_copy(update=dict(changes))
    shown = measured.measured_findings(
        analysis.run.experiment, analysis.accepted, results, case.inspection, case.differences
    )
    return {finding.id: finding for finding in shown}


POOL_IS_FULL = {"db_pool_pending": 400.0, "utilization_db-pool": 1.0}


def in_flight(requests: int) -> dict[str, Any]:
    return {"in_flight": InFlight(start=requests, end=requests)}


#: No pause, and no throttled period.
RUNNING = {"gc_share": 0.0, "throttled_periods": 0.0}


def limited_by(resource: str, *together: str) -> dict[str, Any]:
    return {"bottleneck": Bottleneck(resource=resource, utilisation=0.98, bound=19.2, together=list(together))}


#: By threads that are ready, not by pinned ones.
STARVED = {"bottleneck": Bottleneck(resource="carriers", utilisation=None, bound=None)}


def served_in(p95: float | None, throughput: float = 49.0) -> dict[str, Any]:
    """A result with that tail."""
    return {"throughput": throughput, "latency": {"p50": 0.3, "p95": p95, "p99": None}}


#: Twenty requests on a CPU without time to spare, half of which wait for a carrier, at equal throughput.
USED_UP = Case(
    {"virtual_queued": 10.0, "cpu_cores": 0.97, "cpu_limit": 1.0, **RUNNING},
    trial=in_flight(20),
    result=served_in(0.5),
    platform_result=served_in(0.4),
)


def waits_for_a_pool(p95: float | None, throughput: float = 49.0, pool: str = "db-pool") -> dict[str, Any]:
    """A result whose requests wait for a connection."""
    latency = {"p50": 0.5, "p90": 0.51, "p95": p95, "p99": None}
    return {**limited_by(pool), "throughput": throughput, "latency": latency}


#: Requests that hold connections wait for a row of the database.
HELD = Bottleneck(
    resource="database", utilisation=None, bound=None, inside=Inside(pool="db-pool", alone=0.1, loaded=0.7)
)


def stopped(share: float | None, cpu: float = 0.98) -> Figures:
    """Figures of a variant that its quota stops in that share of the periods."""
    return {"throttled_periods": share, "cpu_cores": cpu}


def probed(late: int, restarts: str | None, longest: float = 3.2) -> dict[str, Any]:
    """A result with 25 probes in each of four windows under full load, so many of them over a second."""
    full = ProbeResult(
        sent=100, over_second=late, unanswered=0, longest=longest, restarts=restarts, restarting_blocks=0
    )
    return {"probes": {"full": full}}


HEALTHY = probed(4, "no", 1.2)


@dataclass(frozen=True)
class Cases:
    """Records that show a row, with what it says of them; and records that do not."""

    inside: list[tuple[Case, str, str]]
    outside: list[Case]


IN_FLIGHT = in_flight(1000)
#: Pinned threads keep as much of the only carrier as is worth a finding.
KEPT = Case({"pinned_seconds": 0.05, "capacity_carriers": 1.0})

CASES: dict[str, Cases] = {
    "answers-differ": Cases(
        [
            (Case(differences=("virtual answered 500 to GET /a",)), "virtual answered 500 to GET /a", "pre-flight"),
            (Case(differences=("for virtual the script throws: no luck",)), "the script throws", "pre-flight"),
            (
                Case(differences=("the variants answer GET /a differently: 1 or 2",)),
                "differently: 1 or 2",
                "pre-flight",
            ),
        ],
        [
            Case(),
            Case(differences=("platform answered 500 to GET /a",)),
            # Of another variant, as --variant adds it.
            Case(differences=("virtual-pool50 answered 500 to GET /a",)),
        ],
    ),
    "pinned-threads": Cases(
        [
            (
                replace(KEPT, java="21.0.8", trial={"pinned": {"Legacy:17": 90.0, "Driver:3": 30.0}}),
                "0.05 of 1 carrier kept",
                "Legacy:17, Driver:3",
            ),
            (
                Case({"pinned_seconds": 1.5, "capacity_carriers": 2.0}, java="23.0.2"),
                "1.5 of 2 carriers kept",
                "unknown",
            ),
        ],
        [
            replace(KEPT, java="24"),
            Case({"pinned_seconds": 0.049, "capacity_carriers": 1.0}, java="21.0.8"),
            Case({"pinned_seconds": None, "capacity_carriers": 1.0}, java="21.0.8"),
            Case(platform={"pinned_seconds": 1.0, "capacity_carriers": 1.0}, java="21.0.8"),
        ],
    ),
    "pinned-threads-natively": Cases(
        [(replace(KEPT, java="24"), "0.05 of 1 carrier kept", "unknown")],
        [replace(KEPT, java="23.0.2"), Case({"pinned_seconds": 0.049, "capacity_carriers": 1.0})],
    ),
    "too-few-carriers": Cases(
        [
            (
                Case({"capacity_carriers": 1.0}, result=limited_by("carriers")),
                "1 carrier: at most 19.2 requests per second",
                "carriers",
            ),
            (Case({"capacity_carriers": 4.0}, result=limited_by("cpu", "carriers")), "4 carriers: at most", "carriers"),
        ],
        [
            Case({"capacity_carriers": 1.0}, result=limited_by("cpu")),
            Case({"capacity_carriers": 1.0}, result=STARVED),
            Case(platform={"pinned_seconds": 1.0}),
        ],
    ),
    "starved-carriers": Cases(
        [
            (
                Case({"virtual_queued": 251.0, "cpu_cores": 0.4, "cpu_limit": 1.0, **RUNNING}, trial=IN_FLIGHT),
                "251 threads wait for a carrier, with 1,000 requests in flight, while 40 % of the CPU is in use",
                "carriers",
            ),
            # The bottleneck, however many requests are in flight.
            (
                Case({"virtual_queued": 0.9, "cpu_cores": 0.4, "cpu_limit": 1.0}, trial=IN_FLIGHT, result=STARVED),
                "0.9 threads wait for a carrier",
                "carriers",
            ),
            # A CPU that is used up: computations keep the carrier, and the slowest requests wait for their ends.
            (
                USED_UP,
                "10 threads wait for a carrier, with 20 requests in flight, while 97 % of the CPU is in use; p95 is"
                " 500 ms, 400 ms on platform threads",
                "carriers",
            ),
        ],
        [
            # An ordinary queue at a CPU that is used up: platform threads wait as long in it.
            replace(USED_UP, result=served_in(0.49)),
            replace(USED_UP, result=served_in(None)),
            # Another throughput has other waits.
            replace(USED_UP, result=served_in(0.5, throughput=55.0)),
            replace(USED_UP, virtual={**USED_UP.virtual, "virtual_queued": 4.9}),
            # Ready in pauses alone.
            replace(USED_UP, virtual={**USED_UP.virtual, "gc_share": 0.3}),
            # Its quota stops it, which has the opposite cure.
            replace(
                USED_UP,
                virtual={**USED_UP.virtual, "virtual_queued": 18.0, "throttled_periods": 0.5},
                platform=stopped(0.1),
            ),
            Case({"virtual_queued": 249.0, "cpu_cores": 0.4, "cpu_limit": 1.0}, trial=IN_FLIGHT),
            Case({"virtual_queued": 250.0, "cpu_cores": 0.9, "cpu_limit": 1.0}, trial=IN_FLIGHT),
            Case({"virtual_queued": 0.9, "cpu_cores": 0.4, "cpu_limit": 1.0}, trial=in_flight(1)),
            # An ordinary queue at a CPU in use to 80 %: 3.2 of five requests.
            Case({"virtual_queued": 3.5, "cpu_cores": 0.8, "cpu_limit": 1.0, **RUNNING}, trial=in_flight(5)),
            *(
                Case(
                    {"virtual_queued": 300.0, "cpu_cores": 0.4, "cpu_limit": 1.0, **RUNNING, why: 0.2}, trial=IN_FLIGHT
                )
                for why in RUNNING
            ),
            Case({"virtual_queued": None, "cpu_cores": 0.4}, trial=IN_FLIGHT),
        ],
    ),
    "db-pool-time-outs": Cases(
        [(Case(POOL_IS_FULL, errors=4), "% of the answers are errors (0 % on platform threads)", "db-pool")],
        [
            Case(POOL_IS_FULL),
            Case({**POOL_IS_FULL, "utilization_db-pool": 0.89}, errors=4),
            Case({**POOL_IS_FULL, "db_pool_pending": 0.9}, errors=4),
            Case(errors=4),
        ],
    ),
    "cpu-without-throughput": Cases(
        [
            (
                Case({**POOL_IS_FULL, "cpu_cores": 0.75}, {"cpu_cores": 0.6}, inspection=inspection(), ratio=1.0),
                "0.6 cores for 49.6",
                "HikariCP 7.0.2, ConcurrentBag.requite",
            )
        ],
        [
            Case({**POOL_IS_FULL, "cpu_cores": 0.74}, {"cpu_cores": 0.6}, inspection=inspection(), ratio=1.0),
            Case({**POOL_IS_FULL, "cpu_cores": 0.75}, {"cpu_cores": 0.6}, inspection=inspection()),
            Case({**POOL_IS_FULL, "cpu_cores": 0.75}, {"cpu_cores": 0.6}, ratio=1.0),
            Case({"cpu_cores": 0.75}, {"cpu_cores": 0.6}, inspection=inspection(), ratio=1.0),
            # It failed: how much it serves is not known.
            Case(
                {**POOL_IS_FULL, "cpu_cores": 0.75},
                {"cpu_cores": 0.6},
                inspection=inspection(),
                result={"throughput": 0.0},
                ratio=1.0,
            ),
            Case({**POOL_IS_FULL, "cpu_cores": 0.75}, {"cpu_cores": 0.6}, inspection=inspection("7.1.0"), ratio=1.0),
        ],
    ),
    "lost-back-pressure": Cases(
        [
            (
                Case({"client_pool_active": 300.0}, {"client_pool_active": 200.0}),
                "300 calls at a time, 200 on platform threads (mean)",
                "downstream",
            ),
            (
                Case({"db_pool_active": 20.0}, {"db_pool_active": 10.0}),
                "20 calls at a time, 10 on platform threads (mean)",
                "database",
            ),
            (
                Case(
                    {"client_pool_active": 0.0},
                    {"client_pool_active": 0.0},
                    dumps={"virtual": 812.0, "platform": 200.0},
                ),
                "812 calls at a time, 200 on platform threads (mean)",
                "downstream",
            ),
        ],
        [
            Case({"client_pool_active": 299.0}, {"client_pool_active": 200.0}),
            Case({"db_pool_active": 13.9}, {"db_pool_active": 4.0}),
            Case({"client_pool_active": 300.0}, {"client_pool_active": None}),
            Case({"client_pool_active": None}, {"client_pool_active": None}, dumps={"virtual": 812.0}),
        ],
    ),
    "memory-of-requests": Cases(
        [
            (Case(failing={1: "oom"}), "out of heap memory (256m), in 1 of 2 blocks", "heap"),
            (
                Case({"live_heap_share": 0.7}, {"live_heap_share": 0.3}, trial=IN_FLIGHT),
                "70 % of the heap is in use with 1,000 requests in flight; 30 % is in use with 20 on platform threads",
                "heap",
            ),
            (
                Case({"live_heap_share": 0.7}, {"live_heap_share": 0.0}, trial=IN_FLIGHT),
                "there was no full collection with 20 on platform threads",
                "heap",
            ),
        ],
        [
            Case(failing={1: "oom"}, failing_variant="platform"),
            Case(failing={1: "start"}),
            Case({"live_heap_share": 0.69}, {"live_heap_share": 0.3}, trial=IN_FLIGHT),
            Case({"live_heap_share": 0.7}, {"live_heap_share": 0.6}, trial=IN_FLIGHT),
            Case({"live_heap_share": 0.7}, {"live_heap_share": 0.3}, trial=in_flight(29)),
            Case({"live_heap_share": None}, {"live_heap_share": 0.3}, trial=IN_FLIGHT),
        ],
    ),
    "allocation-per-request": Cases(
        [
            (
                Case({"allocated_per_request": 51200.0}, {"allocated_per_request": 40960.0}),
                "50 KiB per request, 40 KiB on platform threads",
                "heap",
            )
        ],
        [
            Case({"allocated_per_request": 51100.0}, {"allocated_per_request": 40960.0}),
            # Twice as much, of little: what a virtual thread itself takes.
            Case({"allocated_per_request": 16300.0}, {"allocated_per_request": 8192.0}),
            Case({"allocated_per_request": 51200.0}),
            Case({"allocated_per_request": 51200.0}, {"allocated_per_request": 40960.0}, ratio=0.9),
        ],
    ),
    "unfair-pool": Cases(
        [
            (
                Case(result=waits_for_a_pool(0.65), platform_result=waits_for_a_pool(0.52)),
                "p95 is 650 ms, 520 ms on platform threads, both at 49 requests per second",
                "db-pool",
            ),
            (
                Case(
                    result={**waits_for_a_pool(1.3), "bottleneck": HELD},
                    platform_result={**waits_for_a_pool(0.52), "bottleneck": HELD},
                ),
                "p95 is 1.3 s",
                "db-pool",
            ),
        ],
        [
            Case(result=waits_for_a_pool(0.64), platform_result=waits_for_a_pool(0.52)),
            Case(result=waits_for_a_pool(1.3, 46.0), platform_result=waits_for_a_pool(0.52)),
            Case(result=waits_for_a_pool(1.3, 52.0), platform_result=waits_for_a_pool(0.52)),
            Case(result=waits_for_a_pool(1.3), platform_result=waits_for_a_pool(0.52, pool="cpu")),
            # Then p90 tells, which is the same.
            Case(result=waits_for_a_pool(1.3), platform_result=waits_for_a_pool(None)),
        ],
    ),
    "throttled-bursts": Cases(
        [
            # More carriers than the limit has whole cores.
            (Case(stopped(0.9), stopped(0.1)), "stopped in 90 % of the periods, platform in 10 %", "CPU quota"),
        ],
        [
            Case(stopped(0.2), stopped(0.49)),
            Case(stopped(0.26), stopped(0.5)),
            # It uses up its limit, and the other does not.
            Case(stopped(0.9, 1.0), stopped(0.0, 0.79)),
            Case(stopped(0.9), stopped(None)),
            Case(stopped(0.1), stopped(0.9)),
        ],
    ),
    "throttled-platform-threads": Cases(
        [
            (
                Case(stopped(0.25, 0.8), stopped(0.5, 1.0), shown_by="platform"),
                "stopped in 50 % of the periods, virtual in 25 %",
                "CPU quota",
            ),
        ],
        [
            Case(stopped(0.2), stopped(0.49)),
            Case(stopped(0.26), stopped(0.5)),
            Case(stopped(0.0, 0.79), stopped(0.9, 1.0)),
            Case(stopped(None), stopped(0.9)),
            Case(stopped(0.9), stopped(0.1)),
        ],
    ),
    "probe-starved": Cases(
        [
            (
                Case(result=probed(62, "at risk"), platform_result=HEALTHY),
                "62 % of the probes took over 1 s at full load, the longest 3.2 s",
                "liveness probe",
            ),
        ],
        [
            Case(result=HEALTHY, platform_result=HEALTHY),
            Case(result=HEALTHY, platform_result=probed(97, "yes", 15.0)),
            Case(result=probed(62, "at risk"), platform_result=probed(5, "at risk")),
            # Without a liveness endpoint, or without probes.
            Case(result=probed(62, None), platform_result=probed(0, None)),
            Case(result=probed(62, "at risk")),
        ],
    ),
    "probe-behind-requests": Cases(
        [
            (
                Case(result=HEALTHY, platform_result=probed(97, "yes", 15.0), shown_by="platform"),
                "97 % of the probes took over 1 s at full load, the longest 15 s",
                "liveness probe",
            ),
        ],
        [
            Case(result=probed(62, "at risk"), platform_result=HEALTHY),
            Case(result=probed(5, "at risk"), platform_result=probed(97, "yes", 15.0)),
            Case(result=probed(0, None), platform_result=probed(97, None)),
        ],
    ),
    "different-nodes": Cases(
        [
            (
                Case(nodes={"platform": ("a", "4 × Xeon"), "virtual": ("b", "8 × Xeon")}),
                "in 2 of 2 blocks, such as platform on a (4 × Xeon) and virtual on b (8 × Xeon)",
                "nodes",
            ),
            (
                Case(nodes={"platform": ("a", None), "virtual": ("b", None)}),
                "platform on a (CPU unknown) and virtual on b (CPU unknown)",
                "nodes",
            ),
        ],
        [
            Case(nodes={"platform": ("a", None), "virtual": ("a", None)}),
            Case(nodes={"platform": ("a", "4 × Xeon"), "virtual": ("b", "4 × Xeon")}),
            # On one machine there are no nodes.
            Case(),
        ],
    ),
}


@pytest.mark.parametrize("identifier", CASES)
def test_a_row_is_shown_where_the_records_have_it_and_not_where_they_just_miss_it(identifier: str) -> None:
    cases = CASES[identifier]
    for case, amount, place in cases.inside:
        finding = found(case).get(identifier)
        assert finding is not None, case
        assert amount in finding.amount
        assert (finding.place, finding.variant) == (place, case.shown_by)
    assert [case for case in cases.outside if identifier in found(case)] == []


def test_what_several_variants_on_virtual_threads_show_of_the_one_on_platform_threads_is_shown_once() -> None:
    run = recorded.with_variant(Case(stopped(0.1), stopped(0.9)).built(), "virtual-pool50")
    shown = of_service(recorded.analysed(run))
    assert [(finding.id, finding.variant) for finding in shown] == [("throttled-platform-threads", "platform")]


@pytest.mark.parametrize(("cpu", "cores"), [(0.5, 1), (1.0, 1), (1.5, 1), (2.0, 2), (3.9, 3)])
def test_the_cure_of_throttled_virtual_threads_has_a_carrier_for_each_whole_core(cpu: float, cores: int) -> None:
    run = Case(stopped(0.9), stopped(0.1)).built()
    limits = run.experiment.limits.model_copy(update={"cpu": cpu})
    run = replace(run, experiment=recorded.copied(run.experiment, {"limits": limits}))
    (finding,) = of_service(recorded.analysed(run))
    option = f"--variant env:JDK_JAVA_OPTIONS=-Djdk.virtualThreadScheduler.parallelism={cores}"
    assert (finding.id, finding.command) == ("throttled-bursts", f"{run.manifest.command} {option}")


def test_the_cure_of_throttled_platform_threads_are_virtual_threads_which_were_tried() -> None:
    run = Case(stopped(0.1), stopped(0.9)).built()
    (finding,) = of_service(recorded.analysed(run))
    assert finding.cure.startswith("Use virtual threads")
    assert finding.command == run.manifest.command


def larger_pool(*capacities: float) -> str:
    """The option that the finding about HikariCP tries, of a run whose variants have pools of these sizes."""
    figures: list[dict[str, float]] = [{"capacity_db-pool": capacity} for capacity in capacities] or [{}, {}]
    run = Case(*figures, inspection=inspection()).built()
    shown = recorded.analysed(run).verdict.findings
    command = next(finding.command for finding in shown if finding.id == "hikaricp-spins")
    return command.removeprefix(f"{run.manifest.command} ")


def test_a_larger_pool_is_twice_the_largest_that_was_measured() -> None:
    """Seen: a pool of 50 connections was "enlarged" to 50; and to 20, where its bound was not known well."""
    assert larger_pool() == "--variant pool=20", "twice HikariCP's own"
    assert larger_pool(50.0, 50.0) == "--variant pool=100"
    assert larger_pool(10.0, 20.0) == "--variant pool=40"


DEPLOYED = {"name": "shop", "deployment": "shop"}


@pytest.mark.parametrize(
    ("service", "case", "command"),
    [
        (DEPLOYED, Case(stopped(0.9), stopped(0.1)), "{call} --variant env:"),
        # The image has the JDK.
        (DEPLOYED, replace(KEPT, java="21.0.8"), "vtlab try app.jar --variant java=25"),
        # One machine is not what that call measures on.
        (DEPLOYED, Case(nodes={"platform": ("a", "Intel"), "virtual": ("b", "AMD")}), "vtlab try app.jar"),
        # A release of the chart has the variants that it has.
        ("sample", Case(stopped(0.9), stopped(0.1)), "vtlab try app.jar --variant env:"),
    ],
)
def test_in_a_cluster_copies_try_a_cure_by_the_call_of_the_run(service: Any, case: Case, command: str) -> None:
    call = "vtlab try --deployment shop 'GET /'"
    run = case.built()
    run = replace(
        run,
        manifest=recorded.copied(run.manifest, {"target": "kubernetes", "command": call}),
        experiment=recorded.experiment(service=service),
    )
    finding = next(f for f in recorded.analysed(run).verdict.findings if f.kind == "measured")
    assert finding.command.startswith(command.format(call=call))


def of_service(analysis: Analysis) -> list[Finding]:
    """The findings of a run but for those of the JDK that measured it: of JDK 25.0.3 one is known."""
    assert [f.id for f in analysis.verdict.findings].count("blocked-threads-hang") == 1
    return [finding for finding in analysis.verdict.findings if finding.id != "blocked-threads-hang"]


def test_a_run_without_anything_odd_has_no_finding() -> None:
    for run in (recorded.run(blocks=2), recorded.under_open_load(recorded.run(blocks=2))):
        assert of_service(recorded.analysed(run)) == []


def test_the_findings_of_a_run_are_in_its_verdict_the_measured_ones_first() -> None:
    case = Case({"pinned_seconds": 0.5, "capacity_carriers": 1.0}, inspection=inspection(), java="21.0.8")
    run = case.built()
    shown = recorded.analysed(run).verdict.findings
    assert [(finding.id, finding.kind) for finding in shown] == [
        ("pinned-threads", "measured"),
        ("hikaricp-spins", "static"),
        ("lock-waiters-hang", "static"),
    ]
    assert shown[0].command == f"{run.manifest.command} --variant java=25"


def test_what_the_pre_flight_showed_is_a_finding_whatever_became_of_its_block() -> None:
    run = recorded.run(blocks=3)
    run.blocks[0].differences = ["virtual answered 500 to GET /a"]
    run.blocks[0].faults = ["k6 died"]
    analysis = recorded.analysed(run)
    assert [rejected.block for rejected in analysis.rejected] == [run.blocks[0].block]
    assert [(f.id, f.variant, f.amount) for f in of_service(analysis)] == [
        ("answers-differ", "virtual", "virtual answered 500 to GET /a")
    ]


def test_published_problems_of_a_run_are_those_of_its_own_jdk() -> None:
    libraries = [Library(group="com.mysql", artifact="mysql-connector-j", version="8.4.0")]
    run = recorded.run(blocks=2, inspection=inspection().model_copy(update={"libraries": libraries}))
    assert of_service(recorded.analysed(run)) == []
    for block in run.blocks:
        block.instances[:] = [i.model_copy(update={"java": "21.0.8"}) for i in block.instances]
    shown = recorded.analysed(run).verdict.findings
    assert [(finding.id, finding.amount) for finding in shown] == [
        ("mysql-driver-pins", "on JDK 21.0.8"),
        ("lock-waiters-hang", ""),
    ]


def test_flags_of_a_variants_environment_count_for_published_problems() -> None:
    run = recorded.run(blocks=2)
    run = replace(run, manifest=recorded.copied(run.manifest, {"jvm_flags": ["-Xmx256m"]}))
    for block in run.blocks:
        block.instances[:] = [i.model_copy(update={"java": "26.0.1"}) for i in block.instances]
    assert recorded.analysed(run).verdict.findings == []
    settings = {"JAVA_TOOL_OPTIONS": "-javaagent:/opt/dd-java-agent.jar"}
    properties = {"virtual": {"threads": "virtual", "settings": {"JDK_JAVA_OPTIONS": "-Xss1m -XX:AOTCache=app.aot"}}}
    changed = recorded.experiment(settings=settings, properties=properties)
    (finding,) = recorded.analysed(replace(run, experiment=changed)).verdict.findings
    assert finding.place == "-javaagent:/opt/dd-java-agent.jar, -XX:AOTCache=app.aot"
