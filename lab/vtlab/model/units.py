"""Durations and memory sizes as they are written in experiments, in seconds, milliseconds and bytes; shares."""

from __future__ import annotations

import re

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_MEMORY = re.compile(r"(\d+)(Ki|Mi|Gi|k|m|g)?")
_BYTES = {None: 1, "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "k": 1024, "m": 1024**2, "g": 1024**3}


def milliseconds(text: str) -> float:
    """Parses a duration such as ``50ms``, ``5s`` or ``1m30s``. ValueError for anything else."""
    if not _DURATION.fullmatch(text):
        raise ValueError(f"'{text}' is not a duration: write it as 50ms, 5s or 1m30s")
    # Beyond a millionth of a millisecond there is only what the multiplication lost.
    return round(sum(float(amount) * _MILLISECONDS[unit] for amount, unit in _PART.findall(text)), 6)


def seconds(text: str) -> float:
    """Parses a duration such as ``50ms``, ``5s`` or ``1m30s`` into seconds. ValueError for anything else."""
    return milliseconds(text) / 1000


def size(text: str) -> int:
    """Parses a memory size into bytes: Kubernetes' ``512Mi`` or the JVM's ``256m``. ValueError for anything else."""
    match = _MEMORY.fullmatch(text)
    if not match:
        raise ValueError(f"'{text}' is not a memory size: write it as 512Mi (limits) or 256m (heap)")
    return int(match[1]) * _BYTES[match[2]]


#: Cores that a quota can be at least: the kernel takes 1 ms of a period of 100 ms.
LEAST_CORES = 0.01


def cores(text: str) -> float:
    """Parses cores: ``0.5``, ``1`` or Kubernetes' ``500m``; above 0. ValueError for anything else."""
    try:
        value = float(text[:-1]) / 1000 if text.endswith("m") else float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number of cores") from None
    if not 0 < value < float("inf"):
        raise ValueError(f"a CPU limit of '{text}' is not above 0")
    return value


def share(text: str) -> float:
    """Parses a share: 0.25 for ``25%`` or ``25 %``. ValueError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", text)
    if not match:
        raise ValueError(f"'{text}' is not a share: write it as 25%")
    return float(match[1]) / 100


def in_blocks(count: int, blocks: int) -> str:
    """Says in how many of a run's blocks: ``in 2 of 3 blocks``, ``in the only block``."""
    return "in the only block" if count == blocks == 1 else f"in {count} of {blocks} block{'' if blocks == 1 else 's'}"


def percent(share: float, digits: int = 0) -> str:
    """Writes a share in words: 0.05 is ``5 %``."""
    return f"{100 * share:,.{digits}f} %"
