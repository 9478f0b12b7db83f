"""The liveness probe of a container: what the kubelet would ask, k6 asks a copy beside the load. Pure functions of the
API's JSON."""

from __future__ import annotations

from dataclasses import dataclass

from vtlab.model.service import Service
from vtlab.services.probe import LIVENESS
from vtlab.targets.kubernetes.api.types import Json


@dataclass(frozen=True)
class Liveness:
    """What is asked whether a service lives."""

    path: str
    #: The pod's.
    port: int
    scheme: str = "http"


def of_container(service: Service, container: Json, port: int) -> Liveness:
    """Returns what a container's own probe asks. Without one of the form ``httpGet`` it is the service's liveness path
    on its management port, or on the ``port`` of its requests."""
    get = _http_get(container)
    own_port = _number(get.get("port"), container)
    if own_port is None:
        return Liveness(service.liveness or LIVENESS, service.management_port or port)
    path = "/" + str(get.get("path") or "").lstrip("/")
    return Liveness(path, own_port, str(get.get("scheme") or "HTTP").lower())


def remark(service: Service, container: Json, port: int) -> str:
    """Says what of a container's own probe is not taken over; empty where nothing is lost."""
    get = _http_get(container)
    if container.get("livenessProbe") and _number(get.get("port"), container) is None:
        asked = of_container(service, container, port)
        asks = f"vtlab asks {asked.path} (port {asked.port})"
        return f"its liveness probe asks another host, has no httpGet or no known port, so {asks}"
    return "headers of its liveness probe (httpHeaders) are not sent to the copies" if get.get("httpHeaders") else ""


def _http_get(container: Json) -> Json:
    """Returns a container's own probe of the form ``httpGet``; empty without one, and for one of another host."""
    get: Json = (container.get("livenessProbe") or {}).get("httpGet") or {}
    return {} if get.get("host") else get


def _number(port: int | str | None, container: Json) -> int | None:
    """Returns the number of a port that a probe names; None without a port of that name."""
    if isinstance(port, int):
        return port
    numbers = (declared["containerPort"] for declared in container.get("ports") or [] if declared.get("name") == port)
    return next(numbers, None) if port else None
