"""Class archives of a JVM (ahead-of-time cache, CDS archive): the ones that fit, are named by flags, are in use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from vtlab.host.tools import Java

PROC = Path("/proc")
#: Flags that name archives. A JVM that cannot use one says so in its log, and starts without any.
_FLAGS = ("-XX:AOTCache=", "-XX:SharedArchiveFile=")


def find(jar: Path, java: Java) -> Path | None:
    """Finds the ahead-of-time cache beside a jar, if it was trained on exactly this JDK and jar; else None."""
    cache = jar.with_suffix(".aot")
    try:
        trained_on = _origin_file(cache).read_text(encoding="utf-8", errors="replace")
        return cache if cache.is_file() and trained_on == _origin(jar, java) else None
    except OSError:
        return None


def put(trained: Path, jar: Path, java: Java) -> Path:
    """Moves a trained cache beside the jar and records its origin, so that ``find`` finds it; returns its path."""
    cache = jar.with_suffix(".aot")
    _origin_file(cache).unlink(missing_ok=True)
    trained.replace(cache)
    _origin_file(cache).write_text(_origin(jar, java), encoding="utf-8")
    return cache


def _origin_file(cache: Path) -> Path:
    return cache.with_name(f"{cache.name}.origin")


def _origin(jar: Path, java: Java) -> str:
    """Describes JDK and jar of a cache. The JVM, too, identifies its jar by size and time of change."""
    status = jar.stat()
    return f"{java.version} {status.st_size} {status.st_mtime_ns}\n"


def named(flags: Iterable[str]) -> list[str]:
    """Returns the archives that these flags tell a JVM to use."""
    values = (flag.removeprefix(start) for flag in flags for start in _FLAGS if flag.startswith(start))
    return [path for value in values for path in value.split(":") if path]


def used(pid: int, paths: Sequence[str]) -> dict[str, bool]:
    """Tells for each of these archives, by file name, whether the JVM has mapped it; empty where the kernel's list of
    mappings cannot be read.

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
