"""Calls of the real ``vtlab`` as a user makes them, and the search for processes that they leave behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TINY = Path(__file__).parent / "tiny.json"
#: The command of this checkout: what is installed may be another's.
VTLAB = [sys.executable, "-m", "vtlab"]
CHECKOUT = {"PYTHONPATH": str(Path(__file__).parents[2])}


def vtlab(
    *arguments: str | Path, timeout: float = 900, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs vtlab to its end, with any exit code; ``env`` comes on top of this process's environment."""
    done = subprocess.run(
        [*VTLAB, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        env=os.environ | CHECKOUT | (env or {}),
    )
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    return done


def measuring(block: int) -> str:
    """Returns a regular expression of the line that vtlab prints when it begins to measure that block."""
    return rf"block {block} of \d+(, attempt \d+)?: measuring"


class Running:
    """A vtlab in the background; its output goes to ``log``. ``env`` comes on top of this process's environment;
    ``patience``: seconds for which ``until`` waits, ``parting``: those for its clean-up."""

    def __init__(
        self,
        folder: Path,
        *arguments: str | Path,
        env: dict[str, str] | None = None,
        patience: float = 600,
        parting: float = 120,
    ) -> None:
        self.patience, self.parting = patience, parting
        self.log = folder / "vtlab.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*VTLAB, *map(str, arguments)],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env=os.environ | CHECKOUT | (env or {}),
            )

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def until(self, line: str, after: int = 0) -> int:
        """Waits until the output has the regular expression ``line``, ``after`` so many characters; returns the match's
        end."""
        pattern = re.compile(line)
        self.wait_for(lambda: pattern.search(self.text(), after) is not None, f"'{line}'", self.patience)
        match = pattern.search(self.text(), after)
        assert match
        return match.end()

    def wait_for(self, done: Callable[[], bool], what: str, timeout: float) -> None:
        end = time.monotonic() + timeout
        while not done():
            assert self.process.poll() is None, f"vtlab ended before {what}: {self.text()}"
            assert time.monotonic() < end, f"no {what} after {timeout:.0f} s: {self.text()}"
            time.sleep(0.1)

    def end(self, number: int, timeout: float = 300) -> int:
        """Sends a signal; returns the exit code."""
        self.process.send_signal(number)
        return self.exit_code(timeout)

    def exit_code(self, timeout: float | None = None) -> int:
        """Waits until vtlab ends by itself, for ``patience`` by default; returns its exit code."""
        code = self.process.wait(timeout or self.patience)
        assert "Traceback" not in self.text(), self.text()
        return code

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(self.parting)


def started(root: Path) -> list[tuple[str, int]]:
    """Returns (role, pid) of everything that the living ledger in ``root`` records."""
    processes = []
    for ledger in (root / ".processes").glob("*.jsonl"):
        for line in ledger.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if "pid" in entry and "role" in entry:
                processes.append((entry["role"], entry["pid"]))
    return processes


def alive(pid: int) -> bool:
    """Tells whether that process runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def leftovers(root: Path) -> list[str]:
    """Lists processes whose command line or output names a path in ``root``: a run must leave none."""
    processes = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            command = output = ""
            with contextlib.suppress(OSError):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            # A JVM's command line names the repository only, its log lies in the results.
            with contextlib.suppress(OSError):
                output = str((folder / "fd" / "1").readlink())
            if str(root) in command or output.startswith(str(root)):
                processes.append(f"{folder.name} {command[:120]}")
    return processes


def blocks(results: Path) -> list[dict[str, Any]]:
    """Returns the lines of ``trials.jsonl``."""
    return [json.loads(line) for line in (results / "trials.jsonl").read_text(encoding="utf-8").splitlines()]


def verdict(results: Path) -> dict[str, Any]:
    """Returns ``verdict.json``."""
    document: dict[str, Any] = json.loads((results / "verdict.json").read_text(encoding="utf-8"))
    return document


def only(root: Path) -> Path:
    """Returns the one results directory in ``root``."""
    (results,) = [path for path in root.iterdir() if not path.name.startswith(".")]
    return results
