"""What holds for all tests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes is the machine's doing.
settings.register_profile("lab", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lab")


_REPEATED = pytest.StashKey[int]()


def _repeated(config: pytest.Config) -> int:
    # Imported here, as not every test needs what it imports.
    from tests.support import stalls

    return len(stalls.REPEATED) + config.stash.get(_REPEATED, 0)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["repeated"] = _repeated(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of pytest-xdist ended: its count is added."""
    config: pytest.Config = node.config
    config.stash[_REPEATED] = config.stash.get(_REPEATED, 0) + getattr(node, "workeroutput", {}).get("repeated", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    count = _repeated(terminalreporter.config)
    if count:
        terminalreporter.write_line(f"measured again for what the machine did: {count} times")
