"""The mounted hierarchies of control groups, and what their files say: limits and counters.

CPU is in cores, memory in bytes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vtlab.host.tools import clean_environment

_UNLIMITED_MEMORY = 1 << 62


@dataclass(frozen=True)
class Host:
    """This machine's control groups. Tests use directories and fake commands in its place."""

    root: Path = Path("/")
    uid: int = field(default_factory=os.geteuid)
    run: Callable[[Sequence[str]], subprocess.CompletedProcess[str]] = field(
        default=lambda command: subprocess.run(
            command, capture_output=True, text=True, env=clean_environment(), timeout=30, check=False
        )
    )
    which: Callable[[str], str | None] = shutil.which

    def proc(self, *names: str) -> Path:
        """Returns a path below ``/proc``."""
        return self.root.joinpath("proc", *names)

    def mounts(self) -> list[Mount]:
        """Lists the mounted hierarchies."""
        return _parse_mounts(read_text(self.proc("self", "mountinfo")), self.root)

    def controllers(self) -> dict[str, Mount]:
        """Returns the hierarchy of each controller: of version 1, else of version 2 if that has the controller."""
        mounts: dict[str, Mount] = {}
        for mount in self.mounts():
            for controller in mount.controllers:
                if mount.version == 1 or controller not in mounts:
                    mounts[controller] = mount
        return mounts

    def version(self) -> str:
        """Returns the version that enforces the CPU quota: ``v1``, ``v2`` or ``none``."""
        mount = self.controllers().get("cpu")
        return f"v{mount.version}" if mount else "none"


@dataclass(frozen=True)
class Mount:
    """One mounted hierarchy. ``root`` is the group at the mount point."""

    version: int
    point: Path
    root: str
    controllers: tuple[str, ...]


@dataclass(frozen=True)
class CpuStat:
    """Counters of one group since its creation."""

    periods: int
    throttled_periods: int
    throttled_seconds: float
    usage_seconds: float | None


@dataclass(frozen=True)
class Limit:
    """The smallest limits on the path from a process's own groups to the top; None where there is none."""

    cpu: float | None
    memory: int | None


def limit_of(pid: int, host: Host | None = None) -> Limit:
    """Returns the limits on a process, from its own groups and those above. OSError when it is gone."""
    host = host or Host()
    host.proc(str(pid), "cgroup").read_text(encoding="utf-8")
    quotas = (_quota(directory) for directory, _ in groups_of(pid, "cpu", host))
    sizes = (_memory(directory, version) for directory, version in groups_of(pid, "memory", host))
    return Limit(
        min((quota for quota in quotas if quota is not None), default=None),
        min((size for size in sizes if size is not None), default=None),
    )


def limited_group(pid: int, host: Host | None = None) -> Path | None:
    """Returns the nearest group with a CPU quota on a process; None without a quota."""
    groups = (directory for directory, _ in groups_of(pid, "cpu", host or Host()))
    return next((directory for directory in groups if _quota(directory) is not None), None)


def groups_of(pid: int | None, controller: str, host: Host) -> list[tuple[Path, int]]:
    """Returns the directories of a process's groups for a controller with their version, its own first."""
    mount = host.controllers().get(controller)
    if mount is None:
        return []
    for line in read_text(host.proc(str(pid), "cgroup")).splitlines():
        hierarchy, names, path = line.split(":", 2)
        matches = hierarchy == "0" and not names if mount.version == 2 else controller in names.split(",")
        if not matches:
            continue
        inside = path if mount.root == "/" else path.removeprefix(mount.root)
        directory = mount.point / inside.lstrip("/")
        if ".." in Path(inside).parts or not directory.is_dir():
            directory = mount.point
        above = [directory, *directory.parents]
        return [(path_above, mount.version) for path_above in above[: above.index(mount.point) + 1]]
    return []


def _quota(directory: Path) -> float | None:
    v2 = read_text(directory / "cpu.max").split()
    quota, period = (
        v2 if len(v2) == 2 else (read_text(directory / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
    )
    if not quota or not period or quota == "max" or int(quota) <= 0:
        return None
    return int(quota) / int(period)


def _memory(directory: Path, version: int) -> int | None:
    text = read_text(directory / ("memory.max" if version == 2 else "memory.limit_in_bytes")).strip()
    return int(text) if text.isdigit() and int(text) < _UNLIMITED_MEMORY else None


def read_cpu_stat(directory: Path, usage: float | None = None) -> CpuStat | None:
    """Reads the counters of one group; None when that fails. ``usage``: CPU seconds where the file has none."""
    values = _pairs(read_text(directory / "cpu.stat"))
    if "nr_periods" not in values:
        return None
    if "usage_usec" in values:
        usage = values["usage_usec"] / 1e6
    stopped = values["throttled_usec"] / 1e6 if "throttled_usec" in values else values.get("throttled_time", 0) / 1e9
    return CpuStat(values["nr_periods"], values.get("nr_throttled", 0), stopped, usage)


def read_oom_kills(directory: Path, version: int) -> int:
    """Reads the number of processes that the kernel killed in one group for lack of memory."""
    return _pairs(read_text(directory / ("memory.events" if version == 2 else "memory.oom_control"))).get("oom_kill", 0)


def _pairs(text: str) -> dict[str, int]:
    return {key: int(value) for key, value in re.findall(r"^(\w+) (\d+)$", text, re.M)}


def _parse_mounts(mountinfo: str, top: Path) -> list[Mount]:
    mounts = []
    for line in mountinfo.splitlines():
        front, _, back = line.partition(" - ")
        fields, (kind, _, options) = front.split(), [*back.split(" ", 2), "", "", ""][:3]
        if kind not in ("cgroup", "cgroup2"):
            continue
        point = top / re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), fields[4]).lstrip("/")
        if kind == "cgroup":
            mounts.append(Mount(1, point, fields[3], tuple(options.split(","))))
        else:
            mounts.append(Mount(2, point, fields[3], tuple(read_text(point / "cgroup.controllers").split())))
    return mounts


def read_text(path: Path) -> str:
    """Reads a file; empty where it does not exist (any more)."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
