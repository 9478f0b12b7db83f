"""What comes reset between two trials, and what a service needs: commands and requests of the user's own."""

from __future__ import annotations

import http.server
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from tests.support import recorded
from tests.support.serving import serving
from vtlab.errors import BadInput, BlockFault, PrerequisiteMissing
from vtlab.host import ports
from vtlab.host.process_ledger import Ledger
from vtlab.k6 import call as k6
from vtlab.model.k6_documents import K6Document
from vtlab.model.service import Service
from vtlab.services import before_trial
from vtlab.services.companions import companion_services
from vtlab.services.companions.companion_services import CompanionServices

from .conftest import JDK


class Resets(http.server.BaseHTTPRequestHandler):
    """Notes what it gets; knows one path."""

    came: ClassVar[list[tuple[str, str, str | None]]] = []

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.came.append((self.path, self.rfile.read(length).decode(), self.headers.get("Content-Type")))
        self.send_response(204 if self.path.startswith("/reset") else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def base() -> Iterator[str]:
    Resets.came.clear()
    with serving(http.server.HTTPServer((ports.HOST, 0), Resets)) as port:
        yield f"http://{ports.HOST}:{port}"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path) as ledger:
        yield ledger


def test_a_request_goes_to_the_variant_with_values_of_the_environment(
    base: str, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESET_TOKEN", "hunter2")
    text = 'POST /reset/{variant} {"token": "{env.RESET_TOKEN}"}'
    before_trial.run(text, "virtual", base, ledger, tmp_path / "log")
    assert Resets.came == [("/reset/virtual", '{"token": "hunter2"}', "application/json")]


def test_a_request_that_fails_is_named_without_what_it_sends(base: str, ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"reset: POST /wrong was answered 404$"):
        before_trial.run("POST /wrong secret", "virtual", base, ledger, tmp_path / "log")
    (free,) = ports.free(1)
    with pytest.raises(BlockFault, match="reset: POST /reset was not answered"):
        before_trial.run("POST /reset", "virtual", f"http://{ports.HOST}:{free}", ledger, tmp_path / "log")


def test_no_secret_stands_among_the_arguments_of_a_command() -> None:
    with pytest.raises(ValidationError, match="every user of the machine sees a command's arguments"):
        recorded.experiment(reset="reset --token {env.RESET_TOKEN}")
    assert recorded.experiment(reset="POST /reset {env.RESET_TOKEN}").reset


def test_a_command_is_told_the_variant_and_its_address(ledger: Ledger, tmp_path: Path) -> None:
    file = tmp_path / "came"
    before_trial.run(f"sh -c 'echo {{variant}} {{base}} > {file}'", "virtual", "http://h:1", ledger, tmp_path / "log")
    assert file.read_text(encoding="utf-8") == "virtual http://h:1\n"
    with pytest.raises(BadInput, match=r"ended with exit code 3: no such table"):
        before_trial.run("sh -c 'echo no such table; exit 3'", "virtual", "http://h:1", ledger, tmp_path / "log")


def test_a_command_that_does_not_end_is_ended(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(before_trial, "WITHIN", 0.1)
    with pytest.raises(BlockFault, match="reset: sleep 60 did not end after 0 s"):
        before_trial.run("sleep 60", "virtual", "http://h:1", ledger, tmp_path / "log")


def companion(folder: Path, ledger: Ledger) -> CompanionServices:
    return CompanionServices(folder, JDK, ledger)


def needing(folder: Path, command: str, port: int | None = None) -> Service:
    document: dict[str, Any] = {"name": "shop", "jar": "a.jar", "directory": str(folder), "readiness": "/"}
    return Service.model_validate({**document, "started_before": {"command": command, "port": port}})


def test_what_a_service_needs_is_started_once_and_waited_for_and_ends_with_the_ledger(
    tmp_path: Path, invented_tools: Path
) -> None:
    (port,) = ports.free(1)
    serving = f"python3 -m http.server --bind {ports.HOST} {port}"
    with Ledger(tmp_path / "root") as ledger:
        services = companion(tmp_path, ledger)
        for _ in range(2):
            assert services.start([], needing(tmp_path, serving, port)) == {}
        assert ports.is_open(port)
        assert services.exit_description() is None
    assert not ports.is_open(port)


def test_what_a_service_needs_and_does_not_start_is_named(
    tmp_path: Path, invented_tools: Path, monkeypatch: pytest.MonkeyPatch, ledger: Ledger
) -> None:
    monkeypatch.setattr(companion_services, "_UP_WITHIN", 0.1)
    (port,) = ports.free(1)
    with pytest.raises(PrerequisiteMissing, match="the dependency of shop ended with exit code 1: no image"):
        companion(tmp_path, ledger).start([], needing(tmp_path, "sh -c 'echo no image; exit 1'"))
    with pytest.raises(PrerequisiteMissing, match=f"the dependency of shop did not listen on port {port} after 0 s"):
        companion(tmp_path, ledger).start([], needing(tmp_path, "sleep 60", port))
    # One that starts something in the background.
    companion(tmp_path, ledger).start([], needing(tmp_path, "true"))


def test_trials_of_several_calls_are_one_document() -> None:
    def document(position: int, holds: bool) -> K6Document:
        trial = recorded.trial("virtual", position=position)
        thresholds = {"virtual": {"http_req_duration": {"p(95)<500": holds}}}
        return K6Document(
            version=2,
            experiment="shop",
            run_id="r",
            block=1,
            order=["virtual"],
            agreed=True,
            warmup=[],
            single=[],
            trials=[trial],
            thresholds=thresholds,
        )

    one = k6.joined([document(1, True), document(2, False), document(3, True)])
    assert [trial.position for trial in one.trials] == [1, 2, 3]
    assert one.order == ["virtual"] * 3
    assert one.thresholds == {"virtual": {"http_req_duration": {"p(95)<500": False}}}
