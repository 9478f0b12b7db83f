"""A cluster as the target of a run: fresh pods of the chart's Deployments for each block, k6 as Jobs.

vtlab changes nothing that Helm set: it replaces pods by an annotation and refuses where a Deployment is not what the
experiment says. Each call of k6 (the warm-up, more of it, the measured trials) is a Job made from the experiment's
CronJob. Of a service of the user's vtlab makes the Deployments itself (``copies``).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from vtlab.errors import BadInput, LabError, PrerequisiteMissing
from vtlab.host import process_ledger, processes
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.records import Failure, Instance
from vtlab.model.service import Meters, Service
from vtlab.prometheus.queries import NotScraped, Prometheus
from vtlab.services import processors
from vtlab.services.resolve import resolve_service
from vtlab.targets import verification
from vtlab.targets.kubernetes import cluster_prometheus
from vtlab.targets.kubernetes.api import pods, watch
from vtlab.targets.kubernetes.api import run_objects as objects
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.port_forward import Forward
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.run_objects import RunObjects
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.block import ClusterStart, KubernetesBlock
from vtlab.targets.kubernetes.copies import manifests, reference
from vtlab.targets.kubernetes.copies.variants import Copies
from vtlab.targets.kubernetes.release import facts as release
from vtlab.targets.kubernetes.site import ClusterSite
from vtlab.targets.verification import Figures, StartedVariant

#: Seconds until a fresh pod must have been scraped: after an installation, and for each call's copies, the operator's
#: configuration reaches Prometheus through a Secret that the kubelet renews within two minutes, later on a busy node.
_SCRAPED_WITHIN = 240.0
#: The same in a run with a Prometheus of its own, which knows the copies from its start.
_SCRAPED_BY_OWN_WITHIN = 60.0
#: Seconds between two scrapes that a trial's window needs, at most.
_SCRAPE_INTERVAL = 1.0
#: Seconds for which the clean-up waits for an API server that is away.
_LAST_PATIENCE = 10.0
#: Annotation whose change replaces the pods.
_BLOCK = "vtlab/block"


@dataclass(frozen=True)
class StartedPod:
    """Pod of a variant that is ready."""

    service: Service
    experiment: Experiment
    variant: str
    pod: Json


class KubernetesTarget:
    """Runs blocks in a cluster. Made by ``kubernetes_target``, which also deletes what it created."""

    def __init__(self, site: ClusterSite) -> None:
        self.site = site
        #: Starts so far: a change of this number in an annotation replaces the pods. An attempt may start them twice.
        self._starts = 0

    def start(self, experiment: Experiment, block: int, attempt: int) -> KubernetesBlock:
        """Starts fresh pods of all variants: ready, limits verified, scraped at least once. Variants whose service does
        not start are among the block's failures.

        BlockFault when a pod does not start for another reason; BadInput where a Deployment is not what the experiment
        says; PrerequisiteMissing where waiting would not help (an image that is not there).
        """
        service, client = resolve_service(experiment), self.site.client
        if not self.site.cluster.release.has_own_prometheus:
            # Before any pod is replaced.
            client.refuse_old()
        self._starts += 1
        stamp = f"{self.site.objects.name}-{block}-{self._starts}"
        pods_by_variant, failed = self._replace_pods(service, experiment, stamp)
        prometheus = self._own_prometheus()
        # Prometheus's clock: the cluster's may differ from this machine's.
        now = client.now()
        client.selectors = self._selectors(pods_by_variant)
        scraped_at = {name: self._scraped(name, now) for name in pods_by_variant}
        processors_of = node_processors(client, {pods.node(pod) for pod in pods_by_variant.values()})
        instances = [
            self._verified(StartedPod(service, experiment, name, pod), scraped_at[name]).model_copy(
                update={"node": pods.node(pod), "node_cpu": processors_of.get(pods.node(pod))}
            )
            for name, pod in pods_by_variant.items()
        ]
        failures = [Failure(variant=name, reason=reason, moment="while it started") for name, reason in failed.items()]
        started = KubernetesBlock(
            self.site,
            ClusterStart(service, experiment, block, attempt, pods_by_variant, instances, failures, prometheus),
        )
        if self.site.copies:
            self.site.preflight.check(started)
        return started

    def _replace_pods(
        self, service: Service, experiment: Experiment, stamp: str
    ) -> tuple[Mapping[str, Json], Mapping[str, str]]:
        """Replaces the pods of all variants, and waits for them. Returns the pods that are ready, and why others are
        not, by variant."""
        site, cluster = self.site, self.site.cluster
        site.objects.delete_job()
        watch.wait_until_idle(cluster)
        if site.copies:
            site.copies.renew(service, experiment, _BLOCK, stamp)
        else:
            release.collect_from(cluster, service, experiment)
            # From here on another vtlab sees that this one measures. One that has begun meanwhile gives up as well.
            site.objects.put_experiment(experiment, release.template(cluster, experiment))
            objects.refuse_others(cluster)
            for name in experiment.variants:
                cluster.annotate_pods(cluster.release.deployment(name), _BLOCK, stamp)
        return watch.wait_for_pods(cluster, experiment.variants, _BLOCK, stamp)

    def _own_prometheus(self) -> Json | None:
        """Waits for the Prometheus of a run of copies; returns its pod. None where the run uses another."""
        if not self.site.cluster.release.has_own_prometheus:
            return None
        pod = watch.wait_for_prometheus(self.site.cluster)
        self.site.client.refuse_old()
        return pod

    def _selectors(self, pods_by_variant: Mapping[str, Json]) -> dict[str, dict[str, str]]:
        """Returns the labels of each variant's series in a shared Prometheus."""
        if self.site.cluster.release.has_own_prometheus:
            return {}
        # Whoever else scrapes a copy's pod scrapes another port of it.
        endpoint = {"endpoint": manifests.AGENT} if self.site.copies else {}
        namespace = self.site.cluster.release.namespace
        return {
            name: {"namespace": namespace, "pod": pods.name(pod), **endpoint} for name, pod in pods_by_variant.items()
        }

    def _scraped(self, name: str, after_ms: int) -> int:
        """Waits until a variant was scraped after that time; returns when. BlockFault where it was not;
        PrerequisiteMissing where that is too rare, or where another Prometheus does not know of copies."""
        client, ref = self.site.client, self.site.cluster.release
        # Before the wait, which may be too short for it; after it for a target that was not known before.
        refuse_rare_scrapes(client, ref, name)
        try:
            within = _SCRAPED_BY_OWN_WITHIN if ref.has_own_prometheus else _SCRAPED_WITHIN
            at = client.await_scrape(name, after_ms, within=within)
        except NotScraped as fault:
            if ref.has_own_prometheus:
                raise NotScraped(f"{fault}: {client.scrape_error(name) or 'no reason is known'}") from None
            if ref.copying and client.scrape_interval(name) is None:
                raise PrerequisiteMissing(
                    f"{name}: Prometheus does not use the ServiceMonitor {ref.name} in namespace {ref.namespace}",
                    "name the labels that it selects ServiceMonitors by (--monitor-labels release=stack), and let"
                    " it select that namespace (serviceMonitorNamespaceSelector)",
                ) from None
            raise
        refuse_rare_scrapes(client, ref, name)
        return at

    def _verified(self, started: StartedPod, scraped_at: int) -> Instance:
        """Verifies a variant, and returns what its JVM says of itself. PrerequisiteMissing where a limit is not the one
        that it should have."""
        site, name, experiment, pod = self.site, started.variant, started.experiment, started.pod
        figures = verification.read(site.client, name, scraped_at)
        meters = _meters_of_agent(figures) if site.copies else started.service.meters
        counted = processors.counted(pods.jvm_flags(pod), experiment.limits.cpu) if site.copies else None
        variant = StartedVariant(name, experiment, meters, figures, processors=counted)
        verification.refuse_other_limits(variant, "let the node's kubelet enforce CPU limits (cpuCFSQuota: true)")
        verification.refuse_other_threads(variant)
        refuse_other_java(site.cluster.release, experiment, name, figures.java)
        return Instance(
            variant=name,
            identity=pods.uid(pod),
            java=figures.java,
            gc=figures.gc,
            processors=int(figures.processors or 0),
            cpu_limit=figures.cpu_limit,
            started_in=pods.started_in(pod),
            class_archives=figures.class_archives,
        )


