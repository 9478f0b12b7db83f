"""A service whose CPU alone is short, and that has no meters of it: nothing else may take the CPU meanwhile."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from tests.support.experiments import stub
from tests.support.privileges import needs_root
from tests.support.runs import RunFolder
from tests.support.stalls import Stalls, undisturbed
from vtlab.analysis.laws.explanation import explain
from vtlab.analysis.laws.phases import measured_variant
from vtlab.model.records import Block
from vtlab.planning.load_call import LoadCall

pytestmark = [pytest.mark.timeout(600), needs_root]

VARIANTS = ("platform", "virtual")


def test_a_service_without_meters_of_the_cpu_has_a_cpu_bottleneck(tmp_path: Path) -> None:
    """vtlab measures the CPU that it limits: cpu is the bottleneck also of a service without such meters."""
    # 5 ms of CPU a request under 0.2 cores are 40 a second.
    planned = stub(
        requests=[{"path": "/cpu", "query": {"duration": "5ms"}}], limits={"cpu": 0.2}, windows={"measure": "3s"}
    )
    run = RunFolder(tmp_path, planned)
    with run.target() as target, contextlib.closing(Stalls()) as stalls:
        started = target.start(planned, 1, 1)

        def measure(attempt: int) -> Block:
            document = started.renumbered(planned, 1, attempt).load(
                LoadCall(trial_order=VARIANTS, warmup_cycles=1, single_user_phase="1s")
            )
            return Block(
                block=1,
                attempt=attempt,
                order=document.order,
                single=document.single,
                trials=document.trials,
                instances=started.instances,
            )

        def disturbances(block: Block) -> list[str]:
            shares = [(trial.variant, trial.server["utilization_cpu"] or 0) for trial in block.trials]
            short = [
                f"{name} had {share:.0%} of its quota: others had the CPU" for name, share in shares if share < 0.9
            ]
            return short + stalls.disturbed([*block.single, *block.trials])

        def check(block: Block) -> None:
            for trial in block.trials:
                explained = explain(measured_variant([block], planned, trial.variant))
                assert explained.bottleneck.resource == "cpu", explained
                (bound,) = (bound for bound in explained.bounds if bound.resource == "cpu")
                assert bound.capacity == 0.2
                assert bound.service_demand >= 0.005, "what was planted, and the rest of a request"
                server = trial.server
                assert (server["throttled_periods"] or 0) > 0.5
                assert (server["throttled_seconds"] or 0) > 0
                assert server["utilization_cpu"] == pytest.approx(bound.utilisation)
                assert server["demand_cpu"] == server["cpu_per_request"] == pytest.approx(bound.service_demand)

        undisturbed(measure, check, disturbances)
