"""Comparison with golden files, which VTLAB_GOLDEN=write writes anew (then look at the difference)."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "unit" / "golden"


def check(name: str, text: str) -> None:
    """Asserts that the golden file of that name holds ``text``."""
    path = FOLDER / name
    if os.environ.get("VTLAB_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8", newline="\n")
    expected = path.read_text(encoding="utf-8")
    assert text == expected, f"{name} differs; if that is meant: VTLAB_GOLDEN=write pytest, then look at git diff"
