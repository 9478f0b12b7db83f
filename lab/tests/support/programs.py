"""Programs that a test writes, in place of real ones."""

from __future__ import annotations

from pathlib import Path


def program(path: Path, script: str) -> Path:
    """Writes a program of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path
