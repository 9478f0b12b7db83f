"""A variant as a copy of a pod template: its Deployment and its Service. Pure functions of the API's JSON."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vtlab import services
from vtlab.errors import BadInput
from vtlab.host import agent
from vtlab.model.experiment import Experiment
from vtlab.model.service import Service
from vtlab.services import own, processors
from vtlab.targets.kubernetes.api import pods
from vtlab.targets.kubernetes.api.labels import COMPONENT, INSTANCE, VARIANT
from vtlab.targets.kubernetes.api.types import Json

#: The agent's jar in the image that has it (``Dockerfile``), and where a copy gets it.
IN_IMAGE = "/app/vtlab-agent.jar"
_FOLDER = "/vtlab"
_VOLUME = pods.AGENT
#: Ports that the agent may have: the first that the pod does not use.
_AGENT_PORTS = (9404, 19404, 29404)
#: Names of the ports of a copy's Service.
HTTP, AGENT = "http", "vtlab-agent"
_OPTIONS = "JAVA_TOOL_OPTIONS"
#: Names the container that kubectl means where there are several.
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
#: What a copy reserves of the CPU, at most: the limit makes the comparison.
_RESERVED = 0.1
#: Seconds that a copy has to end, at most: it has answered all requests by then, and the next block waits for it.
_GRACE = 10
#: Names that the port of requests has among several.
_HTTP_NAMES = ("http", "web", "http1")


@dataclass(frozen=True)
class Original:
    """What is copied, and what is known of it."""

    service: Service
    #: Metadata and spec of a pod template.
    template: Json
    container: Json
    #: Where the service listens.
    port: int
    agent_port: int

    @property
    def digest(self) -> str:
        """Tells one pod template from another, but for annotations: by one of them kubectl restarts a Deployment."""
        return hashlib.sha256(json.dumps(self.template["spec"], sort_keys=True).encode()).hexdigest()[:12]


def of_deployment(service: Service, deployment: Json) -> Original:
    """The service that a Deployment runs. BadInput where it cannot be copied."""
    template = deployment["spec"]["template"]
    if template["spec"].get("hostNetwork"):
        raise BadInput(
            f"Deployment {service.deployment} uses the network of its node, where two copies have the same port",
            "measure a Deployment without hostNetwork",
        )
    annotations = template.get("metadata", {}).get("annotations") or {}
    containers = {container["name"]: container for container in template["spec"]["containers"]}
    container = containers.get(annotations.get(_DEFAULT_CONTAINER, ""), next(iter(containers.values())))
    return _original(service, template, container, _port(service, container))


def of_image(service: Service) -> Original:
    """The service that an image is: with the rights that Pod Security ``restricted`` leaves it."""
    container = {
        "name": "app",
        "image": service.image,
        "imagePullPolicy": "IfNotPresent",
        "ports": [{"containerPort": service.port}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    if service.readiness != "/":
        port = service.management_port or service.port
        container["readinessProbe"] = {"httpGet": {"path": service.readiness, "port": port}}
    spec = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    return _original(service, {"metadata": {}, "spec": spec}, container, service.port)


def _original(service: Service, template: Json, container: Json, port: int) -> Original:
    taken = {
        declared["containerPort"] for holder in _containers(template["spec"]) for declared in holder.get("ports", [])
    }
    agent_port = next(free for free in _AGENT_PORTS if free not in taken | {port, service.port})
    return Original(service, template, container, port, agent_port)


def _port(service: Service, container: Json) -> int:
    """Where a container listens: by its SERVER_PORT, else the port that it declares. BadInput where it declares
    several, of which none is the service's."""
    named = {variable["name"]: variable.get("value", "") for variable in container.get("env", [])}.get(
        "SERVER_PORT", ""
    )
    if named.isdigit():
        return int(named)
    declared = {port["containerPort"]: port.get("name", "") for port in container.get("ports", [])}
    if service.port in declared or not declared:
        return service.port
    of_http = [number for number, name in declared.items() if name in _HTTP_NAMES] or list(declared)
    if len(of_http) == 1:
        return int(of_http[0])
    raise BadInput(
        f"container {container['name']} of Deployment {service.deployment} has the ports "
        f"{', '.join(map(str, declared))}: which one answers requests?",
        "say it by the key port of the service",
    )


def jvm_flags(original: Original, experiment: Experiment) -> list[str]:
    """The flags that every variant's JVM gets by its environment, without the agent."""
    heap = experiment.limits.heap
    own_flags = [f'"{flag}"' if " " in flag else flag for flag in original.service.jvm_flags]
    flags = [*_given_options(original, experiment).split(), *own_flags]
    sizes = [f"-Xms{heap}", f"-Xmx{heap}"] if heap else []
    counted = processors.fixing([*flags, *pods.flags_of(original.container)], experiment.limits.cpu)
    return [*flags, *own.ending(flags), *sizes, *counted]


def shown_flags(flags: Sequence[str]) -> list[str]:
    """Flags for a record: without the values of system properties and of agents, which may be secret."""
    kept = (flag for flag in flags if flag.startswith("-"))
    return [flag if flag.startswith("-X") or "=" not in flag else f"{flag.partition('=')[0]}=..." for flag in kept]


def has_unseen_options(original: Original) -> bool:
    """Whether the original may have JVM flags that vtlab cannot see, and would replace."""
    return bool(original.container.get("envFrom")) and not _variable(original.container, _OPTIONS)


