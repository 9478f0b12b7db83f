"""The versions of versions.env."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
VERSIONS = dict(
    line.split("=", 1)
    for line in (REPOSITORY / "versions.env").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)
