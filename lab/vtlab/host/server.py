"""What the variants need beside them, as processes of this vtlab: on a free port, ready when they answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from vtlab.errors import BlockFault
from vtlab.host import ports
from vtlab.host.processes import Process


@dataclass(frozen=True)
class Server:
    """One that answered. It is under no limit, in no control group of a variant."""

    name: str
    process: Process
    port: int

    def ended(self) -> str | None:
        """That it ended, and how; None while it runs."""
        how = self.process.ended()
        return None if how is None else f"{self.name} ended with {how}"


def start(name: str, spawn: Callable[[int], Process], answers: Callable[[int], bool], within: float) -> Server:
    """Starts it on a free port, on another one where that was taken meanwhile, and waits until it answers.

    ``spawn`` starts the process on a port, ``answers`` asks that port. BlockFault with the end of its log when it ends,
    or when it does not answer ``within`` seconds.
    """
    for attempt in range(1, ports.ATTEMPTS + 1):
        (port,) = ports.free(1)
        process = spawn(port)
        how = _await(process, port, answers, within)
        if how is None:
            break
        process.stop(1)
        if not (ports.taken(process.last_lines(40)) and attempt < ports.ATTEMPTS):
            raise BlockFault(f"{name} {how}: {process.last_lines() or 'it said nothing'}")
    return Server(name, process, port)


def _await(process: Process, port: int, answers: Callable[[int], bool], within: float) -> str | None:
    """None once it answers, else why it will not."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        how = process.ended()
        if how is not None:
            return f"ended with {how} while it started"
        # Whoever won a race for the port may answer, too.
        if answers(port) and ports.holder(port) == process.pid:
            return None
        time.sleep(0.05)
    return f"was not ready after {within:.0f} s"
