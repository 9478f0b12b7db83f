"""What dies or fails in runs, by the command line, on a service that starts at once: every fault is named, nothing is
left running."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from tests.support.experiments import WITHOUT_LIGHT_LOAD, stub_file
from tests.support.lab_call import Running, alive, leftovers, only, started, verdict
from tests.support.privileges import needs_root
from vtlab.runs import store as stored

pytestmark = [pytest.mark.timeout(600), needs_root]


def kill(root: Path, role: str) -> None:
    pids = [pid for name, pid in started(root) if role in name and alive(pid)]
    assert pids, f"no living '{role}' among {started(root)}"
    os.kill(pids[-1], signal.SIGKILL)


def test_a_dead_prometheus_costs_a_block_and_a_dead_service_is_a_result(tmp_path: Path) -> None:
    """A killed Prometheus costs a run one block; a service that ends fails, and the other variant is measured."""
    root = tmp_path / "results"
    dying = {"virtual": {"threads": "virtual", "settings": {"STUB_DIE_AFTER": "20"}}}
    planned = stub_file(tmp_path, windows=WITHOUT_LIGHT_LOAD | {"measure": "3s"}, properties=dying)
    with Running(tmp_path, "run", planned, "--blocks", "1", "--max-rejected", "1", "--results", root) as run:
        run.until("block 1 of 1: warm-up")
        kill(root, "prometheus")
        # 4: the machine disturbed the second attempt, too, which is judged here as it is.
        assert run.process.wait(400) in (0, 4), run.text()
        assert re.search(r"virtual failed, .*: it ended with exit code 9", run.text())
    results = only(root)
    first, second = stored.read(results).blocks
    assert "Prometheus ended with exit code 137 (killed)" in " ".join(first.faults)
    assert second.faults == []
    assert [(failure.variant, failure.reason) for failure in second.failures] == [
        ("virtual", "it ended with exit code 9")
    ]
    # On a slow machine all answers of a cycle of the warm-up may come late, which ends the attempt before its trials.
    late = "every answer came after the window" in str(verdict(results)["rejected"])
    assert [trial.variant for trial in second.trials] == ([] if late else ["platform"])
    measured = [*second.warmup, *second.trials]
    assert {trial.variant for trial in measured} == {"platform"}
    assert sum(trial.ok for trial in measured) > 0
    assert leftovers(root) == []


def test_a_k6_that_dies_again_and_again_makes_the_run_invalid(tmp_path: Path) -> None:
    """A run whose blocks are all rejected ends with 4 and a report that says so."""
    root = tmp_path / "results"
    slow = stub_file(tmp_path, windows={"warmup_load": "3s"})
    with Running(tmp_path, "run", slow, "--blocks", "1", "--results", root) as run:
        for attempt in ("block 1 of 1: warm-up", "attempt 2: warm-up", "attempt 3: warm-up"):
            run.until(attempt)
            run.wait_for(lambda: any("k6" in role and alive(pid) for role, pid in started(root)), "a k6", 120)
            kill(root, "k6")
        assert run.process.wait(300) == 4, run.text()
        assert "k6" in run.text()
    results = only(root)
    assert verdict(results)["valid"] is False
    assert (results / "report.html").is_file()
    assert leftovers(root) == []
