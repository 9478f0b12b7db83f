"""Processes: their identity, their end, and the end of their logs."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from vtlab.host.tools import clean_environment


@dataclass(frozen=True)
class Identity:
    """A process that cannot be mistaken for a later one with its pid. ``start``: in clock ticks since boot; where the
    system is not Linux, in seconds since 1970."""

    pid: int
    start: int

    @staticmethod
    def of(pid: int) -> Identity | None:
        """Returns the process with that pid; None when there is none, or only a zombie."""
        if sys.platform != "linux":
            return _by_ps(pid)
        fields = _stat(pid)
        return Identity(pid, int(fields[19])) if fields and fields[0] not in ("Z", "X") else None

    def alive(self) -> bool:
        """Tells whether exactly this process runs."""
        return Identity.of(self.pid) == self

    def end(self, grace: float) -> None:
        """Sends SIGTERM, after ``grace`` seconds SIGKILL. Returns when it is gone; touches no other process."""
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
        """Id of the process."""
        return self.identity.pid

    def release(self) -> None:
        """Lets a child that waits at its gate become its program."""
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(b"go\n")
            self._child.stdin.close()

    def cancel(self) -> None:
        """Ends a child that waits at its gate."""
        assert self._child.stdin is not None
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        self.stop(0)

    def exit_description(self) -> str | None:
        """Describes how it ended (``exit code 137 (killed)``); None while it runs."""
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
        """Returns the exit code, negative for a signal; None while it runs."""
        return self._child.poll()

    def terminate(self) -> None:
        """Sends SIGTERM; does not wait."""
        self._child.terminate()

    def interrupt(self) -> None:
        """Sends SIGINT; does not wait."""
        self._child.send_signal(signal.SIGINT)

    def stop(self, grace: float) -> None:
        """Sends SIGTERM, after ``grace`` seconds SIGKILL; reaps the process."""
        if self._child.poll() is None:
            self._child.terminate()
            try:
                self._child.wait(grace)
            except subprocess.TimeoutExpired:
                self._child.kill()
        self._child.wait()

    def last_lines(self, count: int = 8) -> str:
        """Returns the end of its log, for messages."""
        return last_lines(self.log, count)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays SIGINT, SIGTERM and SIGHUP until its end, so that a clean-up is not interrupted half-way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    delayed: list[int] = []

    def delay(number: int, frame: FrameType | None) -> None:
        delayed.append(number)

    before = {int(number): signal.signal(number, delay) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in delayed[:1]:
            signal.raise_signal(number)


def last_lines(log: Path, count: int = 8) -> str:
    """Returns the last lines of a log, joined by ``; ``; empty without a log."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    useful = [line.strip() for line in lines if line.strip() and not line.startswith("\tat ")]
    return "; ".join(useful[-count:])[-1500:]


def no_space(error: OSError) -> bool:
    """Tells whether the disk is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def _stat(pid: int) -> list[str] | None:
    """Reads the fields of ``/proc/<pid>/stat`` from the third (state) on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def _by_ps(pid: int) -> Identity | None:
    """Identifies a process where there is no ``/proc``."""
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    output = subprocess.run(command, capture_output=True, text=True, env=clean_environment(), check=False).stdout
    state, _, began = output.strip().partition(" ")
    if not began or state.startswith("Z"):
        return None
    return Identity(pid, round(time.mktime(time.strptime(began.strip(), "%a %b %d %H:%M:%S %Y"))))
