"""Control groups: version 1 for real, version 2 and systemd by fixtures."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from vtlab.doctor import local as doctor
from vtlab.errors import PrerequisiteMissing
from vtlab.host import cgroup, cgroup_hierarchies
from vtlab.host.cgroup import Cgroup
from vtlab.host.cgroup_hierarchies import CpuStat, Host, Limit

V1 = """31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
V2 = "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def machine(root: Path, mountinfo: str, group: str, uid: int = 0, **more: object) -> Host:
    write(root / "proc/self/mountinfo", mountinfo)
    write(root / "proc/77/cgroup", group)
    for line in mountinfo.splitlines():
        (root / line.split()[4].lstrip("/")).mkdir(parents=True, exist_ok=True)
    return Host(root=root, uid=uid, **more)  # type: ignore[arg-type]


@pytest.fixture
def v2(tmp_path: Path) -> Host:
    host = machine(tmp_path, V2, "0::/vtlab/a/inner\n")
    write(tmp_path / "sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n")
    return host


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


def test_version_2_is_written_as_the_kernel_wants_it(v2: Host) -> None:
    top = v2.root / "sys/fs/cgroup"
    (top / "vtlab/a").mkdir(parents=True)
    write(top / "vtlab/a/memory.swap.max", "max")
    recorded = []
    group = Cgroup.create("a", 0.5, 768 * 1024**2, v2, recorded.append)
    assert v2.version() == "v2"
    assert text(top / "cgroup.subtree_control") == "+cpu +memory"
    assert text(top / "vtlab/cgroup.subtree_control") == "+cpu +memory"
    assert text(top / "vtlab/a/cpu.max") == "50000 100000"
    assert text(top / "vtlab/a/memory.max") == str(768 * 1024**2)
    assert text(top / "vtlab/a/memory.swap.max") == "0"
    assert recorded == [group.entry()]
    assert group.prefix[:2] == ["/bin/sh", "-c"]
    assert group.prefix[2] == f'echo $$ > {top}/vtlab/a/cgroup.procs && exec "$@"'

    write(
        top / "vtlab/a/cpu.stat",
        "usage_usec 2500000\nnr_periods 40\nnr_throttled 10\nthrottled_usec 1500000\n",
    )
    write(top / "vtlab/a/memory.events", "low 0\noom 3\noom_kill 2\n")
    assert group.cpu_stat() == CpuStat(40, 10, 1.5, 2.5)
    assert group.oom_kills() == 2
    assert Cgroup.restore(group.entry(), v2).oom_kills() == 2


