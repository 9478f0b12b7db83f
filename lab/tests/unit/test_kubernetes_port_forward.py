"""The way to Prometheus, through pods that the tests play."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, NoReturn

import httpcore
import httpx
import pytest
import websocket

from tests.unit.test_kubernetes_pods import pod
from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.targets.kubernetes.api import port_forward
from vtlab.targets.kubernetes.api.connection import NotFound
from vtlab.targets.kubernetes.api.port_forward import Forward
from vtlab.targets.kubernetes.api.release_ref import Copying, ReleaseRef

Json = dict[str, Any]
READY = {"type": "Ready", "status": "True"}
BINARY, CLOSE = websocket.ABNF.OPCODE_BINARY, websocket.ABNF.OPCODE_CLOSE
#: The first message of each channel names the port.
NAMED = [(BINARY, b"\x00\x82\x23"), (BINARY, b"\x01\x82\x23")]


def answer(status: int, text: bytes = b"") -> list[tuple[int, bytes]]:
    """In two messages."""
    head = b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n" % (status, len(text))
    return [(BINARY, b"\x00" + head), *([(BINARY, b"\x00" + text)] if text else [])]


class Connection:
    """A websocket to a pod's port: its messages, one after another."""

    sock = None

    def __init__(self, *messages: tuple[int, bytes] | Exception) -> None:
        self.messages = list(messages)
        self.sent = b""
        self.open = True

    def settimeout(self, _: float | None) -> None:
        pass

    def send_binary(self, data: bytes) -> None:
        assert data[0] == 0, "on the channel of data"
        self.sent += data[1:]

    def recv_data(self) -> tuple[int, bytes]:
        message = self.messages.pop(0) if self.messages else (CLOSE, b"")
        if isinstance(message, Exception):
            raise message
        return message

    def shutdown(self) -> None:
        self.open = False


class Pods:
    """A cluster with pods behind the Service ``p`` in namespace ``m``, and what happens at each connection."""

    inside = False
    release = ReleaseRef(None, "m", "shop", Copying(prometheus="http://p.m:80"))

    def __init__(self, *connections: Connection | Exception) -> None:
        self.connections = list(connections)
        ending = named("p")
        ending["metadata"]["deletionTimestamp"] = "2026-11-27T00:00:00Z"
        self.pods_of_service = [ending, named("p-0"), named("p-00", ready=False)]
        self.opened: list[tuple[str, str, int]] = []

    def service(self, name: str, namespace: str) -> Json:
        assert (name, namespace) == ("p", "m")
        return {"spec": {"selector": {"app": "p"}, "ports": [{"port": 80, "targetPort": "web"}]}}

    def pods(self, selector: str, namespace: str) -> list[Json]:
        assert (selector, namespace) == ("app=p", "m")
        return self.pods_of_service

    def open_port(self, name: str, namespace: str, port: int) -> Connection:
        self.opened.append((name, namespace, port))
        connection = self.connections.pop(0)
        if isinstance(connection, Exception):
            raise connection
        return connection


def named(name: str, ready: bool = True) -> Json:
    containers = [{"ports": [{"name": "web", "containerPort": 9090}]}]
    return pod(conditions=[READY] if ready else []) | {
        "metadata": {"name": name},
        "spec": {"containers": containers},
    }


@pytest.fixture(autouse=True)
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)


def client(cluster: Pods) -> httpx.Client:
    way = Forward(cluster, "http://p.m:80/api/v1/write")  # type: ignore[arg-type]
    return httpx.Client(base_url=way.url, transport=way, trust_env=False)


def test_two_pods_are_refused_as_the_samples_of_k6_are_in_one_of_them() -> None:
    cluster = Pods()
    cluster.pods_of_service = [named("p-1"), named("p-0")]
    with client(cluster) as asking, pytest.raises(PrerequisiteMissing, match=r"has 2 pods \(p-0, p-1\)") as caught:
        asking.get("/api")
    assert "statefulset.kubernetes.io/pod-name: p-0" in caught.value.fix
    assert cluster.opened == []


def test_a_request_goes_to_the_ports_target_in_the_pod_that_stays() -> None:
    connection = Connection(*NAMED, *answer(200, b"yes"))
    cluster = Pods(connection)
    with client(cluster) as asking:
        assert asking.post("/api", data={"query": "up"}).text == "yes"
    assert cluster.opened == [("p-0", "m", 9090)]
    assert connection.sent.startswith(b"POST /api HTTP/1.1\r\n")
    assert connection.sent.endswith(b"\r\n\r\nquery=up")
    assert not connection.open


@pytest.mark.parametrize(
    "broken",
    [
        Connection(),
        Connection(*NAMED, websocket.WebSocketConnectionClosedException("gone")),
        Connection(*NAMED, (BINARY, b"\x01the pod is gone")),
        Connection(*NAMED, websocket.WebSocketTimeoutException("nothing came")),
        Connection(*NAMED, *answer(503)),
        ConnectionError("status 500 of the API server"),
        NotFound("the pod"),
    ],
)
def test_a_broken_way_is_mended_by_another_connection(broken: Connection | Exception) -> None:
    cluster = Pods(broken, Connection(*NAMED, *answer(200, b"yes")))
    with client(cluster) as asking:
        assert asking.get("/").text == "yes"
    assert len(cluster.opened) == 2
    assert not isinstance(broken, Connection) or not broken.open


