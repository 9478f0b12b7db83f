"""Single users and light load of all variants at the same time, by one k6 for each."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.experiments import stub
from tests.support.lab_call import alive
from tests.support.privileges import needs_root
from tests.support.runs import Later, RunFolder
from tests.support.stalls import least_disturbed, unsampled
from vtlab.errors import VariantFailed
from vtlab.host.wait import wait_until
from vtlab.model.k6_documents import K6Document
from vtlab.planning.load_call import LightLoad, LoadCall
from vtlab.prometheus.queries import Prometheus
from vtlab.targets.local.block import LocalBlock

pytestmark = [pytest.mark.timeout(600), needs_root]

VARIANTS = ("platform", "virtual")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path, stub())


def test_each_variant_has_a_k6_of_its_own(run: RunFolder) -> None:
    """At once there is one k6 for every variant. No sample is lost, and the other's requests are no leftover."""
    with run.target() as target:
        block = target.start(run.planned, 1, 1)
        block.load(LoadCall(trial_order=VARIANTS, warmup_cycles=1))
        assert len(every_k6(run)) == 1
        single = loaded_at_once(block, run, LoadCall(single_user_phase="6s", is_at_once=True))
        assert not single.trials
        light = LightLoad({"platform": (0.0, 20.0, 0.0), "virtual": (0.0, 40.0, 0.0)}, settle=500, measure=2000)
        light_document = loaded_at_once(block, run, LoadCall(light_load=light, is_at_once=True))
        assert [t.rate for t in light_document.light] == [0, 20, 0, 0, 40, 0]
        for phases in (single.single, light_document.light):
            assert [t.variant for t in phases] == [name for name in VARIANTS for _ in range(3)]
            for phase in phases:
                assert (phase.failed, phase.failed_outside) == ({}, 0)
                assert phase.server["in_flight_before"] == 0, "of its own: the other's is no leftover"
                assert phase.machine["generator_cpu"] is not None
                assert phase.server["cpu_cores"] is not None
        after = block.load(LoadCall(trial_order=VARIANTS))
        assert [t.server["in_flight_before"] for t in after.trials] == [0, 0]
        checked = block.check_instances()
        assert [instance.model_copy(update={"resident_peak": None}) for instance in checked] == block.instances
    # Two k6 that wrote the same series would lose samples of either.
    assert "of order" not in (run.folder / "logs" / "prometheus.log").read_text(encoding="utf-8")
    assert not [log for log in (run.folder / "logs").glob("*-k6.log") if "status code: 400" in log.read_text("utf-8")]
    run.nothing_left("service platform", "service virtual", "k6", "prometheus")


def loaded_at_once(block: LocalBlock, run: RunFolder, call: LoadCall) -> K6Document:
    """Returns what one k6 for each variant measures; loads again where the CPU of one is unknown."""

    def measure(_: int) -> K6Document:
        before = set(every_k6(run))
        document = block.load(call)
        assert len(every_k6(run) - before) == len(VARIANTS)
        return document

    return least_disturbed(measure, unsampled)


def every_k6(run: RunFolder) -> set[int]:
    run.look()
    return run.every["k6"]


def test_a_variant_that_dies_is_named_and_every_k6_is_stopped(run: RunFolder) -> None:
    """A variant that dies while every variant has a k6 is named, every k6 is stopped, and the other is measured."""
    with run.target() as target:
        block = target.start(run.planned, 1, 1)
        pid = run.look()["service virtual"]

        def kill_under_load() -> None:
            with Prometheus(target.site.prometheus.url) as client:
                wait_until("no sample of k6", lambda: client.last_phase("virtual", 0), within=60)
            os.kill(pid, signal.SIGKILL)

        Later(run, "k6", kill_under_load)
        with pytest.raises(VariantFailed) as broken:
            block.load(LoadCall(single_user_phase="120s", is_at_once=True))
        assert broken.value.variant == "virtual"
        assert len(every_k6(run)) == 2
        assert not any(map(alive, run.every["k6"]))
        block.drop("virtual")
        left = block.load(LoadCall(single_user_phase="3s", is_at_once=True))
        assert {t.variant for t in left.single} == {"platform"}
    run.nothing_left("service platform", "service virtual", "k6", "prometheus")
