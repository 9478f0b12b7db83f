"""The cluster's Prometheus: the URL to which k6 pushes, and a client."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from vtlab.prometheus.api import PrometheusApi
from vtlab.targets.kubernetes import job
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.port_forward import Forward
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef


def remote_write(cluster: Cluster) -> str:
    """Returns the URL to which k6 sends its samples; empty where no CronJob of the release names one."""
    if cluster.release.copying:
        return cluster.release.copying.remote_write
    return next((job.remote_write(cron_job) for cron_job in cluster.cron_jobs(cluster.release.selector("k6"))), "")


def client(cluster: Cluster, remote_write: str) -> PrometheusApi:
    """Returns a client of the Prometheus at that URL of k6's samples."""
    forward = Forward(cluster, remote_write)
    return PrometheusApi(forward.url, transport=forward)


@contextlib.contextmanager
def connect(ref: ReleaseRef) -> Iterator[PrometheusApi]:
    """Connects to the Prometheus to which the k6 of a release pushes."""
    with contextlib.closing(Cluster(ref)) as cluster, client(cluster, remote_write(cluster)) as connected:
        yield connected
