"""A film of the progress on a terminal: its line at each moment, and the lines that stay above it.

``python -m tests.support.film [COLUMNS]`` prints that of a recorded run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from rich.console import Console

from tests.support import recorded
from tests.support.recorded_target import Playback, RecordedBlock, RecordedTarget
from vtlab.measuring.progress import Progress
from vtlab.measuring.schedule import RunTime
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import Block
from vtlab.model.run import Run
from vtlab.planning import trial_order
from vtlab.planning.load_call import LoadCall
from vtlab.runs import store
from vtlab.runs.measure import measure_run

#: Seconds of a call of ``vtlab try`` that nothing else limits.
BUDGET = 480.0


class Clock:
    """A clock in seconds, which the film sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def time_of_day(clock: Clock) -> type[datetime]:
    """Returns a ``datetime`` whose time goes with the clock, from noon on."""

    class FilmedDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> FilmedDatetime:
            return cls(2026, 1, 1, 12, tzinfo=tz) + timedelta(seconds=clock.now)

    return FilmedDatetime


@dataclass(frozen=True)
class Frame:
    """Lines of a terminal at a moment: the line of the progress, or one that stays."""

    seconds: float
    lines: list[str]
    stays: bool = False


def terminal(columns: int) -> Console:
    """Returns a console that takes itself for a terminal of that width; its file has what is drawn."""
    return Console(
        file=StringIO(),
        width=columns,
        height=25,
        color_system=None,
        soft_wrap=True,
        force_terminal=True,
        force_interactive=True,
        _environ={"TERM": "xterm"},
    )


class FilmedProgress(Progress):
    """Progress of which each change is a frame."""

    def __init__(self, columns: int, clock: Clock) -> None:
        super().__init__(terminal(columns), clock=clock)
        self.clock = clock
        self.frames: list[Frame] = []

    def say(self, text: str) -> None:
        """Prints a line, and keeps it."""
        super().say(text)
        self.frames.append(Frame(self.clock.now, [text], stays=True))

    def show(self, phase: str) -> None:
        """Changes the line, and keeps it."""
        super().show(phase)
        self.shoot()

    def show_ratio(self, criterion: str, ratio: str) -> None:
        """Changes the line, and keeps it."""
        super().show_ratio(criterion, ratio)
        self.shoot()

    def shoot(self) -> None:
        """Keeps the line as it is now."""
        assert self._line
        options = self.console.options.update(no_wrap=True, overflow="ignore")
        drawn = self.console.render_lines(self._line.get_renderable(), options, pad=False)
        self.frames.append(Frame(self.clock.now, ["".join(part.text for part in line).rstrip() for line in drawn]))


class TimedTarget(RecordedTarget):
    """A target that takes the time of the recorded run, as its clock shows."""

    def __init__(self, blocks: Sequence[Block], clock: Clock, shoot: Callable[[], None]) -> None:
        raised = [trial.raised_cpu for block in blocks for trial in block.warmup if trial.raised_cpu]
        super().__init__(blocks, Playback(raised_cores=raised[0] if raised else None, change=self._take))
        self._clock, self._shoot = clock, shoot
        #: When the first phase of the block began, by the clock and as it was recorded.
        self._first, self._recorded = 0.0, 0

    def start(self, experiment: Experiment, block: int, attempt: int) -> RecordedBlock:
        """Starts the next block; what its phases do not take, its start takes."""
        started = self.blocks[0]
        phases = [*started.warmup, *started.single, *started.light, *started.trials]
        self._recorded = min(phase.begin for phase in phases)
        length = (max(phase.drained for phase in phases) - self._recorded) / 1000
        self._go_to(self._clock.now + max(0.0, (started.seconds or 0.0) - length))
        self._first = self._clock.now
        return super().start(experiment, block, attempt)

    def _take(self, _: LoadCall, document: K6Document) -> K6Document:
        phases = [*document.warmup, *document.single, *document.light, *document.trials]
        ended = max((phase.drained for phase in phases), default=self._recorded)
        self._go_to(self._first + (ended - self._recorded) / 1000)
        return document

    def _go_to(self, moment: float) -> None:
        if moment > self._clock.now:
            self._clock.now = (self._clock.now + moment) / 2
            self._shoot()
            self._clock.now = moment


def film_blocks(run: Run, progress: FilmedProgress, run_time: RunTime, measured: int = 0) -> None:
    """Films the measurement of the blocks of a recorded run; the first of them were ``measured`` before."""
    target = TimedTarget(run.blocks[measured:], progress.clock, progress.shoot)
    orders = {block.block: block.order for block in run.blocks}
    with (
        tempfile.TemporaryDirectory() as name,
        patch.object(trial_order, "order", lambda _variants, _seed, block, _trials: orders[block]),
        patch("vtlab.runs.measure.time.monotonic", progress.clock),
    ):
        folder = Path(name)
        store.create(folder, run.manifest)
        for block in run.blocks[:measured]:
            store.append_block(folder, block)
        progress.begin_runs([run_time])
        measure_run(folder, store.read(folder), target, progress, wait=lambda _: None)
        progress.schedule.end_run()


def film_try(columns: int) -> FilmedProgress:
    """Films a call of ``vtlab try`` that was recorded: its search with times spread evenly, its blocks as they were."""
    run = recorded.recorded("pool")
    curve, rule = run.manifest.curve, run.manifest.rule
    assert curve
    assert rule
    assert rule.within
    progress = FilmedProgress(columns, Clock())
    progress.schedule.set_budget(BUDGET)
    progress.shoot()
    levels = [f"{users} user{'' if users == 1 else 's'}" for users in dict.fromkeys(p.users for p in curve.points)]
    steps = ["starting platform and virtual", "warm-up with 64 users", *levels]
    for step in steps:
        progress.clock.now += (BUDGET - rule.within) / len(steps)
        progress.step(progress.title(run.name, f"searching load: {step}"))
    progress.clock.now = BUDGET - rule.within
    with patch("vtlab.measuring.progress.datetime", time_of_day(progress.clock)):
        film_blocks(run, progress, RunTime([None, None], rule.within, is_least=True))
    progress.show("analysing")
    return progress


def main() -> None:
    """Prints the film."""
    for frame in film_try(int(sys.argv[1]) if len(sys.argv) > 1 else 80).frames:
        for line in frame.lines:
            print(f"{'  ' if frame.stays else '» '}{line}")


if __name__ == "__main__":
    main()
