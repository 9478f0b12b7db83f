"""This machine as a target, with real JVMs, k6 and Prometheus: what it fills in, what it leaves behind."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.support.lab_call import TINY, alive
from vtlab import results, session
from vtlab.catalogue.metrics import REPORT_SERIES, WINDOW_METRICS
from vtlab.errors import BadInput, BlockFault, PrerequisiteMissing
from vtlab.host import cgroup, ports, tools
from vtlab.host.cgroup import Limit
from vtlab.host.processes import Ledger
from vtlab.host.server import await_ready
from vtlab.model import experiment
from vtlab.model.experiment import Experiment
from vtlab.model.records import Trial
from vtlab.services import sample
from vtlab.services.process import Launch, VariantProcess, spawn
from vtlab.targets.local.target import LocalTarget, local_target
from vtlab.targets.prometheus import Prometheus

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="sets CPU limits: root only"),
]


def tiny(**changes: object) -> Experiment:
    data = json.loads(TINY.read_text(encoding="utf-8"))
    for key, value in changes.items():
        data[key] = {**data[key], **value} if isinstance(value, dict) and key in data else value
    return experiment.parse(json.dumps(data), str(TINY))


class Watched:
    """A run folder, and everything that was ever on record in its ledger."""

    def __init__(self, root: Path, planned: Experiment) -> None:
        self.root = root
        self.folder = root / "run"
        self.folder.mkdir()
        self.planned = planned
        results.write_experiment(self.folder, planned)
        self.pids: dict[str, int] = {}
        self.cgroups: set[str] = set()

    def target(self, **more: Any) -> AbstractContextManager[LocalTarget]:
        return local_target(self.folder, self.root, session.REPOSITORY, **more)

    def look(self) -> dict[str, int]:
        """role -> newest pid"""
        for ledger in (self.root / ".processes").glob("*.jsonl"):
            # The last line may be half written.
            for entry in map(json.loads, ledger.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()):
                if "role" in entry:
                    self.pids[entry["role"]] = entry["pid"]
                elif "cgroup" in entry:
                    self.cgroups.update(entry["cgroup"]["directories"].values())
        return self.pids

    def nothing_left(self, *roles: str) -> None:
        assert set(roles) <= set(self.pids), self.pids
        assert [role for role, pid in self.pids.items() if alive(pid)] == []
        assert [place for place in self.cgroups if Path(place).exists()] == []
        assert list((self.root / ".processes").glob("*.jsonl")) == []


class Later(threading.Thread):
    """Acts a second after the next process of a role is on record; ``at`` tells when it did."""

    def __init__(self, watched: Watched, role: str, action: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self.at = math.inf
        self._watched, self._role, self._action = watched, role, action
        self._before = watched.look().get(role)
        self.start()

    def run(self) -> None:
        end = time.monotonic() + 120
        while self._watched.look().get(self._role) == self._before:
            if time.monotonic() > end:
                return
            time.sleep(0.05)
        time.sleep(1)
        self.at = time.monotonic()
        self._action()


#: Rounds of warm-up that k6 needs minutes for.
LONG = 30


def kill_under_load(watched: Watched, role: str) -> Later:
    return Later(watched, "k6", lambda: os.kill(watched.pids[role], signal.SIGKILL))


def k6_was_stopped(watched: Watched, kill: Later) -> None:
    assert time.monotonic() - kill.at < 30, "k6 itself goes on for two minutes"
    assert not alive(watched.look()["k6"])


def matches_what_was_scraped(trial: Trial, client: Prometheus, sure: bool) -> None:
    """A cold JVM may let a scrape time out; what the others show must be there. ``sure``: enough of them succeed."""
    window = f"[{trial.end - trial.start}ms]"

    def rate(counter: str) -> float | None:
        series = f'http_server_requests_seconds_{counter}{{$server,uri="/thread"}}'
        return client.measured(trial.variant, f"sum(rate({series}{window}))", trial.end)

    scraped = client.measured(trial.variant, f"sum_over_time(up{{$server}}{window})", trial.end) or 0
    assert scraped >= 2 or not sure
    assert (trial.server["cpu_cores"] is not None) == (scraped >= 2), trial
    up = client.measured(trial.variant, "up{$server}", trial.end)
    assert trial.server["cpu_limit"] == (1 if up else None)
    count, seconds = rate("count"), rate("sum")
    assert trial.server["server_throughput"] == pytest.approx(count)
    assert trial.server["service_time"] == pytest.approx(seconds / count if seconds and count else None)


def counted(client: Prometheus, variant: str, requests: int) -> tuple[float | None, float | None]:
    """Requests for the workload that a fresh JVM has counted, and their seconds, once there are as many: it may end one
    a little after its answer."""
    end = time.monotonic() + 60
    while True:
        client.await_scrape(variant, client.now(), within=60)
        at = client.now()
        count, seconds = (
            client.measured(variant, f'sum(http_server_requests_seconds_{each}{{$server,uri="/thread"}})', at)
            for each in ("count", "sum")
        )
        if (count or 0) >= requests or time.monotonic() > end:
            return count, seconds


def counts_agree(variant: str, phases: Sequence[Trial], client: Prometheus) -> None:
    """The server's counters and k6's own samples, as native histograms, are those of the records."""
    own = [trial for trial in phases if trial.variant == variant]
    assert not any(trial.failed or trial.failed_outside for trial in own)
    completed = sum(trial.completed for trial in own)
    count, seconds = counted(client, variant, completed)
    assert count == completed == sum(trial.started for trial in own)
    at = client.now()

    def samples(of: str, metric: str, more: str = "") -> float | None:
        series = f'last_over_time({metric}{{variant="{variant}"{more}}}[15m])'
        return client.evaluate(f"sum(histogram_{of}({series}))", at)

    assert samples("count", "k6_trial_latency_seconds") == completed
    total = samples("sum", "k6_trial_latency_seconds")
    assert seconds is not None
    assert total is not None
    assert 0.2 * count <= seconds <= total, "each waits 200 ms, and its client for all of it"
    # They carry the phase in which their request started, ``ok`` counts those that ended in it.
    trial = own[-1]
    began = trial.ok + trial.in_flight.end - trial.in_flight.start
    assert samples("count", "k6_http_req_duration_seconds", ',phase="measure"') == began


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path, tiny())


def test_a_whole_block_then_faults_then_a_block_again(tmp_path: Path) -> None:
    """One target through all that can happen to it, as a run goes through its attempts."""
    # So long that a stall leaves enough scrapes.
    watched = Watched(tmp_path, tiny(windows={"measure": "5s"}))
    with watched.target() as target:
        block = target.start(watched.planned, 1, 1)
        started = block.instances
        pids = dict(watched.look())
        assert [i.variant for i in started] == ["platform", "virtual"]
        for instance in started:
            assert instance.processors == 1
            assert instance.cpu_limit == 1.0
            assert instance.gc == "Serial"
            assert instance.java.startswith(tools.find_java().version)
            assert instance.identity.startswith(f"{pids[f'jvm {instance.variant}']}:")
            assert cgroup.limit_of(pids[f"jvm {instance.variant}"]) == Limit(1.0, 768 * 1024**2)
            environment = Path(f"/proc/{pids[f'jvm {instance.variant}']}/environ").read_text(encoding="utf-8")
            assert f"SPRING_THREADS_VIRTUAL_ENABLED={str(instance.variant == 'virtual').lower()}" in environment
        assert cgroup.limit_of(os.getpid()).cpu is None

        document = block.load(order=["platform", "virtual"], warmup_cycles=1, single="5s")
        assert cgroup.limit_of(pids["prometheus"]).cpu is None
        assert [t.variant for t in document.trials] == ["platform", "virtual"]
        assert len(document.warmup) == len(document.single) == 2
        phases = (*document.warmup, *document.single, *document.trials)
        for trial in phases:
            assert set(trial.server) == {*WINDOW_METRICS, "in_flight_before"}
            assert trial.server["in_flight_before"] == 0
            assert set(trial.machine) >= {
                "idle_cores",
                "generator_cpu",
                "generator_delay",
                "generator_throttled",
            }
            assert trial.machine["generator_cpu"] is not None
            assert trial.machine["generator_throttled"] is None
        series = block.series(document.trials[0].begin, document.trials[-1].drained)
        assert set(series) == {"platform", "virtual"}
        assert all(set(metrics) == set(REPORT_SERIES) for metrics in series.values())
        assert max(value for _, value in series["virtual"]["in_flight"]) > 10
        with Prometheus(target.prometheus.url) as client:
            for trial in phases:
                matches_what_was_scraped(trial, client, sure=trial.phase != "warmup")
            for variant in watched.planned.variants:
                counts_agree(variant, phases, client)

        addresses = [variant.metrics_address for variant in block.variants]
        finished = block.check_instances()
        assert finished == started, "alive, no OOM kill"
        watched.look()
        groups = set(watched.cgroups)
        assert alive(pids["jvm platform"]), "until the block is stored"

        # A JVM dies under load: k6 is stopped at once.
        block = target.start(watched.planned, 1, 2)
        assert [variant.metrics_address for variant in block.variants] == addresses, "which Prometheus knows already"
        assert not alive(pids["jvm platform"])
        assert not any(Path(place).exists() for place in groups)
        assert alive(pids["prometheus"])
        kill = kill_under_load(watched, "jvm platform")
        with pytest.raises(BlockFault, match=r"^platform: the JVM ended with exit code 137 \(killed\) while k6 loaded"):
            block.load(order=["platform", "virtual"], warmup_cycles=LONG, single=None)
        k6_was_stopped(watched, kill)
        first, second = block.check_instances()
        assert (first.alive, second.alive) == (False, True)

        # Prometheus and k6 die; the JVMs of that attempt are gone at the next start without finish().
        block = target.start(watched.planned, 1, 3)
        left = watched.look()["jvm virtual"]
        kill_under_load(watched, "k6")
        with pytest.raises(BlockFault, match=r"^k6 ended with exit code 137 \(killed\)"):
            block.load(order=["platform", "virtual"], warmup_cycles=LONG, single=None)
        kill = kill_under_load(watched, "prometheus")
        with pytest.raises(BlockFault, match=r"^Prometheus ended with exit code 137 \(killed\)"):
            block.load(order=["platform", "virtual"], warmup_cycles=LONG, single=None)
        k6_was_stopped(watched, kill)
        with pytest.raises(BlockFault, match="Prometheus"):
            block.series(0, 1000)

        block = target.start(watched.planned, 1, 4)
        assert not alive(left)
        again = block.load(order=["virtual"], warmup_cycles=0, single=None)
        with Prometheus(target.prometheus.url) as client:
            matches_what_was_scraped(again.trials[0], client, sure=True)
        watched.look()
    watched.nothing_left("jvm platform", "jvm virtual", "k6", "prometheus")
    assert not (watched.folder / "prometheus").exists()
    assert (watched.folder / "logs" / "1-4-virtual.log").exists()


def test_a_variant_ends_with_what_is_unanswered_in_its_last_trial(tmp_path: Path) -> None:
    # 20 users who wait for one thread have an answer every 4 s; the window is longer than a stall.
    watched = Watched(tmp_path, tiny(settings={"SERVER_TOMCAT_THREADS_MAX": "1"}, windows={"measure": "6s"}))
    with watched.target() as target:
        block = target.start(watched.planned, 1, 1)
        started = block.instances
        (first,) = block.trial_without_drain("platform", 1).trials
        pids = dict(watched.look())
        assert [alive(pids[f"jvm {name}"]) for name in ("platform", "virtual")] == [False, True]
        assert first.given_up == first.in_flight.end
        assert first.given_up >= 19, "each user waits, but one that may have had an answer"
        assert (first.failed, first.failed_outside, first.started) == ({}, 0, first.completed)
        with Prometheus(target.prometheus.url) as client:
            client.await_scrape("virtual", client.now(), within=60)
        (second,) = block.trial_without_drain("virtual", 2).trials
        assert (first.position, second.position, second.server["in_flight_before"]) == (1, 2, 0)
        assert block.check_instances() == started, "as they were when their part was over"
    watched.nothing_left("jvm platform", "jvm virtual", "k6", "prometheus")


def test_what_they_need_runs_beside_the_variants(tmp_path: Path) -> None:
    """A database and a downstream: started once, told to every variant, ended, and their data removed."""
    watched = Watched(tmp_path, tiny(needs=["database", "downstream"], settings={"SPRING_DATASOURCE_URL": "mine"}))
    with watched.target() as target:
        block = target.start(watched.planned, 1, 1)
        pids = dict(watched.look())
        told = environment_of(pids["jvm platform"])
        url, password = told["SPRING_DATASOURCE_URL"], told["SPRING_DATASOURCE_PASSWORD"]
        assert url.startswith("jdbc:mysql://127.0.0.1:")
        assert told["SPRING_DATASOURCE_USERNAME"] == "lab"
        assert ports.listening_pid(int(url.rpartition(":")[2].removesuffix("/lab"))) == pids["database"]
        assert ports.listening_pid(int(told["LAB_DOWNSTREAM_URL"].rpartition(":")[2])) == pids["jvm downstream"]
        other = environment_of(pids["jvm virtual"])
        for name in ("SPRING_DATASOURCE_URL", "SPRING_DATASOURCE_PASSWORD", "LAB_DOWNSTREAM_URL"):
            assert other[name] == told[name]
        for role in ("database", "jvm downstream"):
            assert cgroup.limit_of(pids[role]) == cgroup.limit_of(os.getpid()), "no limit of a variant"
            assert "SPRING_DATASOURCE_PASSWORD" not in environment_of(pids[role])
        for pid in filter(alive, pids.values()):
            assert password.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()

        document = block.load(order=["virtual"], warmup_cycles=0, single=None)
        assert document.trials[0].ok > 0
        block = target.start(watched.planned, 2, 1)
        again = watched.look()
        assert (again["database"], again["jvm downstream"]) == (pids["database"], pids["jvm downstream"])
        assert environment_of(again["jvm platform"])["SPRING_DATASOURCE_PASSWORD"] == password
    watched.nothing_left("jvm platform", "jvm virtual", "jvm downstream", "database", "k6", "prometheus")
    assert not (watched.folder / "database").exists()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert watched.folder / "logs" / "database.log" in files
    assert watched.folder / "logs" / "downstream.log" in files
    assert [path for path in files if password.encode() in path.read_bytes()] == []


def test_the_death_of_what_they_need_is_a_fault(tmp_path: Path) -> None:
    watched = Watched(tmp_path, tiny(needs=["database", "downstream"]))
    with watched.target() as target:
        for attempt, name in enumerate(("database", "downstream"), 1):
            block = target.start(watched.planned, 1, attempt)
            kill = kill_under_load(watched, "database" if name == "database" else "jvm downstream")
            with pytest.raises(
                BlockFault, match=rf"^the {name} ended with exit code 137 \(killed\) while k6 loaded the variants$"
            ):
                block.load(order=["platform", "virtual"], warmup_cycles=LONG, single=None)
            k6_was_stopped(watched, kill)
        # The second attempt had a database again.
        assert alive(watched.pids["database"])
    watched.nothing_left("jvm platform", "jvm virtual", "jvm downstream", "database", "k6", "prometheus")


def environment_of(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


class Stop(Exception):
    pass


@pytest.mark.parametrize("where", ["start", "load"])
def test_everything_is_stopped_when_interrupted(where: str, watched: Watched) -> None:
    def interrupted(*_: object) -> None:
        watched.look()
        raise Stop

    before = signal.signal(signal.SIGUSR1, interrupted)

    def measure() -> None:
        with watched.target() as target:
            role = "jvm virtual" if where == "start" else "k6"
            Later(watched, role, lambda: os.kill(os.getpid(), signal.SIGUSR1))
            block = target.start(watched.planned, 1, 1)
            block.load(order=["platform", "virtual"], warmup_cycles=LONG, single=None)

    try:
        with pytest.raises(Stop):
            measure()
    finally:
        signal.signal(signal.SIGUSR1, before)
    watched.nothing_left("jvm platform", "jvm virtual", *(["k6", "prometheus"] if where == "load" else []))


def test_a_limit_that_does_not_hold_is_refused(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    class Toothless(cgroup._Direct):
        """A group that no process joins."""

        @property
        def prefix(self) -> list[str]:
            return []

    monkeypatch.setattr(cgroup, "_Direct", Toothless)
    with watched.target() as target:
        with pytest.raises(PrerequisiteMissing, match=r"CPU limit of 1 does not hold: .* allows no limit") as error:
            target.start(watched.planned, 1, 1)
        assert "--no-cpu-limit" in error.value.fix
        watched.look()
    watched.nothing_left("jvm platform", "jvm virtual")


def test_without_a_limit_nothing_is_refused_and_none_is_told(watched: Watched) -> None:
    with watched.target(no_cpu_limit=True) as target:
        for instance in target.start(watched.planned, 1, 1).instances:
            assert instance.cpu_limit is None
            assert instance.processors == os.cpu_count()
        watched.look()
    assert watched.cgroups == set()
    watched.nothing_left("jvm platform", "jvm virtual", "prometheus")


def test_a_jvm_that_cannot_start_is_a_fault_with_its_words(tmp_path: Path) -> None:
    watched = Watched(tmp_path, tiny(settings={"SERVER_TOMCAT_THREADS_MAX": "many"}))
    with watched.target() as target:
        with pytest.raises(BlockFault, match=r"(?s)the JVM ended with exit code 1 while it started: .*many"):
            target.start(watched.planned, 1, 1)
        watched.look()
    watched.nothing_left("jvm platform", "jvm virtual")


def test_a_variant_that_is_not_what_it_is_called_is_refused(tmp_path: Path) -> None:
    override = '{"spring.threads.virtual.enabled": true}'
    watched = Watched(tmp_path, tiny(settings={"SPRING_APPLICATION_JSON": override}))
    with watched.target() as target:
        with pytest.raises(BadInput, match="platform: it runs on virtual threads"):
            target.start(watched.planned, 1, 1)
        watched.look()
    watched.nothing_left("jvm platform", "jvm virtual")


def test_a_kernel_oom_kill_is_named(tmp_path: Path) -> None:
    watched = Watched(tmp_path, tiny(limits={"cpu": 1, "memory": "64Mi", "heap": "48m"}))
    with watched.target() as target:
        with pytest.raises(BlockFault, match="killed it at its memory limit of 64Mi"):
            target.start(watched.planned, 1, 1)
        watched.look()
    watched.nothing_left("jvm platform", "jvm virtual")


def test_a_lost_port_race_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ports.free
    running: list[VariantProcess] = []
    with socket.socket() as held, Ledger(tmp_path) as ledger:
        held.bind((ports.HOST, 0))
        held.listen()
        taken = held.getsockname()[1]
        answers = iter([[taken, *real(1)], [*real(1), taken]])
        monkeypatch.setattr(ports, "free", lambda count: next(answers, None) or real(count))
        javas = dict.fromkeys(tiny().variants, tools.find_java())
        service = sample.service(session.REPOSITORY)
        spawn(Launch(service, tiny(), javas, ledger, tmp_path / "logs", "1-1", False), running)
        await_ready([variant.server for variant in running])
    assert [variant.server.attempts for variant in running] == [2, 2]


def test_an_outer_environment_does_not_leak(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:ActiveProcessorCount=7")
    monkeypatch.setenv("SPRING_APPLICATION_JSON", '{"server.tomcat.threads.max": 3}')
    monkeypatch.setenv("SERVER_PORT", "1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("K6_VUS", "1")
    with watched.target() as target:
        block = target.start(watched.planned, 1, 1)
        assert [i.processors for i in block.instances] == [1, 1]
        document = block.load(order=["platform"], warmup_cycles=0, single=None)
        assert document.trials[0].server["tomcat_threads_max"] == 200
        watched.look()
    watched.nothing_left("jvm platform", "k6")