def test_a_missing_right_is_said_at_once() -> None:
    refusal = PrerequisiteMissing("the cluster does not let you")
    cluster = Pods(refusal, refusal)
    with client(cluster) as asking, pytest.raises(PrerequisiteMissing, match="does not let you"):
        asking.get("/")
    assert len(cluster.opened) == 1, "not tried again"
    assert len(cluster.opened) == 1


def test_a_prometheus_that_stays_away_is_a_fault_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_forward, "PATIENCE", 0.0)
    away = r"Prometheus \(service p in namespace m\) does not answer: "
    cluster = Pods(Connection(*NAMED, (BINARY, b"\x01no such port")))
    with client(cluster) as asking, pytest.raises(BlockFault, match=away + "no such port"):
        asking.get("/")
    cluster = Pods()
    cluster.pods_of_service = [named("p-0", ready=False)]
    with client(cluster) as asking, pytest.raises(BlockFault, match=away + "the Service has no ready pod"):
        asking.get("/")
    assert cluster.opened == []


@pytest.mark.parametrize(
    ("ports", "port"),
    [
        ([{"port": 80, "targetPort": "web"}], 9090),
        ([{"port": 80, "targetPort": 8000}], 8000),
        ([{"port": 80}], 80),
        ([{"port": 81, "targetPort": "web"}], 80),
    ],
)
def test_the_port_behind_a_port_of_a_service(ports: list[Json], port: int) -> None:
    assert port_forward.target_port({"spec": {"ports": ports}}, 80, named("p-0")) == port


@pytest.mark.parametrize("url", ["", "http://prometheus:9090/api/v1/write", "http://10.0.0.1/write"])
def test_prometheus_must_be_a_service(url: str) -> None:
    with pytest.raises(PrerequisiteMissing, match="not of the form http://service"):
        port_forward.service(url)


def test_the_service_is_in_the_url() -> None:
    assert port_forward.service("http://prometheus-operated.monitoring:9090/x") == (
        "prometheus-operated",
        "monitoring",
        9090,
    )
    assert port_forward.service("http://p.m.svc.cluster.local:80/x") == ("p", "m", 80)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where a process in a pod connects to; it is refused there."""
    asked: list[str] = []

    def refuse(_: object, host: str, port: int, *__: object) -> NoReturn:
        asked.append(f"{host}:{port}")
        raise httpcore.ConnectError("refused")

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", refuse)
    monkeypatch.setattr(port_forward, "PATIENCE", 0.0)
    return asked


def addresses(*found: str) -> Callable[..., list[tuple[object, ...]]]:
    """DNS with those addresses of a Service, one for each kind of socket."""

    def look_up(_: str, port: int) -> list[tuple[object, ...]]:
        family = {address: socket.AF_INET6 if ":" in address else socket.AF_INET for address in found}
        return [(family[a], kind, 0, "", (a, port)) for a in found for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]

    return look_up


def test_from_a_pod_the_service_is_asked_itself(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No port of a pod is forwarded, for which there is no right. A pod may have an address of each family."""
    cluster = Pods()
    cluster.inside = True
    monkeypatch.setattr(socket, "getaddrinfo", addresses("198.19.0.7", "fd00::7"))
    with client(cluster) as asking, pytest.raises(BlockFault, match=r"service p in namespace m\) .*: refused"):
        asking.get("/")
    assert asked == ["p.m:80"]
    assert cluster.opened == []


def test_from_a_pod_two_pods_are_refused_by_their_addresses(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator's Service has no address, so its name has those of all pods of Prometheus."""
    cluster = Pods()
    cluster.inside = True
    monkeypatch.setattr(socket, "getaddrinfo", addresses("198.19.0.8", "198.19.0.7"))
    several = r"has several pods \(198\.19\.0\.7, 198\.19\.0\.8\)"
    with client(cluster) as asking, pytest.raises(PrerequisiteMissing, match=several) as caught:
        asking.get("/")
    assert "statefulset.kubernetes.io/pod-name: …" in caught.value.fix
    assert asked == []


def test_from_a_pod_a_service_without_a_name_in_dns_does_not_answer(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Pods()
    cluster.inside = True

    def unknown(*_: object) -> NoReturn:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with client(cluster) as asking, pytest.raises(BlockFault, match="does not answer: Name or service not known"):
        asking.get("/")
    assert asked == []


def test_from_a_pod_the_port_of_the_runs_own_prometheus_is_forwarded() -> None:
    """Its network policy admits k6 alone."""
    cluster = Pods(Connection(*NAMED, *answer(200, b"yes")))
    cluster.inside = True
    cluster.release = ReleaseRef(None, "m", "shop", Copying())
    cluster.service = lambda *_: {"spec": {"selector": {"app": "p"}, "ports": [{"port": 9090}]}}  # type: ignore[method-assign]
    way = Forward(cluster, cluster.release.remote_write)  # type: ignore[arg-type]
    with httpx.Client(base_url=way.url, transport=way, trust_env=False) as asking:
        assert asking.get("/").text == "yes"
    assert way.url == "http://prometheus-shop.m:9090"
    assert cluster.opened == [("p-0", "m", 9090)]


def test_a_prometheus_that_may_not_be_there_is_not_waited_for() -> None:
    cluster = Pods()
    cluster.pods_of_service = []
    way = Forward(cluster, "http://p.m:80/api/v1/write", patience=0.0)  # type: ignore[arg-type]
    with httpx.Client(base_url=way.url, transport=way) as asking, pytest.raises(BlockFault, match="no ready pod"):
        asking.get("/")
