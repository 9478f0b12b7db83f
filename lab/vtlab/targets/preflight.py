"""The pre-flight of a run: before its first block, and where a variant breaks in it."""

from __future__ import annotations

import time
from typing import Protocol

from vtlab.errors import VariantFailed
from vtlab.model.records import Instance

#: When a variant broke: completes "it failed, …".
MOMENT = "in the pre-flight"


class Checkable(Protocol):
    """Block whose variants run and have got no request yet."""

    instances: list[Instance]
    preflight_seconds: float

    def preflight(self) -> str | None:
        """Sends each request, or runs each task of a script, once for each variant, and says what is remarkable of
        that. Returns the origin in a script that stands for the variant. BadInput where the workload does not fit,
        VariantFailed where a variant breaks."""

    def fail(self, broken: VariantFailed, moment: str) -> None:
        """Removes the variant from the block."""


class Preflight:
    """Pre-flight of one run: over once all variants that are left were asked."""

    def __init__(self) -> None:
        self.is_over = False
        #: The origin in a user's script that stands for the variant.
        self.origin: str | None = None

    def check(self, started: Checkable) -> None:
        """Makes the pre-flight, if it is not over. A variant that breaks in it has failed, and the others are asked
        anew."""
        began = time.monotonic()
        while started.instances and not self.is_over:
            try:
                self.origin = started.preflight()
                self.is_over = True
            except VariantFailed as broken:
                started.fail(broken, MOMENT)
        started.preflight_seconds = round(time.monotonic() - began, 3)
