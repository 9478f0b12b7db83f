"""Control groups: the CPU and memory limit of one JVM, set before its first instruction and read back later.

As root the groups are written directly, of version 1 or 2, below a group ``vtlab`` at the top of the
hierarchies; otherwise systemd makes them (``systemd-run --user --scope``). CPU is in cores, memory in bytes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vtlab.errors import PrerequisiteMissing
from vtlab.host.tools import clean_environment

#: Microseconds in which the quota is handed out: what the kernel, Docker and Kubernetes use.
PERIOD = 100_000
PARENT = "vtlab"
NO_LIMIT = (
    "run as root, or under a systemd that delegates cpu and memory to you;"
    " or anew without a limit: vtlab run … --no-cpu-limit"
)
_UNLIMITED_MEMORY = 1 << 62


@dataclass(frozen=True)
class Host:
    """This machine, as far as control groups go; the tests put directories and fake commands in its place."""

    root: Path = Path("/")
    uid: int = field(default_factory=os.geteuid)
    run: Callable[[Sequence[str]], subprocess.CompletedProcess[str]] = field(
        default=lambda command: subprocess.run(
            command, capture_output=True, text=True, env=clean_environment(), timeout=30, check=False
        )
    )
    which: Callable[[str], str | None] = shutil.which

    def proc(self, *names: str) -> Path:
        return self.root.joinpath("proc", *names)

    def mounts(self) -> list[Mount]:
        """The mounted hierarchies."""
        return _parse_mounts(_read(self.proc("self", "mountinfo")), self.root)

    def controllers(self) -> dict[str, Mount]:
        """Where each controller lives: a version 1 hierarchy, else version 2 when it has it."""
        mounts: dict[str, Mount] = {}
        for mount in self.mounts():
            for controller in mount.controllers:
                if mount.version == 1 or controller not in mounts:
                    mounts[controller] = mount
        return mounts

    def version(self) -> str:
        """``v1``, ``v2`` or ``none``: what holds the CPU quota."""
        mount = self.controllers().get("cpu")
        return f"v{mount.version}" if mount else "none"


@dataclass(frozen=True)
class Mount:
    """One mounted hierarchy. ``root`` is the group that stands at the mount point."""

    version: int
    point: Path
    root: str
    controllers: tuple[str, ...]


@dataclass(frozen=True)
class CpuStat:
    """Counters of one group since it was made."""

    periods: int
    throttled_periods: int
    throttled_seconds: float
    usage_seconds: float | None


@dataclass(frozen=True)
class Limit:
    """The smallest limits on the path from a process's own groups to the top; None where there is none."""

    cpu: float | None
    memory: int | None


class Cgroup(ABC):
    """A control group with a CPU quota and a memory limit."""

    @staticmethod
    def create(
        name: str,
        cpu: float,
        memory: int,
        host: Host | None = None,
        record: Callable[[dict[str, Any]], None] = lambda entry: None,
    ) -> Cgroup:
        """Makes the group. ``record`` learns what ``restore`` needs before anything is made.

        PrerequisiteMissing when this machine cannot limit a process, with the reason.
        """
        host = host or Host()
        group = _plan(name, cpu, memory, host)
        record(group.entry())
        try:
            group.make(cpu, memory)
        except OSError as error:
            group.remove()
            if error.errno == errno.ENOSPC:
                raise
            raise PrerequisiteMissing(f"cannot set a CPU limit by control groups: {error}", NO_LIMIT) from error
        return group

    @staticmethod
    def restore(entry: dict[str, Any], host: Host | None = None) -> Cgroup:
        """The group of an ``entry``, to remove it. ValueError when it is none of ours."""
        host = host or Host()
        if "unit" in entry:
            unit = str(entry["unit"])
            if not re.fullmatch(rf"{PARENT}-[\w.-]+\.scope", unit):
                raise ValueError(f"not a unit of vtlab: {unit}")
            return _Scope(unit, [], host)
        directories = {str(controller): Path(directory) for controller, directory in entry["directories"].items()}
        for directory in directories.values():
            if directory.parent.name != PARENT or ".." in directory.parts:
                raise ValueError(f"not a group of vtlab: {directory}")
        return _Direct(directories, int(entry["version"]), host)

    @property
    @abstractmethod
    def prefix(self) -> list[str]:
        """Put before a command it makes the command start inside the group, with the same pid."""

    @abstractmethod
    def entry(self) -> dict[str, Any]:
        """What ``restore`` needs, as JSON."""

    @abstractmethod
    def make(self, cpu: float, memory: int) -> None:
        """Creates it with these limits."""

    @abstractmethod
    def set_cpu(self, cpu: float) -> None:
        """Gives it another quota, in cores. OSError where that is refused."""

    def attach(self, pid: int) -> None:  # noqa: B027  (only a systemd scope has to learn where it is)
        """Tells the group the process that runs in it."""

    @abstractmethod
    def cpu_stat(self) -> CpuStat | None:
        """Periods and throttling so far; None when they cannot be read."""

    @abstractmethod
    def oom_kills(self) -> int:
        """Processes that the kernel killed in it for want of memory."""

    @abstractmethod
    def remove(self) -> None:
        """Ends what still runs in it and removes it; no error when it is gone already."""


