"""The variants of a run as copies of the user's service: made by its first block, with fresh pods in every block.

The run's ConfigMap owns whatever vtlab makes: it is made first, and the cluster deletes the rest after it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from vtlab import __version__
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.model import workload_files
from vtlab.model.experiment import Experiment
from vtlab.model.records import RunFacts
from vtlab.model.service import Service
from vtlab.targets.kubernetes import forward, generator, job, network, objects, pod_copy, sharing, workload
from vtlab.targets.kubernetes.cluster import POLICY_RIGHTS, Cluster, Copying, Json, NotFound, ReleaseRef
from vtlab.targets.kubernetes.objects import RunObjects
from vtlab.targets.kubernetes.pod_copy import Original
from vtlab.targets.kubernetes.selection import selecting
from vtlab.targets.kubernetes.workload import Files

#: Of kube-prometheus-stack, as in the chart.
PROMETHEUS = "http://prometheus-operated.monitoring:9090"
#: In the environment of the chart's runner (helm/templates/job-runner.yaml).
_POD_NAME, _POD_UID = "VTLAB_POD_NAME", "VTLAB_POD_UID"
#: Characters that a service's name may have in the names of its copies: a Service has 63 in all.
_LONGEST = 20


def own_pod() -> Json | None:
    """The pod of the chart's runner, where this process is one: what it makes goes with it, also where it is killed."""
    name, uid = (os.environ.get(variable) for variable in (_POD_NAME, _POD_UID))
    if not name or not uid:
        return None
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": uid}}


def named(ref: ReleaseRef) -> ReleaseRef:
    """With a name of its own for the copies of one call: what an earlier call left behind is no part of them."""
    beginning = ref.name[:_LONGEST].rstrip("-.").replace(".", "-")
    return replace(ref, name=f"vtlab-{beginning}-{os.urandom(2).hex()}")


def default() -> Copying:
    """What fits the chart: its Prometheus and its images."""
    agent_image, k6_image = generator.images()
    return Copying(PROMETHEUS, agent_image, k6_image)


def measured_in(cluster: ReleaseRef, copying: Copying, service: Service) -> ReleaseRef:
    """What a run of this service measures in a cluster: the release of the chart, or copies."""
    return replace(cluster, name=service.deployment or service.name, copying=copying) if service.is_copied else cluster


def facts(ref: ReleaseRef, service: Service, experiment: Experiment) -> RunFacts:
    """What the copies would be. BadInput where the service cannot be copied, or the experiment needs more than a copy;
    PrerequisiteMissing where there is no such Deployment."""
    with contextlib.closing(Cluster(ref)) as cluster:
        return _facts(cluster, service, experiment)


def _facts(cluster: Cluster, service: Service, experiment: Experiment) -> RunFacts:
    ref = cluster.release
    # Only to refuse what are none.
    _labels_of(_copying(ref).monitor_labels)
    source = _original(cluster, service)
    _refuse_what_copies_lack(service, experiment)
    where = {"deployment": service.deployment} if service.deployment else {}
    return RunFacts(
        versions={
            "vtlab": __version__,
            "app": str(source.container["image"]),
            "pod template": source.digest,
            "k6": _copying(ref).k6_image,
            "agent": _copying(ref).agent_image,
            **workload_files.versions(experiment.workload),
        },
        jvm_flags=pod_copy.shown_flags(pod_copy.jvm_flags(source, experiment)),
        machine={
            "kubernetes": cluster.version(),
            "namespace": ref.namespace,
            **where,
            "context": ref.context or "the current one",
        },
    )


def what_is_copied(cluster: Cluster, deployment: str) -> str:
    """What of a Deployment would be measured, in words. Errors as of ``facts``."""
    source = _original(cluster, Service(name="service", deployment=deployment))
    return f"container {source.container['name']}, image {source.container['image']}, port {source.port}"


