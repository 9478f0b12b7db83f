"""A cluster as the blocks of a run find it: clients, and what vtlab created there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from vtlab.prometheus.queries import Prometheus
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.run_objects import RunObjects
from vtlab.targets.kubernetes.copies.variants import Copies
from vtlab.targets.preflight import Preflight


@dataclass(frozen=True)
class ClusterSite:
    """Clients and objects that all blocks of a run in a cluster have in common."""

    folder: Path
    cluster: Cluster
    #: A client of the Prometheus that scrapes the variants.
    client: Prometheus
    objects: RunObjects
    #: Tells the run's samples of k6 from others'.
    run_id: str
    #: Tells the user something.
    say: Callable[[str], None]
    #: None where a release of the chart is measured.
    copies: Copies | None = None
    #: Used for copies alone.
    preflight: Preflight = field(default_factory=Preflight)
