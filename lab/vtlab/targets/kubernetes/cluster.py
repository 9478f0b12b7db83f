"""The few calls of the Kubernetes API that a run needs, as JSON, retried while the API server is away."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from urllib3.exceptions import HTTPError

from vtlab.errors import BadInput, BlockFault, PrerequisiteMissing

Json = dict[str, Any]

#: Seconds for which calls are repeated while the API server does not answer.
PATIENCE = 60.0
#: Seconds to connect, and to wait for an answer.
_TIMEOUT = (5, 30)
#: The API server, or what stands before it, is not well: try again.
_PASSING = (0, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Where:
    """Where the lab is installed."""

    #: Of the kubeconfig; None is its current one.
    context: str | None
    namespace: str
    release: str

    def document(self) -> dict[str, str]:
        """For the manifest."""
        found = {"namespace": self.namespace, "release": self.release}
        return {**found, "context": self.context} if self.context else found

    @staticmethod
    def of(document: dict[str, str]) -> Where:
        """From a manifest."""
        return Where(document.get("context"), document["namespace"], document["release"])

    def named(self) -> Where:
        """With the name of its context, also where that is the current one: a run that is resumed later must not
        find another. As it is where the kubeconfig cannot be read: whoever connects says why."""
        if self.context:
            return self
        try:
            _, current = config.list_kube_config_contexts()
        except ConfigException:
            return self
        return replace(self, context=current["name"])

    def deployment(self, variant: str) -> str:
        """The name of a variant's Deployment, and of its Service."""
        return f"{self.release}-{variant}"

    def selector(self, component: str = "") -> str:
        """The labels of everything of the release, or of one component's."""
        own = f"app.kubernetes.io/instance={self.release}"
        return f"{own},app.kubernetes.io/component={component}" if component else own

    def kubectl(self, *words: str) -> str:
        """A kubectl command line for messages."""
        context = f"--context {self.context} " if self.context else ""
        return f"kubectl {context}-n {self.namespace} {' '.join(words)}"

    def helm_upgrade(self, settings: str = "") -> str:
        """A helm command line for messages. (With --reuse-values a null would change nothing.)"""
        context = f" --kube-context {self.context}" if self.context else ""
        own = f"helm upgrade {self.release} helm{context} -n {self.namespace}"
        return f"{own} --reset-then-reuse-values {settings}".rstrip()


@dataclass(frozen=True)
class Right:
    """A verb on a resource (``group/resource``, the core group is empty) that a run needs."""

    verb: str
    resource: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource.removeprefix('/')}"


#: In the lab's namespace: the same as in the chart's Role (a test of the chart compares them).
RIGHTS = tuple(
    Right(verb, resource)
    for resource, verbs in {
        "apps/deployments": "get patch",
        "batch/cronjobs": "list",
        "batch/jobs": "create list delete",
        "/configmaps": "create list delete",
        "/events": "list",
        "/pods": "list",
        "/pods/log": "get",
    }.items()
    for verb in verbs.split()
)
#: In the namespace of Prometheus, for kubectl port-forward.
MONITORING_RIGHTS = tuple(
    Right(verb, resource)
    for resource, verbs in {"/services": "get", "/pods": "get list", "/pods/portforward": "create"}.items()
    for verb in verbs.split()
)


class NotFound(BlockFault):
    """The object does not exist. In the middle of a block that is a fault of it."""


