"""The second service: a real JVM on virtual threads, or the user's own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx
import pytest

from tests.support.lab_call import alive
from vtlab.host import ports, tools
from vtlab.host.process_ledger import Ledger
from vtlab.services import sample
from vtlab.services.companions.downstream import Downstream


@pytest.mark.timeout(240)
def test_it_runs_on_virtual_threads_until_the_ledger_ends_it(tmp_path: Path) -> None:
    """The downstream service runs on virtual threads, is started once, and again after its death."""
    with Ledger(tmp_path) as ledger:
        service = sample.service()
        made = Downstream(service, tools.find_java(), ledger, tmp_path / "logs" / "downstream.log")
        made.start()
        first = made.url
        port = int(first.rpartition(":")[2])
        pid = ports.listening_pid(port)
        assert pid is not None
        with httpx.Client(trust_env=False, timeout=30) as client:
            answer = client.get(f"{first}/thread", params={"duration": "1ms"}).raise_for_status().json()
        assert answer["isVirtual"] is True
        assert b"-Xmx256m" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        made.start()
        assert made.url == first
        assert made.exit_description() is None
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert made.exit_description() == "the downstream ended with exit code 137 (killed)"
        made.start()
        assert made.exit_description() is None
        again = ports.listening_pid(int(made.url.rpartition(":")[2]))
        assert again not in (None, pid)
    assert not alive(again or 0)
