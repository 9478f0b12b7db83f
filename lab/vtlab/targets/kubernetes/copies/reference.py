"""References to copies of a service: what a run measures in place of a release."""

from __future__ import annotations

import os
from dataclasses import replace

from vtlab.model.service import Service
from vtlab.targets.kubernetes.api.release_ref import Copying, ReleaseRef
from vtlab.targets.kubernetes.copies import images

#: The Prometheus of kube-prometheus-stack, as in the chart. It gets the verdict of a run that has one of its own.
PROMETHEUS = "http://prometheus-operated.monitoring:9090"
#: Characters of a service's name in the names of its copies: a Service's name has at most 63.
_LONGEST = 20


def with_unique_name(ref: ReleaseRef) -> ReleaseRef:
    """Names the copies of one call so that what an earlier call left behind is no part of them."""
    beginning = ref.name[:_LONGEST].rstrip("-.").replace(".", "-")
    return replace(ref, name=f"vtlab-{beginning}-{os.urandom(2).hex()}")


def default_copying() -> Copying:
    """Returns the chart's images, and a Prometheus of the run's own."""
    agent_image, k6_image = images.of_chart()
    return Copying(agent_image=agent_image, k6_image=k6_image, prometheus_image=images.PROMETHEUS)


def for_service(cluster_ref: ReleaseRef, copying: Copying, service: Service) -> ReleaseRef:
    """Returns what a run of this service measures in a cluster: the release of the chart, or copies."""
    if not service.is_copied:
        return cluster_ref
    return replace(cluster_ref, name=service.deployment or service.name, copying=copying)


def copying_of(ref: ReleaseRef) -> Copying:
    """Returns what the copies of a reference need."""
    assert ref.copying is not None, "a run of copies has what they need"
    return ref.copying
