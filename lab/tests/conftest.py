"""What holds for all tests."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes is the machine's doing. The same examples each time: a change is not refused for what it did
# not do. --hypothesis-profile explore looks for others.
settings.register_profile("lab", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", settings.get_profile("lab"), derandomize=False, max_examples=1000)
settings.load_profile("lab")


_REPEATED = pytest.StashKey[list[str]]()


def _repeated(config: pytest.Config) -> list[str]:
    """Returns the reasons for which tests measured again."""
    # Imported here, as not every test needs what it imports.
    from tests.support import stalls

    return [*stalls.REPEATED, *config.stash.get(_REPEATED, [])]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["repeated"] = _repeated(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of pytest-xdist ended: its reasons are added."""
    config: pytest.Config = node.config
    of_node: list[str] = getattr(node, "workeroutput", {}).get("repeated", [])
    config.stash[_REPEATED] = [*config.stash.get(_REPEATED, []), *of_node]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    repeated = _repeated(terminalreporter.config)
    if repeated:
        terminalreporter.write_line(f"measured again for what the machine did: {len(repeated)} times")
        for reason, count in Counter(repeated).most_common():
            terminalreporter.write_line(f"  {count} times: {reason}")
