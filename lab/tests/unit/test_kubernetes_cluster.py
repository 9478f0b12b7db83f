"""The calls of the Kubernetes API, before an API server that the tests play."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import MaxRetryError

from vtlab.errors import BadInput, LabError, PrerequisiteMissing
from vtlab.targets.kubernetes.api import connection
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.release_ref import Copying, ReleaseRef

RELEASE = ReleaseRef(None, "ns", "lab")

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: me, user: {token: abc}}]
"""


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Cluster]:
    """Cluster's own code, before an API server that the test plays."""
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG, encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(path))
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(path))
    return lambda: Cluster(RELEASE)


def played(answers: list[Any]) -> Callable[..., Any]:
    """Gives one after another, raising those that are exceptions."""

    def answer(*_: Any, **__: Any) -> Any:
        response = answers.pop(0)
        if isinstance(response, Exception):
            raise response
        return response

    return answer


def test_an_absent_api_server_is_waited_for(real: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = [MaxRetryError(None, "/", None), ApiException(status=503), client.V1PodList(items=[])]  # type: ignore[arg-type]
    monkeypatch.setattr(client.CoreV1Api, "list_namespaced_pod", played(answers))
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert real().pods("a=b") == []
    assert answers == []


def test_an_api_server_that_stays_away_is_said(real: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.1)
    with pytest.raises(PrerequisiteMissing, match=r"API server at http://127\.0\.0\.1:9 does not answer"):
        real().pods("a=b")


@pytest.mark.parametrize(
    "call",
    [
        lambda cluster: cluster.deployment("shop"),
        lambda cluster: cluster.service("prometheus", "monitoring"),
        lambda cluster: cluster.pods("a=b", "monitoring"),
        lambda cluster: cluster.cron_jobs("a=b"),
        lambda cluster: cluster.jobs("a=b"),
        lambda cluster: cluster.services(),
        lambda cluster: cluster.replica_sets(),
        lambda cluster: cluster.disruption_budgets(),
        lambda cluster: cluster.network_policies(),
        lambda cluster: cluster.config_maps("a=b"),
        lambda cluster: cluster.annotate_pods("shop", "a", "b"),
        lambda cluster: cluster.resize("shop-1", "web", 1.5),
        lambda cluster: cluster.delete_job("k6"),
        lambda cluster: cluster.delete_config_map("run"),
        lambda cluster: cluster.fill_config_map("run", {"a": "b", "c": None}),
        lambda cluster: cluster.log("k6-1", "k6"),
        lambda cluster: cluster.last_warning("uid"),
        lambda cluster: cluster.version(),
    ],
)
def test_every_call_has_arguments_that_the_client_takes(
    real: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch, call: Callable[[Cluster], object]
) -> None:
    """The client refuses wrong arguments before it asks the server, which is away here."""
    monkeypatch.setattr(connection, "PATIENCE", 0.0)
    with pytest.raises(PrerequisiteMissing):
        call(real())


def test_a_conflict_is_tried_again(real: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = [ApiException(status=409), client.V1PodList(items=[])]
    monkeypatch.setattr(client.AppsV1Api, "patch_namespaced_deployment", played(answers))
    monkeypatch.setattr("time.sleep", lambda _: None)
    real().annotate_pods("lab-virtual", "a", "b")
    assert answers == []


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (403, PrerequisiteMissing, "does not let you list pods in namespace ns"),
        (422, PrerequisiteMissing, "refused to"),
    ],
)
def test_a_refusal_names_the_right(
    real: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch, status: int, kind: type[LabError], message: str
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise ApiException(status=status)

    monkeypatch.setattr(client.CoreV1Api, "list_namespaced_pod", refuse)
    with pytest.raises(kind, match=message):
        real().pods("a=b")


@pytest.mark.parametrize(
    ("version", "kind", "api_class", "method"),
    [
        ("apps/v1", "Deployment", client.AppsV1Api, "create_namespaced_deployment"),
        ("v1", "Service", client.CoreV1Api, "create_namespaced_service"),
        ("v1", "Secret", client.CoreV1Api, "create_namespaced_secret"),
        ("networking.k8s.io/v1", "NetworkPolicy", client.NetworkingV1Api, "create_namespaced_network_policy"),
        ("monitoring.coreos.com/v1", "ServiceMonitor", client.CustomObjectsApi, "create_namespaced_custom_object"),
    ],
)
def test_an_object_is_created_in_the_namespace_unless_it_is_there(
    real: Callable[[], Cluster],
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    kind: str,
    api_class: type[Any],
    method: str,
) -> None:
    calls: list[tuple[Any, ...]] = []

    def create(_: Any, *arguments: Any, **__: Any) -> Any:
        calls.append(arguments)
        if len(calls) > 1:
            raise ApiException(status=409)
        return {}

    monkeypatch.setattr(api_class, method, create)
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}}
    real().create(body)
    real().create(body)
    custom = ("monitoring.coreos.com", "v1", "ns", "servicemonitors", body)
    assert calls == [custom if kind == "ServiceMonitor" else ("ns", body)] * 2


