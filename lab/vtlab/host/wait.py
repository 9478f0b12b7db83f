"""Waiting for something with a limit on the time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from vtlab.errors import BlockFault

T = TypeVar("T")


class TimedOut(BlockFault):
    """What was waited for did not come."""


def wait_until(what: str, check: Callable[[], T | None], within: float, every: float = 0.05) -> T:
    """The first value of ``check`` that is not None or False. TimedOut with ``what`` after ``within`` seconds."""
    end = time.monotonic() + within
    while True:
        value = check()
        if value is not None and value is not False:
            return value
        if time.monotonic() > end:
            raise TimedOut(f"{what} after {within:.0f} s")
        time.sleep(every)
