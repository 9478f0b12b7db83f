"""A wait for another process or thread."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds after which a test gives up: long enough for any machine, so that only what never comes fails.
PATIENCE = 120.0


def until(done: Callable[[], object]) -> None:
    """Returns once ``done()`` is true."""
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
