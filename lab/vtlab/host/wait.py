"""A wait with a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from vtlab.errors import BlockFault

T = TypeVar("T")


class TimedOut(BlockFault):
    """The expected state was not reached in time."""


def wait_until(what: str, check: Callable[[], T | None], within: float, every: float = 0.05) -> T:
    """Repeats ``check`` until it returns neither None nor False. TimedOut with ``what`` after ``within`` seconds."""
    end = time.monotonic() + within
    while True:
        value = check()
        if value is not None and value is not False:
            return value
        if time.monotonic() > end:
            raise TimedOut(f"{what} after {within:.0f} s")
        time.sleep(every)
