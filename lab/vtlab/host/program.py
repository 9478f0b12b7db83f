"""Name of vtlab as the user called it, for commands that are printed to be typed.

Stored documents keep plain ``vtlab``: they are read elsewhere.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

NAME = "vtlab"
#: The commands, in the order in which the help lists them; ``lab`` is hidden.
COMMANDS = (
    *("try", "run", "resume"),
    *("init", "check", "doctor", "experiments"),
    *("report", "compare", "history", "prometheus"),
    "lab",
)
_COMMAND = re.compile(rf"(?<![\w./-]){NAME}(?= (?:--help|{'|'.join(COMMANDS)})\b)")


def called() -> str:
    """Returns ``vtlab``, ``.venv/bin/vtlab`` or ``python -m vtlab``, as the shell had it."""
    path = Path(sys.argv[0])
    if path.name == "__main__.py" and path.parent.name == NAME:
        return shlex.join(sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1])
    if path.name != NAME:
        return NAME
    # The shell replaces a name that it finds on PATH by the whole path.
    return NAME if shutil.which(NAME) == sys.argv[0] else shlex.quote(sys.argv[0])


def as_called(text: str) -> str:
    """Returns ``text`` with vtlab as it was called in each of its commands."""
    program = called()
    return text if program == NAME else _COMMAND.sub(lambda _: program, text)
