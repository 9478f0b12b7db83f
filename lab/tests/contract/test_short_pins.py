"""Pins below the threshold of Flight Recorder's event, on a real JDK 21."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.support.stalls import least_disturbed
from tests.support.waiting import until
from vtlab.host import ports, server, tools
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.processes import Process
from vtlab.host.server import Server
from vtlab.model import variant
from vtlab.services import process, sample
from vtlab.targets.local import short_pins

REQUESTS = 200
#: So many of them at least are counted by the recording, and fewer without it. A thread that is held up for longer than
#: its wait does not pin; one that is held up while it waits pins for longer.
MOST_OF_THEM = 180
#: How long each of them waits: below the threshold of the event, a millisecond, and so long that a thread which is held
#: up for a moment before its wait still waits, and pins.
DURATION = "PT0.0005S"
COUNTER = 'jvm_threads_virtual_pinned_at_total{class="lab.virtualthreads.pinned.PinnedController"'


class Pinned:
    """The sample application on virtual threads of JDK 21: what a variant's process is to ``short_pins``."""

    variant = "virtual"

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        java, self.service = tools.find_java("21"), sample.service()
        jar = self.service.jar_path
        assert jar is not None

        def spawn(chosen: Sequence[int]) -> Process:
            return ledger.start(
                Command(
                    [str(java.path), *process.jvm_flags(self.service, "256m", None), "-jar", str(jar)],
                    role="jvm",
                    log=folder / "jvm.log",
                    environment=tools.clean_environment(
                        **process.listen_environment(chosen[0], chosen[1]), **variant.ENVIRONMENT["virtual"]
                    ),
                )
            )

        def answers(chosen: Sequence[int]) -> bool:
            return server.answers_ok(chosen[1], self.service.readiness)

        #: For its ``service``.
        self.launch = self
        self.started = server.start(Server("the JVM", spawn, answers, process.READY_WITHIN, count=2))
        self.process = self.started.process

    def counted(self, within: float = 3.0) -> float:
        """Of so many requests, each of them pinned for ``DURATION``, how many the application counted
        ``within`` so many seconds, or until it has counted all."""
        app, meters = (f"http://{ports.HOST}:{port}" for port in self.started.ports)
        with httpx.Client(trust_env=False, timeout=60) as client:

            def count() -> float:
                lines = client.get(f"{meters}/actuator/prometheus").text.splitlines()
                return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(COUNTER))

            before = count()
            for _ in range(REQUESTS):
                client.get(f"{app}/pinned?duration={DURATION}&lock=monitor").raise_for_status()
            # Flight Recorder delivers once a second.
            end = time.monotonic() + within
            until(lambda: count() - before >= REQUESTS or time.monotonic() > end)
            return count() - before


@dataclass(frozen=True)
class Counts:
    """Counts before, within and after the context, and the variants that count within it."""

    before: float
    counting: list[str]
    within: float
    after: float

    @classmethod
    def of(cls, pinned: Pinned) -> Counts:
        before = pinned.counted()
        with short_pins.counted([pinned]) as counting:  # type: ignore[list-item]
            within = pinned.counted(within=30)
        return cls(before, counting, within, pinned.counted())

    def held_up(self) -> list[str]:
        """Lists what a busy machine makes of them: it holds up threads and jcmd."""
        if self.counting and max(self.before, self.after) < MOST_OF_THEM <= self.within:
            return []
        return [f"{self.before:g}, {self.within:g} and {self.after:g} of {REQUESTS} pins, {self.counting} recorded"]


@pytest.mark.timeout(600)
def test_short_pins_are_counted_within_the_context_only(tmp_path: Path) -> None:
    """Pinned virtual threads below a service's threshold are counted while a recording without threshold runs."""
    with Ledger(tmp_path) as ledger:
        pinned = Pinned(tmp_path, ledger)
        # The first requests of a JVM take longer.
        pinned.counted()
        counts = least_disturbed(lambda _: Counts.of(pinned), Counts.held_up)
    assert counts.before < MOST_OF_THEM
    assert counts.counting == ["virtual"]
    assert counts.within >= MOST_OF_THEM
    assert counts.after < MOST_OF_THEM
