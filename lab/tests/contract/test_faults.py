"""What goes wrong in runs, by the command line, on a service that starts at once: every fault is named, nothing is left
running, no finished block is lost."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.experiments import stub_file
from tests.support.lab_call import Running, alive, blocks, leftovers, measuring, only, started, vtlab
from tests.support.privileges import MakeDisk, needs_root
from vtlab import results as stored
from vtlab.analysis import checks

pytestmark = [pytest.mark.timeout(600), needs_root]

#: What is planted costs blocks; what a busy machine costs comes on top.
PATIENT = ("--max-rejected", "20")


def verdict(results: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((results / "verdict.json").read_text(encoding="utf-8"))
    return document


def kill(root: Path, role: str) -> None:
    pids = [pid for name, pid in started(root) if role in name and alive(pid)]
    assert pids, f"no living '{role}' among {started(root)}"
    os.kill(pids[-1], signal.SIGKILL)


def test_a_dead_prometheus_costs_a_block_and_a_dead_service_is_a_result(tmp_path: Path) -> None:
    """A killed Prometheus costs a run one block; a service that ends fails, and the other variant is measured."""
    root = tmp_path / "results"
    dying = {"virtual": {"threads": "virtual", "settings": {"STUB_DIE_AFTER": "30"}}}
    planned = stub_file(tmp_path, windows={"measure": "3s"}, properties=dying)
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


@pytest.mark.parametrize(
    ("phase", "number"),
    [("starting platform and virtual", signal.SIGINT), ("warm-up", signal.SIGTERM), ("measuring", signal.SIGINT)],
)
def test_an_interruption_stops_everything_in_every_phase(phase: str, number: int, tmp_path: Path) -> None:
    """SIGINT and SIGTERM end a run with 130 in every phase, leave nothing, and the message names vtlab resume."""
    root = tmp_path / "results"
    with Running(tmp_path, "run", stub_file(tmp_path), "--blocks", "1", "--results", root) as run:
        run.until(phase)
        assert run.end(number) == 130, run.text()
        assert "vtlab resume" in run.text()
    assert leftovers(root) == []
    assert not list((root / ".processes").glob("*.jsonl")), "the ledger of a clean end is gone"


def test_a_variant_that_fails_in_every_block_is_the_verdict(tmp_path: Path) -> None:
    """A run whose variant fails in three blocks of three ends with the verdict fails, exit code 0, and the reason; what
    was asserted of it does not hold."""
    broken = {"virtual": {"threads": "virtual", "settings": {"STUB_STATUS": "500"}}}
    wrong = stub_file(tmp_path, properties=broken)
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


def fill(disk: Path) -> Path:
    """Leaves no byte free; the file that takes them."""
    filler = disk / "filler"
    with filler.open("wb") as file:
        try:
            while True:
                file.write(b"\0" * (1 << 20))
                file.flush()
        except OSError:
            return filler


def test_a_kill_9_and_then_a_full_disk_lose_no_finished_block(make_disk: MakeDisk, tmp_path: Path) -> None:
    """vtlab resume continues after kill -9 and after a full disk: it ends orphans and keeps every finished block."""
    disk = make_disk("100m")
    root = disk / "results"
    planned = stub_file(tmp_path, windows={"measure": "3s"})
    with Running(tmp_path, "run", planned, "--blocks", "2", *PATIENT, "--results", root) as run:
        run.until(measuring(2))
        orphans = [pid for _, pid in started(root) if alive(pid)]
        run.end(signal.SIGKILL)
    assert len([pid for pid in orphans if alive(pid)]) >= 3, "two services, Prometheus and perhaps k6 outlive it"
    results = only(root)
    before = blocks(results)
    assert before
    with (results / "trials.jsonl").open("a", encoding="utf-8") as lines:
        lines.write('{"version":1,"block":2,"attem')

    with Running(tmp_path, "resume", results) as run:
        run.until(measuring(2))
        assert "earlier vtlab left behind" in run.text()
        assert [pid for pid in orphans if alive(pid)] == []
        filler = fill(disk)
        assert run.process.wait(120) == 3, run.text()
        assert "Traceback" not in run.text()
        assert "disk" in run.text() or "space" in run.text()
    assert leftovers(root) == []
    kept = (results / "trials.jsonl").read_text(encoding="utf-8").splitlines()[: len(before)]
    assert [json.loads(line) for line in kept] == before, "every finished block is kept as it was"
    assert len(stored.read(results).blocks) == len(before), "and nothing of the one that was lost"

    filler.unlink()
    done = vtlab("resume", results)
    assert done.returncode == 0, done.stdout + done.stderr
    assert blocks(results)[: len(before)] == before
    whole = stored.read(results)
    assert [block.block for block in whole.blocks if not checks.reasons(block, whole.experiment)] == [1, 2]
    assert verdict(results)["n"] == 2
    assert leftovers(root) == []

    reports = {name: (results / name).read_bytes() for name in ("report.html", "report.md", "verdict.json")}
    assert vtlab("report", results).returncode == 0
    assert reports == {name: (results / name).read_bytes() for name in reports}, "the same bytes each time"
