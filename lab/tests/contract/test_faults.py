"""What dies or fails in runs, by the command line, on a service that starts at once: every fault is named, nothing is
left running."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from tests.support.experiments import WITHOUT_LIGHT_LOAD, stub_file
from tests.support.lab_call import PATIENT, Running, alive, blocks, leftovers, measuring, only, started, verdict, vtlab
from tests.support.privileges import needs_root

pytestmark = [pytest.mark.timeout(600), needs_root]


def kill(root: Path, role: str) -> None:
    pids = [pid for name, pid in started(root) if role in name and alive(pid)]
    assert pids, f"no living '{role}' among {started(root)}"
    os.kill(pids[-1], signal.SIGKILL)


def test_a_dead_prometheus_costs_a_block_and_a_dead_service_is_a_result(tmp_path: Path) -> None:
    """A killed Prometheus costs a run one block; a service that ends fails, and the other variant is measured."""
    root = tmp_path / "results"
    dying = {"virtual": {"threads": "virtual", "settings": {"STUB_DIE_AFTER": "30"}}}
    planned = stub_file(tmp_path, windows=WITHOUT_LIGHT_LOAD | {"measure": "3s"}, properties=dying)
    with Running(tmp_path, "run", planned, "--blocks", "1", *PATIENT, "--results", root) as run:
        run.until(measuring(1))
        kill(root, "prometheus")
        assert run.process.wait(400) == 0, run.text()
        assert re.search(r"virtual failed, .*: it ended with exit code 9", run.text())
    results = only(root)
    recorded = blocks(results)
    faults = [" ".join(block["faults"]) for block in recorded]
    assert any("Prometheus ended with exit code 137 (killed)" in fault for fault in faults)
    assert len(recorded) > 1
    last = recorded[-1]
    assert last["faults"] == []
    assert [(failure["variant"], failure["reason"]) for failure in last["failures"]] == [
        ("virtual", "it ended with exit code 9")
    ]
    assert [trial["variant"] for trial in last["trials"]] == ["platform"]
    document = verdict(results)
    assert document["valid"] is True
    failed = {name: result["failed_blocks"] for name, result in document["variants"].items()}
    assert failed == {"platform": 0, "virtual": 1}
    assert document["variants"]["platform"]["throughput"] > 0
    assert leftovers(root) == []


def test_a_k6_that_dies_again_and_again_makes_the_run_invalid(tmp_path: Path) -> None:
    """A run whose blocks are all rejected ends with 4 and a report that says so."""
    root = tmp_path / "results"
    slow = stub_file(tmp_path, windows={"warmup_load": "3s"})
    with Running(tmp_path, "run", slow, "--blocks", "1", "--results", root) as run:
        for attempt in ("block 1 of 1: warm-up", "attempt 2: warm-up", "attempt 3: warm-up"):
            run.until(attempt)
            run.wait_for(lambda: any("k6" in role and alive(pid) for role, pid in started(root)), "a k6", 30)
            kill(root, "k6")
        assert run.process.wait(120) == 4, run.text()
        assert "k6" in run.text()
    results = only(root)
    assert verdict(results)["valid"] is False
    assert (results / "report.html").is_file()
    assert leftovers(root) == []


def test_a_variant_that_fails_in_every_block_is_the_verdict(tmp_path: Path) -> None:
    """A run whose variant fails in three blocks of three ends with the verdict fails, exit code 0, and the reason; what
    was asserted of it does not hold."""
    broken = {"virtual": {"threads": "virtual", "settings": {"STUB_STATUS": "500"}}}
    wrong = stub_file(tmp_path, windows=WITHOUT_LIGHT_LOAD, properties=broken)
    done = vtlab("run", wrong, "--blocks", "6", *PATIENT, "--results", tmp_path / "results")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "status-500" in done.stdout + done.stderr
    results = only(tmp_path / "results")
    document = verdict(results)
    assert (document["valid"], document["n"]) == (True, 3), "further blocks are not needed"
    assert (document["comparisons"][0]["verdict"], document["comparisons"][0]["fails"]) == ("fails", ["virtual"])
    virtual, platform = document["variants"]["virtual"], document["variants"]["platform"]
    assert (virtual["failed_blocks"], platform["failed_blocks"]) == (3, 0)
    assert all("status-500" in failure["reason"] for failure in virtual["failures"])
    assert platform["throughput"] > 0

    manifest = results / "manifest.json"
    asserted = json.loads(manifest.read_text(encoding="utf-8")) | {"asserts": ["throughput(virtual/platform) > 0.1"]}
    manifest.write_text(json.dumps(asserted), encoding="utf-8")
    done = vtlab("resume", results)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "virtual failed in 3 of 3 blocks" in done.stderr


def test_errors_that_the_experiment_allows_do_not_fail_a_variant(tmp_path: Path) -> None:
    """A service that answers one error in twenty is compared where max_errors allows it, with its error ratio."""
    planned = stub_file(tmp_path, settings={"STUB_FAIL_EVERY": "20"}, max_errors=0.15)
    done = vtlab("run", planned, "--blocks", "1", *PATIENT, "--results", tmp_path / "results")
    assert done.returncode == 0, done.stdout + done.stderr
    document = verdict(only(tmp_path / "results"))
    assert document["comparisons"][0]["ratio"] is not None
    for result in document["variants"].values():
        assert result["failed_blocks"] == 0
        assert 0.02 < result["error_ratio"] < 0.15
