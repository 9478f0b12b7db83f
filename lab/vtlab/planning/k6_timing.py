"""Seconds of k6's plan of a block (``k6/lib/constants.ts``), by which calls are estimated before they are made."""

from __future__ import annotations

import math

#: From the start of k6 until its users begin, and for its end, of few users.
START_UP = 2.5
#: The same of none, and what each user adds: k6 makes one after another, with all cores.
START_UP_WITHOUT_USERS, USER_START_UP = 1.0, 0.004
#: Between two phases, about.
BETWEEN_PHASES = 1.0
#: For each user to begin in.
USER_RAMP_UP = 0.005
#: The longest ramp-up of a warm-up cycle.
LONGEST_WARM_UP_RAMP_UP = 1.0
#: The longest time of an idle phase before its window.
IDLE_SETTLE = 0.3
#: The grid of the moments at which users end and begin phases, for few users, and how many these are.
FINE_GRID, FINE_GRID_USERS = 0.25, 100
#: By how much the grid is coarser for each further number of users.
GRID_STEP, GRID_STEP_USERS = 0.5, 500


def start_up(users: int) -> float:
    """Returns the seconds from the start of k6 until its users begin, and for its end. ``users``: those of all calls
    that start at the same time."""
    return max(START_UP, START_UP_WITHOUT_USERS + USER_START_UP * users)


def grid(users: int) -> float:
    """Returns the seconds between the moments at which this many users end and begin phases."""
    return FINE_GRID if users <= FINE_GRID_USERS else GRID_STEP * math.ceil(users / GRID_STEP_USERS)


def phase_seconds(length: float, users: int) -> float:
    """Returns how long a phase takes from its beginning to that of the next: users begin and end on the grid, and look
    whether all have ended in the middle of it."""
    step = grid(users)
    return step * (math.ceil(round(length / step, 6)) + 1)


def last_answer(response: float) -> float:
    """Returns how long after a window's end its last arrival is answered, given the seconds of a request alone: a
    little later than that."""
    return 1.02 * response + 0.05
