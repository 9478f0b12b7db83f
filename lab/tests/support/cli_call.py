"""Calls of vtlab's command line in this process."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

from vtlab.commands import app as cli


@dataclass(frozen=True)
class Called:
    """Exit code and output of a call."""

    code: int
    out: str
    err: str


def call(*arguments: str | Path) -> Called:
    """Runs one command to its end. A signal would end the test: there is no handler for one here."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.call([str(argument) for argument in arguments])
    return Called(code, out.getvalue(), err.getvalue())
