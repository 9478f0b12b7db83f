"""One attempt at one block in a cluster: its pods run, and k6 loads them as Jobs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vtlab.analysis import preflight
from vtlab.errors import BlockFault, LabError, VariantFailed
from vtlab.host.machine import difference, reaching
from vtlab.k6 import user_script
from vtlab.k6.call import DONE, WRONG_SCRIPT, phase_variables, preflight_variables, run_id_of
from vtlab.k6.rows import RowsTaken
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.k6_documents import K6Document, VariantPreflight
from vtlab.model.records import Diagnosis, Failure, Instance, Trial
from vtlab.model.run import BlockSeries
from vtlab.model.service import Service
from vtlab.planning.load_call import AS_PLANNED, CallPacing, LoadCall
from vtlab.prometheus.annotate import annotate
from vtlab.prometheus.queries import Prometheus
from vtlab.services import probe
from vtlab.targets.kubernetes import job, warm_up_cpu
from vtlab.targets.kubernetes.api import labels, pods, watch
from vtlab.targets.kubernetes.api.types import Json
from vtlab.targets.kubernetes.release import facts as release
from vtlab.targets.kubernetes.site import ClusterSite

#: Milliseconds at the end of a window that k6 may not have lived through: some samples in its pod.
_UNSEEN = 1500
#: The most pre-flights without any answer: a network policy may admit a new pod late.
_PREFLIGHTS = 3
#: Seconds of a Job of k6 beside its phases, about.
_JOB_SECONDS = 10.0
#: The copies' own logs go with their pods.
_SEE_LOG = "send it to the original service, and see its log (kubectl logs)"


@dataclass(frozen=True)
class ClusterStart:
    """The pods of one attempt at one block, as they started."""

    service: Service
    experiment: Experiment
    number: int
    attempt: int
    #: By variant.
    pods: Mapping[str, Json]
    instances: Sequence[Instance]
    failures: Sequence[Failure] = ()
    #: The pod of the run's own Prometheus; None where the run uses another.
    prometheus: Json | None = None


class KubernetesBlock:
    """One attempt at one block: its pods run, and k6 loads them. They stay until the target's next start replaces
    them."""

    def __init__(self, site: ClusterSite, start: ClusterStart) -> None:
        self.instances = list(start.instances)
        self.failures = list(start.failures)
        self.differences: list[str] = []
        self.preflight_seconds = 0.0
        self.start = start
        self._site = site
        self._experiment = start.experiment
        #: The pods that get load, by variant.
        self._loaded = dict(start.pods)
        #: The last phase of each variant in this block.
        self._before: dict[str, Trial] = {}
        self._rows = RowsTaken()
        #: Cores of each variant, while that is more than its limit.
        self._raised: float | None = None

    @property
    def call_seconds(self) -> float:
        """Time of a Job: its pod starts and ends, and its log is read."""
        return _JOB_SECONDS

    @property
    def loads_at_once(self) -> bool:
        """Says no: a node may have no room for two Jobs of k6."""
        return False

    def raise_cpu(self) -> float | None:
        """Gives the pods more CPU in place; how many cores each, None where they keep their limit."""
        site, limit = self._site, self._experiment.limits.cpu
        self._raised = warm_up_cpu.raised(site.cluster, site.client, self._loaded, limit)
        return self._raised

    def restore_cpu(self) -> None:
        """Sets their limit again. BlockFault where the control groups do not have it soon."""
        site = self._site
        warm_up_cpu.allow(site.cluster, site.client, self._loaded, self._experiment.limits.cpu)
        self._raised = None

    def end_warm_up(self) -> None:
        """Does nothing: the compilers of a pod never go first, as vtlab is not in it."""

    def set_load(self, experiment: Experiment) -> None:
        """Takes over the load that a search chose; k6 reads it in the ConfigMap of the run."""
        self._experiment = experiment
        self._site.objects.replace_experiment(experiment)

    def load(self, call: LoadCall) -> K6Document:
        """Runs k6 once, as a Job. BlockFault when k6 fails, or, deleting the Job at once, when a pod does;
        VariantFailed when the service in it does.

        Fills ``server`` and ``machine`` of every record. Every answer is waited for: vtlab may replace pods, not end
        one, and the next block waits for their end anyway.
        """
        variables = phase_variables(replace(call, wait_for_answers=True))
        return self._load({**variables, "RUN_ID": run_id_of(self._site.run_id, call)})

    def trial_without_drain(self, variant: str, position: int, pacing: CallPacing = AS_PLANNED) -> K6Document:
        """Runs k6 once, as a Job, and waits for every answer: vtlab may replace pods, not end one."""
        return self.load(LoadCall(trial_order=[variant], first_position=position, pacing=pacing))

    @property
    def takes_dumps(self) -> bool:
        """Says no: vtlab may not run commands in a pod."""
        return False

    def diagnose(self, pacings: Mapping[str, CallPacing]) -> dict[str, Diagnosis]:
        """Returns nothing: vtlab may not run commands in a pod."""
        return {}

    def drop(self, variant: str) -> None:
        """Removes the variant from those that get load; its pod stays, as vtlab may replace pods, not end one."""
        del self._loaded[variant]
        self._before.pop(variant, None)

    def check_instances(self) -> list[Instance]:
        """Returns the instances, and whether their pods are the ones that started. BlockFault where one that got load
        to the end is gone or was evicted, which its service did not cause, and where the run's Prometheus is."""
        cluster = self._site.cluster
        self._refuse_other_prometheus()
        present = {pods.uid(pod): pod for pod in cluster.pods(cluster.release.selector("variant"))}
        checked, now = [], self._site.client.now()
        for instance in self.instances:
            pod = present.get(instance.identity)
            trouble = pods.trouble(pod) if pod else pods.Trouble("is gone")
            alive = trouble is None
            if trouble and not trouble.failure and instance.variant in self._loaded:
                raise BlockFault(f"{instance.variant}: its pod {trouble.text}")
            peak = self._site.client.measured(instance.variant, "$resident_peak", now)
            kills = pods.oom_kills(pod) if pod else 0
            checked.append(instance.model_copy(update={"alive": alive, "oom_kills": kills, "resident_peak": peak}))
        return checked

    def _refuse_other_prometheus(self) -> None:
        """Raises BlockFault where the run's own Prometheus is another process than at the start."""
        before, cluster = self.start.prometheus, self._site.cluster
        if before is None:
            return
        present = {pods.uid(pod): pod for pod in cluster.pods(cluster.release.selector("prometheus"))}
        now = present.get(pods.uid(before))
        if now is None or pods.restarts(now) != pods.restarts(before):
            how = "is gone" if now is None else "was restarted"
            raise BlockFault(f"Prometheus: its pod {pods.name(before)} {how}, and lacks samples of this block")

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        """Reads the charts' samples of all variants, every second."""
        return {name: self._site.client.charted(name, begin_ms, end_ms) for name in self.start.pods}

    def fail(self, broken: VariantFailed, moment: str) -> None:
        """Removes a variant that broke before the load from the block."""
        self.failures.append(Failure(variant=broken.variant, reason=broken.reason, moment=moment))
        self.instances = [instance for instance in self.instances if instance.variant != broken.variant]
        del self._loaded[broken.variant]

    def preflight(self) -> str | None:
        """Sends each request once to each copy (``targets.preflight``); again where no copy answered any."""

        def send(origin: str | None) -> Mapping[str, VariantPreflight]:
            pod, log = self._run(preflight_variables(list(self._loaded)), origin, is_preflight=True)
            code = pods.exit_code(pod, labels.K6_CONTAINER)
            if code in WRONG_SCRIPT:
                raise user_script.cannot_run(job.shown(log))
            _refuse_failed(code, log)
            return job.preflight(log)

        def ask(origin: str | None) -> Mapping[str, VariantPreflight]:
            # A request that writes may have arrived all the same.
            tries = 1 if self._experiment.workload.is_writing else _PREFLIGHTS
            findings = send(origin)
            for _ in range(tries - 1):
                if not _is_unreached(findings):
                    break
                findings = send(origin)
            return findings

        checked = preflight.check(self._experiment.workload, self._urls, ask, _SEE_LOG)
        self.differences = checked.differences
        of_script = self._site.copies.remarks if self._site.copies else []
        for remark in [*of_script, *checked.remarks, *checked.differences]:
            self._site.say(f"{self._experiment.name}: {remark}")
        return checked.origin

    @property
    def _urls(self) -> dict[str, str]:
        """Base URLs of the variants that get load."""
        release_ = self._site.cluster.release
        return {name: f"http://{release_.deployment(name)}:{self.start.service.port}" for name in self._loaded}

    @property
    def _probes(self) -> dict[str, str]:
        """What the probe asks the variants that get load."""
        copies, service = self._site.copies, self.start.service
        if copies:
            return {name: copies.probe_url(name) for name in self._loaded}
        release_, port, experiment = self._site.cluster.release, service.management_port, self._experiment
        return {
            name: probe.url(
                service,
                base,
                f"http://{release_.deployment(name)}:{port}" if port else None,
                experiment.settings | experiment.environment_of(name),
            )
            for name, base in self._urls.items()
        }

    def _load(self, variables: Mapping[str, str]) -> K6Document:
        site = self._site
        # Every answer is waited for, also where the experiment gives up: vtlab may replace pods, not end one.
        variables = {"PROBES": json.dumps(self._probes), **self._rows.variables(), **variables}
        k6, log = self._run(variables, site.preflight.origin)
        _refuse_failed(pods.exit_code(k6, labels.K6_CONTAINER), log)
        document = job.document(log)
        self._rows.count(document)
        samples = job.samples(log)
        annotate(
            document,
            site.client,
            lambda start, end: difference(samples, start, reaching(samples, end, _UNSEEN)),
            self._before,
            units.milliseconds(self._experiment.max_response),
        )
        phases = document.phases
        for trial in phases:
            trial.raised_cpu = self._raised
        nodes = {pods.node(pod) for pod in (k6, *self.start.pods.values())}
        refuse_pressure(site.client, nodes, phases[0].begin, phases[-1].drained)
        return document

    def _run(self, variables: Mapping[str, str], origin: str | None, is_preflight: bool = False) -> tuple[Json, str]:
        """Runs a Job of k6 and returns its pod and log. Whatever happens, the Job is deleted. A pre-flight sends no
        samples to Prometheus, and has so much time as the answers may take."""
        cluster, run = self._site.cluster, self._site.objects
        name = f"{run.name}-{self.start.number}-{self.start.attempt}-{run.jobs + 1}"
        env = {
            "TARGETS": json.dumps(self._urls),
            "RUN_ID": self._site.run_id,
            "BLOCK": str(self.start.number),
            "DOCUMENT": "stdout",
            **variables,
            **({"ORIGIN": origin} if origin else {}),
        }
        copied = self._site.copies
        if copied:
            within = preflight.longest_seconds(self._experiment, len(self._loaded)) if is_preflight else None
            template = copied.template(within)
        else:
            template = release.template(cluster, self._experiment)
        try:
            run.create_job(job.manifest(template, name, labels.for_release(cluster.release), env, run.plan))
            began = self._site.client.now()
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
        """Waits for the end of a Job and returns its pod. VariantFailed, as ``wait_for_job`` raises it, with the phase
        that loaded the variant last."""
        try:
            return watch.wait_for_job(self._site.cluster, name, f"{self._site.objects.name}-", self._loaded)
        except VariantFailed as broken:
            phase = None
            with contextlib.suppress(BlockFault):
                phase = self._site.client.last_phase(broken.variant, began)
            raise VariantFailed(broken.variant, broken.reason, phase) from None

    def _keep(self, name: str, log: str) -> None:
        path = self._site.folder / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(job.shown(log), encoding="utf-8")


