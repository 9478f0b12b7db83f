"""Times of k6's plan of a block (``k6/lib``), by which calls are estimated before they are made. Seconds."""

from __future__ import annotations

import math

#: From the start of k6 until its users begin, and for its end.
START_UP = 2.5
#: Between two phases, about.
BETWEEN_PHASES = 1.0
#: For each user to begin in.
USER_RAMP_UP = 0.005
#: The longest ramp-up of a warm-up cycle.
WARM_UP_RAMP_UP = 1.0
#: The longest time of an idle phase before its window.
IDLE_SETTLE = 0.3


def grid(users: int) -> float:
    """Returns the seconds between the moments at which so many users end and begin phases."""
    return 0.25 if users <= 100 else 0.5 * math.ceil(users / 500)
