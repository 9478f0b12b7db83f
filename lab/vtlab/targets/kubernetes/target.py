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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vtlab import services
from vtlab.analysis import preflight
from vtlab.errors import BadInput, BlockFault, LabError, PrerequisiteMissing, VariantFailed
from vtlab.host import process_ledger, processes
from vtlab.host.machine import difference, reaching
from vtlab.k6 import user_script
from vtlab.k6.call import DONE, WRONG_SCRIPT, phase_variables, preflight_variables
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document, VariantPreflight
from vtlab.model.records import Diagnosis, Failure, Instance, Trial
from vtlab.model.run import BlockSeries
from vtlab.model.service import Meters, Service
from vtlab.planning.load_call import AS_PLANNED, CallPacing, LoadCall
from vtlab.prometheus.annotate import annotate
from vtlab.prometheus.queries import NotScraped, Prometheus
from vtlab.services import processors
from vtlab.targets import verification
from vtlab.targets.kubernetes import cluster_prometheus, job, warm_up_cpu
from vtlab.targets.kubernetes.api import labels, pods, watch
from vtlab.targets.kubernetes.api import run_objects as objects
from vtlab.targets.kubernetes.api.cluster import Cluster
from vtlab.targets.kubernetes.api.port_forward import Forward
from vtlab.targets.kubernetes.api.release_ref import ReleaseRef
from vtlab.targets.kubernetes.api.run_objects import RunObjects
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.copies import manifests, reference
from vtlab.targets.kubernetes.copies.variants import Copies
from vtlab.targets.kubernetes.release import facts as release
from vtlab.targets.preflight import Preflight
from vtlab.targets.verification import Figures, StartedVariant

#: Seconds until a fresh pod must have been scraped: after an installation, and for each call's copies, the operator's
#: configuration reaches Prometheus through a Secret that the kubelet renews within two minutes, later on a busy node.
_SCRAPED_WITHIN = 240.0
#: Seconds between two scrapes that a trial's window needs, at most.
_SCRAPE_INTERVAL = 1.0
#: Seconds for which the clean-up waits for an API server that is away.
_LAST_PATIENCE = 10.0
#: Milliseconds at the end of a window that k6 may not have lived through: some samples in its pod.
_UNSEEN = 1500
#: Seconds of a Job of k6 beside its phases, about.
_JOB_SECONDS = 10.0
#: The copies' own logs go with their pods.
_SEE_LOG = "send it to the service of which these are copies, and see its log (kubectl logs)"
#: Annotation whose change replaces the pods.
_BLOCK = "vtlab/block"


