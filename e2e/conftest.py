"""Shown at the end: what the end-to-end tests measured on the way."""

from __future__ import annotations

import pytest

from e2e import lab


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in lab.FIGURES:
        terminalreporter.write_line(f"measured: {line}")
