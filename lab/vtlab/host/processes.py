"""Child processes that never outlive their vtlab unnoticed.

Each child waits, before it becomes its program, until the ledger has it on disk: a vtlab that is killed in
between leaves a child that ends by itself, one that is killed later leaves a ledger for the next.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from vtlab.errors import PrerequisiteMissing
from vtlab.host import logs
from vtlab.host.cgroup import Cgroup
from vtlab.host.cgroup_hierarchies import Host
from vtlab.host.tools import clean_environment

FOLDER = ".processes"
#: Reads one line from its parent, then becomes the command. Without that line (the parent died) it ends.
_GATE = ["/bin/sh", "-c", 'read -r go && [ "$go" = go ] && exec "$@" </dev/null', "sh"]


@dataclass(frozen=True)
class Identity:
    """A process that cannot be mistaken for a later one with its pid: ``start`` in clock ticks since boot, where the
    system is not Linux in seconds since 1970."""

    pid: int
    start: int

    @staticmethod
    def of(pid: int) -> Identity | None:
        """The process with that pid; None when there is none, or only a zombie."""
        if sys.platform != "linux":
            return _by_ps(pid)
        fields = _stat(pid)
        return Identity(pid, int(fields[19])) if fields and fields[0] not in ("Z", "X") else None

    def alive(self) -> bool:
        """Whether exactly this process runs."""
        return Identity.of(self.pid) == self

    def end(self, grace: float) -> None:
        """SIGTERM, after ``grace`` seconds SIGKILL. Returns when it is gone; touches no other process."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            # The handle cannot change its process, so this check holds for the signals below.
            if not self.alive():
                return
            for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, number)
                if select.select([handle], [], [], patience)[0]:
                    return
        finally:
            os.close(handle)

    def __str__(self) -> str:
        return f"{self.pid}:{self.start}"


class Process:
    """A started child."""

    def __init__(self, child: subprocess.Popen[bytes], identity: Identity, role: str, log: Path) -> None:
        self._child = child
        self.identity = identity
        self.role = role
        self.log = log

    @property
    def pid(self) -> int:
        return self.identity.pid

    def exit_description(self) -> str | None:
        """How it ended, in words (``exit code 137 (killed)``); None while it runs."""
        code = self._child.poll()
        if code is None:
            return None
        if code >= 0:
            return f"exit code {code}"
        names = {signal.SIGKILL: "killed", signal.SIGTERM: "terminated", signal.SIGSEGV: "crashed"}
        words = (
            names.get(signal.Signals(-code), signal.Signals(-code).name) if -code in set(signal.Signals) else "signal"
        )
        return f"exit code {128 - code} ({words})"

    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._child.poll()

    def terminate(self) -> None:
        """SIGTERM; does not wait."""
        self._child.terminate()

    def stop(self, grace: float) -> None:
        """SIGTERM, after ``grace`` seconds SIGKILL; reaps it."""
        if self._child.poll() is None:
            self._child.terminate()
            try:
                self._child.wait(grace)
            except subprocess.TimeoutExpired:
                self._child.kill()
        self._child.wait()

    def last_lines(self, count: int = 8) -> str:
        """The end of its log, for messages."""
        return last_lines(self.log, count)


class Ledger:
    """What this vtlab has started: processes and control groups, on disk before they can be lost.

    A context manager: at its end everything recorded is stopped and removed, after an error, too.
    """

    def __init__(self, root: Path) -> None:
        """Opens the ledger of this process in ``root``; an OSError when that cannot be written."""
        vtlab = Identity.of(os.getpid())
        assert vtlab is not None
        folder = root / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{vtlab.pid}-{vtlab.start}.jsonl"
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._identities: list[Identity] = []
        self._processes: list[Process] = []
        #: Those whose logs may have grown since they were looked at.
        self._printing: list[Process] = []
        self._cgroups: list[Cgroup] = []
        self._append({"vtlab": vtlab.pid, "start": vtlab.start, "boot": _boot()})

    def start(
        self,
        command: Sequence[str],
        *,
        role: str,
        log: Path,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        cgroup: Cgroup | None = None,
    ) -> Process:
        """Starts a command in its own session, its output appended to ``log``, without input.

        ``environment`` replaces the caller's altogether. OSError when log or ledger cannot be written.
        """
        prefix = cgroup.prefix if cgroup else []
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            child = subprocess.Popen(
                [*_GATE, *prefix, *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=clean_environment() if environment is None else dict(environment),
                cwd=folder or log.parent,
                start_new_session=True,
            )
        identity = Identity.of(child.pid)
        assert identity is not None
        assert child.stdin is not None
        process = Process(child, identity, role, log)
        self._identities.append(identity)
        self._processes.append(process)
        self._printing.append(process)
        try:
            self._append({"pid": identity.pid, "start": identity.start, "role": role})
        except BaseException:
            with contextlib.suppress(OSError):
                child.stdin.close()
            process.stop(0)
            raise
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(b"go\n")
            child.stdin.close()
        if cgroup:
            cgroup.attach(identity.pid)
        return process

    def cgroup(self, name: str, cpu: float, memory: int) -> Cgroup:
        """A new control group, in the ledger before it exists. Errors as of ``Cgroup.create``."""
        group = Cgroup.create(name, cpu, memory, record=self._record_cgroup)
        self._cgroups[-1] = group
        return group

    def _record_cgroup(self, entry: dict[str, Any]) -> None:
        self._cgroups.append(Cgroup.restore(entry))
        self._append({"cgroup": entry})

    def bound_logs(self) -> list[Path]:
        """Leaves out the middle of logs that are too large (``vtlab.host.logs``); those of which that is new."""
        # One that has ended is looked at once more.
        before, self._printing = self._printing, [p for p in self._printing if p.returncode() is None]
        bounded = []
        for log in dict.fromkeys(process.log for process in before):
            with contextlib.suppress(OSError):
                if logs.bound(log):
                    bounded.append(log)
        return bounded

    def end_all(self, grace: float = 3.0) -> None:
        """Stops every process and removes every group that it started. Idempotent."""
        living = [process for process in self._processes if process.returncode() is None]
        for process in living:
            process.terminate()
        end = time.monotonic() + grace
        for process in living:
            process.stop(max(0.0, end - time.monotonic()))
        for identity in self._identities:
            identity.end(0)
        for group in self._cgroups:
            group.remove()
        self._identities.clear()
        self._processes.clear()
        self._printing.clear()
        self._cgroups.clear()

    def close(self) -> None:
        """Ends everything and deletes the ledger."""
        if self._file < 0:
            return
        with uninterrupted():
            self.end_all()
            self.path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, entry: dict[str, Any]) -> None:
        os.write(self._file, (json.dumps(entry) + "\n").encode())
        os.fsync(self._file)