def test_a_cluster_without_service_monitors_is_said(
    real: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = played([ApiException(status=404)])
    monkeypatch.setattr(client.CustomObjectsApi, "create_namespaced_custom_object", answer)
    body = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor"}
    with pytest.raises(PrerequisiteMissing, match="does not accept a ServiceMonitor in namespace ns") as missing:
        real().create(body)
    assert "Prometheus operator" in missing.value.fix


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process is in a pod, whose service account's token is in the file, and without a kubeconfig."""
    token, certificate = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("of-the-pod", encoding="utf-8")
    certificate.write_text("a certificate", encoding="utf-8")
    monkeypatch.setattr("kubernetes.config.incluster_config.SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr("kubernetes.config.incluster_config.SERVICE_CERT_FILENAME", str(certificate))
    monkeypatch.setattr(connection, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    # The user of this machine may have one.
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(token.parent / "none"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return token


def test_the_current_context_is_recorded_by_its_name(real: Callable[[], Cluster]) -> None:
    assert RELEASE.with_context() == ReleaseRef("here", "ns", "lab")
    assert ReleaseRef("there", "ns", "lab").with_context().context == "there"
    assert ReleaseRef.from_manifest(RELEASE.with_context().document()) == RELEASE.with_context()
    assert RELEASE.with_context().helm_upgrade("--set a=b") == (
        "helm upgrade lab helm --kube-context here -n ns --reset-then-reuse-values --set a=b"
    )


def test_in_a_pod_the_service_account_is_the_user(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headers: list[Any] = []

    def asked(_: object, method: str, url: str, headers_: dict[str, str], *__: Any, **___: Any) -> None:
        headers.append((url, headers_.get("authorization")))
        raise ApiException(status=403)

    monkeypatch.setattr(client.ApiClient, "call_api", asked)
    cluster = Cluster(RELEASE)
    assert cluster.inside
    with pytest.raises(PrerequisiteMissing, match="does not let you list pods"):
        cluster.pods("a=b")
    assert headers == [("https://10.0.0.1:443/api/v1/namespaces/ns/pods?labelSelector=a%3Db", "bearer of-the-pod")]
    assert RELEASE.with_context() == RELEASE, "there is no context to name"


@pytest.mark.parametrize("named", ["context", "variable", "file"])
def test_in_a_pod_a_kubeconfig_comes_first(
    pod: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG, encoding="utf-8")
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(kubeconfig))
    if named == "variable":
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    elif named == "file":
        monkeypatch.setattr(connection, "KUBE_CONFIG_DEFAULT_LOCATION", str(kubeconfig))
    cluster = Cluster(ReleaseRef("here" if named == "context" else None, "ns", "lab"))
    assert (cluster.inside, cluster.server) == (False, "http://127.0.0.1:9")


def test_an_unknown_context_is_bad_input(real: Callable[[], Cluster]) -> None:
    with pytest.raises(BadInput, match="context 'nowhere'"):
        Cluster(ReleaseRef("nowhere", "ns", "lab"))


def test_no_kubeconfig_at_all_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    with pytest.raises(PrerequisiteMissing, match="no cluster is configured"):
        Cluster(RELEASE)


@contextlib.contextmanager
def upgrading(status: str) -> Iterator[tuple[int, list[str]]]:
    """A server that answers one request for a websocket; its port, and the lines of the request."""
    lines: list[str] = []

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            lines.extend(connection.recv(65_536).decode().split("\r\n"))
            key = next(line.split(": ")[1] for line in lines if line.startswith("Sec-WebSocket-Key"))
            accept = base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest())
            head = f"HTTP/1.1 {status}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 0\r\n"
            head += "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n"
            connection.sendall(f"{head}Sec-WebSocket-Accept: {accept.decode()}\r\n\r\n".encode() + b"\x82\x02\x00a")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1], lines
        thread.join(10)


def at(port: int, real: Callable[[], Cluster], tmp_path: Path) -> Cluster:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.replace("127.0.0.1:9", f"127.0.0.1:{port}"), encoding="utf-8")
    return real()


def test_a_port_of_a_pod_is_a_websocket(real: Callable[[], Cluster], tmp_path: Path) -> None:
    with upgrading("101 Switching Protocols") as (port, lines):
        opened = at(port, real, tmp_path).open_port("p-0", "m", 9090)
        assert opened.recv_data() == (2, b"\x00a")
        opened.shutdown()  # type: ignore[no-untyped-call]
    assert lines[0] == "GET /api/v1/namespaces/m/pods/p-0/portforward?ports=9090 HTTP/1.1"
    assert "authorization: Bearer abc" in lines
    assert "Sec-WebSocket-Protocol: v4.channel.k8s.io" in lines


def test_a_refused_websocket_names_the_right(real: Callable[[], Cluster], tmp_path: Path) -> None:
    message = "does not let you get and create pods/portforward in namespace m"
    with upgrading("403 Forbidden") as (port, _), pytest.raises(PrerequisiteMissing, match=message) as caught:
        at(port, real, tmp_path).open_port("p-0", "m", 9090)
    assert "vtlab doctor --target kubernetes" in caught.value.fix


@pytest.mark.usefixtures("real")
def test_a_refusal_of_copies_names_their_doctor_and_their_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client.CoreV1Api, "list_namespaced_service", played([ApiException(status=403)]))
    of_copies = Cluster(
        ReleaseRef(None, "ns", "shop", Copying(prometheus="http://p.m:9090", agent_image="agent:1", k6_image="k6:1"))
    )
    with pytest.raises(PrerequisiteMissing, match="does not let you list services in namespace ns") as caught:
        of_copies.services()
    assert "--deployment NAME" in caught.value.fix
    assert "own-service-on-kubernetes.md" in caught.value.fix


def test_a_websocket_that_fails_for_now_may_be_tried_again(real: Callable[[], Cluster], tmp_path: Path) -> None:
    with upgrading("502 Bad Gateway") as (port, _), pytest.raises(ConnectionError, match="status 502"):
        at(port, real, tmp_path).open_port("p-0", "m", 9090)
    with pytest.raises(OSError, match="refused"):
        real().open_port("p-0", "m", 9090)


def test_a_certificate_that_kubectl_takes_is_no_obstacle(real: Callable[[], Cluster]) -> None:
    """From Python 3.13 on a CA that does not say its key usage is refused by default, also by urllib3."""
    context = real()._api.rest_client.pool_manager.connection_pool_kw["ssl_context"]
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
