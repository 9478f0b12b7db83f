"""``vtlab lab install-tools``: k6 and Prometheus out of their images."""

from __future__ import annotations

from typing import Annotated

import typer

from vtlab.commands.output import console
from vtlab.errors import BadInput
from vtlab.host import tool_images, tools
from vtlab.measuring.progress import Progress

EXAMPLES = """\
vtlab lab install-tools docker
vtlab lab install-tools podman
"""


def install_tools(
    engine: Annotated[str, typer.Argument(metavar="ENGINE", help=f"{' or '.join(tool_images.ENGINES)}.")],
) -> None:
    """Copy k6 and Prometheus out of their images.

    Needs a container engine, for a machine without these programs.
    """
    if engine not in tool_images.ENGINES:
        raise BadInput(f"lab install-tools: unknown engine '{engine}'", f"write {' or '.join(tool_images.ENGINES)}")
    with Progress(console, "copying k6 and Prometheus out of their images"):
        copies = tool_images.copy(engine, tools.copies())
    for tool in copies:
        console.print(f"{tool.path}: {tool.version}", highlight=False, markup=False)
