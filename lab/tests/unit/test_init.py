"""``vtlab init`` of a service that runs: where it is asked for its requests. (A document at hand: test_endpoints.)"""

from __future__ import annotations

import http.server
import io
import json
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from tests.support import jars
from tests.support.cli_call import Called, call
from tests.support.film import terminal
from tests.support.serving import serving
from tests.unit.test_endpoints import MAPPINGS, OPENAPI
from vtlab.commands import init
from vtlab.errors import BlockFault
from vtlab.host import agent, ports
from vtlab.host import server as server_of
from vtlab.host.tools import Tool
from vtlab.model import experiment_files
from vtlab.model.experiment import Experiment
from vtlab.model.service import Service
from vtlab.services import process
from vtlab.services.companions import mariadb, postgres
from vtlab.services.companions.companion_services import CompanionServices

pytestmark = pytest.mark.usefixtures("invented_tools")

#: Of the OpenAPI document, those that need no value.
READY = ["/petclinic/api/owners/7", "/petclinic/api/search?q=a+b&sort=name", "/petclinic/api/vets"]
ACTUATOR = {"org.springframework.boot:spring-boot-actuator": "3.5.0"}


class Documents(http.server.BaseHTTPRequestHandler):
    """Answers with a JSON document by path, and notes what it was asked for."""

    known: ClassVar[dict[str, Any]] = {}
    #: Statuses of other paths; 404 where there is none.
    statuses: ClassVar[dict[str, int]] = {}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = json.dumps(self.known.get(self.path)).encode()
        self.send_response(200 if self.path in self.known else self.statuses.get(self.path, 404))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    Documents.known.clear()
    Documents.statuses.clear()
    Documents.asked.clear()
    with serving(http.server.ThreadingHTTPServer((ports.HOST, 0), Documents)) as port:
        yield port


def initialised(
    jar: Path, port: int, monkeypatch: pytest.MonkeyPatch, fault: BlockFault | None = None, options: Sequence[str] = ()
) -> tuple[Called, process.Launch]:
    """The call, and how it would have started the service: what answers there is on ``port``."""
    launches: list[process.Launch] = []

    def ready() -> bool:
        if fault:
            raise fault
        return True

    def started(variant: str, launch: process.Launch, cgroup: None) -> SimpleNamespace:
        launches.append(launch)
        return SimpleNamespace(is_tls=False, server=SimpleNamespace(begin=lambda: None, ready=ready, port=port))

    monkeypatch.setattr(agent, "find", lambda: Path("/agent.jar"))
    monkeypatch.setattr(process, "VariantProcess", started)
    done = call("init", jar, "-o", jar.parent / "shop.yaml", "--results", jar.parent / "results", *options)
    return done, launches[0]


def written(folder: Path) -> Experiment:
    """Returns the experiment of the file that was written."""
    return experiment_files.load(str(folder / "shop.yaml"), folder)


def requests(folder: Path) -> list[str]:
    return [request.line for request in written(folder).requests]