def deployment(
    original: Original, experiment: Experiment, variant: str, metadata: Json, annotations: Mapping[str, str], image: str
) -> Json:
    """The Deployment of a variant: one pod, never two at once. ``metadata``: the Deployment's, whose labels its pods
    have in place of the original's; ``image`` has the agent's jar. BadInput where the JVM cannot be told of the agent.
    """
    template = copy.deepcopy(original.template)
    kept = template.get("metadata", {}).get("annotations") or {}
    template["metadata"] = {"labels": dict(metadata["labels"]), "annotations": {**kept, **annotations}}
    spec = template["spec"]
    spec["terminationGracePeriodSeconds"] = min(_GRACE, spec.get("terminationGracePeriodSeconds", _GRACE))
    for container in _containers(spec):
        # Most wait for clients to go elsewhere. A copy has none.
        container.get("lifecycle", {}).pop("preStop", None)
        for port in container.get("ports", []):
            port.pop("hostPort", None)
    container = next(copied for copied in spec["containers"] if copied["name"] == original.container["name"])
    _change(container, original, experiment, variant)
    spec["initContainers"] = [_agent_container(image, spec), *spec.get("initContainers", [])]
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
    """The Service of a variant. Its pod gets requests also where load makes it late for its probe."""
    ports = [(HTTP, original.service.port, original.port), (AGENT, original.agent_port, original.agent_port)]
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


def monitor(metadata: Json, more: Mapping[str, str]) -> Json:
    """What lets Prometheus scrape the agents of all copies, every second. ``more``: labels by which it is selected."""
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
        "metadata": {**metadata, "labels": {**metadata["labels"], **more}},
        "spec": {"selector": {"matchLabels": selector(metadata["labels"])}, "endpoints": [endpoint]},
    }


def selector(labels: Mapping[str, str]) -> dict[str, str]:
    """Of the labels of vtlab's pods those that tell them from all others."""
    names = (INSTANCE, COMPONENT, VARIANT)
    return {name: labels[name] for name in names if name in labels}


def _change(container: Json, original: Original, experiment: Experiment, variant: str) -> None:
    """What makes a container the variant: environment, limits, the agent; probes that measure and do not disturb."""
    limits = experiment.limits
    container["env"] = _environment(container.get("env", []), environment(original, experiment, variant))
    resources = container.get("resources", {})
    kept = {name: value for name, value in resources.get("requests", {}).items() if name not in ("cpu", "memory")}
    container["resources"] = {
        **resources,
        "requests": {**kept, "cpu": f"{min(_RESERVED, limits.cpu):g}"},
        "limits": {**resources.get("limits", {}), "cpu": f"{limits.cpu:g}", "memory": limits.memory},
    }
    # More CPU for the warm-up must not restart it.
    policies = [policy for policy in container.get("resizePolicy", []) if policy["resourceName"] != "cpu"]
    container["resizePolicy"] = [*policies, {"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    # Under full load on little CPU an answer takes its time. That must not restart a variant.
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
    mount = {"name": _VOLUME, "mountPath": _FOLDER, "readOnly": True}
    container["volumeMounts"] = [*container.get("volumeMounts", []), mount]


def environment(original: Original, experiment: Experiment, variant: str) -> dict[str, str]:
    """What a variant gets over the original's environment. BadInput as of ``deployment``."""
    of_variant, management = experiment.properties_of(variant), original.service.management_port
    loaded = f"{agent.flag(Path(_FOLDER, Path(IN_IMAGE).name))}=port={original.agent_port},host=0.0.0.0"
    given = services.environment(original.service, experiment, variant)
    return {
        **given,
        "SERVER_PORT": str(original.port),
        **({"MANAGEMENT_SERVER_PORT": str(management)} if management else {}),
        **agent.environment(original.agent_port, None, {**_named(original.container), **given}),
        _OPTIONS: " ".join([*jvm_flags(original, experiment), *of_variant.jvm_flags, loaded]),
    }


def _named(container: Json) -> dict[str, str]:
    """The variables that a container names, without the values that come from elsewhere."""
    return {variable["name"]: variable.get("value", "") for variable in container.get("env") or []}


def _given_options(original: Original, experiment: Experiment) -> str:
    """JAVA_TOOL_OPTIONS as the original and the experiment have it. BadInput where its value is elsewhere."""
    settings = {**original.service.environment, **experiment.settings}
    if _OPTIONS in settings:
        return settings[_OPTIONS]
    variable = _variable(original.container, _OPTIONS)
    if "valueFrom" in variable:
        raise BadInput(
            f"{_OPTIONS} of container {original.container['name']} comes from elsewhere (valueFrom), where vtlab cannot"
            " append its agent",
            f"give its value in settings of the experiment: {_OPTIONS}",
        )
    return str(variable.get("value") or "")


def _containers(spec: Json) -> list[Json]:
    """Of a pod, the init containers, which may be sidecars, included."""
    return [*spec.get("initContainers", []), *spec["containers"]]


def _variable(container: Json, name: str) -> Json:
    return next((variable for variable in container.get("env", []) if variable["name"] == name), {})


def _environment(variables: list[Json], changed: Mapping[str, str]) -> list[Json]:
    """In the order of the original: a later variable may refer to an earlier one."""
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
        "command": ["cp", IN_IMAGE, f"{_FOLDER}/"],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"cpu": "1", "memory": "64Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
            **({} if is_root else {"runAsNonRoot": True}),
        },
        "volumeMounts": [{"name": _VOLUME, "mountPath": _FOLDER}],
    }
