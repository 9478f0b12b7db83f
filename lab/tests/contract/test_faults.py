"""What goes wrong in real runs: every fault is named, nothing is left running, no finished block is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.lab_call import TINY, Running, alive, blocks, leftovers, measuring, only, started, vtlab
from vtlab import results as stored
from vtlab import runner, session
from vtlab.analysis import checks
from vtlab.host.cgroup import Cgroup
from vtlab.planning import plan
from vtlab.progress import Progress
from vtlab.targets.local.target import local_target

pytestmark = pytest.mark.real


def changed(folder: Path, **replaced: object) -> Path:
    """tiny.json with some keys replaced, as a file of its own."""
    data = json.loads(TINY.read_text(encoding="utf-8")) | replaced
    path = folder / "tiny.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


#: What is planted costs blocks; what a busy machine costs comes on top.
PATIENT = ("--max-rejected", "20")


def verdict(results: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((results / "verdict.json").read_text(encoding="utf-8"))
    return found


def kill(root: Path, role: str) -> None:
    pids = [pid for name, pid in started(root) if role in name and alive(pid)]
    assert pids, f"no living '{role}' among {started(root)}"
    os.kill(pids[-1], signal.SIGKILL)


def test_a_dead_jvm_and_a_dead_prometheus_cost_a_block_each(tmp_path: Path) -> None:
    root = tmp_path / "results"
    windows = json.loads(TINY.read_text(encoding="utf-8"))["windows"]
    mirrored = changed(tmp_path, windows=windows | {"trials": 2})
    with Running(tmp_path, "run", mirrored, "--blocks", "1", *PATIENT, "--results", root) as run:
        said = run.until(measuring(1))
        kill(root, "virtual")
        run.until(measuring(1), said)
        kill(root, "prometheus")
        assert run.process.wait(600) == 0, run.text()
        assert "1 of 1:" in run.text()
    results = only(root)
    faults = [" ".join(block["faults"]) for block in blocks(results)]
    assert any("virtual: the JVM ended with exit code 137 (killed)" in fault for fault in faults)
    assert any("Prometheus ended with exit code 137 (killed)" in fault for fault in faults)
    assert verdict(results)["valid"] is True
    order = [trial["variant"] for trial in blocks(results)[-1]["trials"]]
    assert len(order) == 4
    assert order == order[::-1], "mirrored"
    assert leftovers(root) == []


def test_a_k6_that_dies_again_and_again_makes_the_run_invalid(tmp_path: Path) -> None:
    root = tmp_path / "results"
    with Running(tmp_path, "run", TINY, "--blocks", "1", "--results", root) as run:
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
    [
        ("starting platform and virtual", signal.SIGINT),
        ("warm-up", signal.SIGTERM),
        ("measuring", signal.SIGINT),
    ],
)
def test_ctrl_c_stops_everything_in_every_phase(phase: str, number: int, tmp_path: Path) -> None:
    root = tmp_path / "results"
    with Running(tmp_path, "run", TINY, "--blocks", "1", "--results", root) as run:
        run.until(phase)
        assert run.end(number) == 130, run.text()
        assert "vtlab resume" in run.text()
        assert "Traceback" not in run.text()
    assert leftovers(root) == []
    assert not list((root / ".processes").glob("*.jsonl")), "the ledger of a clean end is gone"


def test_failing_answers_make_the_run_invalid(tmp_path: Path) -> None:
    wrong = changed(tmp_path, request={"path": "/thread", "query": {"duration": "-1s"}})
    done = vtlab("run", wrong, "--blocks", "1", "--results", tmp_path / "results")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "status-400" in done.stdout + done.stderr
    assert verdict(only(tmp_path / "results"))["valid"] is False


def test_a_squeezed_k6_is_called_saturated(tmp_path: Path) -> None:
    fast = changed(
        tmp_path, request={"path": "/thread", "query": {"duration": "5ms"}}, load={"model": "closed", "users": 40}
    )
    root = tmp_path / "results"
    (planned,) = plan.runs(session.resolve([str(fast)]), [])
    folder = session.create_runs([planned], session.Options(1, 1, root, no_cpu_limit=False), "tiny")
    squeeze = Cgroup.create(f"test-{os.getpid()}-squeeze", 0.2, 2 * 1024**3)
    try:
        with local_target(folder, root, session.REPOSITORY, k6_prefix=squeeze.prefix) as target:
            found = stored.read(folder)
            block, _ = runner.attempt(
                target, found.manifest, found.experiment, 1, 1, Progress(Console(quiet=True), [60]), "tiny"
            )
    finally:
        squeeze.remove()
    reasons = checks.reasons(block, found.experiment)
    assert any("the load generator was saturated" in reason for reason in reasons), reasons


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "vtlab-test", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_kill_9_and_then_a_full_disk_lose_no_finished_block(small_disk: Path, tmp_path: Path) -> None:
    root = small_disk / "results"
    with Running(tmp_path, "run", TINY, "--blocks", "2", *PATIENT, "--results", root) as run:
        run.until(measuring(2))
        orphans = [pid for _, pid in started(root) if alive(pid)]
        run.end(signal.SIGKILL)
    assert len([pid for pid in orphans if alive(pid)]) >= 3, "two JVMs, Prometheus and perhaps k6 outlive it"
    results = only(root)
    before = blocks(results)
    assert before
    with (results / "trials.jsonl").open("a", encoding="utf-8") as lines:
        lines.write('{"version":1,"block":2,"attem')

    with Running(tmp_path, "resume", results) as run:
        run.until(measuring(2))
        assert "earlier vtlab left behind" in run.text()
        assert [pid for pid in orphans if alive(pid)] == []
        filler = small_disk / "filler"
        with filler.open("wb") as file:
            try:
                while True:
                    file.write(b"\0" * (1 << 20))
                    file.flush()
            except OSError:
                pass
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
    shutil.rmtree(root)
