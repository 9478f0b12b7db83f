"""Skips the tests of a cluster where none is up, and shows at the end what they measured on the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from e2e.on_cluster import lab


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # e2e/run sets it from what e2e/up has brought up, or fails.
    if "LAB_IMAGE" in os.environ:
        return
    no_cluster = pytest.mark.skip(reason='needs a cluster: make e2e, or after make up eval "$(e2e/up env)"')
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(no_cluster)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for figure in lab.FIGURES:
        terminalreporter.write_line(f"measured: {figure}")
    if lab.MEASURED_AGAIN:
        again = ", ".join(lab.MEASURED_AGAIN)
        terminalreporter.write_line(f"measured again {len(lab.MEASURED_AGAIN)} times, as the machine stalled: {again}")
