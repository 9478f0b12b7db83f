"""Progress of a call: what runs now, what was measured, and when it will end; plain lines without a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich import progress as rich_progress
from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from vtlab.measuring.schedule import RunTime, Schedule, TimeLeft
from vtlab.model.records import Block, Failure
from vtlab.report.words import figures, hints

#: Columns of a terminal from which on the line names what the ratio is of, and from which on it has a bar; and the most
#: that it takes.
NAMED_FROM, BAR_FROM, WIDEST = 80, 100, 120
#: Times a second that the line is drawn: seldom, as the machine measures.
_DRAWN = 2
#: A column of width 0 makes rich's table too wide.
_BLANK = " "
_SIGNS = {"about": "≈", "at least": "≥", "at most": "≤"}


@dataclass(frozen=True)
class BlockOutcome:
    """Outcome of a block, for the user."""

    run_name: str
    block: Block
    #: Why it does not count; empty where it does.
    rejections: Sequence[str] = ()
    failures: Sequence[Failure] = ()
    #: Number of the run's blocks that count.
    accepted: int = 0
    #: Number of planned blocks, as it follows that; empty where the run ends by its looks.
    planned: str = ""


class Progress:
    """Progress over everything that a call does. Made as the first act of a command, used as a context manager.

    On a terminal one line shows it, below the lines that stay. A quiet console gets nothing.
    """

    def __init__(self, console: Console, phase: str = "preparing", clock: Callable[[], float] = time.monotonic) -> None:
        """``phase``: what the command does first. ``clock``: in seconds."""
        self.console = console
        self.schedule = Schedule(clock)
        shows_line = console.is_interactive and not console.quiet
        self._line = _Line(console, phase, self.schedule, clock) if shows_line else None
        self._has_one_run = True

    def __enter__(self) -> Progress:
        if self._line:
            self._line.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._line:
            self._line.stop()

    def begin_runs(self, runs: Sequence[RunTime]) -> None:
        """Begins to measure these runs, in their order."""
        self._has_one_run = len(runs) == 1
        self.schedule.begin(runs)
        self.say(_plan(self.schedule))

    def title(self, run_name: str, text: str) -> str:
        """Returns the title of a message about a run: its name is left out on a terminal where no other is measured."""
        return text if self._line and self._has_one_run else f"{run_name}: {text}"

    def say(self, text: str) -> None:
        """Prints a line that stays."""
        now = datetime.now().strftime("%H:%M:%S")
        self.console.print(f"{now}  {text}", highlight=False, markup=False, soft_wrap=True)

    def step(self, text: str) -> None:
        """Shows a step of the measurement: in the line on a terminal, in a separate line elsewhere."""
        if self._line:
            self.show(text)
        else:
            self.say(text)

    def show(self, phase: str) -> None:
        """Shows in the line on a terminal what runs now; nothing elsewhere."""
        if self._line:
            self._line.show(phase)

    def show_ratio(self, criterion: str, ratio: str) -> None:
        """Shows in the line on a terminal what the run has measured so far; an empty ``ratio`` removes it."""
        if self._line:
            self._line.show_ratio(criterion, ratio)

    def end_block(self, outcome: BlockOutcome) -> None:
        """Shows what a block measured and how variants failed in it, or why it does not count."""
        block, reasons = outcome.block, outcome.rejections
        self.schedule.end_block(not reasons, block.repeated_seconds if block.seconds else None)
        if reasons:
            title = self.title(outcome.run_name, f"block {block.block}")
            self.say(f"{title} rejected: {reasons[0]}" + _more(len(reasons) - 1))
            return
        title = self.title(outcome.run_name, f"block {outcome.accepted}{outcome.planned}")
        end = _end(self.schedule.time_left())
        self.say(f"{title}: {_measured(block, outcome.failures)}" + (f" · {end}" if end else ""))


class _Line(rich_progress.Progress):
    """The line on a terminal: phase, ratio so far, time since the call began, time left."""

    def __init__(self, console: Console, phase: str, schedule: Schedule, clock: Callable[[], float]) -> None:
        self._schedule = schedule
        columns: list[ProgressColumn] = [
            SpinnerColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
            _RatioColumn(console),
            *([BarColumn(16)] if console.width >= BAR_FROM else []),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            _TimeLeftColumn(schedule),
        ]
        super().__init__(
            *columns,
            console=console,
            refresh_per_second=_DRAWN,
            transient=True,
            # What goes to a file does not go to the terminal.
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=sys.stderr.isatty(),
            get_time=clock,
            expand=True,
        )
        self._task_id = self.add_task(phase, total=None, criterion="", ratio="")

    def show(self, phase: str) -> None:
        """Shows what runs now."""
        self.update(self._task_id, description=phase, refresh=True)

    def show_ratio(self, criterion: str, ratio: str) -> None:
        """Shows the ratio so far."""
        self.update(self._task_id, criterion=criterion, ratio=ratio, refresh=True)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Draws the line. The bar is the share of the time that is over."""
        left = self._schedule.time_left()
        for task in self.tasks:
            task.completed = task.elapsed or 0.0
            task.total = task.completed + left.seconds if left and left.seconds else None
        yield Constrain(self.make_tasks_table(self.tasks), WIDEST)