def _refuse_failed(code: int | None, log: str) -> None:
    """Raises BlockFault for a k6 that ended otherwise than with a document."""
    if code not in DONE:
        raise BlockFault(f"k6 ended with exit code {code}: {job.last_lines(log) or 'its log is empty'}")


def _is_unreached(findings: Mapping[str, VariantPreflight]) -> bool:
    """Tells whether no variant answered any request."""
    answers = [answer for finding in findings.values() for answer in finding.answers]
    return bool(answers) and not any(answer.status for answer in answers)


def refuse_pressure(client: Prometheus, nodes: set[str], begin_ms: int, end_ms: int) -> None:
    """Raises BlockFault when a node of the variants or of k6 was short of memory, disk or process ids.

    Without kube-state-metrics the kubelet's evictions are all that shows.
    """
    names = "|".join(sorted(nodes))
    seconds = max(1, round((end_ms - begin_ms) / 1000))
    conditions = 'condition=~"MemoryPressure|DiskPressure|PIDPressure",status="true"'
    pressure = client.evaluate(
        f'max(max_over_time(kube_node_status_condition{{{conditions},node=~"{names}"}}[{seconds}s]))', end_ms
    )
    if pressure:
        raise BlockFault(f"the node {names} was under pressure (memory, disk or process ids)")
