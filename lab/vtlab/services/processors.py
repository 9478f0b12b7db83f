"""The number of processors that a JVM counts: by its flags, else by its CPU limit at its start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from vtlab.host import agent

#: Variables of the environment with flags for a JVM. Those of the second are part of the command line, which comes
#: after.
_FLAGS_IN = (agent.OPTIONS, "JDK_JAVA_OPTIONS")
_FLAG = "-XX:ActiveProcessorCount="


def flags_in(environment: Mapping[str, str]) -> list[str]:
    """Returns the flags that a JVM gets by its environment, in the order in which it takes them."""
    return [flag for name in _FLAGS_IN for flag in environment.get(name, "").split()]


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
