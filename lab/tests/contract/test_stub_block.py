"""Whole blocks of the stub service, with real control groups, k6 and Prometheus: what vtlab fills in by itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import stub
from tests.support.lab_call import alive, leftovers
from vtlab.analysis import laws
from vtlab.host.processes import FOLDER
from vtlab.model.records import Block

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(120),
    pytest.mark.skipif(os.geteuid() != 0, reason="sets CPU limits: root only"),
]


def test_a_whole_block_of_a_command(tmp_path: Path) -> None:
    """A service that is a command runs as variants under their limits; every record has the figures of both sides."""
    planned = stub.planned()
    with stub.target(tmp_path, planned) as target:
        block = target.start(planned, 1, 1)
        pids = [variant.process.pid for variant in block.variants]
        assert [instance.variant for instance in block.instances] == ["platform", "virtual"]
        assert {(i.cpu_limit, i.processors, i.java, i.gc) for i in block.instances} == {(1, 1, "25.0.0 stub", "Serial")}
        document = block.load(order=["virtual", "platform"], warmup_cycles=1, single="1s")
        assert [trial.variant for trial in document.trials] == ["virtual", "platform"]
        for trial in (*document.warmup, *document.single, *document.trials):
            assert trial.ok > 0
            assert trial.failed == {}
            assert trial.server["cpu_limit"] == 1
            assert trial.server["in_flight_before"] == 0
            # A fraction of a core: the stub waits. Its memory is that of a small Python.
            assert trial.server["cpu_cores"] is not None
            assert 0 <= trial.server["cpu_cores"] < 1
            assert trial.server["resident"] is not None
            assert 4 * 1024**2 < trial.server["resident"] < 64 * 1024**2
            assert trial.machine["generator_cpu"] is not None
        assert block.check_instances() == block.instances, "alive, no OOM kill"
        charts = block.series(document.trials[0].begin, document.trials[-1].drained)
        assert all(charts[name][of] for name in planned.variants for of in ("cpu_cores", "resident", "in_flight"))
        assert all(map(alive, pids)), "until the block is stored"
    assert not any(map(alive, pids))
    assert leftovers(tmp_path) == []
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_service_without_meters_of_the_cpu_has_a_cpu_bottleneck(tmp_path: Path) -> None:
    """The harness measures what it enforces: 5 ms of CPU a request bound a service under 0.2 cores to 40/s."""
    planned = stub.planned(
        request={"path": "/cpu", "query": {"duration": "5ms"}}, limits={"cpu": 0.2}, windows={"measure": "3s"}
    )
    with stub.target(tmp_path, planned) as target:
        started = target.start(planned, 1, 1)
        for attempt in range(1, 4):
            document = started.renumbered(planned, 1, attempt).load(
                order=planned.variants, warmup_cycles=1, single="1s"
            )
            block = Block(
                block=1,
                attempt=attempt,
                order=document.order,
                single=document.single,
                trials=document.trials,
                instances=started.instances,
            )
            explained = [laws.explain(laws.measured([block], planned, variant)) for variant in planned.variants]
            # A machine that is busy elsewhere does not give a service its whole quota: then measure again.
            if all(found.constraint.resource == "cpu" for found in explained):
                break
    for found, trial in zip(explained, document.trials, strict=True):
        assert found.constraint.resource == "cpu", found
        (bound,) = (bound for bound in found.bounds if bound.resource == "cpu")
        assert bound.capacity == 0.2
        assert bound.demand >= 0.005, "what was planted, and the rest of a request"
        server = trial.server
        assert server["throttled_periods"] is not None
        assert server["throttled_periods"] > 0.5
        assert server["throttled_seconds"] is not None
        assert server["throttled_seconds"] > 0
        assert server["utilization_cpu"] == pytest.approx(bound.utilisation)
        assert server["demand_cpu"] == server["cpu_per_request"] == pytest.approx(bound.demand)