@contextlib.contextmanager
def kubernetes_target(
    folder: Path, root: Path, ref: ReleaseRef, run_id: str, say: Callable[[str], None] = print
) -> Iterator[KubernetesTarget]:
    """Prepares the release, or copies of a service, for the run in ``folder``. At its end no Job or ConfigMap of
    vtlab's is left, and the cluster deletes the copies with the ConfigMap.

    PrerequisiteMissing where another vtlab measures the release.
    """
    folder, root = folder.absolute(), root.absolute()
    if ref.copying:
        ref = reference.with_unique_name(ref)
    # The name of this run's ConfigMap, and how its Jobs' names begin.
    name = ref.name if ref.copying else _name(ref, run_id)
    end = contextlib.ExitStack()
    try:
        process_ledger.end_orphans(root)
        end.enter_context(process_ledger.open_exclusive(root))
        cluster = end.enter_context(contextlib.closing(Cluster(ref)))
        objects.delete_orphans(cluster)
        forward = Forward(cluster, cluster_prometheus.remote_write(cluster))
        client = end.enter_context(Prometheus(forward.url, transport=forward))
        client.run = {"testid": run_id}
        run_objects = RunObjects(cluster, name)
        end.callback(_delete, cluster, run_objects)
        copies_ = Copies(cluster, run_objects, say) if ref.copying else None
        yield KubernetesTarget(ClusterSite(folder, cluster, client, run_objects, run_id, say, copies_))
    finally:
        with processes.uninterrupted():
            end.close()


