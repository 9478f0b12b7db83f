"""The URL that a probe asks beside the load, as a kubelet asks whether a service lives."""

from __future__ import annotations

from vtlab.model.service import Service

#: Path of the actuator's, where nothing names another.
LIVENESS = "/actuator/health/liveness"


def url(service: Service, base: str, management: str | None = None) -> str:
    """Returns the URL. ``base``: address of the requests; ``management``: that of readiness and metrics, where it is on
    another port."""
    return (management or base) + (service.liveness or LIVENESS)
