"""Stalls of the machine while a test measures, for which a law is missed through no fault of vtlab.

``undisturbed`` is the one way to measure again for that reason; the end of a test run counts how often that was done.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import pytest

from vtlab.analysis.validity.interference import CORE_WAIT, STEAL
from vtlab.errors import BlockFault
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Trial

#: Seconds between two looks at the clock.
TICK = 0.01
#: A window counts as disturbed from a stall of this share of it, and of at least so many seconds: a busy CPU
#: hands a thread its turn that late, too.
SHARE, LEAST = 0.02, 0.1
#: A lone user waits for the server alone, and by so much longer at most. The bounds of the dashboards are made of the
#: client's time, those of the verdict of the server's.
OUTSIDE = 1.05
#: Seconds before each repeat, the last also before any further one: others may keep the CPU for a minute.
PAUSES = (5.0, 20.0, 60.0)
STALLED = "the machine stalled"
#: The reasons for which tests measured again.
REPEATED: list[str] = []

Measurement = TypeVar("Measurement")


def undisturbed(
    measure: Callable[[int], Measurement],
    check: Callable[[Measurement], None],
    disturbances: Callable[[Measurement], Sequence[str]],
    attempts: int = 4,
) -> Measurement:
    """Measures and checks; does so again after a wait where the check fails and something disturbed the measurement.

    ``measure`` gets the number of the attempt. A BlockFault of it is a disturbance, too, but not at the last attempt.
    Where the check fails for good its error tells what disturbed each attempt. Where others used the machine in each of
    them the test is skipped, as it cannot tell anything.
    """
    disturbed: list[str] = []
    is_by_others = True
    for attempt, measurement in _but_the_last(measure, attempts):
        try:
            check(measurement)
        except AssertionError as error:
            reasons = disturbances(measurement)
            disturbed.append(f"attempt {attempt}, disturbed by: {'; '.join(reasons) or 'nothing'}")
            if not reasons:
                _add_notes(error, disturbed)
                raise
            REPEATED.append("; ".join(reasons))
            is_by_others = is_by_others and bool(of_others(reasons))
            continue
        return measurement
    measurement = measure(attempts)
    try:
        check(measurement)
    except AssertionError as error:
        reasons = disturbances(measurement)
        if is_by_others and of_others(reasons):
            pytest.skip(f"others used the machine in each of {attempts} attempts, at last: {'; '.join(reasons)}")
        _add_notes(error, disturbed)
        raise
    return measurement


@contextlib.contextmanager
def skipped_if_missed(others: Sequence[str]) -> Iterator[None]:
    """Skips the test where its statements within the context fail and others used the machine, as these reasons say:
    what holds nevertheless passes."""
    try:
        yield
    except AssertionError as error:
        if others:
            pytest.skip(f"missed where others used the machine: {' | '.join(others)}: {error}")
        raise


def of_others(reasons: Iterable[str]) -> list[str]:
    """Selects the reasons that are what others did to the machine."""
    return [r for r in reasons if STALLED in r or r.startswith((f"{STEAL.name}: ", f"{CORE_WAIT.name}: "))]


def _add_notes(error: AssertionError, notes: Sequence[str]) -> None:
    for note in notes:
        error.add_note(note)


def least_disturbed(
    measure: Callable[[int], Measurement], disturbances: Callable[[Measurement], Sequence[str]], attempts: int = 4
) -> Measurement:
    """Measures until nothing disturbs the measurement, with waits between; the last attempt stands as it is."""
    for _, measurement in _but_the_last(measure, attempts):
        reasons = disturbances(measurement)
        if not reasons:
            return measurement
        REPEATED.append("; ".join(reasons))
    return measure(attempts)


def _but_the_last(measure: Callable[[int], Measurement], attempts: int) -> Iterator[tuple[int, Measurement]]:
    """Yields the attempts before the last that no BlockFault ended, with their numbers; waits after each."""
    for attempt in range(1, attempts):
        try:
            measurement = measure(attempt)
        except BlockFault as fault:
            REPEATED.append(str(fault))
        else:
            yield attempt, measurement
        time.sleep(PAUSES[min(attempt, len(PAUSES)) - 1])


def unsampled(document: K6Document) -> list[str]:
    """Lists the phases in which the CPU of k6 is unknown: it ended before a machine that stalls sampled it again."""
    return [
        f"{phase.variant}, {phase.phase} {phase.position}: k6 ended unsampled"
        for phase in document.phases
        if phase.machine["generator_cpu"] is None
    ]


class Stalls:
    """A watch of every CPU, as a hypervisor may stop one alone. End it with ``close``."""

    def __init__(self) -> None:
        #: (when it began, when it was over) by the wall clock, seconds.
        self.seen: list[tuple[float, float]] = []
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(cpu,), daemon=True) for cpu in sorted(os.sched_getaffinity(0))
        ]
        for thread in self._threads:
            thread.start()

    def _watch(self, cpu: int) -> None:
        # It moves the calling thread alone.
        os.sched_setaffinity(0, {cpu})
        last = time.time()
        while not self._ended.wait(TICK):
            now = time.time()
            if now - last > LEAST:
                self.seen.append((last, now))
            last = now

    def longest(self, begin: int, end: int) -> float:
        """Returns the seconds of the longest stall in these milliseconds since 1970."""
        return max((min(b, end / 1000) - max(a, begin / 1000) for a, b in list(self.seen)), default=0.0)

    def disturbed(self, trials: Iterable[Trial]) -> list[str]:
        """Describes the trials in which the machine stalled, or kept a lone user waiting outside the server."""
        reasons = []
        for trial in trials:
            stall = self.longest(trial.begin, trial.drained)
            if stall > max(LEAST, SHARE * trial.window):
                reasons.append(f"{trial.variant}, {trial.phase}: {STALLED} for {stall:.2f} s")
            latency, service = trial.latency.mean, trial.server.get("service_time")
            if trial.phase == "single" and latency and service and latency > OUTSIDE * service:
                reasons.append(f"{trial.variant}, alone: {latency:.3f} s for the client, {service:.3f} s in the server")
        return reasons

    def close(self) -> None:
        """Ends the watching."""
        self._ended.set()
        for thread in self._threads:
            thread.join()
