"""``docs/reference/cli.md``: every command with its help, and the exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from maintain.reference.pages import page, table
from vtlab.commands.app import app
from vtlab.host import program

#: Characters in a line of help.
WIDTH = 100
EXIT_CODES = (
    (0, "done; that a variant fails is a verdict, too"),
    (1, "an asserted verdict does not hold"),
    (2, "bad input; the message names it"),
    (
        3,
        "a prerequisite is missing (JDK, k6, Prometheus, CPU limit, disk space); the message says how to get it",
    ),
    (4, "too many blocks do not count, for the load generator, the machine or the warm-up: no verdict"),
    (70, "a defect of vtlab; please report it"),
    (130, "interrupted; the data is kept"),
)
_INTRODUCTION = """`make setup` installs `vtlab` as `.venv/bin/vtlab` in the checkout. Each error has a message and
a fix. With `VTLAB_DEBUG=1` a defect (exit code 70) shows its traceback. `vtlab --install-completion` makes the shell
complete commands and options. `vtlab lab` is for work on vtlab itself; `vtlab --help` does not list it."""


def text() -> str:
    """Renders the page of the commands."""
    root: Any = typer.main.get_command(app)
    context = root.make_context(program.NAME, [], resilient_parsing=True, terminal_width=WIDTH)
    sections = [_section(program.NAME, root, context)]
    for name, command in root.commands.items():
        sections += _sections(f"{program.NAME} {name}", command, context)
    codes = table(("exit code", "meaning"), [(str(code), meaning) for code, meaning in EXIT_CODES])
    return page("The command line", "lab/vtlab/commands", _INTRODUCTION, f"## Exit codes\n\n{codes}", *sections)


def _sections(title: str, command: Any, parent: Any) -> Iterator[str]:
    """Yields the section of a command, and of each command in it."""
    context = command.make_context(
        title.rpartition(" ")[2], [], parent=parent, resilient_parsing=True, terminal_width=WIDTH
    )
    yield _section(title, command, context)
    for name, inner in getattr(command, "commands", {}).items():
        yield from _sections(f"{title} {name}", inner, context)


def _section(title: str, command: Any, context: Any) -> str:
    return f"## {title}\n\n```text\n{command.get_help(context)}\n```"
