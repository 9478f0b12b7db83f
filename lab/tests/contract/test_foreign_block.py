"""A service that knows nothing of vtlab: a block of it, in which every figure is the agent's. One command for such a
service: tests/truth/test_foreign.py."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import foreign
from tests.support.privileges import needs_root
from tests.support.runs import RunFolder
from tests.support.stalls import Stalls, least_disturbed
from vtlab.analysis.laws.explanation import explain
from vtlab.analysis.laws.phases import measured_variant
from vtlab.catalogue.metrics import WINDOW_METRICS
from vtlab.errors import BadInput
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial
from vtlab.planning.load_call import CallPacing, LoadCall

pytestmark = [pytest.mark.timeout(1200), needs_root]

#: Jetty keeps two of them: an acceptor and a selector.
THREADS, KEPT = 13, 2
USERS, SECONDS = 29, 0.3
_POOLS = ("db-pool", "client-pool", "executor")
_OF_POOLS = {f"{family}_{name}" for family in ("utilization", "capacity", "demand") for name in _POOLS}
_OF_JETTY = {"jetty_threads_max", "jetty_threads_busy", *(f"{f}_jetty-threads" for f in ("utilization", "capacity"))}
#: What a service on Jetty has not: Tomcat, a count of its requests, pools.
_NOWHERE = {
    *(
        f"{family}_{name}"
        for family in ("utilization", "capacity", "demand")
        for name in ("tomcat-threads", "connections")
    ),
    *("tomcat_threads_busy", "tomcat_threads_max", "connections", "connections_max"),
    *("server_throughput", "service_time", "service_time_p50", "service_time_p95", "service_time_p99", "queue_time"),
    *("db_pool_active", "db_pool_pending", "hold_db_pool", "hold_db_pool_error"),
    *("client_pool_active", "client_pool_pending", "hold_client_pool"),
    *("executor_active", "executor_queued", "hold_executor"),
    *_OF_POOLS,
}
ABSENT = {"platform": _NOWHERE, "virtual": _NOWHERE | _OF_JETTY | {"demand_jetty-threads", "in_flight"}}
#: A JVM that has not collected yet has no such figure.
SOMETIMES = {"gc_share"}


def waiting(folder: Path, **changes: Any) -> Experiment:
    """Requests that wait, to the service on Jetty."""
    return foreign.kiosk(
        folder,
        requests=[{"path": "/wait", "query": {"duration": f"{SECONDS * 1000:.0f}ms"}}],
        load={"full": {"users": USERS}},
        windows={"measure": "6s"},
        **changes,
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Experiment, Block]:
    folder = tmp_path_factory.mktemp("foreign")
    planned = waiting(folder, settings={"SERVER_JETTY_THREADS_MAX": str(THREADS)})
    run = RunFolder(folder, planned)
    with run.target() as target, contextlib.closing(Stalls()) as stalls:

        def measure(attempt: int) -> Block:
            started = target.start(planned, 1, attempt)
            call = LoadCall(trial_order=planned.variants, warmup_cycles=3, single_user_phase="4s")
            # In a longer window a stall counts for less.
            longer = replace(call, pacing=CallPacing(measure=12_000))
            document = started.load(call if attempt == 1 else longer)
            return Block(
                block=1,
                attempt=attempt,
                order=planned.variants,
                agreed=document.agreed,
                warmup=document.warmup,
                single=document.single,
                trials=document.trials,
                instances=started.check_instances(),
            )

        block = least_disturbed(measure, lambda block: stalls.disturbed([*block.single, *block.trials]))
        run.look()
    run.nothing_left("jvm platform", "jvm virtual", "k6", "prometheus")
    return planned, block


def trial(block: Block, variant: str) -> Trial:
    return next(trial for trial in block.trials if trial.variant == variant)


@pytest.mark.parametrize("variant", ["platform", "virtual"])
def test_a_foreign_service_has_the_figures_of_the_agent(measured: tuple[Experiment, Block], variant: str) -> None:
    """A service without an actuator has every figure that there is of its kind, by the agent alone."""
    server = trial(measured[1], variant).server
    missing = {name for name in WINDOW_METRICS if server[name] is None}
    assert missing - SOMETIMES == ABSENT[variant]
    assert 0 < (server["cpu_cores"] or 0) < 1


def test_jettys_threads_are_named(measured: tuple[Experiment, Block]) -> None:
    """A service on Jetty is limited by its Jetty threads, of which Jetty keeps some; on virtual threads by the load."""
    planned, block = measured
    platform, virtual = (explain(measured_variant([block], planned, name)) for name in planned.variants)
    assert platform.bottleneck.resource == "jetty-threads", platform
    (bound,) = (bound for bound in platform.bounds if bound.resource == "jetty-threads")
    assert bound.capacity == THREADS - KEPT
    server = trial(block, "platform").server
    assert server["jetty_threads_busy"] == server["in_flight"] == pytest.approx(THREADS - KEPT, rel=0.15)
    assert virtual.bottleneck.resource == "load", virtual


@pytest.mark.parametrize(("threads", "variant"), [("true", "platform"), ("false", "virtual")])
def test_a_service_that_sets_the_property_itself_is_refused(tmp_path: Path, threads: str, variant: str) -> None:
    """A service on Jetty whose code decides on its threads is refused, with the variant that has others."""
    planned = waiting(tmp_path, settings={"KIOSK_THREADS": threads})
    run = RunFolder(tmp_path, planned)
    runs = {"true": "virtual", "false": "platform"}[threads]
    with run.target() as target, pytest.raises(BadInput, match=f"^{variant}: it runs on {runs} threads") as refused:
        target.start(planned, 1, 1)
    assert "in the service's code the property itself" in refused.value.fix
    run.nothing_left()
