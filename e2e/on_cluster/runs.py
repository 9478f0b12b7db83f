"""Calls the real ``vtlab`` as a user does, and reads what it leaves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from e2e.on_cluster import lab

VTLAB = Path(sys.executable).parent / "vtlab"
#: A 200 ms wait with few users: a short whole block.
TINY = lab.REPOSITORY / "lab" / "tests" / "support" / "tiny.json"
#: Seconds for which a line of vtlab's output is waited for, and for which its clean-up may take.
PATIENCE, PARTING = 1800.0, 300.0
#: A machine that is busy otherwise costs blocks, not a test.
MAX_REJECTED = 30


def measure(experiment: str | Path, root: Path, blocks: int = 1, max_rejected: int = MAX_REJECTED) -> list[str | Path]:
    """The words after ``vtlab`` that measure an experiment here."""
    numbers = ["--blocks", str(blocks), "--max-rejected", str(max_rejected)]
    return ["run", experiment, "--target", "kubernetes", *numbers, "--results", root]


def vtlab(*words: str | Path, timeout: float = PATIENCE, env: dict[str, str] | None = None) -> lab.CompletedProcess:
    """vtlab to its end, with any exit code; it never ends with a traceback."""
    done = lab.attempt(VTLAB, *words, timeout=timeout, env=env)
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done


def measuring(block: int) -> str:
    """What vtlab prints when it begins to measure that block, whichever attempt it is."""
    return rf"block {block} of \d+(, attempt \d+)?: measuring"


class Running:
    """A vtlab in the background; its output goes to a file in ``folder``. A context manager: ends it."""

    def __init__(self, folder: Path, *words: str | Path, env: dict[str, str] | None = None) -> None:
        self.log = folder / "vtlab.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [VTLAB, *map(str, words)],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, **(env or {})},
            )

    def text(self) -> str:
        """Its output so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def until(self, line: str, after: int = 0) -> int:
        """Waits until its output has the regular expression ``line``, ``after`` so many characters; the match's end."""
        end = time.monotonic() + PATIENCE
        while not (match := re.compile(line).search(self.text(), after)):
            assert self.process.poll() is None, f"vtlab ended before '{line}': {self.text()}"
            assert time.monotonic() < end, f"no '{line}' after {PATIENCE:.0f} s: {self.text()}"
            time.sleep(0.1)
        return match.end()

    def end(self, number: int) -> int:
        """Sends a signal; the exit code."""
        self.process.send_signal(number)
        return self.exit_code(PARTING)

    def exit_code(self, timeout: float = PATIENCE) -> int:
        """The exit code, once it has ended."""
        code = self.process.wait(timeout)
        assert "Traceback" not in self.text(), self.text()
        return code

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PARTING)


def only(root: Path) -> Path:
    """The one results directory in ``root``."""
    (results,) = [path for path in root.iterdir() if not path.name.startswith(".")]
    return results


def blocks(results: Path) -> list[dict[str, Any]]:
    """The lines of ``trials.jsonl``."""
    return [json.loads(line) for line in (results / "trials.jsonl").read_text(encoding="utf-8").splitlines()]


def faults(results: Path) -> str:
    """Every fault of every block."""
    return "\n".join(fault for block in blocks(results) for fault in block["faults"])


def verdict(results: Path) -> dict[str, Any]:
    """verdict.json."""
    document: dict[str, Any] = json.loads((results / "verdict.json").read_text(encoding="utf-8"))
    return document


def bottlenecks(document: dict[str, Any]) -> dict[str, str]:
    """Variant -> the resource that limits it, of a ``verdict.json``."""
    return {name: variant["bottleneck"]["resource"] for name, variant in document["variants"].items()}


def left_by_vtlab() -> list[str]:
    """Jobs and ConfigMaps of vtlab's."""
    label = "app.kubernetes.io/managed-by=vtlab"
    return lab.kubectl("get", "jobs,configmaps", "-l", label, "-o", "name").split()