class _Direct(Cgroup):
    """Groups that vtlab writes itself: one directory per hierarchy."""

    def __init__(self, directories: dict[str, Path], version: int, host: Host) -> None:
        self.directories = directories
        self.version = version
        self._host = host

    @property
    def _distinct(self) -> list[Path]:
        return list(dict.fromkeys(self.directories.values()))

    @property
    def prefix(self) -> list[str]:
        join = " && ".join(f"echo $$ > {shlex.quote(str(directory / 'cgroup.procs'))}" for directory in self._distinct)
        return ["/bin/sh", "-c", f'{join} && exec "$@"', "sh"]

    def entry(self) -> dict[str, Any]:
        directories = {controller: str(directory) for controller, directory in self.directories.items()}
        return {"version": self.version, "directories": directories}

    def make(self, cpu: float, memory: int) -> None:
        for directory in self._distinct:
            self._make(directory)
        self.set_cpu(cpu)
        directory = self.directories["memory"]
        if self.version == 1:
            _write(directory / "memory.limit_in_bytes", memory)
            # Without swap where the kernel accounts for it.
            if (directory / "memory.memsw.limit_in_bytes").exists():
                _write(directory / "memory.memsw.limit_in_bytes", memory)
            elif (directory / "memory.swappiness").exists():
                _write(directory / "memory.swappiness", 0)
        else:
            _write(directory / "memory.max", memory)
            if (directory / "memory.swap.max").exists():
                _write(directory / "memory.swap.max", 0)

    def set_cpu(self, cpu: float) -> None:
        directory, quota = self.directories["cpu"], round(cpu * PERIOD)
        if self.version == 1:
            _write(directory / "cpu.cfs_period_us", PERIOD)
            _write(directory / "cpu.cfs_quota_us", quota)
        else:
            _write(directory / "cpu.max", f"{quota} {PERIOD}")

    def _make(self, directory: Path) -> None:
        for attempt in range(10):
            try:
                directory.parent.mkdir(exist_ok=True)
                if self.version == 2:
                    for above in (directory.parent.parent, directory.parent):
                        _write(above / "cgroup.subtree_control", "+cpu +memory")
                directory.mkdir(exist_ok=True)
                return
            except FileNotFoundError:
                # Another vtlab has just removed the empty parent.
                if attempt == 9:
                    raise
                time.sleep(0.05)

    def cpu_stat(self) -> CpuStat | None:
        usage = _read(self.directories["cpuacct"] / "cpuacct.usage") if "cpuacct" in self.directories else ""
        return _cpu_stat(self.directories["cpu"], int(usage) / 1e9 if usage.strip() else None)

    def oom_kills(self) -> int:
        return _oom_kills(self.directories["memory"], self.version)

    def remove(self) -> None:
        end = time.monotonic() + 5
        for directory in self._distinct:
            while directory.exists():
                for pid in _read(directory / "cgroup.procs").split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
                try:
                    directory.rmdir()
                except OSError:
                    if time.monotonic() > end:
                        break
                    time.sleep(0.05)
            with contextlib.suppress(OSError):
                directory.parent.rmdir()


class _Scope(Cgroup):
    """A transient scope of the user's systemd."""

    def __init__(self, unit: str, properties: list[str], host: Host) -> None:
        self.unit = unit
        self._properties = properties
        self._host = host
        self._pid: int | None = None

    @property
    def prefix(self) -> list[str]:
        options = [word for value in self._properties for word in ("-p", value)]
        return ["systemd-run", "--user", "--scope", "--quiet", f"--unit={self.unit}", *options, "--"]

    def entry(self) -> dict[str, Any]:
        return {"unit": self.unit}

    def make(self, cpu: float, memory: int) -> None:
        """Nothing: systemd makes it when the command starts."""

    def set_cpu(self, cpu: float) -> None:
        done = self._host.run(["systemctl", "--user", "set-property", "--runtime", self.unit, _systemd_quota(cpu)])
        if done.returncode != 0:
            raise OSError((done.stderr.strip().splitlines() or ["systemctl set-property gave no reason"])[-1])

    def attach(self, pid: int) -> None:
        self._pid = pid

    def _group(self, controller: str) -> tuple[Path, int] | None:
        groups = _groups(self._pid, controller, self._host) if self._pid is not None else []
        return groups[0] if groups else None

    def cpu_stat(self) -> CpuStat | None:
        group = self._group("cpu")
        return _cpu_stat(group[0], None) if group else None

    def oom_kills(self) -> int:
        group = self._group("memory")
        if group:
            return _oom_kills(*group)
        # The scope is gone with its process; systemd remembers why.
        shown = self._host.run(["systemctl", "--user", "show", "--property=Result", "--value", self.unit])
        return int(shown.stdout.strip() == "oom-kill")

    def remove(self) -> None:
        self._host.run(["systemctl", "--user", "stop", self.unit])
        self._host.run(["systemctl", "--user", "reset-failed", self.unit])


