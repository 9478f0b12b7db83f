"""vtlab's command line as on a Mac: ``python -m tests.support.darwin``.

The modules and attributes that Python has on Linux alone (by the stubs of typeshed) are removed, and so are ``/proc``
and ``/sys``. Each line on stdin is a call, a list of words as JSON; each line on stdout is its exit code and output.
"""

from __future__ import annotations

import dataclasses
import json
import os
import select
import signal
import socket
import subprocess  # noqa: F401 (it chooses its ways when it is imported: here those of Linux)
import sys
import sysconfig
import time
import urllib.request  # noqa: F401 (on a Mac it imports a module of a Mac)

#: Modules of Linux alone.
MODULES = ("spwd", "ossaudiodev", "pyudev", "systemd", "prctl", "inotify")
#: Attributes of Linux alone, of those that a program of this kind may come to use.
ATTRIBUTES = {
    os: (
        *("copy_file_range", "eventfd", "fdatasync", "getrandom", "getresuid", "getxattr", "memfd_create"),
        *("pidfd_open", "pipe2", "posix_fadvise", "posix_fallocate", "sched_getaffinity", "sched_setaffinity"),
        *("sched_getscheduler", "sched_setscheduler", "setns", "setresuid", "splice", "unshare"),
        *("O_DIRECT", "O_PATH", "O_TMPFILE", "P_PIDFD"),
    ),
    signal: ("pidfd_send_signal", "sigtimedwait", "sigwaitinfo", "SIGRTMIN", "SIGPWR"),
    select: ("epoll", "EPOLLIN", "POLLRDHUP"),
    socket: ("SOCK_CLOEXEC", "SOCK_NONBLOCK", "AF_NETLINK", "SO_PEERCRED"),
    time: ("CLOCK_BOOTTIME", "pthread_getcpuclockid"),
}
#: The folders of the kernel that only Linux has.
FOLDERS = ("/proc", "/sys")
#: Python's audit events that come before it looks at a path.
EVENTS = ("open", "os.listdir", "os.scandir")


def become() -> None:
    """Removes from this process everything that a Mac does not have."""
    # Read once, from a file that is named after the system.
    sysconfig.get_config_vars()
    sys.platform = "darwin"
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]  # an ImportError, by the import system
    for module, names in ATTRIBUTES.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    sys.addaudithook(refuse_linux)


def refuse_linux(event: str, arguments: tuple[object, ...]) -> None:
    """Raises FileNotFoundError for paths in the kernel's folders."""
    if event in EVENTS and isinstance(arguments[0], str) and arguments[0].startswith(FOLDERS):
        raise FileNotFoundError(2, "No such file or directory", arguments[0])


def main() -> None:
    """Becomes a Mac before vtlab is imported, and makes the calls."""
    become()
    from tests.support import cli_call
    from vtlab.prometheus.api import PrometheusApi

    # The cluster of these tests has no Prometheus: what follows from its version is tested elsewhere.
    setattr(PrometheusApi, "refuse_old", lambda _: None)  # noqa: B010 (mypy refuses to assign to a method)
    for line in sys.stdin:
        print(json.dumps(dataclasses.asdict(cli_call.call(*json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
