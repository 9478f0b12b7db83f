"""Control groups: the CPU and memory limit of one JVM, set before its first instruction and read back later.

As root vtlab writes the groups directly, of version 1 or 2, below a group ``vtlab`` at the top of the hierarchies;
otherwise systemd creates them (``systemd-run --user --scope``). CPU is in cores, memory in bytes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vtlab.errors import PrerequisiteMissing
from vtlab.host.cgroup_hierarchies import CpuStat, Host, groups_of, read_cpu_stat, read_oom_kills, read_text

#: Microseconds of a period of the quota, as the kernel, Docker and Kubernetes use it.
PERIOD = 100_000
PARENT = "vtlab"
#: Where the processes of a container go, beside the groups with limits.
OTHERS = "vtlab-others"
NO_LIMIT = (
    "run as root (in a container: docker run --privileged), or under a systemd that delegates cpu and memory to you;"
    " or start without a limit: vtlab run … --no-cpu-limit"
)


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
        """Creates a group. ``record`` gets what ``restore`` needs, before the group exists.

        PrerequisiteMissing, with the reason, when this machine cannot limit a process.
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
            raise PrerequisiteMissing(f"cannot set a CPU limit with control groups: {error}", NO_LIMIT) from error
        return group

    @staticmethod
    def restore(entry: dict[str, Any], host: Host | None = None) -> Cgroup:
        """Returns the group of an ``entry``, to remove it. ValueError when vtlab did not create it."""
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
        """Words before a command that start it inside the group, with the same pid."""

    @abstractmethod
    def entry(self) -> dict[str, Any]:
        """Returns what ``restore`` needs, as JSON."""

    @abstractmethod
    def make(self, cpu: float, memory: int) -> None:
        """Creates the group with these limits."""

    @abstractmethod
    def set_cpu(self, cpu: float) -> None:
        """Sets another quota, in cores. OSError where that is refused."""

    def attach(self, pid: int) -> None:  # noqa: B027  (only a systemd scope has to learn where it is)
        """Tells the group which process runs in it."""

    @abstractmethod
    def cpu_stat(self) -> CpuStat | None:
        """Reads periods and throttling so far; None when they cannot be read."""

    @abstractmethod
    def oom_kills(self) -> int:
        """Counts the processes that the kernel killed in it for lack of memory."""

    @abstractmethod
    def remove(self) -> None:
        """Ends the processes in it and removes it; no error when it is gone already."""


class _Direct(Cgroup):
    """Groups that vtlab writes itself: one directory for each hierarchy."""

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
                        _delegate(above)
                directory.mkdir(exist_ok=True)
                return
            except FileNotFoundError:
                # Another vtlab has just removed the empty parent.
                if attempt == 9:
                    raise
                time.sleep(0.05)

    def cpu_stat(self) -> CpuStat | None:
        usage = read_text(self.directories["cpuacct"] / "cpuacct.usage") if "cpuacct" in self.directories else ""
        return read_cpu_stat(self.directories["cpu"], int(usage) / 1e9 if usage.strip() else None)

    def oom_kills(self) -> int:
        return read_oom_kills(self.directories["memory"], self.version)

    def remove(self) -> None:
        end = time.monotonic() + 60
        for directory in self._distinct:
            while directory.exists():
                for pid in read_text(directory / "cgroup.procs").split():
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
        """Does nothing: systemd creates the scope when the command starts."""

    def set_cpu(self, cpu: float) -> None:
        done = self._host.run(["systemctl", "--user", "set-property", "--runtime", self.unit, _systemd_quota(cpu)])
        if done.returncode != 0:
            raise OSError((done.stderr.strip().splitlines() or ["systemctl set-property gave no reason"])[-1])

    def attach(self, pid: int) -> None:
        self._pid = pid

    def _group(self, controller: str) -> tuple[Path, int] | None:
        groups = groups_of(self._pid, controller, self._host) if self._pid is not None else []
        return groups[0] if groups else None

    def cpu_stat(self) -> CpuStat | None:
        group = self._group("cpu")
        return read_cpu_stat(group[0]) if group else None

    def oom_kills(self) -> int:
        group = self._group("memory")
        if group:
            return read_oom_kills(*group)
        # The scope is gone with its process; systemd remembers why.
        result = self._host.run(["systemctl", "--user", "show", "--property=Result", "--value", self.unit])
        return int(result.stdout.strip() == "oom-kill")

    def remove(self) -> None:
        self._host.run(["systemctl", "--user", "stop", self.unit])
        self._host.run(["systemctl", "--user", "reset-failed", self.unit])


def _plan(name: str, cpu: float, memory: int, host: Host) -> Cgroup:
    """Chooses how this machine creates the group. PrerequisiteMissing where it cannot."""
    controllers = host.controllers()
    missing = [controller for controller in ("cpu", "memory") if controller not in controllers]
    if missing:
        raise PrerequisiteMissing(f"no control group hierarchy with {' and '.join(missing)} is mounted", NO_LIMIT)
    return _plan_direct(name, host) if host.uid == 0 else _plan_scope(name, cpu, memory, host)


def _plan_direct(name: str, host: Host) -> Cgroup:
    controllers = host.controllers()
    versions = {controllers[controller].version for controller in ("cpu", "memory")}
    if len(versions) > 1:
        raise PrerequisiteMissing("cpu and memory are in control groups of different versions", NO_LIMIT)
    version = versions.pop()
    needed = ("cpu", "cpuacct", "memory") if version == 1 else ("cpu", "memory")
    directories = {c: controllers[c].point / PARENT / name for c in needed if c in controllers}
    return _Direct(directories, version, host)


def _plan_scope(name: str, cpu: float, memory: int, host: Host) -> Cgroup:
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


def _delegate(group: Path) -> None:
    """Lets the groups below a group of version 2 have limits."""
    control, controllers = group / "cgroup.subtree_control", "+cpu +memory"
    try:
        _write(control, controllers)
    except OSError as error:
        # The kernel refuses that for a group with processes, but for the machine's top. In a container the group at the
        # mount point has all of the container's processes, vtlab among them.
        if error.errno != errno.EBUSY:
            raise
        beside = group / OTHERS
        beside.mkdir(exist_ok=True)
        for pid in read_text(group / "cgroup.procs").split():
            with contextlib.suppress(ProcessLookupError):
                _write(beside / "cgroup.procs", pid)
        _write(control, controllers)


def _write(path: Path, value: object) -> None:
    path.write_text(f"{value}\n", encoding="utf-8")