@dataclass
class KubernetesTarget:
    """Runs blocks in a cluster. Made by ``kubernetes_target``, which also deletes what it created."""

    folder: Path
    cluster: Cluster
    #: Of the cluster's Prometheus.
    client: Prometheus
    objects: RunObjects
    #: Tells the run's samples of k6 from others'.
    run_id: str
    #: Tells the user something.
    say: Callable[[str], None]
    #: None where a release of the chart is measured.
    copies: Copies | None = None
    #: Of copies.
    preflight: Preflight = field(default_factory=Preflight)

    def start(self, experiment: Experiment, block: int, attempt: int) -> KubernetesBlock:
        """Fresh pods of all variants, ready, limits verified, scraped at least once. Those whose service does not start
        are among the block's failures.

        BlockFault when a pod does not start for another reason; BadInput where a Deployment is not what the experiment
        says; PrerequisiteMissing where waiting would not help (an image that is not there).
        """
        cluster, client = self.cluster, self.client
        service = services.of(experiment)
        self.objects.delete_job()
        watch.wait_until_idle(cluster)
        stamp = f"{self.objects.name}-{block}-{attempt}"
        if self.copies:
            self.copies.renew(service, experiment, _BLOCK, stamp)
        else:
            release.collect_from(cluster, service, experiment)
            # From here on another vtlab sees that this one measures. One that has begun meanwhile gives up as well.
            self.objects.put_experiment(experiment, release.template(cluster, experiment))
            objects.refuse_others(cluster)
            for name in experiment.variants:
                cluster.annotate_pods(cluster.release.deployment(name), _BLOCK, stamp)
        loaded, failed = watch.wait_for_pods(cluster, experiment.variants, _BLOCK, stamp)
        client.refuse_old()
        # Prometheus's clock: the cluster's may differ from this machine's.
        now = client.now()
        # Whoever else scrapes a copy's pod scrapes another port of it.
        endpoint = {"endpoint": manifests.AGENT} if self.copies else {}
        client.selectors = {
            name: {"namespace": cluster.release.namespace, "pod": pods.name(pod), **endpoint}
            for name, pod in loaded.items()
        }
        scraped_at = {name: self._scraped(name, now) for name in loaded}
        instances = [self._verified(service, experiment, name, loaded[name], scraped_at[name]) for name in loaded]
        failures = [Failure(variant=name, reason=reason, moment="while it started") for name, reason in failed.items()]
        started = KubernetesBlock(self, service, experiment, block, attempt, loaded, instances, failures)
        if self.copies:
            self.preflight.check(started)
        return started

    def _scraped(self, name: str, after_ms: int) -> int:
        """When a variant was scraped for the first time after that. BlockFault where it was not; PrerequisiteMissing
        where that is too rare, or where Prometheus does not know of copies."""
        client, ref = self.client, self.cluster.release
        # Before the wait, which may be too short for it; after it for a target that was not known before.
        refuse_rare_scrapes(client, ref, name)
        try:
            at = client.await_scrape(name, after_ms, within=_SCRAPED_WITHIN)
        except NotScraped:
            if ref.copying and client.scrape_interval(name) is None:
                raise PrerequisiteMissing(
                    f"{name}: Prometheus does not take the ServiceMonitor {ref.name} of namespace {ref.namespace}",
                    "name the labels by which it selects ServiceMonitors (--monitor-labels release=stack), and have it"
                    " look into that namespace (serviceMonitorNamespaceSelector)",
                ) from None
            raise
        refuse_rare_scrapes(client, ref, name)
        return at

    def _verified(self, service: Service, experiment: Experiment, name: str, pod: Json, scraped_at: int) -> Instance:
        """What the JVM says of itself; PrerequisiteMissing where that is not the limit that it should have."""
        figures = verification.read(self.client, name, scraped_at)
        meters = _meters_of_agent(figures) if self.copies else service.meters
        counted = processors.counted(pods.jvm_flags(pod), experiment.limits.cpu) if self.copies else None
        started = StartedVariant(name, experiment, meters, figures, processors=counted)
        verification.refuse_other_limits(started, "let the node's kubelet enforce CPU limits (cpuCFSQuota: true)")
        verification.refuse_other_threads(started)
        refuse_other_java(self.cluster.release, experiment, name, figures.java)
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
    """The release, or copies of a service, for the run in ``folder``. At its end no Job or ConfigMap of vtlab's is
    left, and the cluster deletes the copies with the ConfigMap.

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
        made = RunObjects(cluster, name)
        end.callback(_delete, cluster, made)
        of_service = Copies(cluster, made, say) if ref.copying else None
        yield KubernetesTarget(folder, cluster, client, made, run_id, say, of_service)
    finally:
        with processes.uninterrupted():
            end.close()


def _name(ref: ReleaseRef, run_id: str) -> str:
    """Another one in each call of vtlab: a resumed run must not find the pods and Jobs of the call before it under its
    own names."""
    run = re.sub(r"[^a-z0-9-]+", "-", run_id.lower()).strip("-")
    return f"{ref.name}-vtlab-{run}"[:40].rstrip("-") + f"-{os.urandom(2).hex()}"


def _delete(cluster: Cluster, made: RunObjects) -> None:
    cluster.patience = min(cluster.patience, _LAST_PATIENCE)
    # A cluster that cannot be reached now keeps them until the next vtlab there.
    with contextlib.suppress(LabError):
        made.delete()


class KubernetesBlock:
    """One attempt at one block: its pods run, and k6 loads them. They stay until the target's next start replaces
    them."""

    def __init__(
        self,
        target: KubernetesTarget,
        service: Service,
        experiment: Experiment,
        number: int,
        attempt: int,
        loaded: Mapping[str, Json],
        instances: Sequence[Instance],
        failures: Sequence[Failure] = (),
    ) -> None:
        self.instances = list(instances)
        self.failures = list(failures)
        self.differences: list[str] = []
        self.preflight_seconds = 0.0
        self._target = target
        self._service = service
        self._experiment = experiment
        self._number = number
        self._attempt = attempt
        #: The pods by variant, and of these the ones that get load.
        self._pods = loaded
        self._loaded = dict(loaded)
        #: The last phase of each variant in this block.
        self._before: dict[str, Trial] = {}
        self._loads = 0
        #: Cores of each variant, while that is more than its limit.
        self._raised: float | None = None

    @property
    def call_seconds(self) -> float:
        """Of a Job: its pod starts and ends, and its log is read."""
        return _JOB_SECONDS

    @property
    def loads_at_once(self) -> bool:
        """No: a node may have no room for two Jobs of k6."""
        return False

    def raise_cpu(self) -> float | None:
        """Gives the pods more CPU in place; how many cores each, None where they keep the chart's limit."""
        target, limit = self._target, self._experiment.limits.cpu
        self._raised = warm_up_cpu.raised(target.cluster, target.client, self._loaded, limit)
        return self._raised

    def restore_cpu(self) -> None:
        """Sets the chart's limit again. BlockFault where the control groups do not have it soon."""
        target = self._target
        warm_up_cpu.allow(target.cluster, target.client, self._loaded, self._experiment.limits.cpu)
        self._raised = None

    def end_warm_up(self) -> None:
        """The compilers of a pod never go first: vtlab is not in it."""

    def load(self, call: LoadCall) -> K6Document:
        """Runs k6 once, as a Job. BlockFault when k6 fails, or, deleting the Job at once, when a pod does;
        VariantFailed when the service in it does.

        Fills ``server`` and ``machine`` of every record. Every answer is waited for: vtlab may replace pods, not end
        one, and the next block waits for their end anyway.
        """
        return self._load(phase_variables(replace(call, wait_for_answers=True)))

    def trial_without_drain(self, variant: str, position: int, pacing: CallPacing = AS_PLANNED) -> K6Document:
        """Runs k6 once, as a Job, and waits for every answer: vtlab may replace pods, not end one."""
        return self.load(LoadCall(trial_order=[variant], first_position=position, pacing=pacing))

    def diagnose(self, pacings: Mapping[str, CallPacing]) -> dict[str, Diagnosis]:
        """Nothing: vtlab may not run commands in a pod."""
        return {}

    def drop(self, variant: str) -> None:
        """The variant gets no more load; its pod stays, as vtlab may replace pods, not end one."""
        del self._loaded[variant]
        self._before.pop(variant, None)

    def check_instances(self) -> list[Instance]:
        """Whether the pods are those that started. BlockFault where one that got load to the end is gone or was
        evicted: that is nothing that its service did."""
        cluster = self._target.cluster
        present = {pods.uid(pod): pod for pod in cluster.pods(cluster.release.selector("variant"))}
        checked = []
        for instance in self.instances:
            pod = present.get(instance.identity)
            trouble = pods.trouble(pod) if pod else pods.Trouble("is gone")
            alive = trouble is None
            if trouble and not trouble.failure and instance.variant in self._loaded:
                raise BlockFault(f"{instance.variant}: its pod {trouble.text}")
            checked.append(instance.model_copy(update={"alive": alive, "oom_kills": pods.oom_kills(pod) if pod else 0}))
        return checked

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        """The charts' samples of all variants, every second."""
        return {name: self._target.client.charted(name, begin_ms, end_ms) for name in self._pods}

    def fail(self, broken: VariantFailed, moment: str) -> None:
        """A variant that broke before the load has no part in the block."""
        self.failures.append(Failure(variant=broken.variant, reason=broken.reason, moment=moment))
        self.instances = [instance for instance in self.instances if instance.variant != broken.variant]
        del self._loaded[broken.variant]

    def preflight(self) -> str | None:
        """As of ``targets.preflight``, of copies."""

        def ask(origin: str | None) -> Mapping[str, VariantPreflight]:
            pod, log = self._run(preflight_variables(list(self._loaded)), origin, is_preflight=True)
            code = pods.exit_code(pod, labels.K6_CONTAINER)
            if code in WRONG_SCRIPT:
                raise user_script.cannot_run(job.shown(log))
            _refuse_failed(code, log)
            return job.preflight(log)

        checked = preflight.check(self._experiment.workload, self._urls, ask, _SEE_LOG)
        self.differences = checked.differences
        of_script = self._target.copies.remarks if self._target.copies else []
        for remark in [*of_script, *checked.remarks, *checked.differences]:
            self._target.say(f"{self._experiment.name}: {remark}")
        return checked.origin

    @property
    def _urls(self) -> dict[str, str]:
        """Of the variants that get load."""
        release_ = self._target.cluster.release
        return {name: f"http://{release_.deployment(name)}:{self._service.port}" for name in self._loaded}

    def _load(self, variables: Mapping[str, str]) -> K6Document:
        target = self._target
        # Every answer is waited for, also where the experiment gives up: vtlab may replace pods, not end one.
        k6, log = self._run(variables, target.preflight.origin)
        _refuse_failed(pods.exit_code(k6, labels.K6_CONTAINER), log)
        document = job.document(log)
        samples = job.samples(log)
        annotate(
            document,
            target.client,
            lambda start, end: difference(samples, start, reaching(samples, end, _UNSEEN)),
            self._before,
            units.milliseconds(self._experiment.max_response),
        )
        phases = document.phases
        for trial in phases:
            trial.raised_cpu = self._raised
        nodes = {str(pod["spec"].get("nodeName", "")) for pod in (k6, *self._pods.values())}
        refuse_pressure(target.client, nodes, phases[0].begin, phases[-1].drained)
        return document

    def _run(self, variables: Mapping[str, str], origin: str | None, is_preflight: bool = False) -> tuple[Json, str]:
        """The pod and the log of a Job of k6 that ended. Whatever happens, the Job is deleted. A pre-flight sends no
        samples to Prometheus, and has so much time as the answers may take."""
        cluster, run = self._target.cluster, self._target.objects
        self._loads += 1
        name = f"{run.name}-{self._number}-{self._attempt}-{self._loads}"
        env = {
            "TARGETS": json.dumps(self._urls),
            **variables,
            "RUN_ID": self._target.run_id,
            "BLOCK": str(self._number),
            "DOCUMENT": "stdout",
            **({"ORIGIN": origin} if origin else {}),
        }
        copied = self._target.copies
        if copied:
            within = preflight.longest_seconds(self._experiment, len(self._loaded)) if is_preflight else None
            template = copied.template(within)
        else:
            template = release.template(cluster, self._experiment)
        try:
            run.create_job(job.manifest(template, name, labels.for_release(cluster.release), env, run.name))
            began = self._target.client.now()
            pod = self._ended(name, began)
            log = cluster.log(pods.name(pod), labels.K6_CONTAINER)
        except BaseException:
            with contextlib.suppress(LabError):
                run.delete_job()
            raise
        run.delete_job()
        self._keep(f"{name.removeprefix(run.name + '-')}-k6.log", log)
        return pod, log

    def _ended(self, name: str, began: int) -> Json:
        """The pod of a Job that has ended. VariantFailed, with the phase that loaded the variant last, as of
        ``wait_for_job``."""
        try:
            return watch.wait_for_job(self._target.cluster, name, f"{self._target.objects.name}-", self._loaded)
        except VariantFailed as broken:
            phase = None
            with contextlib.suppress(BlockFault):
                phase = self._target.client.last_phase(broken.variant, began)
            raise VariantFailed(broken.variant, broken.reason, phase) from None

    def _keep(self, name: str, log: str) -> None:
        path = self._target.folder / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(job.shown(log), encoding="utf-8")


