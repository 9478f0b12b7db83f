"""The few calls of the Kubernetes API that a run needs, as JSON, retried while the API server is away."""

from __future__ import annotations

import contextlib
import functools
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
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

Json = dict[str, Any]

#: Seconds for which calls are repeated while the API server does not answer.
PATIENCE = 60.0
#: Seconds to connect, and to wait for an answer.
_TIMEOUT = (5, 30)
#: The API server, or what stands before it, is not well: try again.
_PASSING = (0, 429, 500, 502, 503, 504)
_FORBIDDEN = (401, 403)


@dataclass(frozen=True)
class Copying:
    """What copies of a service need beside what is in its namespace."""

    #: URL of the cluster's Prometheus, as a pod of the cluster reaches it.
    prometheus: str
    #: Has the agent's jar, for an init container.
    agent_image: str
    k6_image: str
    #: Labels of the ServiceMonitor, by which some Prometheus select them: ``release=stack,team=a``.
    monitor_labels: str = ""

    @property
    def remote_write(self) -> str:
        """Where k6 sends its samples to."""
        return self.prometheus.rstrip("/") + "/api/v1/write"


@dataclass(frozen=True)
class ReleaseRef:
    """The release of the chart that a run measures, or what stands for one: copies of a service."""

    #: Of the kubeconfig; None is its current one.
    context: str | None
    namespace: str
    #: Of the release; of copies what their names begin with.
    name: str
    #: None for a release of the chart.
    copying: Copying | None = None

    def document(self) -> dict[str, str]:
        """For the manifest."""
        document = {"namespace": self.namespace, "release": self.name}
        if self.context:
            document["context"] = self.context
        return document | (asdict(self.copying) if self.copying else {})

    @staticmethod
    def from_manifest(document: dict[str, str]) -> ReleaseRef:
        """The release that a manifest names."""
        names = {field.name for field in fields(Copying)}
        copying = {name: text for name, text in document.items() if name in names}
        return ReleaseRef(
            document.get("context"),
            document["namespace"],
            document["release"],
            Copying(**copying) if copying else None,
        )

    def with_context(self) -> ReleaseRef:
        """With the name of the current context where no context is named: a run that is resumed later must not find
        another release. Unchanged where the kubeconfig cannot be read: ``Cluster`` says why."""
        if self.context:
            return self
        try:
            _, current = config.list_kube_config_contexts()
        except ConfigException:
            return self
        return replace(self, context=current["name"])

    @property
    def title(self) -> str:
        """What is measured, for messages."""
        return "copies of a service" if self.copying else f"release {self.name}"

    def deployment(self, variant: str) -> str:
        """The name of a variant's Deployment, and of its Service."""
        return f"{self.name}-{variant}"

    def selector(self, component: str = "") -> str:
        """The labels of every object of the release, or of one component."""
        release = f"app.kubernetes.io/instance={self.name}"
        return f"{release},app.kubernetes.io/component={component}" if component else release

    def kubectl(self, *words: str) -> str:
        """A kubectl command line for messages."""
        context = f"--context {self.context} " if self.context else ""
        return f"kubectl {context}-n {self.namespace} {' '.join(words)}"

    def helm_upgrade(self, settings: str = "") -> str:
        """A helm command line for messages. (With --reuse-values a null would change nothing.)"""
        context = f" --kube-context {self.context}" if self.context else ""
        command = f"helm upgrade {self.name} helm{context} -n {self.namespace}"
        return f"{command} --reset-then-reuse-values {settings}".rstrip()


@dataclass(frozen=True)
class Right:
    """A verb on a resource (``group/resource``, the core group is empty) that a run needs."""

    verb: str
    resource: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource.removeprefix('/')}"


def _rights(verbs_of: Mapping[str, str]) -> tuple[Right, ...]:
    return tuple(Right(verb, resource) for resource, verbs in verbs_of.items() for verb in verbs.split())