def test_the_openapi_document_of_the_service_tells_its_requests(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Documents.known["/v3/api-docs"] = OPENAPI
    Documents.statuses |= dict.fromkeys(READY, 200)
    done, _ = initialised(jars.service(tmp_path / "shop.jar"), port, monkeypatch)
    assert done.code == 0, done
    assert "3 requests by /v3/api-docs" in done.out
    assert requests(tmp_path) == [f"GET {path}" for path in READY]
    assert Documents.asked == ["/v3/api-docs", *READY], "each once; those without an example not"


def test_on_a_terminal_a_line_says_which_request_is_tried(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Documents.known["/v3/api-docs"] = OPENAPI
    Documents.statuses |= dict.fromkeys(READY, 200)
    screen = terminal(80)
    monkeypatch.setattr(init, "console", screen)
    initialised(jars.service(tmp_path / "shop.jar"), port, monkeypatch)
    assert isinstance(screen.file, io.StringIO)
    written = screen.file.getvalue()
    assert "starting shop.jar" in written
    numbers = list(dict.fromkeys(re.findall(r"sending request (\d+) of (\d+): GET /petclinic", written)))
    assert numbers == [(str(n), numbers[0][1]) for n in range(1, int(numbers[0][1]) + 1)]


@pytest.mark.parametrize(
    ("is_named", "status", "words"),
    [
        (False, 500, "answered 500"),
        (True, 500, "answered 500"),
        (False, 302, "answered 302, a redirect, as a missing login causes"),
    ],
)
def test_requests_that_the_service_refuses_are_comments_and_said(
    is_named: bool, status: int, words: str, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a document that is named. What may lack a login alone stays."""
    Documents.known["/v3/api-docs"] = OPENAPI
    owner, search, vets = READY
    Documents.statuses |= {owner: 401, search: status, vets: 200}
    (tmp_path / "api.json").write_text(json.dumps(OPENAPI), encoding="utf-8")
    options = ["--openapi", str(tmp_path / "api.json")] if is_named else []
    done, _ = initialised(jars.service(tmp_path / "shop.jar"), port, monkeypatch, options=options)
    assert done.code == 0, done
    assert requests(tmp_path) == [f"GET {owner}", f"GET {vets}"]
    text = (tmp_path / "shop.yaml").read_text(encoding="utf-8")
    assert f'  # - "GET {search}"  # {words}\n' in text
    assert f'  - "GET {owner}"  # answered 401: it may need a login\n' in text
    assert f"GET {search} {words}: left out, as a comment" in done.out
    assert f"GET {owner} answered 401: it may need a login" in done.out
    assert "2 requests by" in done.out


def test_a_document_elsewhere_is_asked_for_there(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Documents.known["/shop/docs"] = OPENAPI
    settings = {"application.yml": "server.servlet.context-path: /shop\nspringdoc: {api-docs: {path: /docs}}\n"}
    done, _ = initialised(jars.service(tmp_path / "shop.jar", files=settings), port, monkeypatch)
    assert (done.code, Documents.asked[0]) == (0, "/shop/docs"), done
    assert "/v3/api-docs" not in Documents.asked


def test_without_one_its_mappings_do_which_are_exposed_for_that(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Documents.known |= {"/shop/actuator/mappings": MAPPINGS, "/shop/home": "hello"}
    settings = {"application.properties": "server.servlet.context-path=/shop\n"}
    jar = jars.service(tmp_path / "shop.jar", ACTUATOR, files=settings)
    done, launch = initialised(jar, port, monkeypatch)
    assert done.code == 0, done
    assert Documents.asked == ["/shop/v3/api-docs", "/shop/actuator/mappings", "/shop/home"]
    assert all(line.startswith("GET /shop/") for line in requests(tmp_path))
    environment = launch.environment("platform", 5, 6)
    assert environment["MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE"] == "health,mappings"


def test_a_service_that_tells_nothing_gets_a_file_to_fill_in(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, _ = initialised(jars.service(tmp_path / "shop.jar"), port, monkeypatch)
    assert done.code == 0, done
    assert Documents.asked == ["/v3/api-docs", "/actuator/mappings"]
    file = written(tmp_path)
    assert isinstance(file.service, Service)
    assert (file.service.jar, file.is_searched) == ("shop.jar", True)


def test_a_service_with_a_database_is_asked_with_one_and_its_file_has_it(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = {"org.mariadb.jdbc:mariadb-java-client": "3.5.1"}
    address = {"SPRING_DATASOURCE_URL": "jdbc:mariadb://127.0.0.1:1/lab_platform"}
    monkeypatch.setattr(CompanionServices, "databases", lambda _, needs, service, names: dict.fromkeys(names, address))
    monkeypatch.setattr(mariadb, "find_or_fetch", lambda: Tool(tmp_path, "11.4.5-MariaDB"))
    monkeypatch.setenv("SHOP_MODE", "x")
    options = ["--database", "--env", "SHOP_MODE"]
    done, launch = initialised(jars.service(tmp_path / "shop.jar", driver), port, monkeypatch, options=options)
    assert done.code == 0, done
    assert launch.environment("platform", 5, 6).items() >= {**address, "SHOP_MODE": "x"}.items()
    file = written(tmp_path)
    assert isinstance(file.service, Service)
    assert (file.needs, file.service.env) == (["database"], ["SHOP_MODE"])


def test_a_service_with_a_postgresql_has_it_in_its_file(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = {"org.postgresql:postgresql": "42.7.8"}
    monkeypatch.setattr(CompanionServices, "databases", lambda _, needs, service, names: {name: {} for name in names})
    monkeypatch.setattr(postgres, "find_or_fetch", lambda: Tool(tmp_path, "17.6"))
    jar = jars.service(tmp_path / "shop.jar", driver)
    done, _ = initialised(jar, port, monkeypatch, options=["--database", "postgres"])
    assert done.code == 0, done
    assert written(tmp_path).needs == ["postgres"]


def test_a_service_that_does_not_start_is_named_and_leaves_no_file(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = BlockFault("platform: the JVM ended with exit code 1: no database")
    done, _ = initialised(jars.service(tmp_path / "shop.jar"), port, monkeypatch, fault)
    assert (done.code, "exit code 1: no database" in done.err, "--openapi FILE" in done.err) == (3, True, True), done
    assert not (tmp_path / "shop.yaml").exists()
    assert list((tmp_path / "results" / ".processes").iterdir()) == []


def test_a_body_without_an_end_and_a_path_that_is_no_ascii_are_tried() -> None:
    """Of a stream only the status is read."""

    class Stream(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/stra%C3%9Fe?q=a+b" else 404)
            self.end_headers()
            self.wfile.write(b"data: 1\n\n")
            ended.wait(60)

        def log_message(self, format: str, *args: object) -> None:
            pass

    ended = threading.Event()
    with serving(http.server.ThreadingHTTPServer((ports.HOST, 0), Stream)) as port:
        try:
            assert server_of.status(port, "/straße?q=a+b") == 200
        finally:
            ended.set()


def test_with_a_document_at_hand_a_service_that_does_not_start_gets_its_file(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "api.json").write_text(json.dumps(OPENAPI), encoding="utf-8")
    fault = BlockFault("platform: the JVM ended with exit code 1: no database")
    options = ["--openapi", str(tmp_path / "api.json")]
    done, _ = initialised(jars.service(tmp_path / "shop.jar"), port, monkeypatch, fault, options)
    assert done.code == 0, done
    assert "no request was tried: platform: the JVM ended with exit code 1: no database" in done.out
    assert requests(tmp_path) == [f"GET {path}" for path in READY]
