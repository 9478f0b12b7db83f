"""The terminal, as every command writes to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from vtlab.errors import AssertionFailed, InvalidRun, LabError
from vtlab.host import program
from vtlab.report.pages import terminal
from vtlab.runs import store
from vtlab.runs.report import analyse_runs


class Terminal(Console):
    """A console that prints commands so that they can be typed here.

    Long lines stay whole: a terminal wraps them, and a file has them in one piece.
    """

    def __init__(self, *, stderr: bool = False, quiet: bool = False) -> None:
        super().__init__(soft_wrap=True, stderr=stderr, quiet=quiet)

    def print(self, *objects: Any, **settings: Any) -> None:
        """Prints; each text has vtlab as it was called."""
        texts = [program.as_called(each) if isinstance(each, str) else each for each in objects]
        super().print(*texts, **settings)


console = Terminal()


@dataclass(frozen=True)
class Output:
    """What a command that measures prints: its progress and the verdict, the verdict alone, or its JSON."""

    is_quiet: bool = False
    as_json: bool = False

    @property
    def progress(self) -> Console:
        """Console of the progress: standard error beside JSON, nothing of a quiet call."""
        is_plain = not (self.is_quiet or self.as_json)
        return console if is_plain else Terminal(stderr=self.as_json, quiet=self.is_quiet)

    @contextmanager
    def concluding(self, folder: Path) -> Iterator[None]:
        """Prints what is asked for beside the progress, once the verdict is stored: also of an assertion that does not
        hold, and of a run that is not valid."""
        failed: LabError | None = None
        try:
            yield
        except (AssertionFailed, InvalidRun) as error:
            failed = error
        if self.as_json:
            for run in store.runs_in(folder):
                print((run / store.VERDICT).read_text(encoding="utf-8"), end="")
        elif self.is_quiet:
            console.print(terminal.render(analyse_runs(folder)))
        if failed:
            raise failed
