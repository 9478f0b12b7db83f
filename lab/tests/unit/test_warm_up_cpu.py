"""More CPU for the first part of the warm-up, without processes. (With them: test_stub_attempts.)"""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.support import recorded
from vtlab.errors import BlockFault
from vtlab.host import cgroup_hierarchies
from vtlab.host.cgroup_hierarchies import Limit
from vtlab.targets.local import warm_up_cpu
from vtlab.targets.local.block import LocalBlock, LocalStart


def test_a_variant_gets_what_the_others_leave_over_where_that_is_more_than_its_limit() -> None:
    assert warm_up_cpu.cores(1, available=2) == 1.5
    assert warm_up_cpu.cores(0.5, available=2) == 1.5
    assert warm_up_cpu.cores(2, available=2) is None, "all cores already"
    assert warm_up_cpu.cores(1.4, available=2) is None, "hardly more"
    assert warm_up_cpu.cores(4, available=16) == 15.5


def test_of_a_machine_vtlab_has_what_its_own_quota_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(warm_up_cpu.os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.setattr(cgroup_hierarchies, "limit_of", lambda _: Limit(2.5, None))
    assert warm_up_cpu.available() == 2.5
    monkeypatch.setattr(cgroup_hierarchies, "limit_of", lambda _: Limit(None, None))
    assert warm_up_cpu.available() == 4


class Limited:
    """A variant whose control group allows what it is told, at most ``most``."""

    def __init__(self, variant: str, most: float = 8.0, ended: str | None = None) -> None:
        self.variant = variant
        self.cpu = 1.0
        self.ended = ended
        self._most = most
        self.cgroup: Any = self
        self.process = SimpleNamespace(pid=self)
        self.metrics_address = f"{variant}:8081"
        self.launch = SimpleNamespace(service=SimpleNamespace(jar="app.jar", metrics="/meters"))
        self.history: list[float] = []

    def set_cpu(self, cpu: float) -> None:
        if self.ended:
            raise FileNotFoundError("its group")
        self.cpu = min(cpu, self._most)
        self.history.append(self.cpu)

    def end(self) -> str | None:
        return self.ended


READ: list[str] = []


@pytest.fixture(autouse=True)
def read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    READ.clear()
    monkeypatch.setattr(warm_up_cpu, "read_meters", READ.extend)
    monkeypatch.setattr(cgroup_hierarchies, "limit_of", lambda variant: Limit(variant.cpu, None))
    monkeypatch.setattr(warm_up_cpu, "available", lambda: 2.0)
    monkeypatch.setattr(warm_up_cpu, "await_compilers", lambda pids: None)


def allow(cpu: float, *variants: Any) -> None:
    warm_up_cpu.allow(variants, cpu)


def test_a_quota_that_is_not_read_back_as_set_is_a_fault() -> None:
    good, capped = Limited("platform"), Limited("virtual", most=1.2)
    allow(1.5, good)
    assert good.cpu == 1.5
    with pytest.raises(BlockFault, match=r"virtual: its control group has 1\.2 cores, 1\.5 cores were set"):
        allow(1.5, good, capped)


def test_a_variant_that_has_ended_has_no_quota_to_set() -> None:
    allow(1.0, Limited("platform", ended="it ended with exit code 1"))
    running = Limited("virtual")

    def refuse(cpu: float) -> None:
        raise OSError("Invalid argument")

    running.set_cpu = refuse  # type: ignore[method-assign]
    with pytest.raises(BlockFault, match=r"virtual: its CPU limit cannot be set to 1 cores: Invalid argument"):
        allow(1.0, running)


def test_a_variant_that_ends_while_its_quota_is_set_is_no_fault() -> None:
    """It may run out of memory while its meters are read, and leaves its control group."""
    ending = Limited("virtual")

    def end(cpu: float) -> None:
        ending.ended = "out of heap memory (64m)"

    ending.set_cpu = end  # type: ignore[method-assign]
    allow(1.5, ending)
    assert ending.cpu == 1.0, "read back from another group"


def block(*variants: Any) -> LocalBlock:
    run = recorded.run(blocks=1, experiment=recorded.experiment(load={"full": {"users": 20}}))
    site: Any = SimpleNamespace(run_id="r")
    return LocalBlock(site, LocalStart(run.experiment, 1, 1, variants, run.blocks[0].instances))


def test_all_variants_of_a_block_are_raised_and_restored() -> None:
    variants = [Limited("platform"), Limited("virtual")]
    started = block(*variants)
    assert started.raise_cpu() == 1.5
    assert [v.cpu for v in variants] == [1.5, 1.5]
    started.restore_cpu()
    assert [v.history for v in variants] == [[1.5, 1.0], [1.5, 1.0]]
    assert READ == ["http://platform:8081/meters", "http://virtual:8081/meters"]


@pytest.mark.parametrize(("cores", "expected"), [(2, True), (4, False), (None, True)])
def test_variants_are_loaded_at_once_only_where_vtlab_may_use_the_whole_machine(
    cores: int | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vtlab.targets.local.block.os.cpu_count", lambda: cores)
    assert block(Limited("platform")).loads_at_once is expected, "of two cores that it may use"


def test_meters_are_not_read_where_the_load_is_the_bound() -> None:
    rounds = {"platform": "5s", "virtual": "1s"}
    run = recorded.run(experiment=recorded.experiment(load={"full": {"users": 1000, "round": rounds}}), blocks=1)
    site: Any = SimpleNamespace(run_id="r")
    variants: Any = [variant := Limited("platform")]
    started = LocalBlock(site, LocalStart(run.experiment, 1, 1, variants, run.blocks[0].instances))
    started.raise_cpu()
    started.restore_cpu()
    assert READ == []
    assert variant.history == [1.5, 1.0]


def test_jit_compilers_go_first_while_their_quota_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    variants = [Limited("platform"), Limited("virtual")]
    pids: dict[object, list[int]] = {variants[0]: [11, 12], variants[1]: [21]}
    nice: list[tuple[int, int]] = []
    monkeypatch.setattr(warm_up_cpu, "compilers", pids.__getitem__)
    monkeypatch.setattr(warm_up_cpu.os, "setpriority", lambda _, thread, value: nice.append((thread, value)))
    started = block(*variants)
    started.raise_cpu()
    assert nice == [(11, -20), (12, -20), (21, -20)]
    assert started._compilers_first
    nice.clear()
    started.restore_cpu()
    assert nice == [], "they go first until the warm-up is over"
    started.end_warm_up()
    assert nice == [(11, 0), (12, 0), (21, 0)]
    assert not started._compilers_first


def test_without_the_right_to_it_the_compilers_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError("Operation not permitted")

    monkeypatch.setattr(warm_up_cpu, "compilers", lambda _: [11])
    monkeypatch.setattr(warm_up_cpu.os, "setpriority", refuse)
    started = block(variant := Limited("platform"))
    assert started.raise_cpu() == 1.5
    assert not started._compilers_first
    started.restore_cpu()
    assert variant.history == [1.5, 1.0]


def test_the_meters_of_every_variant_are_read_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    read: Counter[str] = Counter()

    class Client(httpx.Client):
        def get(self, url: Any, **_: Any) -> httpx.Response:
            assert self.headers["Connection"] == "close", "a kept connection waits 40 ms for the client"
            read[url] += 1
            if url == "http://ended" and read[url] == 3:
                raise httpx.ConnectError("refused")
            return httpx.Response(200)

    monkeypatch.setattr(warm_up_cpu.httpx, "Client", Client)
    warm_up_cpu.read_meters(["http://platform", "http://virtual", "http://ended"])
    assert read == {"http://platform": 500, "http://virtual": 500, "http://ended": 3}


def test_where_one_cannot_be_raised_all_keep_their_limit() -> None:
    variants = [Limited("platform"), Limited("virtual", most=1.0)]
    assert block(*variants).raise_cpu() is None
    assert [v.cpu for v in variants] == [1.0, 1.0]
    assert variants[0].history == [1.5, 1.0]


@pytest.mark.parametrize("why", ["no limit", "no jar"])
def test_what_has_no_limit_or_no_fixed_shape_is_not_raised(why: str) -> None:
    variant = Limited("platform")
    if why == "no limit":
        variant.cgroup = None
    else:
        variant.launch.service.jar = None
    assert block(variant).raise_cpu() is None
    assert variant.history == []


def test_the_limit_comes_back_when_the_compilers_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    #: CPU seconds of the compilers of two processes at each look.
    used = {1: [1.0, 1.4, 1.41, 1.41], 2: [None, None, None, None]}
    looks = {pid: iter(values) for pid, values in used.items()}

    class Compilers:
        jit_cpu: float | None = None

        def __init__(self, pid: int, _: float | None) -> None:
            self.pid = pid

        def changes(self) -> None:
            self.jit_cpu = next(looks[self.pid])

    waited: list[float] = []
    monkeypatch.setattr(warm_up_cpu, "Threads", Compilers)
    monkeypatch.setattr(warm_up_cpu.time, "sleep", waited.append)
    warm_up_cpu.await_compilers([1, 2])
    assert len(waited) == 2, "0.4 s of CPU in the first half second, 0.01 s in the second"
    looks[1] = iter(range(100))
    looks[2] = iter(range(100))
    monkeypatch.setattr(warm_up_cpu.time, "monotonic", iter(range(0, 100, 2)).__next__)
    warm_up_cpu.await_compilers([1, 2])
    assert len(waited) == 4, "after five seconds it does not wait for them"
