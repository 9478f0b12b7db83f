"""Blocks of a service that starts at once, under the real local target: k6, Prometheus, control groups and ledger."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import signal
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.experiments import stub, stub_service
from tests.support.lab_call import alive
from tests.support.privileges import needs_root
from tests.support.runs import LONG, Later, RunFolder, environment_of, kill_under_load
from tests.support.stalls import Stalls, least_disturbed, undisturbed, unsampled
from vtlab.catalogue.metrics import REPORT_SERIES, WINDOW_METRICS
from vtlab.errors import BadInput, BlockFault, GeneratorFailed, PrerequisiteMissing, VariantFailed
from vtlab.host import cgroup, cgroup_hierarchies, ports
from vtlab.host.cgroup_hierarchies import Limit
from vtlab.host.wait import wait_until
from vtlab.model.records import Instance, Trial
from vtlab.planning.load_call import CallPacing, LoadCall, TypicalCall
from vtlab.prometheus.queries import Prometheus
from vtlab.targets.local.block import LocalBlock
from vtlab.targets.local.target import LocalOptions, LocalTarget

pytestmark = [pytest.mark.timeout(600), needs_root]

VARIANTS = ("platform", "virtual")
SERVICES = ("service platform", "service virtual")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path, stub())


def test_a_whole_block_is_measured_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block runs its variants under their limits and k6 without, fills in every figure, and leaves nothing."""
    outer = {"JAVA_TOOL_OPTIONS": "-Xleak", "SPRING_APPLICATION_JSON": "{}", "SERVER_PORT": "1"}
    outer |= {"http_proxy": "http://127.0.0.1:1", "K6_VUS": "1"}
    for name, value in outer.items():
        monkeypatch.setenv(name, value)
    # So long that a stall leaves enough scrapes.
    run = RunFolder(tmp_path, stub(windows={"measure": "5s"}))
    with run.target() as target:
        block = target.start(run.planned, 1, 1)
        pids = dict(run.look())
        limit = Limit(1.0, 64 * 1024**2)
        for instance in block.instances:
            pid = pids[f"service {instance.variant}"]
            assert (instance.cpu_limit, cgroup_hierarchies.limit_of(pid)) == (1.0, limit)
            assert (instance.processors, instance.java, instance.gc) == (1, "25.0.0 stub", "Serial")
            assert instance.identity.startswith(f"{pid}:")
            environment = environment_of(pid)
            assert environment["SPRING_THREADS_VIRTUAL_ENABLED"] == str(instance.variant == "virtual").lower()
            assert environment["SERVER_PORT"] != "1"
            assert not environment.keys() & (outer.keys() - {"SERVER_PORT"})
        call = LoadCall(trial_order=VARIANTS, warmup_cycles=1, single_user_phase="1s")
        document = least_disturbed(lambda _: block.load(call), unsampled)
        pids = dict(run.look())
        assert not environment_of(pids["prometheus"]).keys() & outer.keys()
        assert [instance.variant for instance in block.instances] == list(VARIANTS)
        assert [trial.variant for trial in document.trials] == list(VARIANTS)
        assert (len(document.warmup), len(document.single)) == (2, 6), "of each variant one, and three"
        phases = (*document.warmup, *document.single, *document.trials)
        for trial in phases:
            assert (trial.failed, trial.failed_outside) == ({}, 0)
            # By the kernel, as the stub does not tell: a fraction of a core, and the memory of a small Python.
            assert trial.server["cpu_limit"] == 1
            assert 0 <= (trial.server["cpu_cores"] or 0) < 1
            assert 4 * 1024**2 < (trial.server["resident"] or 0) < 64 * 1024**2
            assert set(trial.server) == {*WINDOW_METRICS, "in_flight_before", "core_wait"}
            assert trial.server["in_flight_before"] == 0
            assert trial.machine["generator_cpu"] is not None
            assert trial.machine["generator_throttled"] is None, "k6 has no limit"
        series = block.series(document.trials[0].begin, document.trials[-1].drained)
        assert {variant: set(metrics) for variant, metrics in series.items()} == {
            key: set(REPORT_SERIES) for key in VARIANTS
        }
        checked = block.check_instances()
        assert as_started(checked) == block.instances, "alive, no OOM kill"
        for instance in checked:
            largest = max(trial.server["resident"] or 0 for trial in phases if trial.variant == instance.variant)
            # The kernel counts in batches.
            assert (instance.resident_peak or 0) > 0.9 * largest
        run.look()
        groups = set(run.cgroups)
        assert groups
        assert alive(pids["service platform"]), "until the block is stored"

        again = target.start(run.planned, 2, 1)
        assert [variant.server.ports for variant in again.variants] == [v.server.ports for v in block.variants]
        assert not alive(pids["service platform"])
        assert [group for group in groups if Path(group).exists()] == []
        assert alive(pids["prometheus"])
        run.look()
    run.nothing_left(*SERVICES, "k6", "prometheus")
    assert not (run.folder / "prometheus").exists()
    assert (run.folder / "logs" / "2-1-virtual.log").exists()


