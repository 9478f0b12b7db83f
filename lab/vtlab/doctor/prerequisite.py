"""One prerequisite of a run: there or missing, and the command that fixes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console

from vtlab.errors import LabError, PrerequisiteMissing


@dataclass(frozen=True)
class Prerequisite:
    """One prerequisite. ``fix`` is empty when it is there; an optional one that is missing does not count."""

    name: str
    state: str
    fix: str = ""
    optional: bool = False


def print_prerequisites(prerequisites: Sequence[Prerequisite], console: Console) -> None:
    """Prints each prerequisite; raises PrerequisiteMissing when one that a run needs is missing."""
    for prerequisite in prerequisites:
        mark = "ok     " if not prerequisite.fix else "absent " if prerequisite.optional else "MISSING"
        console.print(f"{mark}  {prerequisite.name + ':':14} {prerequisite.state}", highlight=False, markup=False)
        if prerequisite.fix:
            console.print(f"{'':9}fix: {prerequisite.fix}", highlight=False, markup=False)
    missing = [prerequisite.name for prerequisite in prerequisites if prerequisite.fix and not prerequisite.optional]
    if missing:
        raise PrerequisiteMissing(f"missing: {', '.join(missing)}", "see each fix above")


def check(name: str, find: Callable[[], str]) -> Prerequisite:
    """Finds a prerequisite: the state is what ``find`` returns, or the message of its LabError."""
    try:
        return Prerequisite(name, find())
    except LabError as error:
        return Prerequisite(name, error.message, error.fix or "see the message")