class Cluster:
    """One namespace of a cluster. Every call raises PrerequisiteMissing when the API server stays away for
    ``PATIENCE`` seconds or refuses for lack of a right."""

    def __init__(self, where: Where) -> None:
        """BadInput when there is no such context; PrerequisiteMissing when there is no kubeconfig."""
        self.where = where
        #: Seconds for which calls are repeated; little once the API server has been away for longer.
        self.patience = PATIENCE
        try:
            settings = client.Configuration()
            settings.retries = False
            config.load_kube_config(context=where.context, client_configuration=settings, persist_config=False)
        except ConfigException as error:
            if where.context:
                raise BadInput(
                    f"context '{where.context}': {error}", "kubectl config get-contexts lists them"
                ) from None
            raise PrerequisiteMissing(
                f"no cluster is configured: {error}", "make one (make up), or set KUBECONFIG to its configuration"
            ) from None
        self.server = str(settings.host)
        self._api = client.ApiClient(settings)
        self._core, self._apps, self._batch = (
            client.CoreV1Api(self._api),
            client.AppsV1Api(self._api),
            client.BatchV1Api(self._api),
        )

    def deployment(self, name: str) -> Json:
        """A Deployment; NotFound when there is none."""
        return self._call("get deployments", lambda **o: self._apps.read_namespaced_deployment(name, self._own, **o))

    def annotate_pods(self, deployment: str, key: str, value: str) -> None:
        """Sets an annotation of the Deployment's pods, which replaces them."""
        body = {"spec": {"template": {"metadata": {"annotations": {key: value}}}}}
        self._call(
            "patch deployments", lambda **o: self._apps.patch_namespaced_deployment(deployment, self._own, body, **o)
        )

    def pods(self, selector: str) -> list[Json]:
        """The pods with those labels."""
        found = self._call(
            "list pods", lambda **o: self._core.list_namespaced_pod(self._own, label_selector=selector, **o)
        )
        return list(found["items"])

    def cron_jobs(self, selector: str) -> list[Json]:
        """The CronJobs with those labels."""
        found = self._call(
            "list cronjobs", lambda **o: self._batch.list_namespaced_cron_job(self._own, label_selector=selector, **o)
        )
        return list(found["items"])

    def jobs(self, selector: str) -> list[Json]:
        """The Jobs with those labels."""
        found = self._call(
            "list jobs", lambda **o: self._batch.list_namespaced_job(self._own, label_selector=selector, **o)
        )
        return list(found["items"])

    def create_job(self, body: Any) -> None:
        """Creates it; one of that name may be there already (from a try whose answer was lost)."""
        self._create("create jobs", lambda **o: self._batch.create_namespaced_job(self._own, body, **o))

    def delete_job(self, name: str) -> None:
        """Deletes it with its pods, if it is there. Returns before they are gone."""
        self._delete(
            "delete jobs",
            lambda **o: self._batch.delete_namespaced_job(name, self._own, propagation_policy="Background", **o),
        )

    def create_config_map(self, body: Any) -> None:
        """Creates it, unless one of that name is there."""
        self._create("create configmaps", lambda **o: self._core.create_namespaced_config_map(self._own, body, **o))

    def config_maps(self, selector: str) -> list[Json]:
        """The ConfigMaps with those labels."""
        found = self._call(
            "list configmaps",
            lambda **o: self._core.list_namespaced_config_map(self._own, label_selector=selector, **o),
        )
        return list(found["items"])

    def delete_config_map(self, name: str) -> None:
        """Deletes it, if it is there."""
        self._delete("delete configmaps", lambda **o: self._core.delete_namespaced_config_map(name, self._own, **o))

    def log(self, pod: str, container: str) -> str:
        """Its whole log, each line with its time (RFC 3339) first."""

        def read(**options: Any) -> bytes:
            answer: Any = self._core.read_namespaced_pod_log(
                pod, self._own, container=container, timestamps=True, _preload_content=False, **options
            )
            # The whole of it here, so that a connection lost half-way is tried again, too.
            return bytes(answer.data)

        return bytes(self._retried("get pods/log", read)).decode(errors="replace")

    def last_warning(self, uid: str) -> str:
        """The newest warning event of an object, as words; empty without one."""
        found = self._call(
            "list events",
            lambda **o: self._core.list_namespaced_event(
                self._own, field_selector=f"involvedObject.uid={uid},type=Warning", **o
            ),
        )["items"]
        newest = max(found, key=lambda e: str(e.get("lastTimestamp") or e.get("eventTime") or ""), default=None)
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
        found = self._call(
            "create selfsubjectaccessreviews", lambda **o: api.create_self_subject_access_review(body, **o)
        )
        return bool(found.get("status", {}).get("allowed"))

    def version(self) -> str:
        """Of the API server."""
        return str(self._call("get /version", lambda **o: client.VersionApi(self._api).get_code(**o))["gitVersion"])

    def close(self) -> None:
        """Gives up its connections."""
        self._api.close()

    @property
    def _own(self) -> str:
        return self.where.namespace

    def _create(self, right: str, call: Callable[..., Any]) -> None:
        with contextlib.suppress(_AlreadyThere):
            self._retried(right, call)

    def _delete(self, right: str, call: Callable[..., Any]) -> None:
        with contextlib.suppress(NotFound):
            self._retried(right, call)

    def _call(self, right: str, call: Callable[..., Any]) -> Json:
        found: Json = self._api.sanitize_for_serialization(self._retried(right, call))
        return found

    def _retried(self, right: str, call: Callable[..., Any]) -> Any:
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
                    raise self._refused(right, error) from None
                reason = f"{error.status} {error.reason}"
            if time.monotonic() > end:
                self.patience = 2.0
                raise PrerequisiteMissing(
                    f"the API server at {self.server} does not answer ({reason})",
                    f"see that '{self.where.kubectl('get pods')}' works",
                )
            time.sleep(0.5)

    def _refused(self, right: str, error: ApiException) -> Exception:
        if error.status == 404:
            return NotFound(f"the cluster has no such object any more ({right} in namespace {self._own})")
        if error.status == 409:
            return _AlreadyThere(right)
        if error.status in (401, 403):
            return PrerequisiteMissing(
                f"the cluster does not let you {right} in namespace {self._own}",
                "vtlab doctor --target kubernetes lists every right that is missing; the chart's Role has them all",
            )
        return PrerequisiteMissing(f"the cluster refused to {right}: {error.status} {error.reason}: {error.body}")


class _AlreadyThere(Exception):
    """An object of that name exists."""
