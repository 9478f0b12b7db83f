"""The site of the docs, as ``make site`` builds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.versions import REPOSITORY


def build(folder: Path) -> Path:
    """Builds the site into a folder, and returns that. Strict: a page without a place in the navigation, or a link that
    leads nowhere, fails."""
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder
