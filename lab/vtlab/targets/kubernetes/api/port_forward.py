"""The way to a Prometheus in the cluster: through a pod of its Service, and through another one when that pod ends.

In a pod of the cluster the Service itself is the way, but to the run's own Prometheus: it admits k6 alone.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

import httpcore
import httpx
import websocket

from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.targets.kubernetes.api import pods
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.connection import NotFound
from vtlab.targets.kubernetes.api.types import Json

#: Seconds until Prometheus must answer, also after its pod was replaced.
PATIENCE = 60.0
#: Channels of the websocket: what the program at the port says, and why the port cannot be reached.
_DATA, _ERROR = 0, 1


def service(remote_write: str) -> tuple[str, str, int]:
    """Splits the URL that k6 pushes to: (service, namespace, port). PrerequisiteMissing when it names no Service."""
    parts = urlsplit(remote_write)
    names = (parts.hostname or "").split(".")
    if len(names) < 2 or not parts.port:
        raise PrerequisiteMissing(
            f"k6 pushes its samples to '{remote_write}', which is not of the form http://service.namespace:port",
            "helm upgrade … --set monitoring.enabled=true, or monitoring.prometheusUrl with such a URL",
        )
    return names[0], names[1], parts.port


class Forward(httpx.BaseTransport):
    """Transport for a client of Prometheus. A request that finds the connection broken connects anew and is retried."""

    def __init__(self, cluster: Cluster, remote_write: str, patience: float | None = None) -> None:
        """``patience``: seconds until Prometheus must answer, ``PATIENCE`` by default."""
        self._service, self._namespace, self._port = service(remote_write)
        self._patience = PATIENCE if patience is None else patience
        # In a pod the Service's name leads there: no right to forward a port is needed.
        is_direct = cluster.inside and not cluster.release.is_own_prometheus(remote_write)
        network = None if is_direct else _Network(cluster, self._service, self._namespace)
        self._pool = httpcore.ConnectionPool(network_backend=network)

    @property
    def url(self) -> str:
        """The URL of Prometheus, valid for this transport only."""
        return f"http://{self._service}.{self._namespace}:{self._port}"

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request. BlockFault when Prometheus stays away, PrerequisiteMissing when the cluster forbids the port
        forward."""
        end = time.monotonic() + self._patience
        while True:
            try:
                response = self._try(request)
                # Started, but still replaying its log.
                if response.status_code != 503:
                    return response
                reason = "status 503"
            except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
                reason = str(error) or type(error).__name__
            if time.monotonic() > end:
                raise BlockFault(
                    f"Prometheus (service {self._service} in namespace {self._namespace}) does not answer: {reason}"
                )
            time.sleep(0.5)

    def close(self) -> None:
        """Closes its connections."""
        self._pool.close()

    def _try(self, request: httpx.Request) -> httpx.Response:
        answer = self._pool.request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            content=request.read(),
            extensions=request.extensions,
        )
        return httpx.Response(answer.status, headers=answer.headers, content=answer.content)


def target_port(service: Json, port: int, pod: Json) -> int:
    """Returns the pod's port behind a port of its Service."""
    targets = [entry.get("targetPort", port) for entry in service["spec"].get("ports", []) if entry["port"] == port]
    target = targets[0] if targets else port
    named = {
        declared.get("name"): declared["containerPort"]
        for container in pod["spec"]["containers"]
        for declared in container.get("ports") or []
    }
    return int(named.get(target, target))


class _Network(httpcore.NetworkBackend):
    """Connections to a pod of the Service; the host in the address does not matter."""

    def __init__(self, cluster: Cluster, service: str, namespace: str) -> None:
        self._cluster, self._service, self._namespace = cluster, service, namespace

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            service = self._cluster.service(self._service, self._namespace)
            selector = ",".join(f"{key}={value}" for key, value in (service["spec"].get("selector") or {}).items())
            if not selector:
                raise httpcore.ConnectError("the Service selects no pods")
            pod = self._only(self._cluster.pods(selector, self._namespace))
            return _Stream(self._cluster.open_port(pods.name(pod), self._namespace, target_port(service, port, pod)))
        except (NotFound, OSError) as error:
            raise httpcore.ConnectError(str(error)) from error

    def _only(self, pods_of_service: Sequence[Json]) -> Json:
        """Returns the ready pod. PrerequisiteMissing where several stay: what is sent comes to one of them."""
        ready = [pod for pod in pods_of_service if pods.ready(pod)]
        if not ready:
            raise httpcore.ConnectError("the Service has no ready pod")
        staying = sorted(pods.name(pod) for pod in ready if not pod["metadata"].get("deletionTimestamp"))
        if len(staying) > 1:
            raise PrerequisiteMissing(
                f"Prometheus (service {self._service} in namespace {self._namespace}) has {len(staying)} pods"
                f" ({', '.join(staying)}): samples that one pod takes are missing in the others",
                f"make a Service for one of them (selector statefulset.kubernetes.io/pod-name: {staying[0]}), and name"
                " it: monitoring.prometheusUrl of the chart, --prometheus for copies, which need none",
            )
        return min(ready, key=lambda pod: (bool(pod["metadata"].get("deletionTimestamp")), pods.name(pod)))


class _Stream(httpcore.NetworkStream):
    """A connection to a port of a pod. A message of the websocket begins with the number of its channel; the first one
    of a channel only names the port."""

    def __init__(self, connection: websocket.WebSocket) -> None:
        self._websocket = connection
        self._channels: set[int] = set()
        self._received = b""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._websocket.settimeout(timeout)
        while not self._received:
            try:
                code, message = self._websocket.recv_data()
            except websocket.WebSocketTimeoutException as error:
                raise httpcore.ReadTimeout(str(error)) from error
            except (websocket.WebSocketException, OSError) as error:
                raise httpcore.ReadError(str(error)) from error
            if code == websocket.ABNF.OPCODE_CLOSE:
                return b""
            channel, text = message[0], message[1:]
            if channel not in self._channels:
                self._channels.add(channel)
            elif channel == _ERROR:
                raise httpcore.ReadError(text.decode(errors="replace"))
            else:
                self._received = text
        chunk, self._received = self._received[:max_bytes], self._received[max_bytes:]
        return chunk

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._websocket.settimeout(timeout)
        try:
            self._websocket.send_binary(bytes([_DATA]) + buffer)
        except websocket.WebSocketTimeoutException as error:
            raise httpcore.WriteTimeout(str(error)) from error
        except (websocket.WebSocketException, OSError) as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        # Without the protocol's closing handshake, which would wait for a pod that is gone.
        self._websocket.shutdown()  # type: ignore[no-untyped-call]

    def get_extra_info(self, info: str) -> bool | None:
        """Tells whether data has come without a request: so httpcore detects a connection that has ended."""
        if info != "is_readable":
            return None
        return self._websocket.sock is None or bool(select.select([self._websocket.sock], [], [], 0)[0])