def test_every_side_counts_the_same_requests(run: RunFolder) -> None:
    """The service's counters and k6's own samples, as native histograms, are those of the records."""
    with run.target() as target, contextlib.closing(Stalls()) as stalls:

        def measure(attempt: int) -> list[Trial]:
            # A run each: a k6 that was stopped while it wrote its samples may lose the last of a series.
            target.site = replace(target.site, run_id=f"run-{attempt}")
            started = target.start(run.planned, 1, attempt)
            document = started.load(LoadCall(trial_order=VARIANTS, warmup_cycles=1, single_user_phase="1s"))
            return [*document.warmup, *document.single, *document.trials]

        def check(phases: Sequence[Trial]) -> None:
            with Prometheus(target.site.prometheus.url) as client:
                for variant in VARIANTS:
                    counts_agree([trial for trial in phases if trial.variant == variant], client, target.site.run_id)

        undisturbed(measure, check, stalls.disturbed)


def counts_agree(phases: Sequence[Trial], client: Prometheus, run_id: str) -> None:
    trial, variant = phases[-1], phases[-1].variant
    completed = sum(phase.completed for phase in phases)
    assert completed == sum(phase.started for phase in phases)
    assert counted(client, variant, completed) == completed

    def samples(metric: str, more: str = "") -> float | None:
        series = f'last_over_time({metric}{{variant="{variant}",testid="{run_id}"{more}}}[15m])'
        return client.evaluate(f"sum(histogram_count({series}))", client.now())

    assert samples("k6_trial_latency_seconds") == completed
    # They carry the phase in which their request started, ``ok`` counts those that ended in it.
    began = trial.ok + trial.in_flight.end - trial.in_flight.start
    assert samples("k6_http_req_duration_seconds", ',phase="measure"') == began


def counted(client: Prometheus, variant: str, requests: int) -> float | None:
    """Requests that the service has counted, once there are as many: it may end one a little after its answer."""
    end = time.monotonic() + 60
    while True:
        client.await_scrape(variant, client.now(), within=60)
        count = client.measured(variant, 'sum(http_server_requests_seconds_count{$server,uri="/thread"})', client.now())
        if (count or 0) >= requests or time.monotonic() > end:
            return count


