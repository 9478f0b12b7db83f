"""``vtlab prometheus``: a Prometheus over the metrics that a run kept, for dashboards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.latest import latest_with_kept_data
from vtlab.commands.options import ROOT, Results
from vtlab.commands.output import console
from vtlab.runs.publish import serve_kept_data

EXAMPLES = """\
vtlab prometheus
vtlab prometheus results/20261126T101500Z-blocking --port 9091
"""


def prometheus(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Results of vtlab run --prometheus-port. [default: the latest of these]"),
    ] = None,
    port: Annotated[int, typer.Option("--port", metavar="PORT", help="Port on the loopback interface.")] = 9090,
    root: Results = ROOT,
) -> None:
    """Start Prometheus over the metrics that a run kept, for dashboards.

    It runs until Ctrl-C.
    """
    options.refuse_impossible_port(port)
    serve_kept_data((folder or latest_with_kept_data(root)).resolve(), port, console)
