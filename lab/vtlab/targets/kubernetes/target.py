"""A cluster as the target of a run: fresh pods of the chart's Deployments for each block, k6 as Jobs.

vtlab changes nothing that Helm set: it replaces pods by an annotation and refuses where a Deployment is not what the
experiment says. Each call of k6 (the warm-up, more of it, the measured trials) is a Job made from the experiment's
CronJob.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path

from vtlab.errors import BadInput, BlockFault, LabError, PrerequisiteMissing
from vtlab.host import processes
from vtlab.host.machine import difference, reaching
from vtlab.host.processes import Ledger
from vtlab.model import normalised, units, variant
from vtlab.model.experiment import Experiment
from vtlab.model.records import Instance, K6Document, Trial
from vtlab.model.run import BlockSeries
from vtlab.targets.annotation import annotate
from vtlab.targets.kubernetes import job, pods, release, watch
from vtlab.targets.kubernetes.cluster import Cluster, Json, Where
from vtlab.targets.kubernetes.forward import Forward
from vtlab.targets.prometheus import Prometheus

#: Seconds until a fresh pod must have been scraped: after an installation the operator's configuration reaches
#: Prometheus through a Secret that the kubelet renews within two minutes.
_SCRAPED_WITHIN = 150.0
#: Seconds between two scrapes that a trial's window needs, at most.
_SCRAPE_INTERVAL = 1.0
#: Seconds for which the clean-up waits for an API server that is away.
_LAST_PATIENCE = 10.0
#: Milliseconds at the end of a window that k6 may not have lived through: some samples in its pod.
_UNSEEN = 1500
#: Annotation whose change replaces the pods.
_BLOCK = "vtlab/block"
#: Of the variants' Services.
_PORT = 8080


class KubernetesTarget:
    """Runs blocks in a cluster. A context manager: at its end no Job or ConfigMap of vtlab's is left."""

    def __init__(self, folder: Path, root: Path, where: Where, run_id: str) -> None:
        self._run_id = run_id
        self._folder = folder.absolute()
        self._root = root.absolute()
        self._where = where
        run = re.sub(r"[^a-z0-9-]+", "-", run_id.lower()).strip("-")
        #: The name of this run's ConfigMap, and how its Jobs' names begin. Another one in each call of vtlab: a
        #: resumed run must not find the pods and Jobs of the call before it under its own names.
        self._name = f"{where.release}-vtlab-{run}"[:40].rstrip("-") + f"-{os.urandom(2).hex()}"
        self._cluster: Cluster | None = None
        self._ledger: Ledger | None = None
        self._client: Prometheus | None = None
        self._config_map = False
        self._job: str | None = None
        self._pods: dict[str, Json] = {}
        self._instances: list[Instance] = []
        #: The last phase of each variant in this block.
        self._before: dict[str, Trial] = {}
        self._nodes: set[str] = set()
        self._block, self._loads = (0, 0), 0

    def __enter__(self) -> KubernetesTarget:
        try:
            processes.end_orphans(self._root)
            self._ledger = processes.open_exclusive_ledger(self._root)
            self._cluster = Cluster(self._where)
            self._end_orphans()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Deletes its Job and ConfigMap, ends kubectl; idempotent."""
        with processes.uninterrupted():
            try:
                if self._cluster:
                    self._cluster.patience = min(self._cluster.patience, _LAST_PATIENCE)
                    # A cluster that cannot be reached now keeps them until the next vtlab there.
                    with contextlib.suppress(LabError):
                        self._end_job()
                        if self._config_map:
                            self._cluster.delete_config_map(self._name)
                            self._config_map = False
            finally:
                if self._client:
                    self._client.close()
                    self._client = None
                if self._cluster:
                    self._cluster.close()
                    self._cluster = None
                if self._ledger:
                    self._ledger.close()
                    self._ledger = None

    def start(self, experiment: Experiment, block: int, attempt: int) -> KubernetesTarget:
        """Fresh pods of all variants, ready, limits verified, scraped at least once.

        BlockFault when one does not start; BadInput where a Deployment is not what the experiment says;
        PrerequisiteMissing where waiting would not help (an image that is not there).
        """
        cluster = self._held()
        self._end_job()
        watch.quiet(cluster)
        release.facts_of(cluster, experiment)
        # From here on another vtlab sees that this one measures. One that has begun meanwhile gives up as well.
        self._put_experiment(experiment, release.template(cluster, experiment))
        self._refuse_another()
        self._block, self._loads = (block, attempt), 0
        self._instances, self._pods, self._before = [], {}, {}
        stamp = f"{self._name}-{block}-{attempt}"
        for name in experiment.variants:
            cluster.annotate_pods(self._where.deployment(name), _BLOCK, stamp)
        self._pods = watch.fresh(cluster, experiment.variants, _BLOCK, stamp)
        client = self._prometheus(experiment)
        # Prometheus's clock: the cluster's may differ from this machine's.
        now = client.now()
        client.selectors = {
            name: {"namespace": self._where.namespace, "pod": pods.name(pod)} for name, pod in self._pods.items()
        }
        for name in experiment.variants:
            # Before the wait, which may be too short for it; after it for a target that was not known before.
            self._refuse_rare_scrapes(client, name)
            client.await_scrape(name, now, within=_SCRAPED_WITHIN)
            self._refuse_rare_scrapes(client, name)
        self._instances = [self._instance(client, experiment, name) for name in experiment.variants]
        return self

    @property
    def instances(self) -> list[Instance]:
        """The pods of the block that was started last."""
        return list(self._instances)

    def load(self, *, order: Sequence[str], warmup_cycles: int, single: str | None) -> K6Document:
        """Runs k6 once, as a Job. BlockFault when k6 fails, or, deleting the Job at once, when a pod does.

        Fills ``server`` and ``machine`` of every record.
        """
        return self._load({"ORDER": ",".join(order), "WARMUP_CYCLES": str(warmup_cycles), "SINGLE": single or "0s"})

    def _load(self, what: dict[str, str]) -> K6Document:
        client, experiment = self._client, self._experiment()
        if client is None:
            raise RuntimeError("start comes first")
        self._loads += 1
        block, attempt = self._block
        name = f"{self._name}-{block}-{attempt}-{self._loads}"
        targets = {each: f"http://{self._where.deployment(each)}:{_PORT}" for each in experiment.variants}
        env = {
            "TARGETS": json.dumps(targets),
            **what,
            # Also where the experiment gives up: vtlab may replace pods, not end one.
            "WAIT_FOR_ANSWERS": "true",
            "RUN_ID": self._run_id,
            "BLOCK": str(block),
            "DOCUMENT": "stdout",
        }
        log = self._run(name, env, experiment)
        found = job.document(log)
        samples = job.samples(log)
        records = (*found.warmup, *found.single, *found.trials)
        annotate(
            found, client, lambda start, end: difference(samples, start, reaching(samples, end, _UNSEEN)), self._before
        )
        self._refuse_pressure(client, records[0].begin, records[-1].drained)
        return found

    def trial_without_drain(self, variant: str, position: int) -> K6Document:
        """Runs k6 once, as a Job, and waits for every answer."""
        return self._load({"ORDER": variant, "WARMUP_CYCLES": "0", "SINGLE": "0s", "POSITION": str(position)})

    def check_instances(self) -> list[Instance]:
        """Whether the pods are those that started. They stay until the next block replaces them."""
        checked = []
        now = {pods.uid(pod): pod for pod in self._held().pods(self._where.selector("variant"))}
        for instance in self._instances:
            pod = now.get(instance.identity)
            alive = pod is not None and pods.trouble(pod) is None
            kills = pods.oom_kills(pod) if pod else 0
            checked.append(instance.model_copy(update={"alive": alive, "oom_kills": kills}))
        return checked

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        """The charts' samples of all variants, every second."""
        if self._client is None:
            raise RuntimeError("start comes first")
        return {name: self._client.charted(name, begin_ms, end_ms) for name in self._pods}

    def _run(self, name: str, env: dict[str, str], experiment: Experiment) -> str:
        """The log of a Job that ended well. Whatever happens, the Job is deleted."""
        cluster = self._held()
        template = release.template(cluster, experiment)
        self._job = name
        try:
            cluster.create_job(job.manifest(template, name, job.labels(self._where.release), env, self._name))
            pod = watch.ended(cluster, name, f"{self._name}-", self._pods)
            self._nodes = {str(each["spec"].get("nodeName", "")) for each in (pod, *self._pods.values())}
            log = cluster.log(pods.name(pod), job.CONTAINER)
        except BaseException:
            with contextlib.suppress(LabError):
                self._end_job()
            raise
        self._end_job()
        self._keep(f"{name.removeprefix(self._name + '-')}-k6.log", log)
        code = pods.exit_code(pod, job.CONTAINER)
        # 99: a threshold was crossed, which the validity checks judge better.
        if code not in (0, 99):
            raise BlockFault(f"k6 ended with exit code {code}: {job.last_lines(log) or 'it said nothing'}")
        return log

    def _instance(self, client: Prometheus, experiment: Experiment, name: str) -> Instance:
        """What the JVM says of itself; PrerequisiteMissing where that is not the limit that it should have."""
        pod = self._pods[name]
        now = client.now()
        limit = client.measured(name, "max(cgroup_cpu_limit_cores{$server})", now)
        processors = client.measured(name, "max(system_cpu_count{$server})", now)
        wanted = experiment.limits.cpu
        if limit is None or abs(limit - wanted) > release.TOLERANCE * wanted or processors != math.ceil(wanted):
            seen = "no limit" if limit is None else f"{limit:g} cores"
            raise PrerequisiteMissing(
                f"{name}: the CPU limit of {wanted:g} does not hold: the JVM reads {seen} and counts "
                f"{processors or 0:g} processors",
                "let the node's kubelet enforce CPU limits (cpuCFSQuota: true)",
            )
        threads = experiment.properties_of(name).threads
        pool = client.measured(name, "max(tomcat_threads_config_max_threads{$server})", now)
        variant.refuse_other_threads(name, threads, pool)
        info = client.labels(name, "jvm_info{$server}", now)
        self._refuse_other_java(experiment, name, info.get("version", "unknown"))
        return Instance(
            variant=name,
            identity=pods.uid(pod),
            java=" ".join(filter(None, (info.get("version", "unknown"), info.get("vendor")))),
            gc=client.labels(name, "jvm_gc_info{$server}", now).get("name", "unknown"),
            processors=int(processors or 0),
            cpu_limit=limit,
            started_in=pods.started_in(pod),
        )

    def _refuse_other_java(self, experiment: Experiment, name: str, version: str) -> None:
        """BadInput when a variant that is made by its JDK runs on another."""
        wanted = experiment.properties_of(name).java
        if wanted is not None and re.split(r"\D", version)[0] != str(wanted):
            raise BadInput(
                f"{name}: it runs on Java {version}, the experiment says {wanted}",
                "name an image with that JDK: " + self._where.helm_upgrade(f"--set variants.{name}.image.tag=…"),
            )

    def _prometheus(self, experiment: Experiment) -> Prometheus:
        if self._client is None:
            if self._ledger is None:
                raise RuntimeError("a KubernetesTarget works only inside its 'with'")
            remote_write = job.remote_write(release.template(self._held(), experiment))
            log = self._folder / "logs" / "port-forward.log"
            forward = Forward(self._where, remote_write, self._ledger, log)
            client = Prometheus(forward.url, transport=forward)
            client.run = {"testid": self._run_id}
            try:
                client.refuse_old()
            except BaseException:
                client.close()
                raise
            # Only now: the next attempt must not go on with one that was never asked.
            self._client = client
        return self._client

    def _refuse_rare_scrapes(self, client: Prometheus, name: str) -> None:
        """PrerequisiteMissing when Prometheus scrapes the variant too rarely for windows of a few seconds."""
        interval = client.scrape_interval(name)
        if interval and _seconds(interval) > _SCRAPE_INTERVAL:
            raise PrerequisiteMissing(
                f"{name}: Prometheus scrapes it every {interval}, vtlab needs {_SCRAPE_INTERVAL:g}s",
                self._where.helm_upgrade(f"--set monitoring.interval={_SCRAPE_INTERVAL:g}s")
                + "; the operator takes up to two minutes to tell Prometheus",
            )

    def _refuse_pressure(self, client: Prometheus, begin_ms: int, end_ms: int) -> None:
        """BlockFault when a node of the variants or of k6 was short of memory, disk or process ids.

        Only where kube-state-metrics runs; where it does not, the kubelet's evictions are all that shows.
        """
        nodes = "|".join(sorted(self._nodes))
        seconds = max(1, round((end_ms - begin_ms) / 1000))
        conditions = 'condition=~"MemoryPressure|DiskPressure|PIDPressure",status="true"'
        found = client.evaluate(
            f'max(max_over_time(kube_node_status_condition{{{conditions},node=~"{nodes}"}}[{seconds}s]))', end_ms
        )
        if found:
            raise BlockFault(f"the node {nodes} was under pressure (memory, disk or process ids)")

    def _put_experiment(self, experiment: Experiment, template: Json) -> None:
        if not self._config_map:
            data = {job.PLAN: normalised.text(experiment)}
            metadata = {
                "name": self._name,
                "labels": job.labels(self._where.release),
                "ownerReferences": [job.owner(template)],
            }
            # Before the call: an interruption in it must not leave one behind.
            self._config_map = True
            self._held().create_config_map(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            )

    def _end_job(self) -> None:
        if self._job and self._cluster:
            self._cluster.delete_job(self._job)
            self._job = None

    def _refuse_another(self) -> tuple[list[Json], list[Json]]:
        """PrerequisiteMissing where a Job or ConfigMap is another vtlab's; else those that there are: this one's, and
        what a killed vtlab of this machine left."""
        cluster, where, own = self._held(), self._where, f"{job.MANAGED_BY}=vtlab,{self._where.selector()}"
        jobs, config_maps = cluster.jobs(own), cluster.config_maps(own)
        for kind, found in (("Job", jobs), ("ConfigMap", config_maps)):
            for each in found:
                if not job.orphaned(each):
                    raise PrerequisiteMissing(
                        f"another vtlab is measuring release {where.release} in namespace {where.namespace} "
                        f"({kind} {each['metadata']['name']}); two disturb each other",
                        "wait for it to end; if it is gone: " + where.kubectl("delete", "jobs,configmaps", "-l", own),
                    )
        return jobs, config_maps

    def _end_orphans(self) -> None:
        """Deletes the Jobs and ConfigMaps that a killed vtlab of this machine left, unless another vtlab measures."""
        jobs, config_maps = self._refuse_another()
        for each in jobs:
            self._held().delete_job(each["metadata"]["name"])
        for each in config_maps:
            self._held().delete_config_map(each["metadata"]["name"])

    def _keep(self, name: str, log: str) -> None:
        place = self._folder / "logs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(job.shown(log), encoding="utf-8")

    def _experiment(self) -> Experiment:
        return Experiment.model_validate_json((self._folder / "experiment.json").read_text(encoding="utf-8"))

    def _held(self) -> Cluster:
        if self._cluster is None:
            raise RuntimeError("a KubernetesTarget works only inside its 'with'")
        return self._cluster


def _seconds(interval: str) -> float:
    """Of a duration as Prometheus writes it: ``5s``, ``1m30s``."""
    return sum(units.seconds(part) for part in re.findall(r"\d+(?:ms|s|m|h)", interval))