def test_typical_load_and_probes_reach_each_variant(tmp_path: Path) -> None:
    """A probe asks the management port of each variant beside full and typical load. Under typical load CPU is what the
    kernel counts. A call can do without probes."""
    run = RunFolder(tmp_path, stub(windows={"measure": "3s"}))
    with run.target() as target:
        block = target.start(run.planned, 1, 1)
        trials = block.load(LoadCall(trial_order=VARIANTS, warmup_cycles=1)).trials
        typical = TypicalCall(VARIANTS, rate=20, users=60, settle=1100, measure=3000)
        phases = block.load(LoadCall(typical=typical)).typical
        (without,) = block.load(LoadCall(trial_order=["platform"], with_probe=False)).trials
    assert [(phase.variant, phase.rate, phase.failed) for phase in phases] == [(name, 20, {}) for name in VARIANTS]
    for phase in (*trials, *phases):
        probe = phase.probe
        assert probe
        assert (probe.sent + probe.skipped, probe.healthy + probe.unanswered) == (15, probe.sent)
        assert probe.healthy > 0
        assert (phase.server["cpu_cores"] or 0) > 0
    assert without.probe is None


def test_what_is_unanswered_in_a_variants_last_trial_ends_with_it(tmp_path: Path) -> None:
    """Without a drain the requests that a variant's last trial leaves unanswered are given up, and the variant ends."""
    # Ten users who wait for one thread have an answer every 4 s.
    slow = stub(
        settings={"STUB_THREADS": "1"},
        requests=[{"path": "/thread", "query": {"duration": "400ms"}}],
        windows={"measure": "4s", "wait_for_answers": False},
    )
    run = RunFolder(tmp_path, slow)
    with run.target() as target:
        block = target.start(run.planned, 1, 1)
        (first,) = block.trial_without_drain("platform", 1).trials
        pids = dict(run.look())
        assert [alive(pids[role]) for role in SERVICES] == [False, True]
        assert first.given_up == first.in_flight.end
        assert first.given_up >= 9, "each user waits, but one that may have had an answer"
        assert (first.failed, first.failed_outside, first.started) == ({}, 0, first.completed)
        with Prometheus(target.site.prometheus.url) as client:
            client.await_scrape("virtual", client.now(), within=60)
        (second,) = block.trial_without_drain("virtual", 2).trials
        assert (first.position, second.position, second.server["in_flight_before"]) == (1, 2, 0)
        checked = block.check_instances()
        assert as_started(checked) == block.instances, "as they were when their part was over"
        assert all(instance.resident_peak for instance in checked)
    run.nothing_left(*SERVICES, "k6", "prometheus")


def as_started(instances: Sequence[Instance]) -> list[Instance]:
    """Returns the instances without what is known only at the end."""
    return [instance.model_copy(update={"resident_peak": None}) for instance in instances]


def load(block: LocalBlock) -> None:
    block.load(LoadCall(trial_order=VARIANTS, warmup_cycles=LONG))


def kill_once_seen(target: LocalTarget, pid: int) -> None:
    """Kills a service of platform once k6 has told Prometheus of the load on it."""
    with Prometheus(target.site.prometheus.url) as client:
        wait_until("no sample of k6", lambda: client.last_phase("platform", 0), within=60)
    os.kill(pid, signal.SIGKILL)


def k6_was_stopped(run: RunFolder) -> None:
    assert not alive(run.look()["k6"])
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in (run.folder / "k6").glob("*.json")]
    assert [document["trials"] for document in documents if document["trials"]] == [], "k6 was not left to its end"


