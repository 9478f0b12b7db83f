"""Runs that are interrupted, killed or out of disk space, by the command line, on a service that starts at once:
nothing is left running, no finished block is lost."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.experiments import WITHOUT_LIGHT_LOAD, stub_file
from tests.support.lab_call import Running, alive, blocks, leftovers, only, started, verdict, vtlab
from tests.support.privileges import MakeDisk, needs_root
from vtlab.analysis.validity import checks
from vtlab.runs import store as stored

pytestmark = [pytest.mark.timeout(600), needs_root]


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
    planned = stub_file(tmp_path, windows=WITHOUT_LIGHT_LOAD | {"measure": "3s"})
    with Running(tmp_path, "run", planned, "--blocks", "2", "--max-rejected", "1", "--results", root) as run:
        # The first one is finished, whether or not it counts.
        run.until("warm-up", after=run.until(r"(block 2 of 2|attempt 2): starting"))
        orphans = [pid for _, pid in started(root) if alive(pid)]
        run.end(signal.SIGKILL)
    assert len([pid for pid in orphans if alive(pid)]) >= 3, "two services, Prometheus and perhaps k6 outlive it"
    results = only(root)
    before = blocks(results)
    assert before
    with (results / "trials.jsonl").open("a", encoding="utf-8") as lines:
        lines.write('{"version":1,"block":2,"attem')

    with Running(tmp_path, "resume", results) as run:
        run.until("warm-up")
        assert "earlier vtlab left behind" in run.text()
        assert [pid for pid in orphans if alive(pid)] == []
        filler = fill(disk)
        assert run.process.wait(300) == 3, run.text()
        assert "Traceback" not in run.text()
        assert "disk" in run.text() or "space" in run.text()
    assert leftovers(root) == []
    kept = (results / "trials.jsonl").read_text(encoding="utf-8").splitlines()[: len(before)]
    assert [json.loads(line) for line in kept] == before, "every finished block is kept as it was"
    assert len(stored.read(results).blocks) == len(before), "and nothing of the one that was lost"

    filler.unlink()
    done = vtlab("resume", results)
    # 4: the machine disturbed two of the blocks.
    assert done.returncode in (0, 4), done.stdout + done.stderr
    assert blocks(results)[: len(before)] == before
    whole = stored.read(results)
    assert len(whole.blocks) > len(before)
    counted = [block.block for block in whole.blocks if not checks.reasons(block, whole.experiment)]
    assert counted == list(range(1, 1 + verdict(results)["n"]))
    assert (len(counted) == 2) == (done.returncode == 0)
    assert leftovers(root) == []

    reports = {name: (results / name).read_bytes() for name in ("report.html", "report.md", "verdict.json")}
    assert vtlab("report", results).returncode == done.returncode
    assert reports == {name: (results / name).read_bytes() for name in reports}, "the same bytes each time"
