"""Bounds a log to which a process still appends: of megabytes its first and its last part stay."""

from __future__ import annotations

import os
import re
from pathlib import Path

#: Bytes of the beginning and of the end that stay, and the size from which on the rest goes.
KEPT, MOST = 1024**2, 4 * 1024**2
_LEFT_OUT = "[vtlab left out {} bytes here]\n"
_MARK = re.compile(re.escape(_LEFT_OUT).replace(r"\{\}", r"(\d+)").encode())
#: More than a mark is long.
_MARK_LENGTH = 100


def bound(log: Path) -> bool:
    """Leaves out the middle of a log that is too large, by whole lines; whether that was so for the first time.

    The process must append (``O_APPEND``): it goes on after what stays. Lines of the moment may be lost. OSError where
    the log is not there.
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
            # Of the time before.
            left_out += int(mark[1]) - len(mark[0])
        kept = _LEFT_OUT.format(left_out).encode() + os.pread(file.fileno(), size - tail, tail)
        os.pwrite(file.fileno(), kept, head)
        os.ftruncate(file.fileno(), head + len(kept))
    return mark is None


def _end_of_line(file: int, start: int, size: int) -> int:
    """Where the line ends that contains ``start``; ``start`` itself where the line is longer than what may stay."""
    end = os.pread(file, min(KEPT // 2, size - start), start).find(b"\n")
    return start + end + 1 if end >= 0 else start