_OF_EVERY_RUN = {
    "batch/jobs": "create list delete",
    "/configmaps": "create list delete",
    "/events": "list",
    "/pods": "list",
    "/pods/log": "get",
}
#: In the lab's namespace: the same as in the chart's Role (a test of the chart compares them).
RIGHTS = _rights({"apps/deployments": "get patch", "batch/cronjobs": "list", **_OF_EVERY_RUN})
#: In the namespace of a service of which vtlab makes copies; and those without which vtlab copies no NetworkPolicy.
COPY_RIGHTS = _rights(
    {
        "apps/deployments": "get create patch",
        "apps/replicasets": "list",
        "/services": "list create",
        # Of what k6 alone reads of a workload.
        "/secrets": "create",
        "policy/poddisruptionbudgets": "list",
        "monitoring.coreos.com/servicemonitors": "create",
        **_OF_EVERY_RUN,
    }
)
POLICY_RIGHTS = _rights({"networking.k8s.io/networkpolicies": "list create"})
#: For more CPU in the warm-up, which a run can do without. The chart's Role has it, too.
RESIZE = Right("patch", "/pods/resize")
#: In the namespace of Prometheus, for the way to it. From Kubernetes 1.35 on a websocket needs both verbs.
MONITORING_RIGHTS = _rights({"/services": "get", "/pods": "list", "/pods/portforward": "get create"})


