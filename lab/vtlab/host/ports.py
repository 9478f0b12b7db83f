"""TCP ports on the loopback interface."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from vtlab.errors import PrerequisiteMissing

HOST = "127.0.0.1"
#: Starts of a server that loses the race for its free port, each with another port.
ATTEMPTS = 4

_LISTEN = "0A"


def free(count: int) -> list[int]:
    """Returns that many different free ports. Another process may still bind them first."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind((HOST, 0))
        return [sock.getsockname()[1] for sock in sockets]


def is_open(port: int) -> bool:
    """Tells whether a server accepts connections on a port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def require_free(port: int, user: str) -> None:
    """Raises PrerequisiteMissing, with the holder's pid where that is visible, when a chosen port is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            pid = listening_pid(port)
            by = f" by the process {pid}" if pid else ""
            raise PrerequisiteMissing(
                f"port {port} for {user} is already in use{by}", "choose another port, or end that process"
            ) from None


def _listening(proc: Path) -> dict[str, int]:
    """Returns the listening port of each socket."""
    sockets = {}
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (proc / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN:
                    sockets[f"socket:[{fields[9]}]"] = int(fields[1].rpartition(":")[2], 16)
    return sockets


def of_process(pid: int, proc: Path = Path("/proc")) -> list[int]:
    """Returns the ports on which a process listens, the smallest first; empty where they are not visible."""
    sockets, ports = _listening(proc), set()
    with contextlib.suppress(OSError):
        for handle in (proc / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                ports |= {sockets[name]} if (name := str(handle.readlink())) in sockets else set()
    return sorted(ports)


def listening_pid(port: int, proc: Path = Path("/proc")) -> int | None:
    """Returns the pid of the process that listens on a port; None where it is not visible."""
    inodes = {name for name, listens in _listening(proc).items() if listens == port}
    for process in proc.iterdir() if inodes else ():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                for handle in (process / "fd").iterdir():
                    with contextlib.suppress(OSError):
                        if str(handle.readlink()) in inodes:
                            return int(process.name)
    return None


def taken(log: str) -> bool:
    """Tells whether a log says that a port was in use."""
    return "already in use" in log.lower()
