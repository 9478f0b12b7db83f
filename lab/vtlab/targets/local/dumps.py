"""Thread dumps of a variant under load, at random moments, through a JDK's ``jcmd``.

``jcmd`` runs outside the variant's control group. The dump itself costs the JVM: 0.05 to 0.2 ms of CPU for each
virtual thread. What it costs is measured: the CPU time, by the kernel's count, of the thread that carries out jcmd's
orders; with ``Thread.print``, which stops the JVM, also of the VM thread, whose collections in that moment count, too.
Whatever goes wrong here, a diagnosis that does not come is none: it fails neither block nor run.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from vtlab.analysis.dumps import places
from vtlab.errors import BlockFault, LabError, PrerequisiteMissing
from vtlab.host import jcmd, processes
from vtlab.model.records import Diagnosis, Trial
from vtlab.planning import dump_schedule
from vtlab.planning.load_call import AS_PLANNED, CallPacing
from vtlab.services.process import VariantProcess

#: Where below a run's folder dumps lie while they are taken: what a service works on may be in them.
FOLDER = "dumps"
#: The most dumps that are kept of one trial, its ramp-up included.
MOST = 60
#: Calls of jcmd that fail in a row, after which nothing more is expected.
FAILURES = 3
#: The thread of a JVM that carries out what jcmd asks for, and the one that stops all others.
_WORKER, _STOPPER = "Attach Listener", "VM Thread"


def diagnose(
    variants: Iterable[VariantProcess], folder: Path, load: Callable[[str], Trial], pacings: Mapping[str, CallPacing]
) -> dict[str, Diagnosis]:
    """Runs one more trial (``load``) of each variant whose JVM can be asked, and takes thread dumps meanwhile. A
    variant without a dump inside the trial's window is left out of the result. Nothing of it is left in ``folder``."""
    diagnoses = {}
    for variant in variants:
        name = variant.variant
        command = jcmd.command_for(variant.process.pid)
        if command is None:
            continue
        # What breaks under this load has shown it in the trials that count.
        window = dump_schedule.window_seconds(pacings.get(name, AS_PLANNED), variant.launch.experiment, name)
        with (
            contextlib.suppress(BlockFault, PrerequisiteMissing, OSError),
            Dumps(variant, command, folder, window) as dumps,
        ):
            trial = load(name)
            diagnosis = dumps.diagnosis(trial.start, trial.end)
            if diagnosis:
                figures = {"throughput": trial.throughput, "latency": trial.latency.mean}
                diagnoses[name] = diagnosis.model_copy(update=figures)
    return diagnoses


@dataclass(frozen=True)
class Dump:
    """One dump on disk, and when it was asked for and there (epoch ms)."""

    file: Path
    printed: str
    begun: float
    ended: float
    #: CPU seconds of the JVM; 0 where its threads do not tell.
    cpu: float = 0.0


class Dumps:
    """Takes dumps of a variant in a separate thread, from entry to exit."""

    def __init__(self, variant: VariantProcess, command: Sequence[str], folder: Path, window: float) -> None:
        """``command``: the ``jcmd`` command for this variant. ``window``: seconds of the trial's window."""
        self._pid = variant.process.pid
        self._command = command
        self._cores = variant.limits().cpu or os.cpu_count() or 1
        self._gap = self._planned_gap = window / dump_schedule.WANTED
        self._folder = folder / FOLDER
        self._taken: list[Dump] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dumps", daemon=True)

    def diagnosis(self, start_ms: int, end_ms: int) -> Diagnosis | None:
        """Takes no more dumps, and returns what those between two times show; None where there is none, or one cannot
        be read."""
        self._end()
        inside = [dump for dump in self._taken if start_ms <= dump.begun and dump.ended <= end_ms]
        with contextlib.suppress(LabError, OSError):
            diagnosis = places.diagnose(
                [places.parse_dump(dump.file.read_text("utf-8", errors="replace"), dump.printed) for dump in inside]
            )
            cpu = sum(dump.cpu for dump in inside)
            if diagnosis and cpu:
                mean_cpu, allowed = cpu / len(inside), self._cores * (end_ms - start_ms) / 1000
                is_held_back = dump_schedule.seconds_between_dumps(mean_cpu, self._cores) > self._planned_gap
                costs = {"dump_cpu": mean_cpu, "cpu_share": cpu / allowed, "is_held_back": is_held_back}
                return diagnosis.model_copy(update=costs)
            return diagnosis
        return None

    @property
    def running(self) -> bool:
        """Tells whether more dumps are to come."""
        return self._thread.is_alive()

    def _run(self) -> None:
        with contextlib.suppress(OSError, LabError):
            failures, printing, numbers = 0, True, itertools.count()
            while failures < FAILURES:
                if self._stop.wait(random.expovariate(1 / self._gap)):
                    return
                workers = (_WORKER, _STOPPER) if printing else (_WORKER,)
                before, began = _cpu_seconds(self._pid, workers), time.monotonic()
                dump = take(self._command, self._folder / f"{next(numbers)}.json", printing)
                if dump is None:
                    failures += 1
                    continue
                failures = 0
                # Where the dump has the threads' states, the other command has nothing to add.
                if printing:
                    with dump.file.open(encoding="utf-8", errors="replace") as file:
                        printing = '"state":' not in file.read(50_000)
                # The worker does not exist before the first order.
                cpu = max(0.0, _cpu_seconds(self._pid, workers) - before)
                self._keep(replace(dump, cpu=cpu))
                elapsed = time.monotonic() - began
                if self._stop.wait(dump_schedule.seconds_between_dumps(cpu or elapsed, self._cores) - elapsed):
                    return

    def _keep(self, dump: Dump) -> None:
        """Keeps a dump; removes every second one where there are too many, as the window's place is not known yet."""
        self._taken.append(dump)
        if len(self._taken) >= MOST:
            for superfluous in self._taken[::2]:
                superfluous.file.unlink()
            del self._taken[::2]
            self._gap *= 2

    def _end(self) -> None:
        self._stop.set()
        self._thread.join()

    def __enter__(self) -> Dumps:
        # A vtlab that was killed may have left some.
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        with processes.uninterrupted():
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._end()
        finally:
            # Also where a second signal ends the wait for a dump.
            shutil.rmtree(self._folder, ignore_errors=True)


def take(command: Sequence[str], file: Path, printing: bool) -> Dump | None:
    """Takes one dump into a file that does not exist yet, with ``printing`` beside the output of ``Thread.print``;
    returns None where that did not work."""
    orders = [f'Thread.dump_to_file -format=json "{file}"', *(["Thread.print"] if printing else [])]
    begun = 1000 * time.time()
    answer = jcmd.run(command, ["\n".join(orders)])
    if answer is None or not file.is_file():
        return None
    return Dump(file, answer if printing else "", begun, 1000 * time.time())


def _cpu_seconds(pid: int, names: Sequence[str]) -> float:
    """Returns the CPU seconds that the JVM's threads of these names have used."""
    total = 0.0
    for task in Path("/proc", str(pid), "task").iterdir():
        with contextlib.suppress(OSError):
            if (task / "comm").read_text("utf-8", errors="replace").strip() in names:
                total += int((task / "schedstat").read_text("ascii").split()[0]) / 1e9
    return total
