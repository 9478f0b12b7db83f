"""The wheel measures: vtlab from an environment outside the checkout, and nothing but a JDK on PATH."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.foreign import KIOSK, built
from tests.support.lab_call import leftovers, only, verdict
from tests.support.privileges import needs_root
from tests.support.wheels import Installed, installed, wheel
from vtlab.host import tools

__all__ = ["installed", "wheel"]

pytestmark = [pytest.mark.calls, pytest.mark.timeout(900), needs_root]


def test_an_installed_vtlab_measures_a_foreign_jar(installed: Installed, tmp_path: Path) -> None:
    """A vtlab that is installed as a wheel measures a foreign jar by one command, with nothing but a JDK on PATH."""
    root = tmp_path / "results"
    load = ("--users", "23", "--blocks", "1")
    done = installed(
        *("try", built(KIOSK), "GET /print?duration=170ms", *load, "--results", root),
        path=str(tools.find_java().home / "bin"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert leftovers(root) == []
    # Five printers, whatever the threads: the place where requests wait for one is in thread dumps.
    for result in verdict(only(root))["variants"].values():
        assert re.fullmatch(r"\S+ at TicketController:\d+", result["bottleneck"]["resource"]), done.stdout
