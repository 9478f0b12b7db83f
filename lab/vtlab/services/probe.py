"""The URL that a probe asks beside the load, as a kubelet asks whether a service lives."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from vtlab.model.service import Service

#: Path of the actuator's, where nothing names another.
LIVENESS = "/actuator/health/liveness"
#: Spring Boot's setting that puts the liveness of a management port on the port of the requests, too, and its path.
ADDITIONAL_PATHS, LIVEZ = "MANAGEMENT_ENDPOINT_HEALTH_PROBES_ADD_ADDITIONAL_PATHS", "/livez"


def url(
    service: Service,
    base: str,
    management: str | None = None,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Returns the URL. ``base``: address of the requests; ``management``: that of readiness and metrics, where it is on
    another port. ``settings``: environment of the variant."""
    if management and not service.liveness and settings.get(ADDITIONAL_PATHS) == "true":
        return base + LIVEZ
    return (management or base) + (service.liveness or LIVENESS)
