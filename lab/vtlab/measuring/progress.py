"""Progress of a call: what runs now, what was measured, and when it will end; plain lines without a terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.console import Console
from rich.status import Status

from vtlab.model.records import Block, Failure


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
    #: Number of planned blocks, in words.
    planned: str = ""


class Progress:
    """Progress over all blocks of a call. Use as a context manager."""

    def __init__(self, console: Console, seconds: Sequence[float | None], is_least: bool = False) -> None:
        """``seconds``: the estimated length of every block still to come, in order; None where it is unknown.
        ``is_least``: it may take longer."""
        self._console = console
        self._left = list(seconds)
        self._began = time.monotonic()
        self._scale = 1.0
        self._is_least = is_least
        self._status: Status | None = console.status("starting") if console.is_terminal else None
        self._total = len(self._left)
        #: Estimated length of the last block that counted.
        self._last: float | None = None

    def __enter__(self) -> Progress:
        if self._status:
            self._status.start()
        blocks = f"{self._total} block" + ("" if self._total == 1 else "s")
        seconds_left = self._seconds()
        amount = "at least" if self._is_least else "about"
        self.say(
            f"{blocks} to measure"
            + ("" if seconds_left is None else f", {amount} {minutes(seconds_left)}, until {_clock(seconds_left)}")
        )
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def say(self, text: str) -> None:
        """Prints a line that stays."""
        now = datetime.now().strftime("%H:%M:%S")
        self._console.print(f"{now}  {text}", highlight=False, markup=False, soft_wrap=True)

    def step(self, text: str) -> None:
        """Shows what runs now: in the status line on a terminal, in a separate line elsewhere."""
        if self._status:
            self._status.update(text + self._end())
        else:
            self.say(text)

    def block_done(self, outcome: BlockOutcome) -> None:
        """Shows what a block measured and how variants failed in it, or why it does not count."""
        name, block, reasons = outcome.run_name, outcome.block, outcome.rejections
        spent = time.monotonic() - self._began
        self._began = time.monotonic()
        if reasons:
            # It may have ended early: how long a whole block takes it does not tell.
            self.say(f"{name}: block {block.block} rejected: {reasons[0]}" + _more(len(reasons) - 1))
            return
        if self._left:
            expected = self._left.pop(0)
            self._last = expected or spent
            self._scale = spent / expected if expected else 1.0
            if expected is None:
                # The next blocks are most likely of the same run.
                self._left = [spent if seconds_left is None else seconds_left for seconds_left in self._left]
        self.say(
            f"{name}: block {outcome.accepted} of {outcome.planned}: {_measured(block, outcome.failures)}{self._end()}"
        )

    def give_up(self, blocks: int) -> None:
        """Removes the next blocks, which will not be measured: their run has ended."""
        del self._left[:blocks]

    def go_on(self, blocks: int) -> None:
        """Adds blocks, which come next, to the run of the last block."""
        self._left[:0] = [self._last] * blocks

    def _seconds(self) -> float | None:
        """Estimates the time to the end; None where a block's length is unknown."""
        estimates = [seconds for seconds in self._left if seconds is not None]
        return sum(estimates) * self._scale if len(estimates) == len(self._left) else None

    def _end(self) -> str:
        seconds_left = self._seconds()
        return "" if seconds_left is None else f" · ends about {_clock(seconds_left)}"


def _clock(seconds: float) -> str:
    """Returns the time of day that is this many seconds away."""
    return (datetime.now() + timedelta(seconds=seconds)).strftime("%H:%M")


def minutes(seconds: float) -> str:
    """Writes a length of time in whole minutes."""
    whole = max(1, round(seconds / 60))
    return f"{whole} minute" + ("" if whole == 1 else "s")


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
        mean = f", {sum(means) / len(means):.3g} s" if means else ""
        parts.append(f"{name} {rate:.4g}/s{mean}")
    return "; ".join(parts)
