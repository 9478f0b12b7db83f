"""The objects of one namespace of a cluster: the few calls of the Kubernetes API that a run needs, as JSON."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from kubernetes import client

from vtlab.errors import PrerequisiteMissing
from vtlab.targets.kubernetes.api.connection import AlreadyExists, Connection, NotFound
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.rights import Right
from vtlab.targets.kubernetes.api.types import Json


class Cluster(Connection):
    """One namespace of a cluster. Errors as in ``Connection``."""

    def __init__(self, ref: ReleaseRef) -> None:
        """Raises as ``Connection`` does."""
        super().__init__(ref)
        self._core, self._apps, self._batch, self._networking = (
            client.CoreV1Api(self._api),
            client.AppsV1Api(self._api),
            client.BatchV1Api(self._api),
            client.NetworkingV1Api(self._api),
        )

    def deployment(self, name: str) -> Json:
        """Returns a Deployment. NotFound when it does not exist."""
        return self._call("get deployments", self._apps.read_namespaced_deployment, name, self._namespace)

    def annotate_pods(self, deployment: str, key: str, value: str) -> None:
        """Sets an annotation of the Deployment's pods, which replaces them."""
        body = {"spec": {"template": {"metadata": {"annotations": {key: value}}}}}
        self._call("patch deployments", self._apps.patch_namespaced_deployment, deployment, self._namespace, body)

    def pods(self, selector: str, namespace: str | None = None) -> list[Json]:
        """Lists the pods with those labels, by default in the release's namespace."""
        namespace = namespace or self._namespace
        return self._list("pods", self._core.list_namespaced_pod, namespace, label_selector=selector)

    def resize(self, pod: str, container: str, cpu: float) -> None:
        """Requests another CPU limit of a running container, in cores (Kubernetes 1.33).

        NotFound where the pod or the subresource does not exist, PrerequisiteMissing where the cluster forbids it.
        """
        body = {"spec": {"containers": [{"name": container, "resources": {"limits": {"cpu": f"{cpu:g}"}}}]}}
        self._call("patch pods/resize", self._core.patch_namespaced_pod_resize, pod, self._namespace, body)

    def service(self, name: str, namespace: str) -> Json:
        """Returns a Service. NotFound when it does not exist."""
        return self._call("get services", self._core.read_namespaced_service, name, namespace, place=namespace)

    def cron_jobs(self, selector: str) -> list[Json]:
        """Lists the CronJobs with those labels."""
        return self._list("cronjobs", self._batch.list_namespaced_cron_job, self._namespace, label_selector=selector)

    def jobs(self, selector: str) -> list[Json]:
        """Lists the Jobs with those labels."""
        return self._list("jobs", self._batch.list_namespaced_job, self._namespace, label_selector=selector)

    def services(self) -> list[Json]:
        """Lists all Services."""
        return self._list("services", self._core.list_namespaced_service, self._namespace)

    def replica_sets(self) -> list[Json]:
        """Lists all ReplicaSets."""
        return self._list("replicasets", self._apps.list_namespaced_replica_set, self._namespace)

    def disruption_budgets(self) -> list[Json]:
        """Lists all PodDisruptionBudgets."""
        listing = client.PolicyV1Api(self._api).list_namespaced_pod_disruption_budget
        return self._list("poddisruptionbudgets", listing, self._namespace)

    def network_policies(self) -> list[Json]:
        """Lists all NetworkPolicies."""
        return self._list("networkpolicies", self._networking.list_namespaced_network_policy, self._namespace)

    def create(self, body: Any) -> None:
        """Creates a Deployment, a Service, a Secret, a NetworkPolicy or a ServiceMonitor, unless one of that name
        exists. PrerequisiteMissing where the cluster has no ServiceMonitors."""
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
        except AlreadyExists:
            pass
        except NotFound:
            raise PrerequisiteMissing(
                f"the cluster does not accept a {kind} in namespace {self._namespace}",
                "install the Prometheus operator (docs/how-to/prometheus-operator.md); check that the namespace exists",
            ) from None

    def _create_service_monitor(self, namespace: str, body: Any, **options: Any) -> Any:
        group, _, version = body["apiVersion"].partition("/")
        custom = client.CustomObjectsApi(self._api)
        return custom.create_namespaced_custom_object(group, version, namespace, "servicemonitors", body, **options)

    def create_job(self, body: Any) -> None:
        """Creates a Job. One of that name may exist already, from a call whose answer was lost."""
        with contextlib.suppress(AlreadyExists):
            self._call("create jobs", self._batch.create_namespaced_job, self._namespace, body)

    def delete_job(self, name: str) -> None:
        """Deletes a Job with its pods, if it exists. Returns before they are gone."""
        with contextlib.suppress(NotFound):
            self._call(
                "delete jobs",
                self._batch.delete_namespaced_job,
                name,
                self._namespace,
                propagation_policy="Background",
            )

    def create_config_map(self, body: Any) -> None:
        """Creates a ConfigMap, unless one of that name exists."""
        with contextlib.suppress(AlreadyExists):
            self._call("create configmaps", self._core.create_namespaced_config_map, self._namespace, body)

    def config_maps(self, selector: str) -> list[Json]:
        """Lists the ConfigMaps with those labels."""
        return self._list("configmaps", self._core.list_namespaced_config_map, self._namespace, label_selector=selector)

    def fill_config_map(self, name: str, texts: Mapping[str, str | None]) -> None:
        """Sets keys of a ConfigMap, or removes them (None), and keeps all others. NotFound when it does not exist."""
        body: Any = {"data": dict(texts)}
        self._call("patch configmaps", self._core.patch_namespaced_config_map, name, self._namespace, body)

    def delete_config_map(self, name: str) -> None:
        """Deletes a ConfigMap, if it exists."""
        with contextlib.suppress(NotFound):
            self._call("delete configmaps", self._core.delete_namespaced_config_map, name, self._namespace)

    def log(self, pod: str, container: str) -> str:
        """Returns the whole log of a container; each line begins with its time (RFC 3339)."""

        def read(**options: Any) -> bytes:
            answer: Any = self._core.read_namespaced_pod_log(
                pod, self._namespace, container=container, timestamps=True, _preload_content=False, **options
            )
            # Read completely here, so that a connection lost half-way is retried, too.
            return bytes(answer.data)

        return bytes(self._retried("get pods/log", self._namespace, read)).decode(errors="replace")

    def last_warning(self, uid: str) -> str:
        """Returns reason and message of an object's newest warning event; empty without one."""
        selector = f"involvedObject.uid={uid},type=Warning"
        events = self._list("events", self._core.list_namespaced_event, self._namespace, field_selector=selector)
        newest = max(
            events, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""), default=None
        )
        return f"{newest.get('reason')}: {newest.get('message')}" if newest else ""

    def allowed(self, right: Right, namespace: str) -> bool:
        """Asks the API server whether it allows this there."""
        group, _, resource = right.resource.partition("/")
        resource, _, sub = resource.partition("/")
        attributes = {
            "namespace": namespace,
            "verb": right.verb,
            "group": group,
            "resource": resource,
            "subresource": sub,
        }
        api = client.AuthorizationV1Api(self._api)
        body: Any = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        review = self._call("create selfsubjectaccessreviews", api.create_self_subject_access_review, body)
        return bool(review.get("status", {}).get("allowed"))

    def version(self) -> str:
        """Returns the version of the API server."""
        return str(self._call("get /version", client.VersionApi(self._api).get_code)["gitVersion"])