def _ssl_context(settings: client.Configuration) -> ssl.SSLContext:
    """Without the strict checks of Python 3.13: kubectl makes none, and many a cluster's CA does not say its key usage.
    urllib3 adds the CA and the client's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.verify_ssl
    if not settings.ssl_ca_cert:
        context.load_default_certs()
    return context


def inside(ref: ReleaseRef) -> bool:
    """Whether this process is a pod of the cluster that is meant: as kubectl decides, where nothing names another."""
    names = ref.context or os.environ.get("KUBECONFIG") or Path(KUBE_CONFIG_DEFAULT_LOCATION).expanduser().is_file()
    return not names and SERVICE_HOST_ENV_NAME in os.environ


class NotFound(BlockFault):
    """The object does not exist. In the middle of a block that is a fault of it."""


class Cluster:
    """One namespace of a cluster. Every call raises PrerequisiteMissing when the API server stays away for
    ``PATIENCE`` seconds or refuses for lack of a right."""

    def __init__(self, ref: ReleaseRef) -> None:
        """BadInput when there is no such context; PrerequisiteMissing when there is no kubeconfig."""
        self.release = ref
        #: Seconds for which calls are repeated; little once the API server has been away for longer.
        self.patience = PATIENCE
        try:
            settings = client.Configuration()
            settings.retries = False
            #: Whether this process is a pod of the cluster.
            self.inside = inside(ref)
            if self.inside:
                config.load_incluster_config(client_configuration=settings)
            else:
                config.load_kube_config(context=ref.context, client_configuration=settings, persist_config=False)
        except ConfigException as error:
            if ref.context:
                raise BadInput(f"context '{ref.context}': {error}", "kubectl config get-contexts lists them") from None
            raise PrerequisiteMissing(
                f"no cluster is configured: {error}", "make one (make up), or set KUBECONFIG to its configuration"
            ) from None
        self.server = str(settings.host)
        self._api = client.ApiClient(settings)
        self._api.rest_client.pool_manager.connection_pool_kw["ssl_context"] = _ssl_context(settings)
        self._core, self._apps, self._batch, self._networking = (
            client.CoreV1Api(self._api),
            client.AppsV1Api(self._api),
            client.BatchV1Api(self._api),
            client.NetworkingV1Api(self._api),
        )

    def deployment(self, name: str) -> Json:
        """A Deployment; NotFound when there is none."""
        return self._call("get deployments", self._apps.read_namespaced_deployment, name, self._namespace)

    def annotate_pods(self, deployment: str, key: str, value: str) -> None:
        """Sets an annotation of the Deployment's pods, which replaces them."""
        body = {"spec": {"template": {"metadata": {"annotations": {key: value}}}}}
        self._call("patch deployments", self._apps.patch_namespaced_deployment, deployment, self._namespace, body)

    def pods(self, selector: str, namespace: str | None = None) -> list[Json]:
        """The pods with those labels, in the release's namespace if not in another."""
        namespace = namespace or self._namespace
        return self._list("pods", self._core.list_namespaced_pod, namespace, label_selector=selector)

    def resize(self, pod: str, container: str, cpu: float) -> None:
        """Asks for another CPU limit of a container, in cores, in place (Kubernetes 1.33). NotFound where the pod or
        the subresource is not there, PrerequisiteMissing where a rule of the cluster forbids it."""
        body = {"spec": {"containers": [{"name": container, "resources": {"limits": {"cpu": f"{cpu:g}"}}}]}}
        self._call("patch pods/resize", self._core.patch_namespaced_pod_resize, pod, self._namespace, body)

    def service(self, name: str, namespace: str) -> Json:
        """A Service; NotFound when there is none."""
        return self._call("get services", self._core.read_namespaced_service, name, namespace, of=namespace)

    def open_port(self, pod: str, namespace: str, port: int) -> websocket.WebSocket:
        """A websocket to a port of a pod. OSError when it cannot be had now."""
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

    def cron_jobs(self, selector: str) -> list[Json]:
        """The CronJobs with those labels."""
        return self._list("cronjobs", self._batch.list_namespaced_cron_job, self._namespace, label_selector=selector)

    def jobs(self, selector: str) -> list[Json]:
        """The Jobs with those labels."""
        return self._list("jobs", self._batch.list_namespaced_job, self._namespace, label_selector=selector)

    def services(self) -> list[Json]:
        """Every Service."""
        return self._list("services", self._core.list_namespaced_service, self._namespace)

    def replica_sets(self) -> list[Json]:
        """Every ReplicaSet."""
        return self._list("replicasets", self._apps.list_namespaced_replica_set, self._namespace)

    def disruption_budgets(self) -> list[Json]:
        """Every PodDisruptionBudget."""
        listing = client.PolicyV1Api(self._api).list_namespaced_pod_disruption_budget
        return self._list("poddisruptionbudgets", listing, self._namespace)

    def network_policies(self) -> list[Json]:
        """Every NetworkPolicy."""
        return self._list("networkpolicies", self._networking.list_namespaced_network_policy, self._namespace)

    def create(self, body: Any) -> None:
        """Creates a Deployment, a Service, a Secret, a NetworkPolicy or a ServiceMonitor, unless one of that name is
        there. PrerequisiteMissing where the cluster has no ServiceMonitors."""
        calls: dict[str, tuple[str, Callable[..., Any]]] = {
            "Deployment": ("deployments", self._apps.create_namespaced_deployment),
            "Service": ("services", self._core.create_namespaced_service),
            "Secret": ("secrets", self._core.create_namespaced_secret),
            "NetworkPolicy": ("networkpolicies", self._networking.create_namespaced_network_policy),
            "ServiceMonitor": ("servicemonitors", self._create_service_monitor),
        }
        kind: str = body["kind"]
        resource, call = calls[kind]
        try:
            self._call(f"create {resource}", call, self._namespace, body)
        except _AlreadyThere:
            pass
        except NotFound:
            raise PrerequisiteMissing(
                f"the cluster takes no {kind} in namespace {self._namespace}",
                "install the Prometheus operator (docs/how-to/prometheus-operator.md); see that the namespace is there",
            ) from None

    def _create_service_monitor(self, namespace: str, body: Any, **options: Any) -> Any:
        group, _, version = body["apiVersion"].partition("/")
        custom = client.CustomObjectsApi(self._api)
        return custom.create_namespaced_custom_object(group, version, namespace, "servicemonitors", body, **options)

    def create_job(self, body: Any) -> None:
        """Creates it; one of that name may be there already (from a try whose answer was lost)."""
        with contextlib.suppress(_AlreadyThere):
            self._call("create jobs", self._batch.create_namespaced_job, self._namespace, body)

    def delete_job(self, name: str) -> None:
        """Deletes it with its pods, if it is there. Returns before they are gone."""
        with contextlib.suppress(NotFound):
            self._call(
                "delete jobs",
                self._batch.delete_namespaced_job,
                name,
                self._namespace,
                propagation_policy="Background",
            )

    def create_config_map(self, body: Any) -> None:
        """Creates it, unless one of that name is there."""
        with contextlib.suppress(_AlreadyThere):
            self._call("create configmaps", self._core.create_namespaced_config_map, self._namespace, body)

    def config_maps(self, selector: str) -> list[Json]:
        """The ConfigMaps with those labels."""
        return self._list("configmaps", self._core.list_namespaced_config_map, self._namespace, label_selector=selector)

    def fill_config_map(self, name: str, texts: Mapping[str, str | None]) -> None:
        """Sets keys of a ConfigMap, or removes them (None), and keeps all others; NotFound when there is none."""
        body: Any = {"data": dict(texts)}
        self._call("patch configmaps", self._core.patch_namespaced_config_map, name, self._namespace, body)

    def delete_config_map(self, name: str) -> None:
        """Deletes it, if it is there."""
        with contextlib.suppress(NotFound):
            self._call("delete configmaps", self._core.delete_namespaced_config_map, name, self._namespace)

    def log(self, pod: str, container: str) -> str:
        """The whole log of a container, each line with its time (RFC 3339) first."""

        def read(**options: Any) -> bytes:
            answer: Any = self._core.read_namespaced_pod_log(
                pod, self._namespace, container=container, timestamps=True, _preload_content=False, **options
            )
            # The whole of it here, so that a connection lost half-way is tried again, too.
            return bytes(answer.data)

        return bytes(self._retried("get pods/log", self._namespace, read)).decode(errors="replace")

    def last_warning(self, uid: str) -> str:
        """The newest warning event of an object, as words; empty without one."""
        selector = f"involvedObject.uid={uid},type=Warning"
        events = self._list("events", self._core.list_namespaced_event, self._namespace, field_selector=selector)
        newest = max(
            events, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""), default=None
        )
        return f"{newest.get('reason')}: {newest.get('message')}" if newest else ""

    def allowed(self, right: Right, namespace: str) -> bool:
        """Whether the API server would allow it there."""
        group, _, resource = right.resource.partition("/")
        resource, _, sub = resource.partition("/")
        wanted = {"namespace": namespace, "verb": right.verb, "group": group, "resource": resource, "subresource": sub}
        api = client.AuthorizationV1Api(self._api)
        body: Any = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": wanted},
        }
        review = self._call("create selfsubjectaccessreviews", api.create_self_subject_access_review, body)
        return bool(review.get("status", {}).get("allowed"))

    def version(self) -> str:
        """Of the API server."""
        return str(self._call("get /version", client.VersionApi(self._api).get_code)["gitVersion"])

    def close(self) -> None:
        """Gives up its connections."""
        self._api.close()

    @property
    def _namespace(self) -> str:
        return self.release.namespace

    def _list(self, resource: str, call: Callable[..., Any], namespace: str, **options: Any) -> list[Json]:
        return list(self._call(f"list {resource}", call, namespace, of=namespace, **options)["items"])

    def _call(
        self, right: str, call: Callable[..., Any], *arguments: Any, of: str | None = None, **options: Any
    ) -> Json:
        """The answer as JSON. ``of`` is the namespace for messages, the release's if not another."""
        call = functools.partial(call, *arguments, **options)
        answer: Json = self._api.sanitize_for_serialization(self._retried(right, of or self._namespace, call))
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
                self.patience = 2.0
                raise PrerequisiteMissing(
                    f"the API server at {self.server} does not answer ({reason})",
                    f"see that '{self.release.kubectl('get pods')}' works",
                )
            time.sleep(0.5)

    def _refused(self, right: str, error: ApiException, namespace: str) -> Exception:
        if error.status == 404:
            return NotFound(f"the cluster has no such object any more ({right} in namespace {namespace})")
        if error.status == 409:
            return _AlreadyThere(right)
        if error.status in _FORBIDDEN:
            option, roles = (
                (" --deployment NAME", "docs/how-to/own-service-on-kubernetes.md has Roles with them all")
                if self.release.copying
                else ("", "the chart's Role has them all")
            )
            return PrerequisiteMissing(
                f"the cluster does not let you {right} in namespace {namespace}",
                f"vtlab doctor --target kubernetes{option} lists every right that is missing; {roles}",
            )
        return PrerequisiteMissing(f"the cluster refused to {right}: {error.status} {error.reason}: {error.body}")


class _AlreadyThere(Exception):
    """An object of that name exists."""
