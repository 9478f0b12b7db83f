"""``vtlab prometheus``: the Prometheus data that a run kept, for dashboards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vtlab.commands import options
from vtlab.commands.output import console
from vtlab.runs.publish import serve_kept_data


def prometheus(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    port: Annotated[int, typer.Option("--port", help="Where it listens, on the loopback interface.")] = 9090,
) -> None:
    """Serve the Prometheus data that a run kept (--prometheus-port), for dashboards, until Ctrl-C."""
    options.refuse_no_port(port)
    serve_kept_data(folder.resolve(), port, console)
