"""Orders to a running JVM, by the ``jcmd`` of a JDK."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from vtlab.errors import LabError
from vtlab.host import tools

PROC = Path("/proc")
#: Seconds until an order is given up; on an idle machine it takes 0.2.
PATIENCE = 10.0
#: For short runs: without the compiler and the collector that are made for long ones.
_FLAGS = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-Xmx64m")


def command_for(pid: int) -> list[str] | None:
    """The ``jcmd`` for a process: of the process's JDK, else of any. None where the process is no JVM or is gone, or no
    JDK is here.

    A JVM answers the jcmd of every later version, and of most earlier ones.
    """
    process = PROC / str(pid)
    try:
        # What is no JVM might take jcmd's signal for the order to end.
        if "/libjvm.so" not in (process / "maps").read_text("utf-8", errors="replace"):
            return None
        jcmd = (process / "exe").readlink().parent / "jcmd"
        if not os.access(jcmd, os.X_OK):
            jcmd = Path(shutil.which("jcmd") or tools.find_java(compiler=True).home / "bin" / "jcmd")
    except (OSError, LabError):
        return None
    return [str(jcmd), *_FLAGS, str(pid)] if os.access(jcmd, os.X_OK) else None


def order(pid: int, words: Sequence[str]) -> str | None:
    """What the JVM answered; None where it did not do it."""
    command = command_for(pid)
    return run(command, words) if command else None


def run(command: Sequence[str], words: Sequence[str]) -> str | None:
    """The same, by what ``command_for`` gave. A word may be several orders, one a line."""
    try:
        done = subprocess.run(
            [*command, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            env=tools.clean_environment(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
