"""``vtlab history``: every run in a folder, judged anew, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from vtlab.analysis.verdict import split_by_pair
from vtlab.commands.options import ROOT
from vtlab.commands.output import console
from vtlab.errors import BadInput
from vtlab.measuring.progress import Progress
from vtlab.report.pages import run_history
from vtlab.report.pages.run_history import Entry
from vtlab.runs import store
from vtlab.runs.report import analyse_runs

PAGE = "history.html"
EXAMPLES = """\
vtlab history
vtlab history /srv/results
"""


def history(
    root: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the results directories.")] = ROOT,
) -> None:
    """Show all runs over time, a line per experiment.

    Judges every run in a folder again, prints a table and writes history.html.
    """
    if (root / store.MANIFEST).is_file():
        raise BadInput(f"{root} is one run", f"name the folder that holds the runs: vtlab history {root.parent}")
    if not root.is_dir():
        raise BadInput(f"{root}: no such directory", "name the folder that holds the runs")
    with Progress(console, f"looking for runs in {root}") as progress:
        entries, unread = read_entries(root, progress)
    if not entries:
        raise BadInput(f"{root}: no directory in it holds a run that can be read", "name the folder that holds runs")
    lines = run_history.group(entries)
    store.write_atomic(root / PAGE, run_history.render(root.resolve().name, lines, unread))
    Console().print(run_history.terminal_table(lines))
    for name, why in unread.items():
        console.print(f"not read: {name}: {why}", highlight=False)
    console.print(f"\nhistory: {root / PAGE}", highlight=False)


def read_entries(root: Path, progress: Progress) -> tuple[list[Entry], dict[str, str]]:
    """Reads each pair of variants of each run, and the directories that cannot be read, with why. Hidden directories
    are vtlab's."""
    entries: list[Entry] = []
    unread: dict[str, str] = {}
    folders = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    for number, folder in enumerate(folders, 1):
        progress.show(f"judging run {number} of {len(folders)}: {folder.name}")
        try:
            analyses = analyse_runs(folder)
        except BadInput as error:
            unread[folder.name] = error.message
            continue
        entries += [Entry(folder.name, pair) for analysis in analyses for pair in split_by_pair(analysis)]
    return entries, unread
