"""A step of ``lab/setup`` that is a module of Python: ``python -m MODULE``."""

from __future__ import annotations

import sys
from collections.abc import Callable

from vtlab.errors import LabError


def run_step(step: Callable[[], object]) -> int:
    """Takes the step; returns its exit code, which is the error's where there is one. Its message is on stderr."""
    try:
        step()
    except LabError as error:
        print(f"setup: {error.message}\nsetup:   fix: {error.fix}", file=sys.stderr)
        return error.exit_code
    return 0
