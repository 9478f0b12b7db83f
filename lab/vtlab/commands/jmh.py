"""``vtlab jmh``: the JMH benchmark of publication 001."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console

from vtlab import jmh, reproductions
from vtlab.commands.options import (
    ROOT,
    Results,
)
from vtlab.commands.output import console
from vtlab.host import operating_system
from vtlab.targets.local import benchmark


def jmh_(
    quick: Annotated[bool, typer.Option("--quick", help="One warm-up and two measurements of 1 s.")] = False,
    more: Annotated[list[str] | None, typer.Argument(metavar="[-- JMH OPTIONS]")] = None,
    root: Results = ROOT,
) -> None:
    """Run the JMH benchmark of publication 001 on this machine, under a CPU limit of 1."""
    operating_system.refuse_other_than_linux()
    folder, words = root.resolve() / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-jmh", jmh.options(quick, more or ())
    file = benchmark.run(folder, root.resolve(), words)
    Console().print(reproductions.benchmark_table(jmh.read(file)))
    console.print(f"\nresult: {file}", highlight=False)
