"""References to what a run measures in a cluster: a release of the chart, or copies of a service."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace

from kubernetes import config
from kubernetes.config.config_exception import ConfigException

from vtlab.targets.kubernetes.api.types import Json

#: Port of a run's own Prometheus.
PROMETHEUS_PORT = 9090


@dataclass(frozen=True, kw_only=True)
class Copying:
    """Settings of copies of a service that the objects of its namespace do not contain."""

    #: URL of the user's Prometheus, as a pod of the cluster reaches it; empty: the run has one of its own.
    prometheus: str = ""
    #: Contains the agent's jar, for an init container.
    agent_image: str = ""
    k6_image: str = ""
    #: Labels of the ServiceMonitor, by which some Prometheus select them: ``release=stack,team=a``.
    monitor_labels: str = ""
    #: Labels of the nodes for k6 and the run's own Prometheus, as ``monitor_labels``.
    k6_node_selector: str = ""
    #: Image of the run's own Prometheus.
    prometheus_image: str = ""
    #: Whether k6 and the run's own Prometheus have the user ids of their images; else the cluster chooses them.
    fixed_user_ids: bool = True


@dataclass(frozen=True)
class ReleaseRef:
    """The release of the chart that a run measures, or the copies of a service in its place."""

    #: The context of the kubeconfig; None is its current one.
    context: str | None
    namespace: str
    #: The name of the release; for copies the beginning of their names.
    name: str
    #: None for a release of the chart.
    copying: Copying | None = None

    def document(self) -> Json:
        """Returns the entries of the manifest."""
        document = {"namespace": self.namespace, "release": self.name}
        if self.context:
            document["context"] = self.context
        return document | (asdict(self.copying) if self.copying else {})

    @staticmethod
    def from_manifest(document: Json) -> ReleaseRef:
        """Returns the release that a manifest names."""
        names = {field.name for field in fields(Copying)}
        copying = {name: value for name, value in document.items() if name in names}
        return ReleaseRef(
            document.get("context"),
            document["namespace"],
            document["release"],
            Copying(**copying) if copying else None,
        )

    def with_context(self) -> ReleaseRef:
        """Adds the name of the current context where none is named: a resumed run must find the same release.

        Unchanged where the kubeconfig cannot be read: ``Cluster`` says why.
        """
        if self.context:
            return self
        try:
            _, current = config.list_kube_config_contexts()
        except ConfigException:
            return self
        return replace(self, context=current["name"])

    @property
    def title(self) -> str:
        """Names the measured objects in messages."""
        return "copies of a service" if self.copying else f"release {self.name}"

    def deployment(self, variant: str) -> str:
        """Returns the name of a variant's Deployment, which is also the name of its Service."""
        return f"{self.name}-{variant}"

    def selector(self, component: str = "") -> str:
        """Returns the label selector of the release's objects, or of one component's."""
        release = f"app.kubernetes.io/instance={self.name}"
        return f"{release},app.kubernetes.io/component={component}" if component else release

    @property
    def has_own_prometheus(self) -> bool:
        """Tells whether the copies have a Prometheus that ends with the run."""
        return self.copying is not None and not self.copying.prometheus

    @property
    def own_prometheus(self) -> str:
        """The name of that Prometheus's objects. No variant's Deployment can have it."""
        return f"prometheus-{self.name}"

    @property
    def remote_write(self) -> str:
        """The URL to which the k6 of copies sends its samples."""
        assert self.copying is not None, "the k6 of a release has it from its CronJob"
        url = self.copying.prometheus or f"http://{self.own_prometheus}.{self.namespace}:{PROMETHEUS_PORT}"
        return url.rstrip("/") + "/api/v1/write"

    def is_own_prometheus(self, remote_write: str) -> bool:
        """Tells whether k6's samples go to the run's own Prometheus by that URL."""
        return self.has_own_prometheus and remote_write == self.remote_write

    def kubectl(self, *words: str) -> str:
        """Returns a kubectl command line for messages."""
        context = f"--context {self.context} " if self.context else ""
        return f"kubectl {context}-n {self.namespace} {' '.join(words)}"

    def helm_upgrade(self, settings: str = "") -> str:
        """Returns a helm command line for messages. (With --reuse-values a null would change nothing.)"""
        context = f" --kube-context {self.context}" if self.context else ""
        command = f"helm upgrade {self.name} helm{context} -n {self.namespace}"
        return f"{command} --reset-then-reuse-values {settings}".rstrip()
