"""Looks at each prerequisite of a local run: found or missing, and the command that fixes it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from vtlab import data
from vtlab.errors import LabError, PrerequisiteMissing
from vtlab.host import cgroup, processes, tools
from vtlab.services import companions, sample

#: Bytes that a full run of one experiment may write.
_ROOM = 500 * 1024**2


@dataclass(frozen=True)
class Finding:
    """One prerequisite. ``fix`` is empty when it is there; an optional one that is missing does not count."""

    name: str
    state: str
    fix: str = ""
    optional: bool = False


def findings(root: Path, repository: Path) -> list[Finding]:
    """Every prerequisite, in the order in which a run needs them."""
    return [
        _platform(),
        asked("JDK", lambda: _tool(tools.find_java())),
        asked("k6", lambda: _tool(tools.find_k6(repository))),
        asked("Prometheus", lambda: _tool(tools.find_prometheus(repository))),
        # An installed vtlab measures other services.
        replace(asked("the app", lambda: _tool(sample.find(repository))), optional=not data.IS_CHECKOUT),
        limits(cgroup.Host()),
        _cores(),
        _room(root),
        asked("no other run", lambda: _idle(root)),
        _needed("database", lambda: companions.database_version(repository), "that need a database"),
        _needed("JDK 21", lambda: _tool(tools.find_java("21")), "that need JDK 21"),
        _program("Maven", ["mvn"], "apt-get install maven", "to build the app"),
        _program("Go", ["go"], "install Go 1.21 or newer", "to build k6 and Prometheus where they are missing"),
        _program(
            "Chromium", ["chromium", "chromium-browser", "google-chrome"], "make setup-test", "to test the report"
        ),
    ]


def examine(prerequisites: Sequence[Finding], console: Console) -> None:
    """Prints the findings; PrerequisiteMissing when something that a run needs is not there."""
    for finding in prerequisites:
        mark = "ok     " if not finding.fix else "absent " if finding.optional else "MISSING"
        console.print(f"{mark}  {finding.name + ':':14} {finding.state}", highlight=False, markup=False)
        if finding.fix:
            console.print(f"{'':9}fix: {finding.fix}", highlight=False, markup=False)
    missing = [finding.name for finding in prerequisites if finding.fix and not finding.optional]
    if missing:
        raise PrerequisiteMissing(f"missing: {', '.join(missing)}", "see each fix above")


def asked(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name, look())
    except LabError as error:
        return Finding(name, error.message, error.fix or "see the message")


def _needed(name: str, look: Callable[[], str], experiments: str) -> Finding:
    """A prerequisite that only some experiments have."""
    finding = asked(name, look)
    state = f"{finding.state}; for the experiments {experiments}" if finding.fix else finding.state
    return replace(finding, state=state, optional=True)


def _tool(tool: tools.Tool) -> str:
    return f"{tool.version} at {tool.path}"


def _platform() -> Finding:
    if sys.platform == "linux":
        return Finding("Linux", os.uname().release)
    return Finding("Linux", f"this is {sys.platform}", "CPU limits need Linux control groups: use a Linux machine")


def limits(host: cgroup.Host) -> Finding:
    """Whether a CPU limit can be set, by setting one."""
    return asked("CPU limits", lambda: _try_group(host))


def _try_group(host: cgroup.Host) -> str:
    """Makes a control group with a limit, and removes it; PrerequisiteMissing where that does not work."""
    cgroup.Cgroup.create(f"doctor-{os.getpid()}", 0.5, 64 * 1024**2, host, record=lambda _: None).remove()
    if host.uid != 0:
        return "by systemd-run --user --scope"
    return f"control groups of version {host.version()}, written directly (root)"


def _cores() -> Finding:
    cores = os.cpu_count() or 1
    if cores >= 2:
        return Finding("cores", str(cores))
    return Finding("cores", "1", "the service and the load generator need a core each: use a machine with two")


def _room(root: Path) -> Finding:
    folder = root.resolve()
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK):
        return Finding("results", f"{folder} is not writable", "name another directory: --results DIR")
    free = shutil.disk_usage(folder).free
    room = f"{free / 1024**3:.1f} GiB free for {root}"
    return Finding("results", room, "" if free > _ROOM else "make room, or name another directory: --results DIR")


def _idle(root: Path) -> str:
    processes.refuse_if_busy(root)
    return "nothing else is measured here"


def _program(name: str, commands: list[str], fix: str, purpose: str) -> Finding:
    for command in commands:
        path = shutil.which(command)
        if path:
            return Finding(name, path)
    return Finding(name, f"not on PATH; needed {purpose}", fix, optional=True)