def refuse_if_busy(root: Path) -> None:
    """PrerequisiteMissing when another vtlab that still runs is measuring into ``root``."""
    for path in _ledgers(root):
        owner = _owner(path)
        if owner and owner.pid != os.getpid() and owner.alive():
            raise PrerequisiteMissing(
                f"another vtlab is measuring into {root} (pid {owner.pid}); two disturb each other",
                f"wait for it to end, or end it: kill {owner.pid}",
            )


def open_exclusive_ledger(root: Path) -> Ledger:
    """The ledger of this vtlab in ``root``; PrerequisiteMissing when another measures into it."""
    refuse_if_busy(root)
    ledger = Ledger(root)
    try:
        # Two that began in the same moment see each other here.
        refuse_if_busy(root)
    except BaseException:
        ledger.close()
        raise
    return ledger


def end_orphans(root: Path, grace: float = 5.0) -> list[str]:
    """Ends what vtlabs that are gone left behind in ``root``; says what that was, one line each.

    A process is ended only when its start time is the recorded one, too.
    """
    ended = []
    for path in _ledgers(root):
        owner = _owner(path)
        if owner and (owner.pid == os.getpid() or owner.alive()):
            continue
        entries = _entries(path)
        if not entries or entries[0].get("boot") == _boot():
            for entry in entries:
                if "role" in entry:
                    identity = Identity(int(entry["pid"]), int(entry["start"]))
                    if identity.alive():
                        identity.end(grace)
                        ended.append(f"{entry['role']} (pid {identity.pid})")
            for entry in entries:
                if "cgroup" in entry:
                    with contextlib.suppress(ValueError, KeyError):
                        Cgroup.restore(entry["cgroup"], Host()).remove()
        path.unlink(missing_ok=True)
    return ended


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Holds SIGINT, SIGTERM and SIGHUP back until its end, so that stopping things is not itself stopped half-way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def later(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {int(number): signal.signal(number, later) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)


def last_lines(log: Path, count: int = 8) -> str:
    """The last lines of a log, joined by ``; ``; empty where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    shown = [line.strip() for line in lines if line.strip() and not line.startswith("\tat ")]
    return "; ".join(shown[-count:])[-1500:]


def no_space(error: OSError) -> bool:
    """Whether the disk is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def _ledgers(root: Path) -> list[Path]:
    return sorted((root / FOLDER).glob("*.jsonl"))


def _owner(path: Path) -> Identity | None:
    pid, _, start = path.stem.partition("-")
    return Identity(int(pid), int(start)) if pid.isdigit() and start.isdigit() else None


def _entries(path: Path) -> list[dict[str, Any]]:
    """The lines of a ledger; one cut off by a crash is passed over."""
    entries = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            entry = json.loads(line)
            if isinstance(entry, dict):
                entries.append(entry)
    return entries


def _stat(pid: int) -> list[str] | None:
    """The fields of ``/proc/<pid>/stat`` from the third (state) on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def _by_ps(pid: int) -> Identity | None:
    """As ``Identity.of``, where there is no ``/proc``."""
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    shown = subprocess.run(command, capture_output=True, text=True, env=clean_environment(), check=False).stdout
    state, _, began = shown.strip().partition(" ")
    if not began or state.startswith("Z"):
        return None
    return Identity(pid, round(time.mktime(time.strptime(began.strip(), "%a %b %d %H:%M:%S %Y"))))


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
