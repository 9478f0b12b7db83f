"""The variants of a run as copies of the user's service: created by its first block, with fresh pods in every block.

The run's ConfigMap owns all other objects: it is created first, and the cluster deletes them with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from vtlab.errors import BadInput
from vtlab.model.experiment import Experiment
from vtlab.model.service import Service
from vtlab.targets.kubernetes.api import labels, port_forward, run_objects
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.rights import POLICY_RIGHTS
from vtlab.targets.kubernetes.api.run_objects import RunObjects
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.copies import (
    environment,
    facts,
    k6_job,
    liveness,
    manifests,
    network_policies,
    own_prometheus,
    shared_objects,
    workload_secret,
)
from vtlab.targets.kubernetes.copies.k6_job import K6JobParts
from vtlab.targets.kubernetes.copies.manifests import CopiedVariant
from vtlab.targets.kubernetes.copies.original import Original
from vtlab.targets.kubernetes.copies.own_prometheus import PrometheusParts
from vtlab.targets.kubernetes.copies.reference import copying_of
from vtlab.targets.kubernetes.copies.selectors import selecting
from vtlab.targets.kubernetes.copies.workload_secret import Files

#: In the environment of the chart's runner (helm/templates/runner/job.yaml).
_POD_NAME, _POD_UID = "VTLAB_POD_NAME", "VTLAB_POD_UID"


class Copies:
    """The copies of one call of vtlab."""

    def __init__(self, cluster: Cluster, objects: RunObjects, say: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._objects = objects
        self._say = say
        #: The service that is copied; None before the first block.
        self._source: Original | None = None
        self._files = Files()

    def renew(self, service: Service, experiment: Experiment, annotation: str, stamp: str) -> None:
        """Starts fresh pods of every variant, with that annotation.

        Errors as in ``facts.collect``; BadInput where an object of the namespace selects the copies.
        """
        if not self._source:
            self._source = self._create(service, experiment, {annotation: stamp})
        for variant in experiment.variants:
            self._cluster.annotate_pods(self._cluster.release.deployment(variant), annotation, stamp)

    @property
    def remarks(self) -> Sequence[str]:
        """Remarks on the workload before a run, in sentences."""
        return self._files.remarks

    def probe_url(self, variant: str) -> str:
        """Returns what the probe asks a variant, while the copies exist."""
        assert self._source
        return self._source.probe_url(self._cluster.release.deployment(variant))

    def template(self, preflight_within: float | None = None) -> Json:
        """Returns the template of k6's Jobs, while the copies exist. ``preflight_within`` as in ``k6_job``."""
        assert self._source
        parts = K6JobParts(
            self._objects.config_map(),
            self._labels("k6"),
            self._cluster.release,
            self._files,
            self._source.template["spec"],
        )
        return k6_job.template(parts, preflight_within)

    def _create(self, service: Service, experiment: Experiment, annotations: dict[str, str]) -> Original:
        """Creates all objects of the run; returns what they are copies of. Errors as in ``renew``."""
        cluster, ref = self._cluster, self._cluster.release
        source = facts.find_original(cluster, service)
        facts.refuse_what_copies_lack(service, experiment)
        self._files = workload_secret.files(experiment, Path(k6_job.FOLDER))
        self._refuse_selected(experiment)
        policies = self._policies(source)
        self._describe(source, policies)
        files = k6_job.scripts()
        if ref.has_own_prometheus:
            files |= own_prometheus.files(ref, experiment.variants, source.agent_port)
        # Created before all that it owns.
        self._objects.put_experiment(experiment, runner_pod(), files)
        # From here on another vtlab sees that this one measures. One that has begun meanwhile gives up as well.
        run_objects.refuse_others(cluster)
        owner = labels.owner_reference(self._objects.config_map())
        bodies = [self._policy(spec, owner) for spec in policies or []]
        if self._files.contents:
            bodies.append(self._files.secret(self._metadata(self._objects.name, owner, self._labels("k6"))))
        # Before the copies: it has its image by the time that they are ready.
        bodies += self._prometheus(source, owner)
        for name in experiment.variants:
            metadata = self._metadata(ref.deployment(name), owner, self._labels("variant", name))
            variant = CopiedVariant(source, experiment, name)
            deployment = manifests.deployment(variant, metadata, annotations, copying_of(ref).agent_image)
            bodies += [manifests.service(source, metadata), deployment]
        for body in bodies:
            cluster.create(body)
        return source

    def _prometheus(self, source: Original, owner: Json) -> list[Json]:
        """Returns the run's own Prometheus, or what makes another one scrape the copies."""
        ref = self._cluster.release
        if not ref.has_own_prometheus:
            metadata = self._metadata(ref.name, owner, self._labels("variant"))
            return [manifests.monitor(metadata, labels.pairs(copying_of(ref).monitor_labels))]
        metadata = self._metadata(ref.own_prometheus, owner, self._labels("prometheus"))
        parts = PrometheusParts(ref, metadata, self._objects.name, source.template["spec"])
        return own_prometheus.objects(parts)

    def _refuse_selected(self, experiment: Experiment) -> None:
        """Raises BadInput where a Service, a controller or a PodDisruptionBudget would select vtlab's pods."""
        cluster = self._cluster
        objects = {
            "Service": cluster.services(),
            "ReplicaSet": cluster.replica_sets(),
            "PodDisruptionBudget": cluster.disruption_budgets(),
        }
        pods = [*(self._labels("variant", variant) for variant in experiment.variants), *self._beside]
        if names := list(dict.fromkeys(name for labels in pods for name in selecting(objects, labels))):
            raise BadInput(
                f"in namespace {cluster.release.namespace} {' and '.join(names)} would also select the copies",
                "narrow its selector to a label of its pods, or copy the Deployment into another namespace",
            )

    def _policies(self, source: Original) -> list[Json] | None:
        """Returns the specs of the NetworkPolicies that the copies and the pods beside them need; None where vtlab may
        not copy them."""
        cluster = self._cluster
        if not all(cluster.allowed(right, cluster.release.namespace) for right in POLICY_RIGHTS):
            return None
        policies = cluster.network_policies()
        variants, k6 = manifests.selector(self._labels("variant")), manifests.selector(self._labels("k6"))
        specs = network_policies.copied(policies, source.template.get("metadata", {}).get("labels") or {}, variants)
        is_restricted = specs or network_policies.restricts(policies, [self._labels("variant"), *self._beside])
        _, namespace, port = port_forward.service(cluster.release.remote_write)
        asked = sorted({source.port, source.liveness.port})
        if cluster.release.has_own_prometheus:
            prometheus = manifests.selector(self._labels("prometheus"))
            peer = network_policies.pods_of(prometheus)
            # Always: without one all pods of the cluster could read its series, and write to it.
            specs.append(network_policies.for_prometheus(variants, k6, prometheus, source.agent_port, port))
        else:
            peer = network_policies.namespace_of(namespace)
        if not is_restricted:
            return specs
        return [
            *specs,
            network_policies.for_copies(variants, k6, asked, source.agent_port, peer),
            network_policies.for_k6(variants, k6, asked, peer, port),
        ]

    def _describe(self, source: Original, policies: Sequence[Json] | None) -> None:
        """Tells the user what is copied, and what the copies share with the original."""
        service, template = source.service, source.template
        if service.deployment:
            self._say(
                f"copies of Deployment {service.deployment}: container {source.container['name']}, port {source.port};"
                " they share with it:"
            )
            for line in [
                *shared_objects.lines(template),
                shared_objects.dropped(template.get("metadata", {}).get("labels") or {}),
                liveness.remark(service, source.container, source.port),
            ]:
                if line:
                    self._say(f"  {line}")
            if environment.has_unseen_options(source):
                self._say(
                    "  JAVA_TOOL_OPTIONS from a whole ConfigMap or Secret (envFrom) has no effect in the copies: set it"
                    " in settings of the experiment"
                )
        if policies is None:
            self._say(
                "  NetworkPolicies are not copied: vtlab may not list and create networkpolicies. Where they are"
                " enforced the copies may reach less, or more, than the original"
            )
            if self._cluster.release.has_own_prometheus:
                self._say("  Without a policy of yours every pod of the cluster reaches the run's own Prometheus")
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

    @property
    def _beside(self) -> list[dict[str, str]]:
        """Labels of the pods beside the copies."""
        own = ["prometheus"] if self._cluster.release.has_own_prometheus else []
        return [self._labels(component) for component in ("k6", *own)]

    def _labels(self, component: str, variant: str = "") -> dict[str, str]:
        component_labels = {**labels.for_release(self._cluster.release), labels.COMPONENT: component}
        return {**component_labels, labels.VARIANT: variant} if variant else component_labels

    @staticmethod
    def _metadata(name: str, owner: Json, labels: dict[str, str]) -> Json:
        return {"name": name, "labels": labels, "ownerReferences": [owner]}


def runner_pod() -> Json | None:
    """Returns the pod of the chart's runner, where this process runs in one. It owns what this process creates, so that
    the cluster deletes that also where the process is killed."""
    name, uid = (os.environ.get(variable) for variable in (_POD_NAME, _POD_UID))
    if not name or not uid:
        return None
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": uid}}
