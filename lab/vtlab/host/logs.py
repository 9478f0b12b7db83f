"""Bounds on a log to which a process still appends: a large log keeps its first and its last part."""

from __future__ import annotations

import os
import re
from pathlib import Path

#: Bytes that stay at the beginning and at the end, and the size above which the rest is cut.
KEPT, MOST = 1024**2, 4 * 1024**2
_LEFT_OUT = "[vtlab left out {} bytes here]\n"
_MARK = re.compile(re.escape(_LEFT_OUT).replace(r"\{\}", r"(\d+)").encode())
#: More than a mark is long.
_MARK_LENGTH = 100


def bound(log: Path) -> bool:
    """Cuts whole lines out of the middle of a log that is too large. Returns whether that was the first time.

    The process must append (``O_APPEND``), so that it continues after the rest. Lines written at the same moment may be
    lost. OSError where the log does not exist.
    """
    if log.stat().st_size <= MOST:
        return False
    with log.open("r+b", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        head = _end_of_line(file.fileno(), KEPT, size)
        mark = _MARK.match(os.pread(file.fileno(), _MARK_LENGTH, head))
        tail = _end_of_line(file.fileno(), size - KEPT, size)
        left_out = tail - head
        if mark:
            # Bytes that were cut before.
            left_out += int(mark[1]) - len(mark[0])
        shortened = _LEFT_OUT.format(left_out).encode() + os.pread(file.fileno(), size - tail, tail)
        os.pwrite(file.fileno(), shortened, head)
        os.ftruncate(file.fileno(), head + len(shortened))
    return mark is None


def _end_of_line(file: int, start: int, size: int) -> int:
    """Returns the end of the line that contains ``start``; ``start`` itself where the line is too long to stay."""
    end = os.pread(file, min(KEPT // 2, size - start), start).find(b"\n")
    return start + end + 1 if end >= 0 else start