def _name(ref: ReleaseRef, run_id: str) -> str:
    """Returns a name for the run's objects, another one in each call of vtlab: a resumed run must not find the pods and
    Jobs of the call before it under its own names."""
    run = re.sub(r"[^a-z0-9-]+", "-", run_id.lower()).strip("-")
    return f"{ref.name}-vtlab-{run}"[:40].rstrip("-") + f"-{os.urandom(2).hex()}"


def _delete(cluster: Cluster, run_objects: RunObjects) -> None:
    cluster.patience = min(cluster.patience, _LAST_PATIENCE)
    # A cluster that cannot be reached now keeps them until the next vtlab there.
    with contextlib.suppress(LabError):
        run_objects.delete()


def _meters_of_agent(figures: Figures) -> list[Meters]:
    """Returns the meters that the agent provides for a service of which vtlab knows nothing else."""
    of_server: dict[Meters, float | None] = {"tomcat": figures.tomcat_threads, "jetty": figures.jetty_virtual}
    return ["jvm", "process", "cgroup", *(meter for meter, figure in of_server.items() if figure is not None)]


def refuse_other_java(ref: ReleaseRef, experiment: Experiment, name: str, version: str) -> None:
    """Raises BadInput when a variant that is made by its JDK runs on another."""
    expected = experiment.properties_of(name).java
    if expected is not None and re.split(r"\D", version)[0] != str(expected):
        raise BadInput(
            f"{name}: it runs on Java {version}, the experiment says {expected}",
            "remove java from properties: all copies have one image"
            if ref.copying
            else "name an image with that JDK: " + ref.helm_upgrade(f"--set variants.{name}.image.tag=…"),
        )


def node_processors(client: Prometheus, nodes: Set[str]) -> dict[str, str]:
    """Returns the processors of nodes, by their names, where there is more than one and node-exporter says it."""
    if len(nodes) < 2:
        return {}
    named = "|".join(map(re.escape, sorted(nodes)))
    names = f"group_left (nodename) node_uname_info{{nodename=~{json.dumps(named)}}}"
    series = client.query(f"count by (nodename, model_name) (node_cpu_info * on (instance) {names})", client.now())
    return {labels["nodename"]: f"{count:g} × {labels.get('model_name', 'unknown')}" for labels, count in series}


def refuse_rare_scrapes(client: Prometheus, ref: ReleaseRef, name: str) -> None:
    """Raises PrerequisiteMissing when Prometheus scrapes the variant too rarely for windows of a few seconds."""
    interval = client.scrape_interval(name)
    if interval and _seconds(interval) > _SCRAPE_INTERVAL:
        raise PrerequisiteMissing(
            f"{name}: Prometheus scrapes it every {interval}, vtlab needs {_SCRAPE_INTERVAL:g}s",
            "let Prometheus use the interval of its ServiceMonitors"
            if ref.copying
            else ref.helm_upgrade(f"--set monitoring.interval={_SCRAPE_INTERVAL:g}s")
            + "; the operator takes up to two minutes to tell Prometheus",
        )


def _seconds(interval: str) -> float:
    """Reads a duration as Prometheus writes it; returns 0 for one of no known form."""
    try:
        return units.seconds(interval)
    except ValueError:
        return 0.0
