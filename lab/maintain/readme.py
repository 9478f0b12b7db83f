"""Example of ``README.md``: what vtlab prints of the recorded call, down to the last row of its table."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from maintain.pictures.recording import RESULTS
from vtlab.analysis import verdict
from vtlab.report.pages import terminal
from vtlab.runs import store

PAGE = "README.md"
_EXAMPLE = re.compile(rf"(<!-- vtlab report {re.escape(RESULTS)} -->\n```text\n).*?(^```$)", re.M | re.S)
#: The last row of the table.
_LAST = "errors "


def text(repository: Path) -> str:
    """Returns the page with the example in the words of today."""
    printed = io.StringIO()
    console = Console(file=printed, soft_wrap=True)
    console.print(terminal.render(verdict.analyse_all([store.read(repository / RESULTS)])))
    lines = printed.getvalue().strip("\n").splitlines()
    end = next(number for number, line in enumerate(lines) if line.startswith(_LAST))
    example = "".join(f"{line.rstrip()}\n" for line in lines[: end + 1])
    page = (repository / PAGE).read_text(encoding="utf-8")
    return _EXAMPLE.sub(lambda found: found.group(1) + example + found.group(2), page)