def test_a_process_that_dies_under_load_is_a_fault_with_its_name_and_the_next_block_is_whole(tmp_path: Path) -> None:
    """A service, k6 or Prometheus that is killed under load is named, k6 is stopped, and the next block is whole."""
    run = RunFolder(tmp_path, stub())
    with run.target() as target:
        block = target.start(run.planned, 1, 1)
        Later(run, "k6", lambda: kill_once_seen(target, run.pids["service platform"]))
        with pytest.raises(VariantFailed, match=r"^platform: it ended with exit code 137 \(killed\)") as failed:
            load(block)
        assert re.fullmatch(r"w\d+", failed.value.phase or ""), "the phase, by what k6 has sent"
        k6_was_stopped(run)
        first, second = block.check_instances()
        assert (first.alive, second.alive) == (False, True)

        # The processes of this attempt are gone at the next start, without another word.
        block = target.start(run.planned, 1, 2)
        left = run.look()["service virtual"]
        kill_under_load(run, "k6")
        with pytest.raises(GeneratorFailed, match=r"^k6 ended with exit code 137 \(killed\)"):
            load(block)
        kill_under_load(run, "prometheus")
        with pytest.raises(BlockFault, match=r"^Prometheus ended with exit code 137 \(killed\)"):
            load(block)
        k6_was_stopped(run)
        with pytest.raises(BlockFault, match="Prometheus"):
            block.series(0, 1000)

        block = target.start(run.planned, 1, 3)
        assert not alive(left)
        # Until it has two scrapes, which stall with the machine.
        for measure in (4_000, 15_000, 60_000):
            call = LoadCall(trial_order=["virtual"], pacing=CallPacing(measure=measure))
            (trial,) = block.load(call).trials
            if trial.server["server_throughput"] is not None:
                break
        assert trial.ok > 0
        assert trial.server["server_throughput"] is not None
        run.look()
    run.nothing_left(*SERVICES, "k6", "prometheus")


def test_companions_run_beside_the_variants_and_their_death_is_a_fault(tmp_path: Path) -> None:
    """A database and a downstream are started once, told to every variant, named when they die, and leave no data."""
    run = RunFolder(tmp_path, stub(needs=["database", "downstream"], settings={"SPRING_DATASOURCE_URL": "mine"}))
    roles = {"database": "database", "downstream": "jvm downstream"}
    with run.target() as target:
        block = target.start(run.planned, 1, 1)
        pids = dict(run.look())
        environment = environment_of(pids["service platform"])
        url, password = environment["SPRING_DATASOURCE_URL"], environment["SPRING_DATASOURCE_PASSWORD"]
        assert url.startswith("jdbc:mysql://127.0.0.1:")
        assert environment["SPRING_DATASOURCE_USERNAME"] == "lab"
        assert ports.listening_pid(int(url.rpartition(":")[2].removesuffix("/lab"))) == pids["database"]
        assert ports.listening_pid(int(environment["LAB_DOWNSTREAM_URL"].rpartition(":")[2])) == pids["jvm downstream"]
        other = environment_of(pids["service virtual"])
        for name in ("SPRING_DATASOURCE_URL", "SPRING_DATASOURCE_PASSWORD", "LAB_DOWNSTREAM_URL"):
            assert other[name] == environment[name]
        for role in roles.values():
            assert cgroup_hierarchies.limit_of(pids[role]) == cgroup_hierarchies.limit_of(os.getpid()), (
                "no limit of a variant"
            )
            assert "SPRING_DATASOURCE_PASSWORD" not in environment_of(pids[role])
        for pid in filter(alive, pids.values()):
            assert password.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()

        for attempt, (name, role) in enumerate(roles.items(), 2):
            block = target.start(run.planned, 1, attempt)
            again = run.look()
            if name == "database":
                assert [again[companion] for companion in roles.values()] == [pids[c] for c in roles.values()]
                assert environment_of(again["service platform"])["SPRING_DATASOURCE_PASSWORD"] == password
            kill_under_load(run, role)
            with pytest.raises(
                BlockFault, match=rf"^the {name} ended with exit code 137 \(killed\) while k6 loaded the variants$"
            ):
                load(block)
            k6_was_stopped(run)
        # The third attempt had a database again.
        assert alive(run.pids["database"])
    run.nothing_left(*SERVICES, *roles.values(), "k6", "prometheus")
    assert not (run.folder / "database").exists()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert run.folder / "logs" / "database.log" in files
    assert run.folder / "logs" / "downstream.log" in files
    assert [path for path in files if password.encode() in path.read_bytes()] == []


class Stop(Exception):
    pass


