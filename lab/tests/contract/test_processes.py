"""Nothing that vtlab starts outlives it unnoticed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.waiting import until
from vtlab.errors import PrerequisiteMissing
from vtlab.host import process_ledger, processes
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.processes import Identity


def test_a_child_runs_detached_and_is_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process has its own session and a clean environment, is in the ledger before it runs, and ends with it."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xleak")
    with Ledger(tmp_path) as ledger:
        child = ledger.start(
            Command(
                ["/bin/sh", "-c", "env; cat; echo said; exec sleep 60"],
                role="child",
                log=tmp_path / "logs" / "child.log",
            )
        )
        until(lambda: "said" in child.last_lines())
        assert child.exit_description() is None
        assert os.getsid(child.pid) == child.pid
        assert "JAVA_TOOL" not in child.log.read_text(encoding="utf-8")
        lines = [json.loads(line) for line in ledger.path.read_text(encoding="utf-8").splitlines()]
        assert lines[-1] == {"pid": child.pid, "start": child.identity.start, "role": "child"}
        assert Identity.of(child.pid) == child.identity
    assert Identity.of(child.pid) is None
    assert not ledger.path.exists()


def test_how_a_child_ended(tmp_path: Path) -> None:
    """A process that ended is described by its exit code or signal; one that ignores SIGTERM is killed."""
    with Ledger(tmp_path) as ledger:
        log = tmp_path / "log"
        quits = ledger.start(Command(["/bin/sh", "-c", "exit 3"], role="a", log=log))
        until(quits.exit_description)
        assert quits.exit_description() == "exit code 3"
        killed = ledger.start(Command(["sleep", "60"], role="b", log=log))
        os.kill(killed.pid, signal.SIGKILL)
        until(killed.exit_description)
        assert killed.exit_description() == "exit code 137 (killed)"
        deaf = ledger.start(
            Command(["/bin/sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"], role="c", log=log)
        )
        until(lambda: "deaf" in deaf.last_lines())
        begun = time.monotonic()
        deaf.stop(0.3)
        assert time.monotonic() - begun >= 0.3, "it was asked first"
        assert deaf.exit_description() == "exit code 137 (killed)", "and killed then"


PARENT = """
import os, signal, sys
from pathlib import Path
from vtlab.host.process_ledger import Command, Ledger
root = Path(sys.argv[1])
ledger = Ledger(root)
if os.geteuid() == 0:
    group = ledger.cgroup(f"test-{os.getpid()}", 0.5, 64 * 1024**2)
else:
    group = None
child = ledger.start(Command(["sleep", "300"], role="sleeper", log=root / "log"), group)
other = ledger.start(Command(["sleep", "300"], role="other", log=root / "log"))
print(child.pid, other.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL if len(sys.argv) < 3 else signal.SIGSTOP)
"""


def parent(root: Path, *more: str) -> tuple[subprocess.Popen[str], list[int]]:
    started = subprocess.Popen([sys.executable, "-c", PARENT, root, *more], stdout=subprocess.PIPE, text=True)
    assert started.stdout
    pids = [int(pid) for pid in started.stdout.readline().split()]
    started.stdout.close()
    return started, pids


def test_the_orphans_of_a_killed_vtlab_are_ended(tmp_path: Path) -> None:
    """The next vtlab ends the processes and removes the control groups of a killed one, also from a cut-off ledger."""
    killed, (child, other) = parent(tmp_path)
    assert killed.wait() == -9
    until(lambda: "sleep" in Path(f"/proc/{child}/cmdline").read_text(encoding="utf-8"))
    (ledger,) = (tmp_path / ".processes").glob("*.jsonl")
    with ledger.open("a", encoding="utf-8") as file:
        file.write('{"pid": 12')  # cut off
    process_ledger.refuse_if_busy(tmp_path)
    groups = [
        entry["cgroup"]["directories"]
        for entry in map(json.loads, ledger.read_text().splitlines()[:-1])
        if "cgroup" in entry
    ]
    assert all(Path(directory).exists() for group in groups for directory in group.values())

    assert process_ledger.end_orphans(tmp_path) == [f"sleeper (pid {child})", f"other (pid {other})"]
    assert Identity.of(child) is None
    assert Identity.of(other) is None
    assert not ledger.exists()
    assert not any(Path(directory).exists() for group in groups for directory in group.values())
    assert process_ledger.end_orphans(tmp_path) == []


def test_a_recycled_pid_is_spared(tmp_path: Path) -> None:
    """A process is not ended for having the pid of one in an old ledger."""
    with subprocess.Popen(["sleep", "300"]) as stranger:
        identity = Identity.of(stranger.pid)
        assert identity
        ledger = tmp_path / ".processes" / "999999999-1.jsonl"
        ledger.parent.mkdir()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        header = {"vtlab": 999999999, "start": 1, "boot": boot}
        entry = {"pid": stranger.pid, "start": identity.start - 1, "role": "old"}
        ledger.write_text(f"{json.dumps(header)}\n{json.dumps(entry)}\n", encoding="utf-8")
        assert process_ledger.end_orphans(tmp_path) == []
        assert identity.alive()
        assert not ledger.exists()

        entry["start"] = identity.start
        ledger.write_text(f"{json.dumps(header | {'boot': 'another'})}\n{json.dumps(entry)}\n", encoding="utf-8")
        assert process_ledger.end_orphans(tmp_path) == [], "before the last boot it was another process"
        assert identity.alive()

        ledger.write_text(f"{json.dumps(header)}\n{json.dumps(entry)}\n", encoding="utf-8")
        assert process_ledger.end_orphans(tmp_path) == [f"old (pid {stranger.pid})"]
        assert stranger.wait(60) == -15


def test_a_living_vtlab_is_not_disturbed(tmp_path: Path) -> None:
    """What a living vtlab started is left alone, and a second vtlab in the same results directory is refused."""
    living, (child, _) = parent(tmp_path, "stay")
    try:
        assert process_ledger.end_orphans(tmp_path) == []
        assert Identity.of(child)
        with pytest.raises(PrerequisiteMissing, match=rf"another vtlab is measuring .*pid {living.pid}"):
            process_ledger.refuse_if_busy(tmp_path)
    finally:
        living.kill()
        living.wait()
    assert len(process_ledger.end_orphans(tmp_path)) == 2


def test_a_child_whose_parent_dies_before_the_record_ends_by_itself(tmp_path: Path) -> None:
    """A process whose vtlab died before it was on record never becomes its program."""
    gated = subprocess.Popen([*process_ledger._GATE, "touch", str(tmp_path / "ran")], stdin=subprocess.PIPE)
    assert gated.stdin
    gated.stdin.close()
    assert gated.wait(60) != 0
    assert not (tmp_path / "ran").exists()


def test_a_full_disk_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process starts where the ledger cannot be written."""

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with Ledger(tmp_path) as ledger:
        monkeypatch.setattr(processes.os, "fsync", full)
        with pytest.raises(OSError, match="No space left") as error:
            ledger.start(Command(["touch", str(tmp_path / "ran")], role="x", log=tmp_path / "log"))
        assert processes.no_space(error.value)
    assert not (tmp_path / "ran").exists()


def test_an_interruption_waits_for_the_end_of_the_clean_up() -> None:
    """A signal during the clean-up takes effect after it."""
    steps = []
    # A background job of a shell inherits an ignored SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def clean_up() -> None:
        with processes.uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        clean_up()
    assert steps == ["cleaned up"]
