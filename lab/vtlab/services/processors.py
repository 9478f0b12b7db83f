"""The number of processors that a JVM counts: by its flags, else by its CPU limit at its start."""

from __future__ import annotations

import math
from collections.abc import Sequence

_FLAG = "-XX:ActiveProcessorCount="


def last_count(flags: Sequence[str]) -> int | None:
    """Returns the number that the last of these flags sets; None where none does."""
    values = [flag.removeprefix(_FLAG) for flag in flags if flag.startswith(_FLAG)]
    return int(values[-1]) if values and values[-1].isdigit() else None


def counted(flags: Sequence[str], cpu: float) -> int:
    """Returns the number that a JVM with these flags counts under a limit of ``cpu`` cores."""
    return last_count(flags) or math.ceil(cpu)


def fixing(flags: Sequence[str], cpu: float) -> list[str]:
    """Returns the flag that fixes the number that a JVM would count under a limit of ``cpu`` cores, unless ``flags``
    say another. Carriers, garbage collector and compiler threads are the same then while the warm-up has more CPU."""
    return [f"{_FLAG}{counted(flags, cpu)}"] if last_count(flags) is None else []
