"""Both sides of a long trial agree: what k6 counted, what the service measured, what rules and verdict say of it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.support import real_block
from tests.support.privileges import needs_root
from tests.support.real_block import Measured
from tests.support.stalls import of_others, skipped_if_missed
from vtlab.analysis.laws.explanation import explain
from vtlab.analysis.laws.phases import measured_variant

pytestmark = [pytest.mark.small, pytest.mark.timeout(2400), needs_root]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    with real_block.measured(tmp_path_factory.mktemp("metrics"), "22s") as block:
        # Between two sides a law holds for sure only where nothing else took part.
        assert block.disturbances == [] or of_others(block.disturbances)
        yield block


@pytest.mark.parametrize(("variant", "served_at_once"), [("platform", 10), ("virtual", 20)])
def test_the_expressions_agree_with_what_k6_counted(measured: Measured, variant: str, served_at_once: int) -> None:
    """Throughput, latency, queueing and Little's law agree between k6 and the service."""
    with skipped_if_missed(of_others(measured.disturbances)):
        trial = measured.trial(variant)
        server = trial.server
        assert server["throughput"] == pytest.approx(trial.ok / trial.window, rel=0.01)
        assert server["latency_mean"] == pytest.approx(trial.latency.mean, rel=0.01)
        # A native histogram's bucket is 9 % wide.
        assert server["latency_p50"] == pytest.approx(trial.latency.p50, rel=0.09)
        assert server["error_ratio"] == 0
        service, latency = server["service_time"], trial.latency.mean
        assert service is not None
        assert latency is not None
        assert service >= 0.2, "no wait is shorter than it was asked to be"
        # Between two requests of a user a busy machine takes its time, so no law says that all 20 are in flight.
        in_flight_client, in_flight, started = server["in_flight_client"], server["in_flight"], server["started"]
        assert in_flight_client is not None
        assert in_flight_client <= 1.005 * 20
        # Both from the same samples: k6 on a busy machine sends them late, and the window lacks its last second.
        assert started is not None
        assert min(20, started * latency) == pytest.approx(in_flight_client, rel=0.03), "users in flight at the client"
        assert in_flight is not None
        assert in_flight <= served_at_once
        assert trial.throughput * service <= 1.03 * served_at_once, "requests that the server works on"
        # Counted once a second, of users who go in step.
        assert trial.throughput * service == pytest.approx(in_flight, rel=0.15)
        assert server["queue_time"] == pytest.approx(latency - service, rel=0.01, abs=0.003)
        at = round(1000 * time.time())
        run = f'vtlab:run_throughput:rate{{variant="{variant}",testid="{measured.run_id}"}}'
        assert measured.client.evaluate(run, at) == pytest.approx(trial.ok / trial.window, rel=0.005)


@pytest.mark.parametrize(("variant", "resource"), [("platform", "tomcat-threads"), ("virtual", "load")])
def test_rules_and_verdict_have_the_same_utilisations(measured: Measured, variant: str, resource: str) -> None:
    """The utilisations that the rules record are those of the verdict's bounds, and at most 1."""
    with skipped_if_missed(of_others(measured.disturbances)):
        explained = explain(measured_variant([measured.block], measured.planned, variant))
        assert explained.bottleneck.resource == resource
        trial = measured.trial(variant)
        # Of the CPU a cold JVM takes less and less: the last 15 s are not the whole window. Nor are they of what is
        # sampled once a second; over the same seconds rules and vtlab are compared above.
        held = {"tomcat-threads", "connections", "load"}
        bounds = [bound for bound in explained.bounds if bound.resource in held]
        assert {bound.resource for bound in bounds} == held - ({"tomcat-threads"} if variant == "virtual" else set())
        for bound in bounds:
            recorded = measured.client.evaluate(
                f'vtlab:utilization:ratio{{variant="{variant}",resource="{bound.resource}"}}', trial.end
            )
            assert recorded is not None
            assert recorded <= 1
            assert recorded == pytest.approx(bound.utilisation, rel=0.05), bound
