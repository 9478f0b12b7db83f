"""Short runs on this machine: their experiments, their folders, and what they start on the way."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tests.support.lab_call import TINY, alive
from vtlab import session
from vtlab.host.processes import FOLDER
from vtlab.model import experiment
from vtlab.model.experiment import Experiment
from vtlab.targets.local.target import LocalTarget, local_target

SUPPORT = Path(__file__).parent
#: A service that starts at once, and an experiment with it.
STUB_SERVICE, STUB = SUPPORT / "stub.json", SUPPORT / "stub-block.json"
#: Rounds of warm-up that k6 needs minutes for.
LONG = 60


def document(base: Path, **changes: object) -> dict[str, Any]:
    """An experiment's document with some keys replaced, one level deep, and its service by an absolute path."""
    data: dict[str, Any] = json.loads(base.read_text(encoding="utf-8"))
    if base == STUB:
        data["service"] = str(STUB_SERVICE)
    for key, value in changes.items():
        data[key] = {**data[key], **value} if isinstance(value, dict) and key in data else value
    return data


def tiny(**changes: object) -> Experiment:
    """An experiment with the sample application."""
    return experiment.parse(json.dumps(document(TINY, **changes)), str(TINY))


def stub(**changes: object) -> Experiment:
    """An experiment with the stub service."""
    return experiment.parse(json.dumps(document(STUB, **changes)), str(STUB))


def stub_file(folder: Path, **changes: object) -> Path:
    """An experiment with the stub service as a file, for the command line."""
    path = folder / "stub-block.json"
    path.write_text(json.dumps(document(STUB, **changes)), encoding="utf-8")
    return path


def stub_with(folder: Path, **environment: str) -> str:
    """The path of a stub service with variables that no variant overrides."""
    data = json.loads(STUB_SERVICE.read_text(encoding="utf-8"))
    settings = [f"{name}={value}" for name, value in environment.items()]
    data["command"] = ["/usr/bin/env", *settings, sys.executable, "-IS", str(SUPPORT / "stub_service.py")]
    path = folder / "service.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return str(path)


class RunFolder:
    """The folder of a run, and everything that was ever on record in its ledger."""

    def __init__(self, root: Path, planned: Experiment) -> None:
        self.root = root
        self.folder = root / "run"
        self.folder.mkdir()
        self.plan(planned)
        #: role -> newest pid
        self.pids: dict[str, int] = {}
        self.cgroups: set[str] = set()

    def plan(self, planned: Experiment) -> None:
        """What the next block measures."""
        self.planned = planned
        (self.folder / "experiment.json").write_text(json.dumps(planned.document()), encoding="utf-8")

    def target(self, **more: Any) -> AbstractContextManager[LocalTarget]:
        return local_target(self.folder, self.root, session.REPOSITORY, **more)

    def look(self) -> dict[str, int]:
        """The newest pid of each role, as the ledger says now."""
        for ledger in (self.root / FOLDER).glob("*.jsonl"):
            # The last line may be half written.
            for entry in map(json.loads, ledger.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()):
                if "role" in entry:
                    self.pids[entry["role"]] = entry["pid"]
                elif "cgroup" in entry:
                    self.cgroups.update(entry["cgroup"]["directories"].values())
        return self.pids

    def nothing_left(self, *roles: str) -> None:
        """These were started, and nothing is left of them or of anything else."""
        assert set(roles) <= set(self.pids), self.pids
        assert [role for role, pid in self.pids.items() if alive(pid)] == []
        assert [directory for directory in self.cgroups if Path(directory).exists()] == []
        assert list((self.root / FOLDER).glob("*.jsonl")) == []


class Later(threading.Thread):
    """Acts a moment after the next process of a role is on record."""

    def __init__(self, run: RunFolder, role: str, action: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        #: When it acted, by the monotonic clock.
        self.at = math.inf
        self._run, self._role, self._action = run, role, action
        self._before = run.look().get(role)
        self.start()

    def run(self) -> None:
        end = time.monotonic() + 120
        while self._run.look().get(self._role) == self._before:
            if time.monotonic() > end:
                return
            time.sleep(0.05)
        time.sleep(1)
        self.at = time.monotonic()
        self._action()


def kill_under_load(run: RunFolder, role: str) -> Later:
    """Kills the process of that role a moment after k6 has started."""
    return Later(run, "k6", lambda: os.kill(run.pids[role], signal.SIGKILL))


def environment_of(pid: int) -> dict[str, str]:
    """The environment that a process was started with."""
    pairs = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)
