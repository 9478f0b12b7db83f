"""Archives of classes that a JVM starts from (ahead-of-time cache, CDS archive): which fit, are named, are used."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from vtlab.host.tools import Java

PROC = Path("/proc")
#: Flags that name archives. A JVM that cannot use one says so in its log, and starts without any.
_FLAGS = ("-XX:AOTCache=", "-XX:SharedArchiveFile=")


def find(jar: Path, java: Java) -> Path | None:
    """The ahead-of-time cache beside a jar, where it was trained on this very JDK and jar; None where there is none."""
    cache = jar.with_suffix(".aot")
    try:
        trained_on = _origin_file(cache).read_text(encoding="utf-8", errors="replace")
        return cache if cache.is_file() and trained_on == _origin(jar, java) else None
    except OSError:
        return None


def put(made: Path, jar: Path, java: Java) -> Path:
    """Has a cache that was made elsewhere, on this JDK and jar, found beside the jar; returns where it is."""
    cache = jar.with_suffix(".aot")
    _origin_file(cache).unlink(missing_ok=True)
    made.replace(cache)
    _origin_file(cache).write_text(_origin(jar, java), encoding="utf-8")
    return cache


def _origin_file(cache: Path) -> Path:
    return cache.with_name(f"{cache.name}.origin")


def _origin(jar: Path, java: Java) -> str:
    """What a cache was made of. The JVM, too, knows its jar by size and time of change."""
    status = jar.stat()
    return f"{java.version} {status.st_size} {status.st_mtime_ns}\n"


def named(flags: Iterable[str]) -> list[str]:
    """The archives that a JVM with these flags is told to use."""
    values = (flag.removeprefix(start) for flag in flags for start in _FLAGS if flag.startswith(start))
    return [path for value in values for path in value.split(":") if path]


def used(pid: int, paths: Sequence[str]) -> dict[str, bool]:
    """By the name of each of these archives, whether the JVM has it in its memory, by the kernel's list of what is
    there; empty where that cannot be read.

    A JVM gives up an archive that does not fit its jar, its flags or its agents.
    """
    process = PROC / str(pid)
    try:
        folder = (process / "cwd").readlink()
        lines = (process / "maps").read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    mapped = {fields[5] for line in lines if len(fields := line.split(maxsplit=5)) == 6}
    return {Path(path).name: os.path.realpath(folder / path) in mapped for path in paths}
