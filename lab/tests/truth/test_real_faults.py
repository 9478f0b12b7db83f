"""What goes wrong with real JVMs and a real lack of CPU, beyond what the stub service shows."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.experiments import tiny
from tests.support.lab_call import TINY, Running, alive, blocks, leftovers, measuring, only, started, vtlab
from tests.support.privileges import needs_root
from tests.support.runs import RunFolder
from vtlab.analysis.validity import checks
from vtlab.host.cgroup import Cgroup
from vtlab.measuring.attempt import Attempt
from vtlab.measuring.attempt_plan import AttemptPlan
from vtlab.measuring.progress import Progress
from vtlab.planning import planned_runs, trial_order
from vtlab.runs import store as stored
from vtlab.runs.create import create_runs
from vtlab.runs.options import Options
from vtlab.targets.local.target import LocalOptions, local_target

pytestmark = [pytest.mark.calls, pytest.mark.timeout(900), needs_root]


def test_jvms_that_outlive_vtlab_are_ended_and_the_run_goes_on(tmp_path: Path) -> None:
    """vtlab resume ends the JVMs of a vtlab that was killed, and measures the blocks that are missing."""
    root = tmp_path / "results"
    with Running(tmp_path, "run", TINY, "--blocks", "2", "--max-rejected", "20", "--results", root) as run:
        run.until(measuring(2))
        orphans = [pid for _, pid in started(root) if alive(pid)]
        run.end(signal.SIGKILL)
    assert len([pid for pid in orphans if alive(pid)]) >= 3, "two JVMs, Prometheus and perhaps k6 outlive it"
    results = only(root)
    before = blocks(results)
    done = vtlab("resume", results)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "earlier vtlab left behind" in done.stdout + done.stderr
    assert [pid for pid in orphans if alive(pid)] == []
    assert blocks(results)[: len(before)] == before
    whole = stored.read(results)
    assert [block.block for block in whole.blocks if not checks.reasons(block, whole.experiment)] == [1, 2]
    assert leftovers(root) == []


def test_a_jvm_that_cannot_start_fails_with_its_words(tmp_path: Path) -> None:
    """A JVM that Spring ends fails with the reason from its log, without the stack trace."""
    run = RunFolder(tmp_path, tiny(settings={"SERVER_TOMCAT_THREADS_MAX": "many"}))
    with run.target() as target:
        for failure in target.start(run.planned, 1, 1).failures:
            assert failure.reason.startswith("it ended with exit code 1: ")
            assert "many" in failure.reason
            assert "at org.springframework" not in failure.reason
        run.look()
    run.nothing_left("jvm platform", "jvm virtual")


def test_a_jvm_beyond_its_memory_limit_is_named(tmp_path: Path) -> None:
    """A JVM that the kernel kills while it starts is named with its memory limit."""
    run = RunFolder(tmp_path, tiny(limits={"cpu": 1, "memory": "64Mi", "heap": "48m"}))
    with run.target() as target:
        failures = target.start(run.planned, 1, 1).failures
        assert [failure.variant for failure in failures] == ["platform", "virtual"]
        assert all("killed it at its memory limit of 64Mi" in failure.reason for failure in failures)
        run.look()
    run.nothing_left("jvm platform", "jvm virtual")


def test_a_squeezed_k6_is_called_saturated(tmp_path: Path) -> None:
    """A load generator with too little CPU rejects the block as saturated."""
    fast = tiny(requests=[{"path": "/thread", "query": {"duration": "5ms"}}], load={"full": {"users": 40}})
    root = tmp_path / "results"
    (planned,) = planned_runs.runs([fast], [])
    folder = create_runs([planned], Options(1, 1, root, no_cpu_limit=False), "tiny")
    squeeze = Cgroup.create(f"test-{os.getpid()}-squeeze", 0.2, 2 * 1024**3)
    try:
        with local_target(folder, root, LocalOptions(k6_prefix=squeeze.prefix)) as target:
            run = stored.read(folder)
            order = trial_order.order(run.experiment.variants, 1, 1)
            attempt = AttemptPlan(
                experiment=run.experiment, seed=1, block=1, attempt=1, order=order, with_single_user=True
            )
            block, _ = Attempt(attempt, Progress(Console(quiet=True)), "tiny").measure(target)
    finally:
        squeeze.remove()
    reasons = checks.reasons(block, run.experiment)
    assert any("the load generator was saturated" in reason for reason in reasons), reasons
