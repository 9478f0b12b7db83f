"""The service that is copied: a Deployment, or an image. Pure functions of the API's JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from vtlab.errors import BadInput
from vtlab.model.service import Service
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.copies import liveness as liveness_probe
from vtlab.targets.kubernetes.copies.liveness import Liveness

#: Ports for the agent: the first that the pod does not use.
_AGENT_PORTS = (9404, 19404, 29404)
#: Ports of a copy's Service for the probe, where its own number leads elsewhere: the first that is free.
_PROBE_PORTS = (8081, 18081, 28081)
#: Names the container that kubectl means where there are several.
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
#: Names that mark the port of requests among several.
_HTTP_NAMES = ("http", "web", "http1")


@dataclass(frozen=True)
class Original:
    """A service that is copied: its pod template, or one for its image."""

    service: Service
    #: Metadata and spec of a pod template.
    template: Json
    container: Json
    #: The port on which the service listens.
    port: int
    agent_port: int
    liveness: Liveness

    @property
    def probe_port(self) -> int:
        """Port of a copy's Service that leads to what the probe asks."""
        if self.liveness.port == self.port:
            return self.service.port
        taken = (self.service.port, self.agent_port)
        return next(free for free in (self.liveness.port, *_PROBE_PORTS) if free not in taken)

    def probe_url(self, host: str) -> str:
        """Returns what the probe asks a copy whose Service has that name."""
        return f"{self.liveness.scheme}://{host}:{self.probe_port}{self.liveness.path}"

    @property
    def digest(self) -> str:
        """Digest of the pod template without annotations: kubectl restarts a Deployment by one of them."""
        return hashlib.sha256(json.dumps(self.template["spec"], sort_keys=True).encode()).hexdigest()[:12]


def from_deployment(service: Service, deployment: Json) -> Original:
    """Returns the service that a Deployment runs. BadInput where it cannot be copied."""
    template = deployment["spec"]["template"]
    if template["spec"].get("hostNetwork"):
        raise BadInput(
            f"Deployment {service.deployment} uses the network of its node, where two copies would need the same port",
            "measure a Deployment without hostNetwork",
        )
    annotations = template.get("metadata", {}).get("annotations") or {}
    containers = {container["name"]: container for container in template["spec"]["containers"]}
    container = containers.get(annotations.get(_DEFAULT_CONTAINER, ""), next(iter(containers.values())))
    return _original(service, template, container, _port(service, container))


def from_image(service: Service) -> Original:
    """Returns the service in an image, with the rights of Pod Security ``restricted``."""
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
        declared["containerPort"] for holder in containers(template["spec"]) for declared in holder.get("ports", [])
    }
    liveness = liveness_probe.of_container(service, container, port)
    agent_port = next(free for free in _AGENT_PORTS if free not in taken | {port, service.port, liveness.port})
    return Original(service, template, container, port, agent_port, liveness)


def _port(service: Service, container: Json) -> int:
    """Returns the port on which a container listens: its SERVER_PORT, else the port that it declares. BadInput where it
    declares several, of which none is the service's."""
    variables = {variable["name"]: variable.get("value", "") for variable in container.get("env", [])}
    server_port = variables.get("SERVER_PORT", "")
    if server_port.isdigit():
        return int(server_port)
    declared = {port["containerPort"]: port.get("name", "") for port in container.get("ports", [])}
    if service.port in declared or not declared:
        return service.port
    http_ports = [number for number, name in declared.items() if name in _HTTP_NAMES] or list(declared)
    if len(http_ports) == 1:
        return int(http_ports[0])
    raise BadInput(
        f"container {container['name']} of Deployment {service.deployment} has the ports "
        f"{', '.join(map(str, declared))}: vtlab does not know which one answers requests",
        "name it in the key port of the service",
    )


def containers(spec: Json) -> list[Json]:
    """Returns all containers of a pod, with its init containers, which may be sidecars."""
    return [*spec.get("initContainers", []), *spec["containers"]]