class _RatioColumn(ProgressColumn):
    """The ratio so far, with the name of what it is of where there is room."""

    def __init__(self, console: Console) -> None:
        super().__init__(Column(no_wrap=True))
        self._console = console

    def render(self, task: Task) -> Text:
        ratio: str = task.fields["ratio"]
        if ratio and self._console.width >= NAMED_FROM:
            ratio = " ".join(filter(None, ["so far:", task.fields["criterion"], ratio]))
        return Text(ratio or _BLANK, style="bold")


class _TimeLeftColumn(ProgressColumn):
    """The time left by the plan."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(Column(no_wrap=True, justify="right"))
        self._schedule = schedule

    def render(self, task: Task) -> Text:
        return Text(in_short(self._schedule.time_left()) or _BLANK)


def in_short(left: TimeLeft | None) -> str:
    """Writes the time left for the line: ``≤ 6:10 left``."""
    if left is None or (left.meaning == "at least" and not left.seconds):
        return ""
    if not left.seconds:
        return "finishing"
    whole, seconds = divmod(int(left.seconds), 60)
    hours, whole = divmod(whole, 60)
    length = f"{hours}:{whole:02}:{seconds:02}" if hours else f"{whole}:{seconds:02}"
    return f"{_SIGNS[left.meaning]} {length} left"


def _plan(schedule: Schedule) -> str:
    """Says how many blocks there are to measure, and how long that takes."""
    blocks = f"{schedule.blocks} block" + ("" if schedule.blocks == 1 else "s")
    left = schedule.time_left()
    if left is None or not schedule.blocks:
        return f"{blocks} to measure"
    if left.meaning == "at most":
        return f"measuring blocks until about {time_of_day(left.seconds)}"
    return f"{blocks} to measure, {left.meaning} {hints.time_in_words(left.seconds)}, until {time_of_day(left.seconds)}"


def _end(left: TimeLeft | None) -> str:
    """Says when the call ends; empty where nothing tells it."""
    if left is None or (left.meaning == "at least" and not left.seconds):
        return ""
    end = time_of_day(left.seconds)
    # Not "at the latest": a part that is measured again may end after the plan.
    return {"about": f"ends about {end}", "at least": f"ends after {end}", "at most": f"ends by about {end}"}[
        left.meaning
    ]


def time_of_day(seconds: float) -> str:
    """Returns the time of day that is this many seconds away."""
    return (datetime.now() + timedelta(seconds=seconds)).strftime("%H:%M")


def _more(count: int) -> str:
    return f" (and {count} more)" if count > 0 else ""


def _measured(block: Block, failures: Sequence[Failure]) -> str:
    parts = []
    for name in dict.fromkeys(block.order):
        failure = next((failure for failure in failures if failure.variant == name), None)
        if failure:
            parts.append(f"{name} failed, {failure.moment}: {failure.reason}")
            continue
        trials = [t for t in block.trials if t.variant == name]
        rate = sum(t.throughput for t in trials) / len(trials)
        means = [t.latency.mean for t in trials if t.latency.mean is not None]
        mean = f", {figures.duration(sum(means) / len(means))}" if means else ""
        parts.append(f"{name} {figures.rate(rate)}{mean}")
    return "; ".join(parts)