class Copies:
    """The copies of one call of vtlab."""

    def __init__(self, cluster: Cluster, objects: RunObjects, say: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._objects = objects
        self._say = say
        self._made = False
        self._files = Files()

    def renew(self, service: Service, experiment: Experiment, annotation: str, stamp: str) -> None:
        """Fresh pods of every variant, with that annotation. Errors as of ``facts``; BadInput where something of the
        namespace's selects the copies."""
        if not self._made:
            self._make(service, experiment, {annotation: stamp})
            self._made = True
        for variant in experiment.variants:
            self._cluster.annotate_pods(self._cluster.release.deployment(variant), annotation, stamp)

    @property
    def remarks(self) -> Sequence[str]:
        """What is to be said of the workload before a run, in sentences."""
        return self._files.remarks

    def template(self, preflight_within: float | None = None) -> Json:
        """What Jobs of k6 are made from, while the copies are there. ``preflight_within``: seconds of one that makes
        the pre-flight, which sends no samples to Prometheus."""
        copying = _copying(self._cluster.release)
        return generator.template(
            self._objects.config_map(),
            self._labels("k6"),
            copying.k6_image,
            generator.limits(),
            self._cluster.release.namespace,
            copying.remote_write,
            self._files,
            preflight_within,
        )

    def _make(self, service: Service, experiment: Experiment, annotations: dict[str, str]) -> None:
        cluster, copying = self._cluster, _copying(self._cluster.release)
        source = _original(cluster, service)
        _refuse_what_copies_lack(service, experiment)
        self._files = workload.files(experiment, Path(generator.FOLDER))
        self._refuse_selected(experiment)
        policies = self._policies(source)
        self._describe(source, policies)
        # Before all that it owns.
        self._objects.put_experiment(experiment, own_pod(), generator.scripts())
        # From here on another vtlab sees that this one measures. One that has begun meanwhile gives up as well.
        objects.refuse_others(cluster)
        owner = job.owner(self._objects.config_map())
        bodies = [self._policy(spec, owner) for spec in policies or []]
        if self._files.contents:
            bodies.append(self._files.secret(self._metadata(self._objects.name, owner, self._labels("k6"))))
        for variant in experiment.variants:
            metadata = self._metadata(cluster.release.deployment(variant), owner, self._labels("variant", variant))
            deployment = pod_copy.deployment(source, experiment, variant, metadata, annotations, copying.agent_image)
            bodies += [pod_copy.service(source, metadata), deployment]
        metadata = self._metadata(cluster.release.name, owner, self._labels("variant"))
        bodies.append(pod_copy.monitor(metadata, _labels_of(copying.monitor_labels)))
        for body in bodies:
            cluster.create(body)

    def _refuse_selected(self, experiment: Experiment) -> None:
        """BadInput where a Service, a controller or a PodDisruptionBudget counts vtlab's pods among its own."""
        cluster = self._cluster
        objects = {
            "Service": cluster.services(),
            "ReplicaSet": cluster.replica_sets(),
            "PodDisruptionBudget": cluster.disruption_budgets(),
        }
        pods = [*(self._labels("variant", variant) for variant in experiment.variants), self._labels("k6")]
        if names := list(dict.fromkeys(name for labels in pods for name in selecting(objects, labels))):
            raise BadInput(
                f"in namespace {cluster.release.namespace} {' and '.join(names)} would select the copies, too",
                "let its selector name a label that its own pods have, or copy the Deployment into another namespace",
            )

    def _policies(self, source: Original) -> list[Json] | None:
        """Specs of the NetworkPolicies that the copies and k6 need; None where vtlab may not copy them."""
        cluster = self._cluster
        if not all(cluster.allowed(right, cluster.release.namespace) for right in POLICY_RIGHTS):
            return None
        policies = cluster.network_policies()
        variants, k6 = pod_copy.selector(self._labels("variant")), pod_copy.selector(self._labels("k6"))
        specs = network.copied(policies, source.template.get("metadata", {}).get("labels") or {}, variants)
        if not specs and not network.restricts(policies, [self._labels("variant"), self._labels("k6")]):
            return []
        _, monitoring, port = forward.service(_copying(cluster.release).remote_write)
        return [
            *specs,
            network.for_copies(variants, k6, source.port, source.agent_port, monitoring),
            network.for_k6(variants, k6, source.port, monitoring, port),
        ]

    def _describe(self, source: Original, policies: Sequence[Json] | None) -> None:
        """Says what is copied, and what the copies share with the original."""
        service, template = source.service, source.template
        if service.deployment:
            self._say(
                f"copies of Deployment {service.deployment}: container {source.container['name']}, port {source.port};"
                " they share with it:"
            )
            for line in [*sharing.lines(template), sharing.dropped(template.get("metadata", {}).get("labels") or {})]:
                if line:
                    self._say(f"  {line}")
            if pod_copy.has_unseen_options(source):
                self._say(
                    "  JAVA_TOOL_OPTIONS of a whole ConfigMap or Secret (envFrom) does not hold in the copies: write it"
                    " in settings of the experiment"
                )
        if policies is None:
            self._say(
                "  NetworkPolicies are not copied: vtlab may not list and create networkpolicies. Where they are"
                " enforced the copies may reach less, or more, than the original"
            )
        elif policies:
            self._say(f"  NetworkPolicies for the copies: {', '.join(spec['name'] for spec in policies)}")

    def _policy(self, spec: Json, owner: Json) -> Json:
        name = f"{self._cluster.release.name}-{spec['name']}"
        return {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": self._metadata(name, owner, self._labels("network")),
            "spec": {key: value for key, value in spec.items() if key != "name"},
        }

    def _labels(self, component: str, variant: str = "") -> dict[str, str]:
        labels = {**job.labels(self._cluster.release), pod_copy.COMPONENT: component}
        return {**labels, pod_copy.VARIANT: variant} if variant else labels

    @staticmethod
    def _metadata(name: str, owner: Json, labels: dict[str, str]) -> Json:
        return {"name": name, "labels": labels, "ownerReferences": [owner]}


def _copying(ref: ReleaseRef) -> Copying:
    assert ref.copying is not None, "a run of copies says what they need"
    return ref.copying


def _original(cluster: Cluster, service: Service) -> Original:
    if not service.deployment:
        return pod_copy.of_image(service)
    try:
        return pod_copy.of_deployment(service, cluster.deployment(service.deployment))
    except NotFound:
        raise PrerequisiteMissing(
            f"there is no Deployment {service.deployment} in namespace {cluster.release.namespace}",
            "say where it is: --namespace, --context; " + cluster.release.kubectl("get", "deployments"),
        ) from None


def _refuse_what_copies_lack(service: Service, experiment: Experiment) -> None:
    if experiment.needs:
        raise BadInput(
            f"{experiment.name} needs {' and '.join(experiment.needs)}, which vtlab does not start beside copies",
            "let the Deployment name what it needs, and leave out needs",
        )
    if service.started_before:
        raise BadInput(
            f"the service {service.name} needs '{service.started_before.command}', which runs on one machine only",
            "have it run in the cluster, and leave out what vtlab is to start before",
        )
    if service.environment_from or service.environment_file:
        raise BadInput(
            f"the service {service.name} takes values from vtlab's environment or from a file, which no object of a"
            " cluster may hold in the clear",
            "put them into a Secret that a Deployment names, and measure copies of that Deployment",
        )


def _labels_of(text: str) -> dict[str, str]:
    """Of ``release=stack,team=a``. BadInput for anything else."""
    pairs = [part.partition("=") for part in filter(None, (word.strip() for word in text.split(",")))]
    if any(not name or not equals for name, equals, _ in pairs):
        raise BadInput(f"'{text}' are no labels", "write them as release=stack,team=a")
    return {name: value for name, _, value in pairs}
