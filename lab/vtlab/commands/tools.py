"""``vtlab tools``: k6 and Prometheus out of their images."""

from __future__ import annotations

from typing import Annotated

import typer

from vtlab.commands.output import console
from vtlab.errors import BadInput
from vtlab.host import tool_images, tools


def tools_(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help=f"One of {', '.join(tool_images.ENGINES)}.")],
) -> None:
    """Copy k6 and Prometheus out of their images, for a machine that has a container engine and not these programs."""
    if engine not in tool_images.ENGINES:
        raise BadInput(f"ENGINE is '{engine}'", f"it is one of {', '.join(tool_images.ENGINES)}")
    for tool in tool_images.copy(engine, tools.copies()):
        console.print(f"{tool.path}: {tool.version}", highlight=False, markup=False)
