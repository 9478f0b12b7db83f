"""The ledger of child processes, by which none outlives its vtlab unnoticed.

Each child waits, before it becomes its program, until the ledger has it on disk. If vtlab is killed before that, the
child ends by itself; if it is killed later, the next vtlab ends the child by the ledger.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vtlab.errors import PrerequisiteMissing
from vtlab.host import logs
from vtlab.host.cgroup import Cgroup
from vtlab.host.processes import Identity, Process, uninterrupted
from vtlab.host.tools import clean_environment

FOLDER = ".processes"
#: Reads one line from its parent, then becomes the command. Without that line (the parent died) it ends.
_GATE = ["/bin/sh", "-c", 'read -r go && [ "$go" = go ] && exec "$@" </dev/null', "sh"]


@dataclass(frozen=True)
class Command:
    """A command to start, without input."""

    words: Sequence[str]
    #: Describes the process in messages.
    role: str
    #: The file to which its output is appended.
    log: Path
    #: Replaces the caller's environment; None is ``clean_environment()``.
    environment: Mapping[str, str] | None = None
    #: The working directory; None is the log's folder.
    folder: Path | None = None
    #: The user that it runs as, where vtlab is root; None is vtlab's own.
    user: str | None = None


class Ledger:
    """Record of what this vtlab has started: processes and control groups, on disk before they can be lost.

    A context manager: at its end it stops and removes everything recorded, also after an error.
    """

    def __init__(self, root: Path) -> None:
        """Opens the ledger of this process in ``root``. OSError when that cannot be written."""
        vtlab = Identity.of(os.getpid())
        assert vtlab is not None
        folder = root / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{vtlab.pid}-{vtlab.start}.jsonl"
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._identities: list[Identity] = []
        self._processes: list[Process] = []
        #: Processes whose logs may have grown since ``bound_logs`` read them.
        self._printing: list[Process] = []
        self._cgroups: list[Cgroup] = []
        self._append({"vtlab": vtlab.pid, "start": vtlab.start, "boot": _boot()})

    def start(self, command: Command, cgroup: Cgroup | None = None) -> Process:
        """Starts a command in its own session, and in its control group, if any. OSError when log or ledger cannot be
        written."""
        process = _spawn(command, cgroup.prefix if cgroup else [])
        identity = process.identity
        self._identities.append(identity)
        self._processes.append(process)
        self._printing.append(process)
        try:
            self._append({"pid": identity.pid, "start": identity.start, "role": command.role})
        except BaseException:
            process.cancel()
            raise
        process.release()
        if cgroup:
            cgroup.attach(identity.pid)
        return process

    def cgroup(self, name: str, cpu: float, memory: int) -> Cgroup:
        """Creates a control group; it is in the ledger before it exists. Errors as in ``Cgroup.create``."""
        group = Cgroup.create(name, cpu, memory, record=self._record_cgroup)
        self._cgroups[-1] = group
        return group

    def _record_cgroup(self, entry: dict[str, Any]) -> None:
        self._cgroups.append(Cgroup.restore(entry))
        self._append({"cgroup": entry})

    def bound_logs(self) -> list[Path]:
        """Cuts the middle out of logs that are too large (``vtlab.host.logs``).

        Returns the logs that were cut for the first time.
        """
        # The log of a process that has ended is read once more.
        before, self._printing = self._printing, [p for p in self._printing if p.returncode() is None]
        bounded = []
        for log in dict.fromkeys(process.log for process in before):
            with contextlib.suppress(OSError):
                if logs.bound(log):
                    bounded.append(log)
        return bounded

    def end_all(self, grace: float = 3.0) -> None:
        """Stops every process and removes every group in the ledger. Idempotent."""
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
    """Raises PrerequisiteMissing when another running vtlab measures into ``root``."""
    for path in _ledgers(root):
        owner = _owner(path)
        if owner and owner.pid != os.getpid() and owner.alive():
            raise PrerequisiteMissing(
                f"another vtlab is measuring into {root} (pid {owner.pid}); two runs disturb each other",
                f"wait for it to end, or end it: kill {owner.pid}",
            )


def open_exclusive(root: Path) -> Ledger:
    """Opens the ledger of this vtlab in ``root``. PrerequisiteMissing when another vtlab measures into it."""
    refuse_if_busy(root)
    ledger = Ledger(root)
    try:
        # Two vtlabs that began in the same moment see each other here.
        refuse_if_busy(root)
    except BaseException:
        ledger.close()
        raise
    return ledger


def end_orphans(root: Path, grace: float = 5.0) -> list[str]:
    """Ends the processes and removes the groups that dead vtlabs left in ``root``. Returns a line for each process.

    A process is ended only when its start time is the recorded one.
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
                        Cgroup.restore(entry["cgroup"]).remove()
        path.unlink(missing_ok=True)
    return ended


def _spawn(command: Command, prefix: Sequence[str]) -> Process:
    """Starts a child that waits at the gate. OSError when its log cannot be written."""
    command.log.parent.mkdir(parents=True, exist_ok=True)
    with command.log.open("ab") as output:
        child = subprocess.Popen(
            [*_GATE, *prefix, *command.words],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=clean_environment() if command.environment is None else dict(command.environment),
            cwd=command.folder or command.log.parent,
            start_new_session=True,
            user=command.user,
            group=pwd.getpwnam(command.user).pw_gid if command.user else None,
            extra_groups=[] if command.user else None,
        )
    identity = Identity.of(child.pid)
    assert identity is not None
    return Process(child, identity, command.role, command.log)


def _ledgers(root: Path) -> list[Path]:
    return sorted((root / FOLDER).glob("*.jsonl"))


def _owner(path: Path) -> Identity | None:
    pid, _, start = path.stem.partition("-")
    return Identity(int(pid), int(start)) if pid.isdigit() and start.isdigit() else None


def _entries(path: Path) -> list[dict[str, Any]]:
    """Reads the entries of a ledger, without a line that a crash cut off."""
    entries = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            entry = json.loads(line)
            if isinstance(entry, dict):
                entries.append(entry)
    return entries


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
