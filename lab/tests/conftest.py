"""What holds for all tests."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes is the machine's doing.
settings.register_profile("lab", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lab")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # Here, as not every test needs what it imports.
    from tests.support import stalls

    if stalls.REPEATED:
        terminalreporter.write_line(f"measured again for what the machine did: {len(stalls.REPEATED)} times")
