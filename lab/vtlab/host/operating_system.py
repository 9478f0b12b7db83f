"""The operating system of this machine: what vtlab starts here needs Linux."""

from __future__ import annotations

import sys

from vtlab.errors import PrerequisiteMissing


def refuse_other_than_linux() -> None:
    """Raises PrerequisiteMissing on anything but Linux, for processes on this machine."""
    if sys.platform != "linux":
        raise PrerequisiteMissing(
            "vtlab measures on its own machine only if that is Linux: it needs control groups, for CPU limits and"
            " to end its processes",
            "measure in vtlab's container image, in a cluster (--target kubernetes), or on Linux",
        )