# The signal may come between a connect and the statement that would close the socket: the collector closes that one.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.parametrize("when", ["start", "load"])
def test_everything_is_stopped_when_an_error_comes_in_between(when: str, run: RunFolder) -> None:
    """An error in the middle of a start or of a load stops everything that was started."""

    def interrupted(*_: object) -> None:
        run.look()
        raise Stop

    before = signal.signal(signal.SIGUSR1, interrupted)

    def measure() -> None:
        with run.target() as target:
            role = "service virtual" if when == "start" else "k6"
            if when == "start":
                # Never ready, so that the signal comes in the middle.
                run.plan(stub(settings={"STUB_NOT_READY": "1"}))
            Later(run, role, lambda: os.kill(os.getpid(), signal.SIGUSR1))
            load(target.start(run.planned, 1, 1))

    try:
        with pytest.raises(Stop):
            measure()
    finally:
        signal.signal(signal.SIGUSR1, before)
        gc.collect()
    run.nothing_left(*SERVICES, *(["k6", "prometheus"] if when == "load" else []))


def test_a_limit_that_does_not_hold_is_refused(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variant that is not under its CPU limit is refused, with what to do where no limit can be set."""

    class Toothless(cgroup._Direct):
        """A group that no process joins."""

        @property
        def prefix(self) -> list[str]:
            return []

    monkeypatch.setattr(cgroup, "_Direct", Toothless)
    with run.target() as target:
        with pytest.raises(PrerequisiteMissing, match=r"CPU limit of 1 does not hold: .* allows no limit") as error:
            target.start(run.planned, 1, 1)
        assert "--no-cpu-limit" in error.value.fix
        run.look()
    run.nothing_left(*SERVICES)


def test_without_a_limit_nothing_is_refused_and_none_is_told(run: RunFolder) -> None:
    """With --no-cpu-limit no control group is made, and the record of a variant has no limit."""
    with run.target(LocalOptions(no_cpu_limit=True)) as target:
        for instance in target.start(run.planned, 1, 1).instances:
            assert instance.cpu_limit is None
            assert instance.processors == os.cpu_count()
        run.look()
    assert run.cgroups == set()
    run.nothing_left(*SERVICES, "prometheus")


def test_a_variant_that_is_not_what_it_is_called_is_refused(tmp_path: Path) -> None:
    """A variant on the other kind of threads is refused."""
    run = RunFolder(tmp_path, stub(service=stub_service(SPRING_THREADS_VIRTUAL_ENABLED="true")))
    with run.target() as target:
        with pytest.raises(BadInput, match="platform: it runs on virtual threads"):
            target.start(run.planned, 1, 1)
        run.look()
    run.nothing_left(*SERVICES)


def test_a_kernel_oom_kill_under_load_is_named(tmp_path: Path) -> None:
    """A service that the kernel kills at its memory limit under load is named with that limit."""
    run = RunFolder(tmp_path, stub(settings={"STUB_EAT_AFTER": "20"}))
    with run.target() as target:
        block = target.start(run.planned, 1, 1)
        with pytest.raises(VariantFailed, match="the kernel killed it at its memory limit of 64Mi"):
            load(block)
        assert [instance.oom_kills > 0 for instance in block.check_instances()].count(True) >= 1
        run.look()
    run.nothing_left(*SERVICES, "k6", "prometheus")


def test_a_lost_port_race_is_run_again(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that finds one of its ports taken starts again on others."""
    free = ports.free
    with socket.socket() as held, run.target() as target:
        held.bind((ports.HOST, 0))
        held.listen()
        taken = held.getsockname()[1]
        answers = iter([[taken, *free(1)], [*free(1), taken]])
        monkeypatch.setattr(ports, "free", lambda count: next(answers, None) or free(count))
        block = target.start(run.planned, 1, 1)
        assert [variant.server.attempts for variant in block.variants] == [2, 2]
        assert len(block.instances) == 2
        run.look()
    run.nothing_left(*SERVICES, "prometheus")
