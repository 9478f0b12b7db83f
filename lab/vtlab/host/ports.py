"""TCP ports on the loopback interface."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from vtlab.errors import PrerequisiteMissing

HOST = "127.0.0.1"
#: How often something that lost the race for its free port is started again with another one.
ATTEMPTS = 4

_LISTEN = "0A"


def free(count: int) -> list[int]:
    """That many different ports, free at this moment; whoever binds them may still come second."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind((HOST, 0))
        return [sock.getsockname()[1] for sock in sockets]


def is_open(port: int) -> bool:
    """Whether something takes connections there."""
    with socket.socket() as tried:
        tried.settimeout(1)
        return tried.connect_ex((HOST, port)) == 0


def require_free(port: int, what: str) -> None:
    """PrerequisiteMissing, with the holder's pid where that can be seen, when a chosen port is taken."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError:
            pid = listening_pid(port)
            by = f" by the process {pid}" if pid else ""
            raise PrerequisiteMissing(
                f"port {port}, asked for by {what}, is taken{by}", "choose another port, or end that process"
            ) from None


def _listening(proc: Path) -> dict[str, int]:
    """Socket -> the port on which it listens."""
    sockets = {}
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (proc / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN:
                    sockets[f"socket:[{fields[9]}]"] = int(fields[1].rpartition(":")[2], 16)
    return sockets


def of_process(pid: int, proc: Path = Path("/proc")) -> list[int]:
    """The ports on which a process listens, the smallest first; none where that cannot be seen."""
    sockets, ports = _listening(proc), set()
    with contextlib.suppress(OSError):
        for handle in (proc / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                ports |= {sockets[name]} if (name := str(handle.readlink())) in sockets else set()
    return sorted(ports)


def listening_pid(port: int, proc: Path = Path("/proc")) -> int | None:
    """The pid of the process that listens on the port; None when that cannot be seen."""
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
    """Whether a log says that a port was in use."""
    return "already in use" in log.lower()
