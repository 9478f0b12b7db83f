"""RunFacts about the copies of a service, before they exist."""

from __future__ import annotations

import contextlib

from vtlab import __version__
from vtlab.errors import BadInput, PrerequisiteMissing
from vtlab.model import workload_files
from vtlab.model.experiment import Experiment
from vtlab.model.manifest import RunFacts
from vtlab.model.service import Service
from vtlab.targets.kubernetes.api import labels
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.connection import NotFound
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.copies import environment, original
from vtlab.targets.kubernetes.copies.original import Original
from vtlab.targets.kubernetes.copies.reference import copying_of


def collect(ref: ReleaseRef, service: Service, experiment: Experiment) -> RunFacts:
    """Describes the copies of a service. BadInput where the service cannot be copied, or the experiment needs more than
    copies; PrerequisiteMissing where the Deployment does not exist."""
    with contextlib.closing(Cluster(ref)) as cluster:
        return _collect_from(cluster, service, experiment)


def _collect_from(cluster: Cluster, service: Service, experiment: Experiment) -> RunFacts:
    ref = cluster.release
    copying = copying_of(ref)
    for text in (copying.monitor_labels, copying.k6_node_selector):
        labels.pairs(text)
    source = find_original(cluster, service)
    refuse_what_copies_lack(service, experiment)
    where = {"deployment": service.deployment} if service.deployment else {}
    return RunFacts(
        versions={
            "vtlab": __version__,
            "app": str(source.container["image"]),
            "pod template": source.digest,
            "k6": copying.k6_image,
            "agent": copying.agent_image,
            **({"prometheus": copying.prometheus_image} if ref.has_own_prometheus else {}),
            **workload_files.versions(experiment.workload),
        },
        jvm_flags=environment.shown_flags(environment.jvm_flags(source, experiment)),
        machine={
            "kubernetes": cluster.version(),
            "namespace": ref.namespace,
            **where,
            "context": ref.context or "the current one",
        },
    )


def describe_copied(cluster: Cluster, deployment: str) -> str:
    """Describes the measured parts of a Deployment in words. Errors as in ``collect``."""
    source = find_original(cluster, Service(name="service", deployment=deployment))
    return f"container {source.container['name']}, image {source.container['image']}, port {source.port}"


def find_original(cluster: Cluster, service: Service) -> Original:
    """Returns the service that is copied. Errors as in ``collect``."""
    if not service.deployment:
        return original.from_image(service)
    try:
        return original.from_deployment(service, cluster.deployment(service.deployment))
    except NotFound:
        raise PrerequisiteMissing(
            f"there is no Deployment {service.deployment} in namespace {cluster.release.namespace}",
            "name its place: --namespace, --context; " + cluster.release.kubectl("get", "deployments"),
        ) from None


def refuse_what_copies_lack(service: Service, experiment: Experiment) -> None:
    """Raises BadInput where a service or an experiment needs what copies do not have."""
    if experiment.needs:
        raise BadInput(
            f"{experiment.name} needs {' and '.join(experiment.needs)}, which vtlab does not start beside copies",
            "let the Deployment name what it needs, and remove needs",
        )
    if service.started_before:
        raise BadInput(
            f"the service {service.name} needs '{service.started_before.command}', which vtlab starts only locally",
            "run it in the cluster, and remove that command",
        )
    if service.env or service.env_file:
        raise BadInput(
            f"the service {service.name} takes values from vtlab's environment or from a file, which an"
            " object in the cluster would hold in plain text",
            "put them into a Secret that a Deployment uses, and measure copies of that Deployment",
        )
