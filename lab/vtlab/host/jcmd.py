"""Commands to a running JVM, by the ``jcmd`` of a JDK."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from vtlab.errors import LabError
from vtlab.host import tools

PROC = Path("/proc")
#: Seconds until a command is given up; on an idle machine it takes 0.2.
PATIENCE = 60.0
#: For short runs: without the compiler and the collector for long ones.
_FLAGS = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-Xmx64m")


def command_for(pid: int) -> list[str] | None:
    """Returns the ``jcmd`` command for a process: from the process's JDK, else from any. None where the process is no
    JVM or is gone, and where this machine has no JDK.

    A JVM answers the jcmd of every later version, and of most earlier ones.
    """
    process = PROC / str(pid)
    try:
        # Another process might take jcmd's signal as an order to end.
        if "/libjvm.so" not in (process / "maps").read_text("utf-8", errors="replace"):
            return None
        jcmd = (process / "exe").readlink().parent / "jcmd"
        if not os.access(jcmd, os.X_OK):
            jcmd = Path(shutil.which("jcmd") or tools.find_java(compiler=True).home / "bin" / "jcmd")
    except (OSError, LabError):
        return None
    return [str(jcmd), *_FLAGS, str(pid)] if os.access(jcmd, os.X_OK) else None


def order(pid: int, words: Sequence[str]) -> str | None:
    """Sends a command to a JVM and returns its answer; None where that failed."""
    command = command_for(pid)
    return run(command, words) if command else None


def run(command: Sequence[str], words: Sequence[str]) -> str | None:
    """Sends a command by the result of ``command_for``. A word may contain several commands, one a line."""
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
