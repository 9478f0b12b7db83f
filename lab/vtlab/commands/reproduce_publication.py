"""``vtlab lab reproduce-publication``: published comparisons beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from vtlab.commands import options
from vtlab.commands.options import ROOT, Results, Seed
from vtlab.commands.output import Terminal, console
from vtlab.errors import LabError
from vtlab.measuring.progress import Progress
from vtlab.report.pages import reproductions
from vtlab.runs.reproduce import (
    measure_publications,
    publication_numbers,
    read_reproductions,
    write_reproductions,
)

EXAMPLES = """\
vtlab lab reproduce-publication mysql-slow-query
vtlab lab reproduce-publication --quick
"""


def reproduce_publication(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Publications, by name or number. [default: all]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON, and nothing else.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Measure one block each, without an interval.")] = False,
    published: Annotated[bool, typer.Option("--published", help="Take the published sizes; takes longer.")] = False,
    again: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Print the table of earlier results, and measure nothing."),
    ] = None,
    seed: Seed = None,
    root: Results = ROOT,
) -> None:
    """Measure published comparisons again.

    Shows what was published beside what is measured here and what the operational laws allow.
    """
    shown = Terminal(stderr=True) if as_json else console
    failed: LabError | None = None
    if again:
        folder = again.resolve()
    else:
        numbers = publication_numbers(names or [])
        call = options.run_options(1 if quick else None, seed, root)
        with Progress(shown) as progress:
            folder, failed = measure_publications(numbers, call, as_published=published, progress=progress)
    with Progress(shown, f"judging the runs of {folder.name}"):
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
