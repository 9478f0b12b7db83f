"""A connection to the API server: how it is configured, and calls that are retried while the server is away."""

from __future__ import annotations

import functools
import os
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import websocket
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.incluster_config import SERVICE_HOST_ENV_NAME
from kubernetes.config.kube_config import KUBE_CONFIG_DEFAULT_LOCATION
from kubernetes.stream import ws_client
from urllib3.exceptions import HTTPError

from vtlab.errors import BadInput, BlockFault, PrerequisiteMissing
from vtlab.host.tools import in_checkout
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.types import Json

#: Seconds for which calls are repeated while the API server does not answer.
PATIENCE = 60.0
#: The same once the API server has been away for longer.
_PATIENCE_AFTER_FAILURE = 2.0
#: Seconds to connect, and to wait for an answer.
_TIMEOUT = (5, 30)
#: Statuses that pass: the API server, or a proxy before it, is not well.
_PASSING = (0, 429, 500, 502, 503, 504)
_FORBIDDEN = (401, 403)


class NotFound(BlockFault):
    """The object does not exist. In the middle of a block that is a fault of the block."""


class AlreadyExists(Exception):
    """An object of that name exists."""


class Connection:
    """A connection to the API server, for one namespace. Every call raises PrerequisiteMissing when the server stays
    away for ``PATIENCE`` seconds or refuses for lack of a right."""

    def __init__(self, ref: ReleaseRef) -> None:
        """Raises BadInput for an unknown context, PrerequisiteMissing without a kubeconfig."""
        self.release = ref
        #: Seconds for which calls are repeated.
        self.patience = PATIENCE
        #: Whether this process is a pod of the cluster.
        self.inside = _is_inside(ref)
        settings = _configuration(ref, self.inside)
        self.server = str(settings.host)
        self._api = client.ApiClient(settings)
        self._api.rest_client.pool_manager.connection_pool_kw["ssl_context"] = _ssl_context(settings)

    def open_port(self, pod: str, namespace: str, port: int) -> websocket.WebSocket:
        """Opens a websocket to a port of a pod. OSError when that fails for now."""
        settings = self._api.configuration
        tls = {
            "cert_reqs": ssl.CERT_REQUIRED if settings.verify_ssl else ssl.CERT_NONE,
            "ca_certs": settings.ssl_ca_cert,
            "certfile": settings.cert_file,
            "keyfile": settings.key_file,
            **({"server_hostname": settings.tls_server_name} if settings.tls_server_name else {}),
        }
        token = settings.get_api_key_with_prefix("BearerToken", "authorization")
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/portforward?ports={port}"
        url = self.server.replace("http", "ws", 1) + path
        try:
            return websocket.create_connection(
                url,
                timeout=_TIMEOUT[1],
                sslopt=tls,
                header=[f"authorization: {token}"] if token else [],
                subprotocols=[ws_client.V4_CHANNEL_PROTOCOL],
                **ws_client.websocket_proxycare({}, settings, url, None),
            )
        except websocket.WebSocketBadStatusException as error:
            if error.status_code in _FORBIDDEN:
                raise self._refused(
                    "get and create pods/portforward", ApiException(error.status_code), namespace
                ) from None
            raise ConnectionError(f"status {error.status_code} of the API server") from error
        except websocket.WebSocketException as error:
            raise ConnectionError(str(error)) from error

    def close(self) -> None:
        """Closes its connections."""
        self._api.close()

    @property
    def _namespace(self) -> str:
        return self.release.namespace

    def _list(self, resource: str, call: Callable[..., Any], namespace: str, **options: Any) -> list[Json]:
        return list(self._call(f"list {resource}", call, namespace, place=namespace, **options)["items"])

    def _call(
        self, right: str, call: Callable[..., Any], *arguments: Any, place: str | None = None, **options: Any
    ) -> Json:
        """Returns the answer as JSON. ``place``: the namespace for messages, by default the release's."""
        call = functools.partial(call, *arguments, **options)
        answer: Json = self._api.sanitize_for_serialization(self._retried(right, place or self._namespace, call))
        return answer

    def _retried(self, right: str, namespace: str, call: Callable[..., Any]) -> Any:
        end = time.monotonic() + self.patience
        while True:
            try:
                answer = call(_request_timeout=_TIMEOUT)
                self.patience = PATIENCE
                return answer
            except HTTPError as error:
                reason = str(error.args[0]) if error.args else type(error).__name__
            except ApiException as error:
                # Somebody else changed the same object in the same moment.
                conflict = error.status == 409 and not right.startswith("create ")
                if error.status not in _PASSING and not conflict:
                    raise self._refused(right, error, namespace) from None
                reason = f"{error.status} {error.reason}"
            if time.monotonic() > end:
                self.patience = _PATIENCE_AFTER_FAILURE
                raise PrerequisiteMissing(
                    f"the API server at {self.server} does not answer ({reason})",
                    f"check that '{self.release.kubectl('get pods')}' works",
                )
            time.sleep(0.5)

    def _refused(self, right: str, error: ApiException, namespace: str) -> Exception:
        if error.status == 404:
            return NotFound(f"the object no longer exists in the cluster ({right} in namespace {namespace})")
        if error.status == 409:
            return AlreadyExists(right)
        if error.status in _FORBIDDEN:
            option, roles = (
                (" --deployment NAME", "docs/how-to/own-service-on-kubernetes.md has Roles with all of them")
                if self.release.copying
                else ("", "the chart's Role has all of them")
            )
            return PrerequisiteMissing(
                f"the cluster does not let you {right} in namespace {namespace}",
                f"vtlab doctor --target kubernetes{option} lists every missing right; {roles}",
            )
        return PrerequisiteMissing(
            f"the cluster refused to {right}: {error.status} {error.reason}: {error.body}",
            "fix the cause in the message, or ask the administrator of the cluster",
        )


def _is_inside(ref: ReleaseRef) -> bool:
    """Tells whether this process is a pod of the cluster that is meant. As for kubectl, a named cluster goes first."""
    names = ref.context or os.environ.get("KUBECONFIG") or Path(KUBE_CONFIG_DEFAULT_LOCATION).expanduser().is_file()
    return not names and SERVICE_HOST_ENV_NAME in os.environ


def _configuration(ref: ReleaseRef, is_inside: bool) -> client.Configuration:
    """Reads the kubeconfig, or the service account of this pod."""
    try:
        settings = client.Configuration()
        settings.retries = False
        if is_inside:
            config.load_incluster_config(client_configuration=settings)
        else:
            config.load_kube_config(context=ref.context, client_configuration=settings, persist_config=False)
    except ConfigException as error:
        if ref.context:
            raise BadInput(f"context '{ref.context}': {error}", "kubectl config get-contexts lists them") from None
        raise PrerequisiteMissing(
            f"no cluster is configured: {error}",
            in_checkout("create a cluster (make up), or ") + "set KUBECONFIG to the configuration of your cluster",
        ) from None
    return settings


def _ssl_context(settings: client.Configuration) -> ssl.SSLContext:
    """Returns a context without the strict checks of Python 3.13: kubectl makes none, and the CAs of many clusters do
    not declare their key usage. urllib3 adds the CA and the client's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.verify_ssl
    if not settings.ssl_ca_cert:
        context.load_default_certs()
    return context
