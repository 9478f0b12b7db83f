"""The second service: a real JVM on virtual threads, or the user's own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx
import pytest

from tests.support.lab_call import alive
from vtlab import session
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.host import ports, tools
from vtlab.host.processes import Ledger
from vtlab.services import downstream, sample
from vtlab.services.downstream import Downstream


@pytest.mark.real
@pytest.mark.timeout(240)
def test_it_runs_on_virtual_threads_until_the_ledger_ends_it(tmp_path: Path) -> None:
    with Ledger(tmp_path) as ledger:
        service = sample.service(session.REPOSITORY)
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


def test_the_users_own_is_taken_as_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VTLAB_DOWNSTREAM_URL", raising=False)
    assert downstream.from_environment() is None
    monkeypatch.setenv("VTLAB_DOWNSTREAM_URL", "http://other.example:8080")
    assert downstream.from_environment() == "http://other.example:8080"


@pytest.mark.parametrize("url", ["other.example:8080", "ftp://h", "http://", "http://h:port", "http://me:secret@h"])
def test_another_url_is_bad_input(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTLAB_DOWNSTREAM_URL", url)
    with pytest.raises(BadInput, match="VTLAB_DOWNSTREAM_URL is no http://HOST:PORT"):
        downstream.from_environment()


def test_one_that_does_not_answer_is_missing() -> None:
    (port,) = ports.free(1)
    with pytest.raises(PrerequisiteMissing, match="does not answer") as error:
        downstream.require(f"http://127.0.0.1:{port}")
    assert "VTLAB_DOWNSTREAM_URL" in error.value.fix
