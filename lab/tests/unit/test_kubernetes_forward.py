"""The way to Prometheus, through programs that stand in for kubectl."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.host.processes import Ledger
from vtlab.targets.kubernetes import forward
from vtlab.targets.kubernetes.cluster import Where
from vtlab.targets.kubernetes.forward import Forward

FORBIDDEN = 'Error from server (Forbidden): services "p" is forbidden: User "jane" cannot get resource "services"'
#: Says its arguments, then answers 200 at the local port.
SERVES = """
import http.server, sys

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

print(*sys.argv[1:], flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[-1].partition(":")[0])), Answer).serve_forever()
"""
Start = Callable[[str], Forward]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """A Forward whose kubectl is that program in Python."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    made: list[Forward] = []

    def given(program: str) -> Forward:
        path = tmp_path / "kubectl"
        path.write_text(f"#!{sys.executable}\n{program}", encoding="utf-8")
        path.chmod(0o755)
        made.append(Forward(Where("here", "ns", "lab"), "http://p.m:9090/api/v1/write", ledger, tmp_path / "log"))
        return made[-1]

    with Ledger(tmp_path) as ledger:
        yield given
        for each in made:
            each.close()


def ask(way: Forward) -> int:
    with httpx.Client(transport=way, trust_env=False) as client:
        return client.get(f"{way.url}/ready").status_code


def test_a_missing_right_is_said_at_once(start: Start, tmp_path: Path) -> None:
    begun = time.monotonic()
    with pytest.raises(PrerequisiteMissing, match=r"service p in namespace m\).*\(Forbidden\): services") as caught:
        ask(start(f"import sys\nsys.exit({FORBIDDEN!r})"))
    assert time.monotonic() - begun < 10, "not tried again until its patience ends"
    assert "vtlab doctor --target kubernetes" in caught.value.fix
    assert (tmp_path / "log").read_text(encoding="utf-8").count("Forbidden") == 1


def test_another_failure_is_a_fault_even_after_a_missing_right(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PrerequisiteMissing):
        ask(start(f"import sys\nsys.exit({FORBIDDEN!r})"))
    monkeypatch.setattr(forward, "PATIENCE", 0.1)
    with pytest.raises(BlockFault, match=r"does not answer: .*no route"):
        ask(start("import sys\nsys.exit('no route')"))


def test_a_kubectl_that_was_killed_is_started_again_by_the_next_request(start: Start, tmp_path: Path) -> None:
    way = start(SERVES)
    client = httpx.Client(transport=way, trust_env=False)
    assert client.get(f"{way.url}/ready").status_code == 200
    first = way._process
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    end = time.monotonic() + 10
    while first.exit_description() is None and time.monotonic() < end:
        time.sleep(0.01)
    assert client.get(f"{way.url}/ready").status_code == 200
    assert way._process is not None
    assert way._process.pid != first.pid
    port = httpx.URL(way.url).port
    calls = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert calls == [f"--context here -n m port-forward svc/p {port}:9090"] * 2
    client.close()
    assert way._process.exit_description() is not None, "kubectl ends with it"


@pytest.mark.parametrize("url", ["", "http://prometheus:9090/api/v1/write", "http://10.0.0.1/write"])
def test_prometheus_must_be_a_service(url: str) -> None:
    with pytest.raises(PrerequisiteMissing, match="names no Service"):
        forward.service(url)


def test_the_service_is_in_the_url() -> None:
    assert forward.service("http://prometheus-operated.monitoring:9090/x") == (
        "prometheus-operated",
        "monitoring",
        9090,
    )
    assert forward.service("http://p.m.svc.cluster.local:80/x") == ("p", "m", 80)
