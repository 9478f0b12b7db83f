"""``docs/reference/cli.md``: every command with its help, and the exit codes."""

from __future__ import annotations

import typer

from maintain.reference.pages import page, table
from vtlab.commands.app import app

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
a fix. With `VTLAB_DEBUG=1` a defect (exit code 70) shows its traceback."""


def text() -> str:
    """Renders the page of the commands."""
    group = typer.main.get_command(app)
    if not isinstance(group, typer.core.TyperGroup):
        raise TypeError("vtlab has more than one command")
    root = group.make_context("vtlab", [], resilient_parsing=True, terminal_width=WIDTH)
    sections = []
    for name in group.list_commands(root):
        command = group.commands[name]
        context = command.make_context(name, [], parent=root, resilient_parsing=True, terminal_width=WIDTH)
        sections.append(f"## vtlab {name}\n\n```text\n{command.get_help(context)}\n```")
    codes = table(("exit code", "meaning"), [(str(code), meaning) for code, meaning in EXIT_CODES])
    return page("The command line", "lab/vtlab/commands", _INTRODUCTION, f"## Exit codes\n\n{codes}", *sections)
