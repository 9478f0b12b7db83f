"""Runs a command, and about once a minute stops it for two seconds with everything that it started.

    python lab/tests/support/stalling.py COMMAND...

The tests must stand that: a machine in a cloud does it, too. What another process has stopped stays stopped.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

#: Seconds of each stop, and in which one of them falls.
STOP, PERIOD = 2.0, 60.0
_PR_SET_CHILD_SUBREAPER = 36


def main(command: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    # What outlives its parent becomes a child of this process, and remains known.
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    child = subprocess.Popen(command)
    stops, begin = 0, time.monotonic()
    while True:
        moment = begin + random.uniform(0, PERIOD - STOP)
        if _ended(child, moment):
            break
        _stop_for_a_moment()
        stops += 1
        begin += PERIOD
        if _ended(child, begin):
            break
    print(f"stalling: all processes stopped {stops} times, {STOP:g} s each", file=sys.stderr)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _ended(child: subprocess.Popen[bytes], until: float) -> bool:
    """Waits until then, or until the command ends; tells whether it has. Reaps orphans."""
    while child.poll() is None:
        for pid in _children(os.getpid()):
            if pid != child.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
        if time.monotonic() >= until:
            return False
        time.sleep(0.1)
    return True


def _stop_for_a_moment() -> None:
    stopped: set[int] = set()
    try:
        # Until no process has started another in the meantime.
        while new := {pid for pid in _descendants(os.getpid()) - stopped if _state(pid) not in "TtZX"}:
            for pid in new:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            stopped |= new
        time.sleep(STOP)
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _descendants(pid: int) -> set[int]:
    children = _children(pid)
    return children.union(*(_descendants(child) for child in children))


def _children(pid: int) -> set[int]:
    children: set[int] = set()
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                children.update(map(int, (task / "children").read_text(encoding="ascii").split()))
    return children


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return "X"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
