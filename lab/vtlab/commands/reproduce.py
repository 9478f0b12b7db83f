"""``vtlab reproduce``: published comparisons beside ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from vtlab import reproductions
from vtlab.commands import options
from vtlab.commands.options import (
    ROOT,
    Results,
    Seed,
)
from vtlab.commands.output import console
from vtlab.errors import LabError


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Publications, by name or number; all if none.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON, and nothing else.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="One block each: no interval.")] = False,
    published: Annotated[bool, typer.Option("--published", help="The published sizes; takes longer.")] = False,
    again: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="Only print the table of what was measured there.")
    ] = None,
    seed: Seed = None,
    root: Results = ROOT,
) -> None:
    """Measure what was published, and show it beside ours and what the operational laws allow."""
    shown = Console(soft_wrap=True, stderr=True) if as_json else console
    failed: LabError | None = None
    if again:
        folder = again.resolve()
    else:
        numbers = reproductions.numbered(names or [])
        call = replace(
            options.run_options(1 if quick else None, seed, root, no_cpu_limit=False),
            precision=reproductions.PRECISION,
        )
        folder, failed = reproductions.run(numbers, call, quick=quick, as_published=published, console=shown)
    reproduced = reproductions.read(folder)
    reproductions.write(folder, reproduced)
    if as_json:
        print(reproductions.document(reproduced), end="")
    else:
        shown.print()
        Console().print(reproductions.tables(reproduced))
        if reproduced.lacks_jmh:
            shown.print("\n001: the rows of JMH are missing here; make jmh measures them alone", highlight=False)
        shown.print(f"\ntables: {folder / 'reproductions.md'}", highlight=False)
    if failed:
        raise failed
