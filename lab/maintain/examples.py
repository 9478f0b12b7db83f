"""Examples of pages: what vtlab prints of recorded results, in the words of today.

Before the block stands ``<!-- vtlab report RESULTS -->``; ``<!-- vtlab report RESULTS, to the table -->`` where the
block ends with the last row of the table.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from vtlab.analysis import verdict
from vtlab.report.pages import terminal
from vtlab.runs import store

PAGES = ("README.md", "docs/tutorial.md")
_EXAMPLE = re.compile(
    r"(?P<before><!-- vtlab report (?P<results>\S+?)(?P<to_table>, to the table)? -->\n```text\n).*?(?P<after>^```$)",
    re.M | re.S,
)
#: The last row of the table.
_LAST = "errors "


def text(repository: Path, page: str) -> str:
    """Returns the page with its examples in the words of today. ValueError where it has none."""

    def example(found: re.Match[str]) -> str:
        lines = _printed(repository / found["results"])
        if found["to_table"]:
            end = next(number for number, line in enumerate(lines) if line.startswith(_LAST))
            lines = lines[: end + 1]
        return found["before"] + "".join(f"{line.rstrip()}\n" for line in lines) + found["after"]

    changed, count = _EXAMPLE.subn(example, (repository / page).read_text(encoding="utf-8"))
    if not count:
        raise ValueError(f"{page} has no example: <!-- vtlab report RESULTS --> is missing before its block")
    return changed


def _printed(results: Path) -> list[str]:
    printed = io.StringIO()
    console = Console(file=printed, soft_wrap=True)
    console.print(terminal.render(verdict.analyse_all([store.read(results)])))
    return printed.getvalue().strip("\n").splitlines()