def test_the_processes_of_a_container_make_room_for_limits(v2: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container the group at the mount point has processes, and a group with processes has no limited children."""
    top = v2.root / "sys/fs/cgroup"
    write(top / "cgroup.procs", "1\n77\n4711\n")
    moved: list[str] = []
    real_write = cgroup._write

    def kernel(path: Path, value: object) -> None:
        if path == top / "cgroup.subtree_control" and len(moved) < 3:
            raise OSError(errno.EBUSY, "Device or resource busy")
        if path == top / "vtlab-others/cgroup.procs":
            moved.append(str(value))
            if value == "77":
                raise ProcessLookupError("it has just ended")
        real_write(path, value)

    monkeypatch.setattr(cgroup, "_write", kernel)
    Cgroup.create("a", 0.5, 1 << 20, v2)
    assert moved == ["1", "77", "4711"]
    assert text(top / "cgroup.subtree_control") == "+cpu +memory"
    assert text(top / "vtlab/a/cpu.max") == "50000 100000"


def test_a_quota_is_raised_and_set_back(tmp_path: Path, v2: Host) -> None:
    group = Cgroup.create("a", 0.5, 1 << 20, v2)
    file = v2.root / "sys/fs/cgroup/vtlab/a/cpu.max"
    (file.parent / "inner").mkdir()
    group.set_cpu(1.5)
    assert text(file) == "150000 100000"
    assert cgroup_hierarchies.limit_of(77, v2).cpu == 1.5
    group.set_cpu(0.5)
    assert cgroup_hierarchies.limit_of(77, v2).cpu == 0.5

    host = machine(tmp_path / "v1", V1, "3:cpu,cpuacct:/vtlab/a\n2:memory:/vtlab/a\n0::/\n")
    old = Cgroup.create("a", 0.5, 1 << 20, host)
    old.set_cpu(1.5)
    assert cgroup_hierarchies.limit_of(77, host).cpu == 1.5

    commands = Commands()
    scope = Cgroup.create("a", 0.5, 1 << 20, user(tmp_path / "user", commands))
    scope.set_cpu(1.5)
    assert " ".join(commands.calls[-1]) == "systemctl --user set-property --runtime vtlab-a.scope CPUQuota=150%"
    commands.answer = (1, "", "Access denied\n")
    with pytest.raises(OSError, match="Access denied"):
        scope.set_cpu(0.5)


def test_the_smallest_limit_on_the_path_holds_in_version_2(v2: Host) -> None:
    top = v2.root / "sys/fs/cgroup"
    write(top / "vtlab/a/inner/cpu.max", "max 100000\n")
    write(top / "vtlab/a/inner/memory.max", "1000000\n")
    write(top / "vtlab/a/cpu.max", "150000 100000\n")
    write(top / "vtlab/cpu.max", "200000 100000\n")
    write(top / "vtlab/memory.max", "max\n")
    assert cgroup_hierarchies.limit_of(77, v2) == Limit(1.5, 1_000_000)
    (top / "vtlab/a/cpu.max").write_text("max 100000\n")
    (top / "vtlab/cpu.max").write_text("max 100000\n")
    assert cgroup_hierarchies.limit_of(77, v2).cpu is None
    with pytest.raises(FileNotFoundError):
        cgroup_hierarchies.limit_of(78, v2)


def test_version_1_with_joint_hierarchies(tmp_path: Path) -> None:
    host = machine(tmp_path, V1, "3:cpu,cpuacct:/vtlab/a\n2:memory:/vtlab/a\n0::/\n")
    cpu, memory = tmp_path / "sys/fs/cgroup/cpu,cpuacct/vtlab/a", tmp_path / "sys/fs/cgroup/memory/vtlab/a"
    memory.mkdir(parents=True)
    write(memory / "memory.memsw.limit_in_bytes", "9223372036854771712")
    group = Cgroup.create("a", 1.5, 1 << 30, host)
    assert host.version() == "v1"
    assert (text(cpu / "cpu.cfs_quota_us"), text(cpu / "cpu.cfs_period_us")) == ("150000", "100000")
    assert text(memory / "memory.limit_in_bytes") == text(memory / "memory.memsw.limit_in_bytes") == str(1 << 30)
    assert group.prefix[2].count("cgroup.procs") == 2, "one line for each hierarchy"
    assert cgroup_hierarchies.limit_of(77, host) == Limit(1.5, 1 << 30)
    write(cpu / "cpu.stat", "nr_periods 4\nnr_throttled 1\nthrottled_time 250000000\n")
    write(cpu / "cpuacct.usage", "3000000000\n")
    assert group.cpu_stat() == CpuStat(4, 1, 0.25, 3.0)
    limited = cgroup_hierarchies.limited_group(77, host)
    assert limited == cpu
    assert cgroup_hierarchies.read_cpu_stat(limited) == CpuStat(4, 1, 0.25, None)


def test_in_a_container_the_mount_point_is_its_own_group(tmp_path: Path) -> None:
    info = "35 31 0:32 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
    host = machine(tmp_path, info, "3:cpu:/docker/abc/x\n")
    write(tmp_path / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000")
    write(tmp_path / "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")
    write(tmp_path / "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1")
    assert cgroup_hierarchies.limit_of(77, host) == Limit(0.5, None)


class Commands:
    """A fake systemd."""

    def __init__(self, code: int = 0, out: str = "", err: str = "") -> None:
        self.answer = (code, out, err)
        self.calls: list[list[str]] = []

    def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.calls.append(list(command))
        return subprocess.CompletedProcess(list(command), *self.answer)


def user(root: Path, commands: Commands, path: str | None = "/usr/bin/systemd-run") -> Host:
    host = machine(root, V2, "0::/user.slice/vtlab-a.scope\n", 1000, run=commands, which=lambda name: path)
    write(root / "sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
    return host


def test_without_root_systemd_sets_the_limit(tmp_path: Path) -> None:
    commands = Commands(out="oom-kill\n")
    host = user(tmp_path, commands)
    group = Cgroup.create("a", 0.5, 805306368, host)
    limits = "-p CPUQuota=50% -p CPUQuotaPeriodSec=100ms -p MemoryMax=805306368 -p MemorySwapMax=0"
    assert " ".join(commands.calls[0]) == f"systemd-run --user --scope --quiet {limits} true", "tried before it counts"
    assert " ".join(group.prefix) == f"systemd-run --user --scope --quiet --unit=vtlab-a.scope {limits} --"
    directory = tmp_path / "sys/fs/cgroup/user.slice/vtlab-a.scope"
    write(directory / "cpu.stat", "usage_usec 1000000\nnr_periods 4\nnr_throttled 1\nthrottled_usec 5\n")
    write(directory / "memory.events", "oom_kill 1\n")
    group.attach(77)
    assert group.cpu_stat() == CpuStat(4, 1, 5e-6, 1.0)
    assert group.oom_kills() == 1
    (tmp_path / "proc/77/cgroup").unlink()
    assert group.oom_kills() == 1, "from systemd, once the process is gone"
    Cgroup.restore(group.entry(), host).remove()
    assert ["systemctl", "--user", "stop", "vtlab-a.scope"] in commands.calls


def test_doctor_tries_a_limit_before_it_calls_it_ok(tmp_path: Path) -> None:
    assert doctor.limits(user(tmp_path, Commands())).state == "by systemd-run --user --scope"
    refused = doctor.limits(user(tmp_path, Commands(1, err="Failed to connect to bus\n")))
    assert "systemd-run --user cannot set a CPU limit: Failed to connect to bus" in refused.state
    assert "run as root" in refused.fix


def test_without_root_and_systemd_there_is_no_limit(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing, match="no systemd-run") as error:
        Cgroup.create("a", 1, 1 << 20, user(tmp_path, Commands(), None))
    assert "--no-cpu-limit" in error.value.fix
    failing = Commands(1, err="Failed to connect to bus: No medium found\n")
    with pytest.raises(PrerequisiteMissing, match="No medium found"):
        Cgroup.create("a", 1, 1 << 20, user(tmp_path, failing))


def test_without_hierarchies_there_is_no_limit(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteMissing, match="no control group hierarchy with cpu and memory"):
        Cgroup.create("a", 1, 1 << 20, machine(tmp_path, "", ""))


def test_a_hierarchy_that_refuses_is_a_missing_prerequisite(v2: Host) -> None:
    (v2.root / "sys/fs/cgroup/cgroup.subtree_control").mkdir()  # cannot be written
    with pytest.raises(PrerequisiteMissing, match="cannot set a CPU limit"):
        Cgroup.create("a", 1, 1 << 20, v2)


@pytest.mark.parametrize(
    "entry",
    [
        {"version": 1, "directories": {"cpu": "/sys/fs/cgroup/cpu/system.slice"}},
        {"version": 1, "directories": {"cpu": "/sys/fs/cgroup/cpu/vtlab/../vtlab/.."}},
        {"unit": "sshd.service"},
        {"unit": "vtlab-a.scope; x"},
    ],
)
def test_only_its_own_groups_are_removed(entry: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="of vtlab"):
        Cgroup.restore(entry)
