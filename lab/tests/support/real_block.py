"""One block of the sample application, for tests of everything that reads it: vtlab, rules, dashboards, reports."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from tests.support.experiments import tiny
from tests.support.runs import RunFolder
from tests.support.stalls import Stalls, least_disturbed
from vtlab.analysis.validity import checks
from vtlab.host.threads import compilers
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial
from vtlab.model.run import BlockSeries
from vtlab.planning.load_call import LoadCall, TypicalCall
from vtlab.prometheus.queries import Prometheus
from vtlab.targets.local.block import LocalBlock
from vtlab.targets.local.target import LocalTarget

VARIANTS = ("platform", "virtual")
#: Typical load of the block: what platform can serve.
TYPICAL = TypicalCall(VARIANTS, rate=30, users=80, settle=1000, measure=5000)
#: A block here has little warm-up, and one trial for each variant.
NOT_HERE = {"trials complete", "warm-up cycles", "steady state"}


@dataclass(frozen=True)
class Measured:
    """A block with 20 users who wait 200 ms. Platform has 10 threads: it serves 50 requests a second, virtual 100."""

    run: RunFolder
    target: LocalTarget
    block: Block
    series: BlockSeries
    client: Prometheus
    #: What disturbed it, in spite of several attempts.
    disturbances: list[str]
    #: Nice values of the threads of JIT compilers: while they had more CPU, under the limit, after the warm-up.
    nice: tuple[set[int], set[int], set[int]]

    @property
    def planned(self) -> Experiment:
        return self.run.planned

    @property
    def run_id(self) -> str:
        return self.target.site.run_id

    @property
    def loaded_until(self) -> int:
        """Returns when the last request of trials and typical load was answered, in ms since the epoch."""
        return max(trial.drained for trial in [*self.block.trials, *self.block.typical])

    def query(self, expr: str, at_ms: int) -> list[dict[str, Any]]:
        """Returns the result of an instant query, as Prometheus gives it."""
        data = {"query": expr, "time": f"{at_ms / 1000:.3f}"}
        answer = httpx.post(f"{self.client.url}/api/v1/query", data=data, trust_env=False, timeout=60)
        result: list[dict[str, Any]] = answer.json()["data"]["result"]
        return result

    def trial(self, variant: str) -> Trial:
        return next(trial for trial in self.block.trials if trial.variant == variant)


@contextlib.contextmanager
def measured(root: Path, window: str, attempts: int = 4) -> Iterator[Measured]:
    """Measures a block; everything still runs. It is measured again where its validity checks reject it, or the machine
    stalled in it; the last attempt stands as it is, and says so."""
    windows = {"measure": window, "warmup_requests": 200}
    run = RunFolder(root, tiny(windows=windows, settings={"SERVER_TOMCAT_THREADS_MAX": "10"}))
    with run.target() as target, contextlib.closing(Stalls()) as stalls:
        result = least_disturbed(
            lambda attempt: _attempt(run, target, stalls, attempt),
            lambda measurement: measurement.disturbances,
            attempts,
        )
        run.look()
        with result.client:
            await_rules(result, result.loaded_until + 2000)
            yield result
    run.nothing_left("jvm platform", "jvm virtual", "k6", "prometheus")


def _attempt(run: RunFolder, target: LocalTarget, stalls: Stalls, attempt: int) -> Measured:
    # A run each: what a rejected attempt measured is not this one's.
    target.site = replace(target.site, run_id=f"run-{attempt}")
    started = target.start(run.planned, 1, attempt)
    raised = started.raise_cpu()
    first = started.load(LoadCall(warmup_cycles=2))
    nice_before = _nice_of_compilers(started)
    if raised is not None:
        started.restore_cpu()
    nice_under_limit = _nice_of_compilers(started)
    started.end_warm_up()
    nice = nice_before, nice_under_limit, _nice_of_compilers(started)
    document = started.load(LoadCall(trial_order=VARIANTS, warmup_cycles=1, typical=TYPICAL, single_user_phase="4s"))
    block = Block(
        block=1,
        attempt=attempt,
        order=list(VARIANTS),
        agreed=document.agreed,
        warmup=[*first.warmup, *document.warmup],
        single=document.single,
        trials=document.trials,
        typical=document.typical,
        instances=started.check_instances(),
    )
    series = started.series(block.trials[0].begin, block.trials[-1].drained)
    reasons = _reasons_against(block, run.planned) + stalls.disturbed([*block.single, *block.trials, *block.typical])
    return Measured(run, target, block, series, Prometheus(target.site.prometheus.url), reasons, nice)


def _reasons_against(block: Block, planned: Experiment) -> list[str]:
    failed = [check for check in checks.results([block], planned) if not check.passed]
    # No check: a run does without the meters of a cycle.
    unscraped = [cycle for cycle in block.warmup if cycle.server["processors"] is None]
    return [
        *(f"{check.name}: {check.worst}" for check in failed if check.name not in NOT_HERE),
        *(f"{cycle.variant}, warm-up {cycle.position}: Prometheus has no samples" for cycle in unscraped),
    ]


def await_rules(measured: Measured, at_ms: int) -> None:
    """Waits until the rules of the run have been evaluated at that time: what they see lies some seconds back."""
    rule = f'vtlab:run_throughput:rate{{testid="{measured.run_id}"}}'
    deadline = time.monotonic() + 60
    while (seen := measured.query(f"min(timestamp({rule}))", round(1000 * time.time()))) == [] or (
        1000 * float(seen[0]["value"][1]) < at_ms
    ):
        assert time.monotonic() < deadline, seen
        time.sleep(0.5)


def _nice_of_compilers(started: LocalBlock) -> set[int]:
    threads = [thread for variant in started.variants for thread in compilers(variant.process.pid)]
    return {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads}
