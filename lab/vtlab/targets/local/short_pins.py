"""Pinned virtual threads that a service's own meters count for some seconds, however short the pinning is.

A service learns of pinned threads from Flight Recorder, whose event has a threshold: 20 ms by default and for
Micrometer, 1 ms in the sample application. An old driver with fast queries stays below it, and pins all carriers
unseen. Flight Recorder applies the lowest threshold of all recordings and shows every event to all streams. So a
recording of that one event with threshold 0 is enough. (Tried with the sample application on JDK 21.0.8: of 300
requests that were pinned for 0.4 ms each, 32 to 35 were counted before and after, 300 meanwhile.)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from vtlab.host import jcmd
from vtlab.services.process import VariantProcess

_NAME = "name=vtlab-short-pins"
_EVENT = "jdk.VirtualThreadPinned"
#: The plus allows a setting that ``settings`` does not have.
_START = ("JFR.start", _NAME, "settings=none", "maxage=5s", f"+{_EVENT}#enabled=true", f"+{_EVENT}#threshold=0ns")
_STOP = ("JFR.stop", _NAME)


@contextlib.contextmanager
def counted(variants: Iterable[VariantProcess]) -> Iterator[list[str]]:
    """Lets the variants count short pins until the end of this context; yields the names of those that do. A variant
    without meters of its JVM does not, nor one whose JVM refuses.

    Flight Recorder delivers once a second: what is to be counted ends a second before the context does.
    """
    counting: list[str] = []
    asked_variants: list[VariantProcess] = []
    try:
        for variant in (v for v in variants if "jvm" in v.launch.service.meters):
            # First, as a JVM that answers too late, or whose answer a signal cuts off, may record all the same.
            asked_variants.append(variant)
            if jcmd.order(variant.process.pid, _START):
                counting.append(variant.variant)
        yield counting
    finally:
        for variant in asked_variants:
            jcmd.order(variant.process.pid, _STOP)
