"""``vtlab reproduce``: published comparisons beside ours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from vtlab.commands import options
from vtlab.commands.options import (
    ROOT,
    Results,
    Seed,
)
from vtlab.commands.output import console
from vtlab.errors import LabError
from vtlab.measuring.progress import Progress
from vtlab.report.pages import reproductions
from vtlab.runs.reproduce import (
    PRECISION,
    measure_publications,
    publication_numbers,
    read_reproductions,
    write_reproductions,
)


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
        numbers = publication_numbers(names or [])
        call = replace(options.run_options(1 if quick else None, seed, root, no_cpu_limit=False), precision=PRECISION)
        with Progress(shown) as progress:
            folder, failed = measure_publications(numbers, call, as_published=published, progress=progress)
    variants = read_reproductions(folder)
    write_reproductions(folder, variants)
    if as_json:
        print(reproductions.json_document(variants), end="")
    else:
        shown.print()
        Console().print(reproductions.terminal_tables(variants))
        shown.print(f"\ntables: {folder / 'reproductions.md'}", highlight=False)
    if failed:
        raise failed
