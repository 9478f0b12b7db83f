"""The Kubernetes objects of a copy: Deployment, Service, ServiceMonitor. Pure functions of the API's JSON."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

from vtlab.host import agent
from vtlab.model.experiment import Experiment
from vtlab.targets.kubernetes.api import pods
from vtlab.targets.kubernetes.api.labels import COMPONENT, INSTANCE, VARIANT
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.copies import environment
from vtlab.targets.kubernetes.copies.environment import AGENT_FOLDER, AGENT_IN_IMAGE
from vtlab.targets.kubernetes.copies.original import Original, containers

_VOLUME = pods.AGENT
#: Names of the ports of a copy's Service.
HTTP, AGENT, PROBE = "http", pods.AGENT, "probe"
#: Cores that a copy requests, at most: the limit is what is compared.
_RESERVED = 0.1
#: Seconds that a copy may take to end: all its requests are answered by then, and the next block waits for it.
_GRACE = 10
#: Autoscalers move no copy in a trial, as the chart has it for its pods.
_STAYS = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}


@dataclass(frozen=True)
class CopiedVariant:
    """One variant of an experiment as a copy of a service."""

    original: Original
    experiment: Experiment
    name: str


def deployment(variant: CopiedVariant, metadata: Json, annotations: Mapping[str, str], agent_image: str) -> Json:
    """Returns the Deployment of a variant: one pod, never two at once. Its pods have the labels of its ``metadata`` in
    place of the original's. BadInput as in ``environment.variables``.
    """
    original = variant.original
    template = copy.deepcopy(original.template)
    original_annotations = template.get("metadata", {}).get("annotations") or {}
    template["metadata"] = {
        "labels": dict(metadata["labels"]),
        "annotations": {**original_annotations, **_STAYS, **annotations},
    }
    spec = template["spec"]
    spec["terminationGracePeriodSeconds"] = min(_GRACE, spec.get("terminationGracePeriodSeconds", _GRACE))
    for container in containers(spec):
        # Most hooks wait until clients have left. A copy has no clients.
        container.get("lifecycle", {}).pop("preStop", None)
        for port in container.get("ports", []):
            port.pop("hostPort", None)
    _prefer_one_node(spec, metadata["labels"])
    container = next(copied for copied in spec["containers"] if copied["name"] == original.container["name"])
    _change(container, variant)
    spec["initContainers"] = [_agent_container(agent_image, spec), *spec.get("initContainers", [])]
    spec.setdefault("volumes", []).append({"name": _VOLUME, "emptyDir": {}})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": selector(metadata["labels"])},
            "template": template,
        },
    }


def service(original: Original, metadata: Json) -> Json:
    """Returns the Service of a variant. Its pod gets requests also while load delays its readiness probe."""
    ports = [(HTTP, original.service.port, original.port), (AGENT, original.agent_port, original.agent_port)]
    if original.liveness.port != original.port:
        ports.append((PROBE, original.probe_port, original.liveness.port))
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "selector": selector(metadata["labels"]),
            "publishNotReadyAddresses": True,
            "ports": [{"name": name, "port": port, "targetPort": target} for name, port, target in ports],
        },
    }


def monitor(metadata: Json, selecting_labels: Mapping[str, str]) -> Json:
    """Returns the ServiceMonitor by which Prometheus scrapes the agents of all copies, every second.

    ``selecting_labels``: labels by which Prometheus selects it.
    """
    relabeling = {"sourceLabels": ["__meta_kubernetes_pod_label_variant"], "targetLabel": "variant"}
    endpoint = {
        "port": AGENT,
        "path": agent.PAGE,
        "interval": "1s",
        "scrapeTimeout": "1s",
        "relabelings": [relabeling],
    }
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {**metadata, "labels": {**metadata["labels"], **selecting_labels}},
        "spec": {"selector": {"matchLabels": selector(metadata["labels"])}, "endpoints": [endpoint]},
    }


def selector(labels: Mapping[str, str]) -> dict[str, str]:
    """Returns those labels that tell vtlab's pods from all others."""
    names = (INSTANCE, COMPONENT, VARIANT)
    return {name: labels[name] for name in names if name in labels}


#: Key of rules that the scheduler may break.
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def same_node(labels: Mapping[str, str]) -> Json:
    """Returns the term of an affinity to nodes with pods of these labels."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": dict(labels)}}
    return {"weight": 100, "podAffinityTerm": term}


def _prefer_one_node(spec: Json, labels: Mapping[str, str]) -> None:
    """Makes the copies of a run prefer one node, or the nodes would be compared, too."""
    copies = {name: labels[name] for name in (INSTANCE, COMPONENT)}
    affinity = spec.get("affinity") or {}
    of_pods = affinity.get("podAffinity") or {}
    preferred = [*(of_pods.get(PREFERRED) or []), same_node(copies)]
    spec["affinity"] = {**affinity, "podAffinity": {**of_pods, PREFERRED: preferred}}


def _change(container: Json, variant: CopiedVariant) -> None:
    """Makes a container the variant: environment, limits, the agent; probes that measure and do not disturb."""
    original, limits = variant.original, variant.experiment.limits
    changed = environment.variables(original, variant.experiment, variant.name)
    container["env"] = _environment(container.get("env", []), changed)
    resources = container.get("resources", {})
    other_requests = {
        name: value for name, value in resources.get("requests", {}).items() if name not in ("cpu", "memory")
    }
    container["resources"] = {
        **resources,
        "requests": {**other_requests, "cpu": f"{min(_RESERVED, limits.cpu):g}"},
        "limits": {**resources.get("limits", {}), "cpu": f"{limits.cpu:g}", "memory": limits.memory},
    }
    # More CPU for the warm-up must not restart it.
    policies = [policy for policy in container.get("resizePolicy", []) if policy["resourceName"] != "cpu"]
    container["resizePolicy"] = [*policies, {"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    # Under full load on little CPU answers are slow. That must not restart a variant.
    for disturbing in ("livenessProbe", "startupProbe"):
        container.pop(disturbing, None)
    probe = container.get("readinessProbe") or {"tcpSocket": {"port": original.port}}
    container["readinessProbe"] = {
        **probe,
        "initialDelaySeconds": 0,
        "periodSeconds": 1,
        "successThreshold": 1,
        "timeoutSeconds": 10,
        "failureThreshold": 6,
    }
    mount = {"name": _VOLUME, "mountPath": AGENT_FOLDER, "readOnly": True}
    container["volumeMounts"] = [*container.get("volumeMounts", []), mount]


def _environment(variables: list[Json], changed: Mapping[str, str]) -> list[Json]:
    """Returns the variables in the order of the original: a later one may refer to an earlier one."""
    names = [variable["name"] for variable in variables]
    new = [{"name": name, "value": value} for name, value in changed.items() if name not in names]
    return [
        {"name": variable["name"], "value": changed[variable["name"]]} if variable["name"] in changed else variable
        for variable in variables
    ] + new


def _agent_container(image: str, spec: Json) -> Json:
    """Copies the agent's jar into the volume that it shares with the service."""
    is_root = (spec.get("securityContext") or {}).get("runAsUser") == 0
    return {
        "name": pods.AGENT,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["cp", AGENT_IN_IMAGE, f"{AGENT_FOLDER}/"],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"cpu": "1", "memory": "64Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
            **({} if is_root else {"runAsNonRoot": True}),
        },
        "volumeMounts": [{"name": _VOLUME, "mountPath": AGENT_FOLDER}],
    }
