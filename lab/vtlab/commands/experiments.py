"""``vtlab experiments``: the experiments that come with vtlab."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from vtlab import shipped
from vtlab.commands.output import console
from vtlab.measuring.progress import Progress
from vtlab.model import experiment_files, normalised
from vtlab.model.load import ClosedLoad
from vtlab.planning.shipped_experiments import EXPERIMENTS
from vtlab.runs import estimates

EXAMPLES = """\
vtlab experiments
vtlab experiments | grep pool
"""


def experiments() -> None:
    """List the experiments that come with vtlab."""
    with Progress(console, "asking k6 how long the blocks take"):
        table = _table()
    Console().print(table)


def _table() -> Table:
    """Makes a row of each experiment."""
    table = Table(box=None, pad_edge=False)
    for title in ("experiment", "load", "limit", "a block", "what it shows"):
        table.add_column(title, no_wrap=title in ("experiment", "limit"))
    for name in experiment_files.names(EXPERIMENTS):
        planned = experiment_files.load(name, EXPERIMENTS)
        load = planned.load
        users = f"{load.users} user{'' if load.users == 1 else 's'}"
        amount = users if isinstance(load, ClosedLoad) else f"{load.rate:g}/s"
        seconds = estimates.block_seconds(shipped.ROOT / normalised.FOLDER / f"{name}.json", planned)
        length = "-" if seconds is None else f"{seconds:.0f} s"
        table.add_row(name, amount, f"{planned.limits.cpu:g} CPU", length, planned.description)
    return table
