"""How many processors a JVM counts: as its flags say, else those of its CPU limit, whatever its quota is later."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

#: Variables of the environment with flags for a JVM. Those of the second are part of the command line, which comes
#: after.
_FLAGS_IN = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
_FLAG = "-XX:ActiveProcessorCount="


def flags_in(environment: Mapping[str, str]) -> list[str]:
    """The flags that a JVM gets by its environment, in the order in which it takes them."""
    return [flag for name in _FLAGS_IN for flag in environment.get(name, "").split()]


def said(flags: Sequence[str]) -> int | None:
    """What these flags say: the last of them. None where they say nothing."""
    values = [flag.removeprefix(_FLAG) for flag in flags if flag.startswith(_FLAG)]
    return int(values[-1]) if values and values[-1].isdigit() else None


def counted(flags: Sequence[str], cpu: float) -> int:
    """What a JVM with these flags counts under a limit of ``cpu`` cores."""
    return said(flags) or math.ceil(cpu)


def fixing(flags: Sequence[str], cpu: float) -> list[str]:
    """The flag that fixes the number that a JVM would count under a limit of ``cpu`` cores, unless ``flags`` say
    another. Carriers, garbage collector and compiler threads are the same then while the warm-up has more CPU."""
    return [f"{_FLAG}{counted(flags, cpu)}"] if said(flags) is None else []
