"""Runs an image on this machine without a container engine, as Kubernetes would: its own root file system, read-only
but for /tmp, its own user, entrypoint and environment, no privileges, and a control group with a CPU and memory limit.

Needs root. The network is the machine's: the ports are given by environment variables.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from e2e.image.archive import Archive
from vtlab.host import ports
from vtlab.host.cgroup import Cgroup
from vtlab.host.processes import Ledger, Process

#: As in the chart.
JAVA_TOOL_OPTIONS = "-XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError -Xms384m -Xmx384m"
CPU, MEMORY = 1.0, 768 << 20
READY_WITHIN = 300.0
#: How exactly the time to ready is known.
POLL = 0.01

# In a mount namespace of its own, so that all mounts end with the process.
_MOUNTS = """
set -e
root=$1 user=$2 mode=$3
shift 3
mount --bind "$root" "$root"
mount --rbind /proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --bind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -o "remount,bind,$mode" "$root"
exec chroot --userspec="$user" --groups= "$root" "$@"
"""
_ENTER = ["unshare", "--mount", "sh", "-c", _MOUNTS, "sh"]


@dataclass
class Container:
    """One started image."""

    process: Process
    cgroup: Cgroup
    port: int
    management: int
    begun: float

    def get(self, path: str, timeout: float = 5) -> httpx.Response:
        return httpx.get(f"http://{ports.HOST}:{self.port}{path}", timeout=timeout, trust_env=False)

    def await_ready(self) -> float:
        """Seconds from its start until it says that it is ready. RuntimeError when it ends or takes too long."""
        with httpx.Client(trust_env=False, timeout=5) as client:
            while (passed := time.monotonic() - self.begun) < READY_WITHIN:
                if how := self.process.exit_description():
                    raise RuntimeError(f"ended with {how}: {self.process.last_lines()}")
                try:
                    answer = client.get(f"http://{ports.HOST}:{self.management}/actuator/health/readiness")
                    if answer.status_code == 200:
                        return time.monotonic() - self.begun
                except httpx.TransportError:
                    pass
                time.sleep(POLL)
        raise RuntimeError(f"not ready after {passed:.0f} s: {self.process.last_lines()}")

    def stop(self, grace: float = 10) -> float:
        """SIGTERM; returns the seconds until it had ended."""
        begun = time.monotonic()
        self.process.stop(grace)
        passed = time.monotonic() - begun
        self.cgroup.remove()
        return passed


@dataclass(frozen=True)
class Image:
    """An archive with its root file system unpacked in ``root``."""

    archive: Archive
    root: Path
    ledger: Ledger
    logs: Path

    @staticmethod
    def unpack(archive: Archive, folder: Path, ledger: Ledger) -> Image:
        root = folder / "root"
        root.mkdir()
        archive.unpack(root)
        return Image(archive, root, ledger, folder)

    def start(
        self,
        name: str,
        settings: Mapping[str, str] | None = None,
        entry: Sequence[str] = (),
        writable: bool = False,
    ) -> Container:
        """Starts it; ``settings`` are added to its environment, ``entry`` replaces its entrypoint; ``writable``: with a
        root file system that it may write to where the image lets it."""
        port, management = ports.free(2)
        config = self.archive.config
        group = self.ledger.cgroup(f"image-{name}", CPU, MEMORY)
        begun = time.monotonic()
        process = self.ledger.start(
            [
                *_ENTER,
                str(self.root),
                config["User"],
                "rw" if writable else "ro",
                *(entry or config["Entrypoint"]),
            ],
            role=f"image {name}",
            log=self.logs / f"{name}.log",
            environment={
                **self.archive.environment,
                "JAVA_TOOL_OPTIONS": JAVA_TOOL_OPTIONS,
                "SERVER_ADDRESS": ports.HOST,
                "SERVER_PORT": str(port),
                "MANAGEMENT_SERVER_ADDRESS": ports.HOST,
                "MANAGEMENT_SERVER_PORT": str(management),
                **(settings or {}),
            },
            cgroup=group,
        )
        return Container(process, group, port, management, begun)
