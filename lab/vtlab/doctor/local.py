"""Prerequisites of a run on this machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from vtlab import shipped
from vtlab.analysis.findings import static
from vtlab.doctor.prerequisite import Prerequisite, check
from vtlab.host import cgroup, cgroup_hierarchies, core_speed, process_ledger, tools
from vtlab.services import sample
from vtlab.services.companions import companion_services

#: Bytes that a full run of one experiment may write.
_ROOM = 500 * 1024**2
#: What two cores must compute at once, of what one computes alone.
LEAST_OF_TWO = 1.4


def prerequisites(root: Path) -> list[Prerequisite]:
    """Checks every prerequisite, in the order in which a run needs them."""
    idle = check("no other run", lambda: _idle(root))
    # To compute would disturb another run.
    measures_here = sys.platform == "linux" and not idle.fix
    return [
        _platform(),
        check("JDK", _jdk),
        check("k6", lambda: _tool(tools.find_k6())),
        check("Prometheus", lambda: _tool(tools.find_prometheus())),
        # An installed vtlab measures other services.
        replace(check("the app", lambda: _tool(sample.find())), optional=not shipped.IS_CHECKOUT),
        limits(cgroup_hierarchies.Host()),
        _cores(),
        _room(root),
        idle,
        *([own_cores(len(os.sched_getaffinity(0)), core_speed.two_over_one)] if measures_here else []),
        _needed("MariaDB", lambda: companion_services.describe_database("database")),
        _needed("PostgreSQL", lambda: companion_services.describe_database("postgres")),
        _needed("JDK 21", lambda: _jdk("21")),
        *(_for_checkout() if shipped.IS_CHECKOUT else []),
    ]


def _for_checkout() -> list[Prerequisite]:
    """Checks the programs that build and test the lab itself."""
    browsers = ["chromium", "chromium-browser", "google-chrome"]
    return [
        _program("Maven", ["mvn"], "apt-get install maven", "to build the app"),
        _program("Go", ["go"], "install Go 1.21 or newer", "to build k6 and Prometheus where they are missing"),
        _program("Chromium", browsers, "make setup-test", "to test the report"),
    ]


def _needed(name: str, find: Callable[[], str]) -> Prerequisite:
    """Checks a prerequisite that only some experiments and services have."""
    prerequisite = check(name, find)
    state = f"{prerequisite.state}; for what needs {name}" if prerequisite.fix else prerequisite.state
    return replace(prerequisite, state=state, optional=True)


def _tool(tool: tools.Tool) -> str:
    return f"{tool.version} at {tool.path}"


def _jdk(version: str | None = None) -> str:
    """Describes a JDK that measures, with its known problems under virtual threads. ``version``: None for that of
    services that name none."""
    java = tools.find_java(version)
    known = [f"{finding.title} ({finding.source}): {finding.cure}" for finding in static.jdk_findings(java.version)]
    return "; ".join([_tool(java), *known])


def _platform() -> Prerequisite:
    if sys.platform == "linux":
        return Prerequisite("Linux", os.uname().release)
    return Prerequisite(
        "Linux",
        f"this is {sys.platform}",
        "measure in vtlab's container image, in a cluster (--target kubernetes), or on Linux",
    )


def limits(host: cgroup_hierarchies.Host) -> Prerequisite:
    """Checks whether a CPU limit can be set, by setting one."""
    return check("CPU limits", lambda: _try_group(host))


def _try_group(host: cgroup_hierarchies.Host) -> str:
    """Makes a control group with a limit, and removes it; PrerequisiteMissing where that does not work."""
    cgroup.Cgroup.create(f"doctor-{os.getpid()}", 0.5, 64 * 1024**2, host, record=lambda _: None).remove()
    if host.uid != 0:
        return "by systemd-run --user --scope"
    return f"control groups of version {host.version()}, written directly (root)"


def _cores() -> Prerequisite:
    cores = os.cpu_count() or 1
    if cores >= 2:
        return Prerequisite("cores", str(cores))
    return Prerequisite("cores", "1", "the service and the load generator need a core each: use a machine with two")


def own_cores(cores: int, two_over_one: Callable[[], float]) -> Prerequisite:
    """Checks whether two cores, one for the service and one for k6, slow each other: blocks of a service that computes
    are rejected or scatter then. ``cores``: those that vtlab may use."""
    if cores < 2:
        return Prerequisite("own cores", "one core cannot be compared")
    times = two_over_one()
    state = f"two at once compute {times:.1f} times as much as one"
    if times >= LEAST_OF_TWO:
        return Prerequisite("own cores", state)
    fix = (
        "measure a service that computes on a machine whose cores nobody else uses; one that waits can be measured here"
    )
    return Prerequisite("own cores", f"{state}: they slow each other", fix, optional=True)


def _room(root: Path) -> Prerequisite:
    folder = root.resolve()
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK):
        return Prerequisite("results", f"{folder} is not writable", "name another directory: --results DIR")
    free = shutil.disk_usage(folder).free
    room = f"{free / 1024**3:.1f} GiB free for {root}"
    return Prerequisite("results", room, "" if free > _ROOM else "make room, or name another directory: --results DIR")


def _idle(root: Path) -> str:
    process_ledger.refuse_if_busy(root)
    return "no other vtlab measures here"


def _program(name: str, commands: list[str], fix: str, purpose: str) -> Prerequisite:
    for command in commands:
        path = shutil.which(command)
        if path:
            return Prerequisite(name, path)
    return Prerequisite(name, f"not on PATH; needed {purpose}", fix, optional=True)