def _refuse_failed(code: int | None, log: str) -> None:
    """BlockFault for a k6 that ended otherwise than with a document."""
    if code not in DONE:
        raise BlockFault(f"k6 ended with exit code {code}: {job.last_lines(log) or 'its log is empty'}")


def _meters_of_agent(figures: Figures) -> list[Meters]:
    """What the agent has told of a service that vtlab knows nothing else of."""
    of_server: dict[Meters, float | None] = {"tomcat": figures.tomcat_threads, "jetty": figures.jetty_virtual}
    return ["jvm", "process", "cgroup", *(meter for meter, figure in of_server.items() if figure is not None)]


def refuse_other_java(ref: ReleaseRef, experiment: Experiment, name: str, version: str) -> None:
    """BadInput when a variant that is made by its JDK runs on another."""
    wanted = experiment.properties_of(name).java
    if wanted is not None and re.split(r"\D", version)[0] != str(wanted):
        raise BadInput(
            f"{name}: it runs on Java {version}, the experiment says {wanted}",
            "leave java out of properties: copies have one image"
            if ref.copying
            else "name an image with that JDK: " + ref.helm_upgrade(f"--set variants.{name}.image.tag=…"),
        )


def refuse_rare_scrapes(client: Prometheus, ref: ReleaseRef, name: str) -> None:
    """PrerequisiteMissing when Prometheus scrapes the variant too rarely for windows of a few seconds."""
    interval = client.scrape_interval(name)
    if interval and _seconds(interval) > _SCRAPE_INTERVAL:
        raise PrerequisiteMissing(
            f"{name}: Prometheus scrapes it every {interval}, vtlab needs {_SCRAPE_INTERVAL:g}s",
            "let Prometheus heed the interval of its ServiceMonitors"
            if ref.copying
            else ref.helm_upgrade(f"--set monitoring.interval={_SCRAPE_INTERVAL:g}s")
            + "; the operator takes up to two minutes to tell Prometheus",
        )


def refuse_pressure(client: Prometheus, nodes: set[str], begin_ms: int, end_ms: int) -> None:
    """BlockFault when a node of the variants or of k6 was short of memory, disk or process ids.

    Only where kube-state-metrics runs; where it does not, the kubelet's evictions are all that shows.
    """
    names = "|".join(sorted(nodes))
    seconds = max(1, round((end_ms - begin_ms) / 1000))
    conditions = 'condition=~"MemoryPressure|DiskPressure|PIDPressure",status="true"'
    pressure = client.evaluate(
        f'max(max_over_time(kube_node_status_condition{{{conditions},node=~"{names}"}}[{seconds}s]))', end_ms
    )
    if pressure:
        raise BlockFault(f"the node {names} was under pressure (memory, disk or process ids)")


def _seconds(interval: str) -> float:
    """Of a duration as Prometheus writes it; 0 for one of no known form."""
    try:
        return units.seconds(interval)
    except ValueError:
        return 0.0
