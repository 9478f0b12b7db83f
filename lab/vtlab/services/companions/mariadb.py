"""The MariaDB of this checkout, which its set-up fetches when an experiment needs a database first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from vtlab import shipped
from vtlab.errors import PrerequisiteMissing
from vtlab.host import tools
from vtlab.host.tools import Tool

#: Lines of a failed set-up that a message shows.
_LAST_LINES = 6


def find_or_fetch() -> Tool:
    """Finds the MariaDB of the set-up, which fetches it first where that can be done. PrerequisiteMissing where there
    is none, or it cannot be fetched."""
    if can_be_fetched():
        _fetch()
    return tools.find_mariadb()


def can_be_fetched() -> bool:
    """Checks whether this checkout has no MariaDB yet, and its set-up has one for this machine."""
    return shipped.IS_CHECKOUT and tools.has_mariadb_for_machine() and not tools.mariadb_path().is_file()


def _fetch() -> None:
    """Runs the step of the set-up. PrerequisiteMissing with the end of what it printed where it fails."""
    setup: Path = shipped.ROOT / "lab" / "setup"
    print("vtlab: fetching MariaDB, which an experiment needs here for the first time (150 MB)", file=sys.stderr)
    try:
        done = subprocess.run(
            [setup, "mariadb"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise _not_fetched(str(error)) from None
    if done.returncode:
        raise _not_fetched("\n".join(done.stdout.strip().splitlines()[-_LAST_LINES:]))


def _not_fetched(why: str) -> PrerequisiteMissing:
    return PrerequisiteMissing(f"MariaDB was not fetched: {why}", f"lab/setup mariadb, or {tools.OWN_DATABASE}")
