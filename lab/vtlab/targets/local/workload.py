"""Files that k6 is started with on this machine, and the pre-flight of a workload."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vtlab.analysis import preflight
from vtlab.errors import BlockFault
from vtlab.host import variables
from vtlab.host.processes import Process
from vtlab.k6 import call as k6
from vtlab.k6 import user_script as script
from vtlab.k6.call import Call
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import VariantPreflight


@dataclass(frozen=True)
class Start:
    """Files of a workload that a call of k6 needs."""

    script: Path
    #: A file that k6 alone reads.
    private: Path | None
    #: What cannot be kept of a user's script, in sentences.
    remarks: list[str]


def prepare(experiment: Experiment, tool: Path, lab: Path, folder: Path) -> Start:
    """Writes what k6 needs of a workload into ``folder``. ``lab``: the folder of block.ts. BadInput where a script, or
    a file that the workload names, is not what it should be."""
    workload = experiment.workload
    if workload.k6 is None:
        return Start(lab / "block.ts", k6.write_private(workload, folder), [])
    users = script.read(tool, Path(workload.k6), variables.known(), folder)
    private = k6.write_environment(users.variables, folder)
    return Start(script.install(users, folder / "script", lab, experiment.variants, private), private, users.remarks)


def check(
    experiment: Experiment, call: Call, run: Callable[[Call, Mapping[str, str], float], Process]
) -> preflight.PreflightResult:
    """Makes the pre-flight: each request, or each task of a script, once for each variant of the call.

    BadInput where the workload does not fit the service. ``run`` starts k6 and waits so many seconds for its end.
    """

    def ask(origin: str | None) -> Mapping[str, VariantPreflight]:
        asking_call = replace(call, origin=origin)
        asking_call.document.unlink(missing_ok=True)
        variants = list(asking_call.targets)
        seconds = preflight.longest_seconds(experiment, len(variants))
        process = run(asking_call, k6.preflight_variables(variants), seconds)
        if process.returncode() not in k6.DONE:
            raise script.cannot_run(process.last_lines())
        try:
            return k6.read_preflight(asking_call.document, process.last_lines())
        finally:
            asking_call.document.unlink(missing_ok=True)

    return preflight.check(experiment.workload, call.targets, ask)


def wait(process: Process, seconds: float) -> None:
    """Waits until the process ends; BlockFault where that takes longer."""
    end = time.monotonic() + seconds
    while process.exit_description() is None:
        if time.monotonic() > end:
            raise BlockFault(f"the pre-flight of k6 took more than {seconds:.0f} s")
        time.sleep(0.05)
