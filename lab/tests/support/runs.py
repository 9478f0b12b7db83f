"""Short runs on this machine: their folders, and the processes that they start."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.lab_call import alive
from vtlab.host.process_ledger import FOLDER
from vtlab.model.experiment import Experiment
from vtlab.runs import store
from vtlab.targets.local.target import LocalOptions, LocalTarget, local_target

#: Rounds of warm-up that k6 needs minutes for.
LONG = 60


class RunFolder:
    """The folder of a run, and everything that was ever on record in its ledger."""

    def __init__(self, root: Path, planned: Experiment) -> None:
        self.root = root
        self.folder = root / "run"
        self.folder.mkdir()
        self.plan(planned)
        #: role -> newest pid
        self.pids: dict[str, int] = {}
        #: role -> all of its pids
        self.every: dict[str, set[int]] = {}
        self.cgroups: set[str] = set()

    def plan(self, planned: Experiment) -> None:
        """Sets the experiment of the next block."""
        self.planned = planned
        store.write_experiment(self.folder, planned)

    @contextmanager
    def target(
        self, options: LocalOptions | None = None, say: Callable[[str], None] = print, with_preflight: bool = False
    ) -> Iterator[LocalTarget]:
        """Opens this machine as the run's target; without a pre-flight a variant may break in a block."""
        with local_target(self.folder, self.root, options or LocalOptions(), say) as target:
            target.site.preflight.is_over = not with_preflight
            yield target

    def look(self) -> dict[str, int]:
        """Reads the ledger; returns the newest pid of each role."""
        for ledger in (self.root / FOLDER).glob("*.jsonl"):
            # The last line may be half written.
            for entry in map(json.loads, ledger.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()):
                if "role" in entry:
                    self.pids[entry["role"]] = entry["pid"]
                    self.every.setdefault(entry["role"], set()).add(entry["pid"])
                elif "cgroup" in entry:
                    self.cgroups.update(entry["cgroup"]["directories"].values())
        return self.pids

    def nothing_left(self, *roles: str) -> None:
        """Asserts that these were started, and that nothing is left of them or of anything else."""
        assert set(roles) <= set(self.pids), self.pids
        assert [role for role, pids in self.every.items() if any(map(alive, pids))] == []
        assert [directory for directory in self.cgroups if Path(directory).exists()] == []
        assert list((self.root / FOLDER).glob("*.jsonl")) == []


class Later(threading.Thread):
    """A thread that acts a moment after the next process of a role is on record."""

    def __init__(self, run: RunFolder, role: str, action: Callable[[], object]) -> None:
        super().__init__(daemon=True)
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
        self._action()


def kill_under_load(run: RunFolder, role: str) -> Later:
    """Kills the process of that role a moment after k6 has started."""
    return Later(run, "k6", lambda: os.kill(run.pids[role], signal.SIGKILL))


def environment_of(pid: int) -> dict[str, str]:
    """Returns the environment that a process was started with."""
    pairs = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)
