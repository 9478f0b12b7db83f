"""The Prometheus of a run in a cluster: the URL to which k6 pushes, and a client; and the one that gets the verdict."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from vtlab.errors import BlockFault, Interrupted, LabError, PrerequisiteMissing
from vtlab.prometheus.api import PrometheusApi
from vtlab.targets.kubernetes import job
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.port_forward import Forward
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.copies.reference import PROMETHEUS

#: Seconds until a Prometheus must answer that may not be there.
_PATIENCE = 5.0


def remote_write(cluster: Cluster) -> str:
    """Returns the URL to which k6 sends its samples; empty where no CronJob of the release names one."""
    if cluster.release.copying:
        return cluster.release.remote_write
    return next((job.remote_write(cron_job) for cron_job in cluster.cron_jobs(cluster.release.selector("k6"))), "")


def client(cluster: Cluster, remote_write: str, patience: float | None = None) -> PrometheusApi:
    """Returns a client of the Prometheus at that URL of k6's samples. ``patience`` as of ``Forward``."""
    forward = Forward(cluster, remote_write, patience)
    return PrometheusApi(forward.url, transport=forward)


@contextlib.contextmanager
def connect(ref: ReleaseRef) -> Iterator[PrometheusApi]:
    """Connects to the Prometheus that gets the verdict of a run: the one to which its k6 pushed. Where that has ended
    with the run it is the usual one, and PrerequisiteMissing where that does not answer."""
    with contextlib.closing(Cluster(ref)) as cluster:
        if not ref.has_own_prometheus:
            with client(cluster, remote_write(cluster)) as connected:
                yield connected
            return
        with client(cluster, PROMETHEUS, _PATIENCE) as usual:
            _refuse_absent(usual)
            yield usual


def _refuse_absent(usual: PrometheusApi) -> None:
    try:
        usual.now()
    except Interrupted:
        raise
    except (BlockFault, LabError) as error:
        raise PrerequisiteMissing(
            f"vtlab reaches no Prometheus at {PROMETHEUS} ({error})", "the report has the verdict"
        ) from None