def limit_of(pid: int, host: Host | None = None) -> Limit:
    """The limits that hold for a process, from its own groups and those above. OSError when it is gone."""
    host = host or Host()
    host.proc(str(pid), "cgroup").read_text(encoding="utf-8")
    cpu = [quota for quota in (_quota(directory) for directory, _ in _groups(pid, "cpu", host)) if quota is not None]
    memory = [
        size for size in (_memory(directory, v) for directory, v in _groups(pid, "memory", host)) if size is not None
    ]
    return Limit(min(cpu, default=None), min(memory, default=None))


def limited_group(pid: int, host: Host | None = None) -> Path | None:
    """The nearest group with a CPU quota that holds for a process; None without a quota."""
    groups = (directory for directory, _ in _groups(pid, "cpu", host or Host()))
    return next((directory for directory in groups if _quota(directory) is not None), None)


def cpu_stat_of(group: Path) -> CpuStat | None:
    """Counters of one group; None when they cannot be read."""
    return _cpu_stat(group, None)


def _plan(name: str, cpu: float, memory: int, host: Host) -> Cgroup:
    controllers = host.controllers()
    missing = [controller for controller in ("cpu", "memory") if controller not in controllers]
    if missing:
        raise PrerequisiteMissing(f"no control group hierarchy with {' and '.join(missing)} is mounted", NO_LIMIT)
    versions = {controllers[controller].version for controller in ("cpu", "memory")}
    if host.uid == 0:
        if len(versions) > 1:
            raise PrerequisiteMissing("cpu and memory are in control groups of different versions", NO_LIMIT)
        version = versions.pop()
        wanted = ("cpu", "cpuacct", "memory") if version == 1 else ("cpu", "memory")
        places = {c: controllers[c].point / PARENT / name for c in wanted if c in controllers}
        return _Direct(places, version, host)
    if host.which("systemd-run") is None:
        raise PrerequisiteMissing("not root, and no systemd-run: nothing here can set a CPU limit", NO_LIMIT)
    properties = [
        _systemd_quota(cpu),
        f"CPUQuotaPeriodSec={PERIOD // 1000}ms",
        f"MemoryMax={memory}",
        "MemorySwapMax=0",
    ]
    tried = host.run(
        ["systemd-run", "--user", "--scope", "--quiet", *(w for p in properties for w in ("-p", p)), "true"]
    )
    if tried.returncode != 0:
        reason = (tried.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise PrerequisiteMissing(f"not root, and systemd-run --user cannot set a CPU limit: {reason}", NO_LIMIT)
    return _Scope(f"{PARENT}-{name}.scope", properties, host)


def _systemd_quota(cpu: float) -> str:
    # Percent with two digits: what CPUQuota= accepts.
    return f"CPUQuota={cpu * 100:.2f}%".replace(".00%", "%")


def _groups(pid: int | None, controller: str, host: Host) -> list[tuple[Path, int]]:
    """The directories of a process's groups for a controller with their version, its own first."""
    mount = host.controllers().get(controller)
    if mount is None:
        return []
    for line in _read(host.proc(str(pid), "cgroup")).splitlines():
        hierarchy, names, path = line.split(":", 2)
        mine = hierarchy == "0" and not names if mount.version == 2 else controller in names.split(",")
        if not mine:
            continue
        inside = path if mount.root == "/" else path.removeprefix(mount.root)
        directory = mount.point / inside.lstrip("/")
        if ".." in Path(inside).parts or not directory.is_dir():
            directory = mount.point
        above = [directory, *directory.parents]
        return [(path_above, mount.version) for path_above in above[: above.index(mount.point) + 1]]
    return []


def _quota(directory: Path) -> float | None:
    v2 = _read(directory / "cpu.max").split()
    quota, period = (
        v2 if len(v2) == 2 else (_read(directory / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
    )
    if not quota or not period or quota == "max" or int(quota) <= 0:
        return None
    return int(quota) / int(period)


def _memory(directory: Path, version: int) -> int | None:
    text = _read(directory / ("memory.max" if version == 2 else "memory.limit_in_bytes")).strip()
    return int(text) if text.isdigit() and int(text) < _UNLIMITED_MEMORY else None


def _cpu_stat(directory: Path, usage: float | None) -> CpuStat | None:
    values = _pairs(_read(directory / "cpu.stat"))
    if "nr_periods" not in values:
        return None
    if "usage_usec" in values:
        usage = values["usage_usec"] / 1e6
    stopped = values["throttled_usec"] / 1e6 if "throttled_usec" in values else values.get("throttled_time", 0) / 1e9
    return CpuStat(values["nr_periods"], values.get("nr_throttled", 0), stopped, usage)


def _oom_kills(directory: Path, version: int) -> int:
    return _pairs(_read(directory / ("memory.events" if version == 2 else "memory.oom_control"))).get("oom_kill", 0)


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
            mounts.append(Mount(2, point, fields[3], tuple(_read(point / "cgroup.controllers").split())))
    return mounts


def _read(path: Path) -> str:
    """The file's text; empty where it does not exist (any more)."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _write(path: Path, value: object) -> None:
    path.write_text(f"{value}\n", encoding="utf-8")
