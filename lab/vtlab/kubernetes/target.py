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
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vtlab import __version__, units, variant
from vtlab.analysis import BlockSeries
from vtlab.errors import BadInput, BlockFault, LabError, PrerequisiteMissing
from vtlab.experiment import Experiment
from vtlab.kubernetes import job, pods
from vtlab.kubernetes.cluster import Cluster, Json, NotFound, Where
from vtlab.kubernetes.forward import Forward
from vtlab.local import processes
from vtlab.local.processes import Ledger
from vtlab.local.target import fill_in_flight_before
from vtlab.machine import difference
from vtlab.prometheus import Prometheus
from vtlab.records import Instance, K6Document

#: Seconds until a Deployment's new pod must be ready, and a Job's pod must run.
READY_WITHIN = 180.0
#: Seconds that the k6 of an attempt before may take to end.
_QUIET_WITHIN = 45.0
#: Seconds until a fresh pod must have been scraped: after an installation the operator's configuration reaches
#: Prometheus through a Secret that the kubelet renews within two minutes.
_SCRAPED_WITHIN = 150.0
#: Seconds after which a pod that no node takes is given up.
_UNSCHEDULABLE = 30.0
#: Seconds for which the clean-up waits for an API server that is away.
_LAST_PATIENCE = 10.0
#: Annotation whose change replaces the pods.
_BLOCK = "vtlab/block"
_JOB_NAME = "batch.kubernetes.io/job-name"
#: Of the variants' Services.
_PORT = 8080
_FLAGS = "JAVA_TOOL_OPTIONS"
_TOLERANCE = 0.01


@dataclass(frozen=True)
class Facts:
    """What is installed, for the manifest."""

    versions: dict[str, str]
    jvm_flags: list[str]
    machine: dict[str, str]


def facts(where: Where, experiment: Experiment) -> Facts:
    """What the lab in the cluster is; BadInput or PrerequisiteMissing where it cannot run the experiment."""
    cluster = Cluster(where)
    try:
        return _facts(cluster, experiment)
    finally:
        cluster.close()


class KubernetesTarget:
    """Runs blocks in a cluster. A context manager: at its end no Job or ConfigMap of vtlab's is left."""

    def __init__(self, folder: Path, root: Path, where: Where, run_id: str) -> None:
        self._run_id = run_id
        self._folder = folder.absolute()
        self._root = root.absolute()
        self._where = where
        #: The name of this run's ConfigMap, and how its Jobs' names begin.
        run = re.sub(r"[^a-z0-9-]+", "-", run_id.lower()).strip("-")
        # A resumed run must not find the pods and Jobs of the call before it under its own names.
        self._name = f"{where.release}-vtlab-{run}"[:40].rstrip("-") + f"-{os.urandom(2).hex()}"
        self._cluster: Cluster | None = None
        self._ledger: Ledger | None = None
        self._forward: Forward | None = None
        self._client: Prometheus | None = None
        self._config_map = False
        self._job: str | None = None
        self._pods: dict[str, Json] = {}
        self._instances: list[Instance] = []
        self._nodes: set[str] = set()
        self._block, self._loads = (0, 0), 0

    def __enter__(self) -> KubernetesTarget:
        try:
            processes.refuse_if_busy(self._root)
            processes.end_orphans(self._root)
            self._ledger = Ledger(self._root)
            processes.refuse_if_busy(self._root)
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

    def start(self, experiment: Experiment, block: int, attempt: int) -> list[Instance]:
        """Fresh pods of all variants, ready, limits verified, scraped at least once.

        BlockFault when one does not start; BadInput where a Deployment is not what the experiment says;
        PrerequisiteMissing where waiting would not help (an image that is not there).
        """
        cluster = self._held()
        self._end_job()
        self._await_quiet()
        _facts(cluster, experiment)
        self._block, self._loads, self._instances, self._pods = (block, attempt), 0, [], {}
        stamp = f"{self._name}-{block}-{attempt}"
        for name in experiment.variants:
            cluster.annotate_pods(self._deployment(name), _BLOCK, stamp)
        self._pods = self._await_pods(experiment, stamp)
        client = self._prometheus(experiment)
        # Prometheus's clock: the cluster's may differ from this machine's.
        now = client.now()
        client.selectors = {
            name: {"namespace": self._where.namespace, "pod": pods.name(pod)} for name, pod in self._pods.items()
        }
        for name in experiment.variants:
            client.await_scrape(name, now, within=_SCRAPED_WITHIN)
        self._instances = [self._instance(client, experiment, name) for name in experiment.variants]
        return list(self._instances)

    def load(self, *, order: Sequence[str], warmup_cycles: int, single: str | None) -> K6Document:
        """Runs k6 once, as a Job. BlockFault when k6 fails, or, deleting the Job at once, when a pod does.

        Fills ``server`` and ``machine`` of every record.
        """
        client, experiment = self._client, self._experiment()
        if client is None:
            raise RuntimeError("start comes first")
        self._loads += 1
        block, attempt = self._block
        name = f"{self._name}-{block}-{attempt}-{self._loads}"
        env = {
            "TARGETS": json.dumps({each: f"http://{self._deployment(each)}:{_PORT}" for each in experiment.variants}),
            "ORDER": ",".join(order),
            "WARMUP_CYCLES": str(warmup_cycles),
            **({"SINGLE": single} if single else {}),
            "RUN_ID": self._run_id,
            "BLOCK": str(block),
            "DOCUMENT": "stdout",
        }
        log = self._run(name, env, experiment)
        found = job.document(log)
        samples = job.samples(log)
        records = (*found.warmup, *found.single, *found.trials)
        for trial in records:
            trial.server = client.window(trial.variant, trial.start, trial.end)
            trial.machine = difference(samples, trial.start, job.reaching(samples, trial.end))
        fill_in_flight_before(found, client)
        self._refuse_pressure(client, records[0].begin, records[-1].drained)
        return found

    def finish(self) -> list[Instance]:
        """Whether the pods are those that started. They stay until the next block replaces them."""
        checked = []
        now = {pods.uid(pod): pod for pod in self._held().pods(self._selector("variant"))}
        for instance in self._instances:
            pod = now.get(instance.identity)
            alive = pod is not None and pods.trouble(pod) is None
            kills = pods.oom_kills(pod) if pod else 0
            checked.append(instance.model_copy(update={"alive": alive, "oom_kills": kills}))
        self._instances = []
        return checked

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        """The charts' samples of all variants, every second."""
        if self._client is None:
            raise RuntimeError("start comes first")
        return {name: self._client.charted(name, begin_ms, end_ms) for name in self._pods}

    def _await_quiet(self) -> None:
        """Waits until no k6 loads the release: that of an attempt before may still be ending. BlockFault when one
        goes on."""
        end = time.monotonic() + _QUIET_WITHIN
        while True:
            running = [pods.name(pod) for pod in self._held().pods(self._selector("k6")) if _running(pod)]
            if not running:
                return
            if time.monotonic() > end:
                raise BlockFault(f"another k6 loads the same variants: {', '.join(running)}")
            time.sleep(0.5)

    def _run(self, name: str, env: dict[str, str], experiment: Experiment) -> str:
        """The log of a Job that ended well. Whatever happens, the Job is deleted."""
        cluster = self._held()
        template = _template(cluster, experiment)
        self._put_experiment(experiment, template)
        self._job = name
        try:
            cluster.create_job(job.manifest(template, name, self._labels(), env, self._name))
            pod = self._watch(name)
            self._nodes = {str(each["spec"].get("nodeName", "")) for each in (pod, *self._pods.values())}
            log = cluster.log(pods.name(pod), job.CONTAINER)
        except BaseException:
            with contextlib.suppress(LabError):
                self._end_job()
            raise
        self._end_job()
        self._keep(f"{name.removeprefix(self._name + '-')}-k6.log", log)
        code = pods.exit_code(pod, job.CONTAINER)
        # 99: a threshold was crossed, which the gates judge better.
        if code not in (0, 99):
            raise BlockFault(f"k6 ended with exit code {code}: {job.last_lines(log) or 'it said nothing'}")
        return log

    def _await_pods(self, experiment: Experiment, stamp: str) -> dict[str, Json]:
        """The ready pods with that stamp, by variant."""
        cluster = self._held()
        begun = time.monotonic()
        while True:
            fresh: dict[str, Json] = {}
            for pod in cluster.pods(self._selector("variant")):
                if pod["metadata"].get("annotations", {}).get(_BLOCK) == stamp:
                    fresh[pods.label(pod, "variant")] = pod
            for name, pod in fresh.items():
                self._raise(pods.trouble(pod), f"{name}: its pod {pods.name(pod)}")
                self._refuse_unschedulable(name, pod, time.monotonic() - begun)
            if all(name in fresh and pods.ready(fresh[name]) for name in experiment.variants):
                return {name: fresh[name] for name in experiment.variants}
            for name in experiment.variants:
                self._refuse_no_pod(name)
            if time.monotonic() - begun > READY_WITHIN:
                late = [name for name in experiment.variants if name not in fresh or not pods.ready(fresh[name])]
                said = [f"{name}: {self._warning(fresh.get(name)) or 'no event says why'}" for name in late]
                raise BlockFault(f"not ready after {READY_WITHIN:.0f} s: {'; '.join(said)}")
            time.sleep(0.5)

    def _watch(self, name: str) -> Json:
        """The Job's pod, once it has ended; BlockFault as soon as it, or a variant's pod, cannot go on."""
        cluster = self._held()
        begun, seen = time.monotonic(), False
        while True:
            now = {pods.uid(pod): pod for pod in cluster.pods(f"app.kubernetes.io/instance={self._where.release}")}
            for kind, pod in self._pods.items():
                found = now.get(pods.uid(pod))
                what = f"{kind}: its pod {pods.name(pod)}"
                if found is None:
                    raise BlockFault(f"{what} is gone while k6 loaded it")
                self._raise(pods.trouble(found), what, " while k6 loaded it")
            own = [pod for pod in now.values() if pods.label(pod, _JOB_NAME) == name]
            for pod in now.values():
                # The pods of its own Jobs before this one may be on their way out.
                strange = not pods.label(pod, _JOB_NAME).startswith(f"{self._name}-")
                if pods.label(pod, "app.kubernetes.io/component") == "k6" and strange and _running(pod):
                    raise BlockFault(f"another k6 loads the same variants: pod {pods.name(pod)}")
            if own:
                seen = True
                if pods.exit_code(own[0], job.CONTAINER) is not None and pods.trouble(own[0]) is None:
                    return own[0]
                self._raise(pods.trouble(own[0]), f"k6: its pod {pods.name(own[0])}")
                self._refuse_unschedulable("k6", own[0], time.monotonic() - begun)
                if own[0]["status"].get("phase") == "Pending" and time.monotonic() - begun > READY_WITHIN:
                    said = cluster.last_warning(pods.uid(own[0])) or "no event says why"
                    raise BlockFault(f"k6: its pod does not run after {READY_WITHIN:.0f} s: {said}")
            elif seen:
                raise BlockFault(f"k6: the pod of the Job {name} is gone")
            elif time.monotonic() - begun > _UNSCHEDULABLE:
                found_jobs = [each for each in cluster.jobs(self._own()) if each["metadata"]["name"] == name]
                said = cluster.last_warning(found_jobs[0]["metadata"]["uid"]) if found_jobs else "the Job is gone"
                raise BlockFault(f"k6: the Job {name} has no pod after {_UNSCHEDULABLE:.0f} s: {said}")
            time.sleep(1)

    def _instance(self, client: Prometheus, experiment: Experiment, name: str) -> Instance:
        """What the JVM says of itself; PrerequisiteMissing where that is not the limit that it should have."""
        pod = self._pods[name]
        now = client.now()
        limit = client.measured(name, "max(cgroup_cpu_limit_cores{$selector})", now)
        processors = client.measured(name, "max(system_cpu_count{$selector})", now)
        wanted = experiment.limits.cpu
        if limit is None or abs(limit - wanted) > _TOLERANCE * wanted or processors != math.ceil(wanted):
            seen = "no limit" if limit is None else f"{limit:g} cores"
            raise PrerequisiteMissing(
                f"{name}: the CPU limit of {wanted:g} does not hold: the JVM reads {seen} and counts "
                f"{processors or 0:g} processors",
                "let the node's kubelet enforce CPU limits (cpuCFSQuota: true)",
            )
        info = client.labels(name, "jvm_info{$selector}", now)
        return Instance(
            variant=name,
            identity=pods.uid(pod),
            java=" ".join(filter(None, (info.get("version", "unknown"), info.get("vendor")))),
            gc=client.labels(name, "jvm_gc_info{$selector}", now).get("name", "unknown"),
            processors=int(processors or 0),
            cpu_limit=limit,
            started_in=pods.started_in(pod),
        )

    def _prometheus(self, experiment: Experiment) -> Prometheus:
        if self._client is None:
            if self._ledger is None:
                raise RuntimeError("a KubernetesTarget works only inside its 'with'")
            log = self._folder / "logs" / "port-forward.log"
            forward = Forward(self._where, job.remote_write(_template(self._held(), experiment)), self._ledger, log)
            self._client = Prometheus(forward.url, transport=forward)
        return self._client

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

    def _refuse_unschedulable(self, name: str, pod: Json, waited: float) -> None:
        said = pods.unschedulable(pod)
        if said and waited > _UNSCHEDULABLE:
            raise PrerequisiteMissing(
                f"{name}: no node takes its pod {pods.name(pod)}: {said}",
                "make room in the cluster, or lower the chart's requests",
            )

    def _refuse_no_pod(self, name: str) -> None:
        """PrerequisiteMissing when the Deployment is refused its pod (by Pod Security, a quota)."""
        conditions = self._held().deployment(self._deployment(name)).get("status", {}).get("conditions") or []
        for each in conditions:
            if each.get("type") == "ReplicaFailure" and each.get("status") == "True":
                raise PrerequisiteMissing(
                    f"{name}: the cluster refuses its pod: {each.get('message')}", "mend that, then go on"
                )

    def _raise(self, found: pods.Trouble | None, what: str, when: str = "") -> None:
        if found and found.hopeless:
            fix = "load the image into the cluster (docs/operations.md), or name another: helm upgrade --set image.tag="
            raise PrerequisiteMissing(f"{what} {found.text}", fix if found.image else "mend what the reason names")
        if found:
            raise BlockFault(f"{what} {found.text}{when}")

    def _warning(self, pod: Json | None) -> str:
        return self._held().last_warning(pods.uid(pod)) if pod else "no pod"

    def _put_experiment(self, experiment: Experiment, template: Json) -> None:
        if not self._config_map:
            data = {"experiment.json": json.dumps(experiment.document())}
            metadata = {"name": self._name, "labels": self._labels(), "ownerReferences": [job.owner(template)]}
            # Before the call: an interruption in it must not leave one behind.
            self._config_map = True
            self._held().create_config_map(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            )

    def _end_job(self) -> None:
        if self._job and self._cluster:
            self._cluster.delete_job(self._job)
            self._job = None

    def _end_orphans(self) -> None:
        """Deletes the Jobs that a killed vtlab of this machine left; PrerequisiteMissing for one that still runs."""
        cluster = self._held()
        for each in cluster.jobs(self._own()):
            name, owner = each["metadata"]["name"], each["metadata"].get("labels", {}).get("vtlab/owner", "")
            ended = each.get("status", {}).get("succeeded") or each.get("status", {}).get("failed")
            host, _, process = owner.partition("_")
            pid, _, start = process.partition("-")
            mine = host == _host() and pid.isdigit() and start.isdigit()
            if ended or (mine and not processes.Identity(int(pid), int(start)).alive()):
                cluster.delete_job(name)
                # Its ConfigMap has the Job's name without the numbers of block, attempt and call.
                cluster.delete_config_map(re.sub(r"(-\d+){3}$", "", name))
            else:
                raise PrerequisiteMissing(
                    f"another vtlab is measuring release {self._where.release} in namespace {self._where.namespace} "
                    f"(Job {name}); two disturb each other",
                    f"wait for it to end; if its vtlab is gone: {self._where.kubectl('delete', 'job', name)}",
                )

    def _keep(self, name: str, log: str) -> None:
        place = self._folder / "logs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(job.shown(log), encoding="utf-8")

    def _labels(self) -> dict[str, str]:
        own = processes.Identity.of(os.getpid())
        return {
            job.MANAGED_BY: "vtlab",
            "app.kubernetes.io/instance": self._where.release,
            "vtlab/owner": f"{_host()}_{own.pid}-{own.start}" if own else _host(),
        }

    def _own(self) -> str:
        return f"{job.MANAGED_BY}=vtlab,app.kubernetes.io/instance={self._where.release}"

    def _selector(self, component: str) -> str:
        return f"app.kubernetes.io/instance={self._where.release},app.kubernetes.io/component={component}"

    def _deployment(self, name: str) -> str:
        return f"{self._where.release}-{name}"

    def _experiment(self) -> Experiment:
        return Experiment.model_validate_json((self._folder / "experiment.json").read_text(encoding="utf-8"))

    def _held(self) -> Cluster:
        if self._cluster is None:
            raise RuntimeError("a KubernetesTarget works only inside its 'with'")
        return self._cluster


def _facts(cluster: Cluster, experiment: Experiment) -> Facts:
    where = cluster.where
    found = {name: _deployment(cluster, name) for name in experiment.variants}
    for name, each in found.items():
        _refuse_other(where, experiment, name, each)
    _refuse_different(found)
    k6 = job.k6(_template(cluster, experiment))
    app = _app(found[experiment.variants[0]])
    chart = found[experiment.variants[0]]["metadata"].get("labels", {}).get("helm.sh/chart", "unknown")
    return Facts(
        versions={"vtlab": __version__, "app": str(app["image"]), "k6": str(k6["image"]), "chart": chart},
        jvm_flags=job.environment_of(app).get(_FLAGS, "").split(),
        machine={
            "kubernetes": cluster.version(),
            "namespace": where.namespace,
            "release": where.release,
            "context": where.context or "the current one",
        },
    )


def _deployment(cluster: Cluster, name: str) -> Json:
    where = cluster.where
    try:
        return cluster.deployment(f"{where.release}-{name}")
    except NotFound:
        raise PrerequisiteMissing(
            f"there is no Deployment {where.release}-{name} in namespace {where.namespace}",
            "install the lab (make up, or helm install), or say where it is: --namespace, --release, --context",
        ) from None


def _refuse_other(where: Where, experiment: Experiment, name: str, deployment: Json) -> None:
    """BadInput when the Deployment is not the variant under the limits of the experiment."""
    app = _app(deployment)
    limits, wanted = app.get("resources", {}).get("limits", {}), experiment.limits
    env = job.environment_of(app)
    wrong = []
    if not limits.get("cpu") or not math.isclose(units.cores(str(limits["cpu"])), wanted.cpu, rel_tol=_TOLERANCE):
        wrong.append(
            (f"its CPU limit is {limits.get('cpu', 'absent')}, not {wanted.cpu:g}", f"limits.cpu={wanted.cpu:g}")
        )
    if not limits.get("memory") or units.size(str(limits["memory"])) != units.size(wanted.memory):
        text = f"its memory limit is {limits.get('memory', 'absent')}, not {wanted.memory}"
        wrong.append((text, f"limits.memory={wanted.memory}"))
    if f"-Xmx{wanted.heap}" not in env.get(_FLAGS, "").split():
        wrong.append((f"its heap is not -Xmx{wanted.heap}", f"limits.heap={wanted.heap}"))
    for key, value in {**experiment.settings, **variant.environment(name)}.items():
        if env.get(key) != value:
            setting = f"variants.{name}.env.{key}" if key in variant.environment(name) else f"settings.{key}"
            wrong.append((f"its {key} is {env.get(key, 'absent')}, not {value}", f"{setting}={value}"))
    for key in env.keys() - {_FLAGS, *experiment.settings, *variant.environment(name)}:
        wrong.append((f"it sets {key}={env[key]}, which the experiment does not", f"settings.{key}=null"))
    if deployment["spec"].get("replicas") != 1:
        wrong.append((f"it has {deployment['spec'].get('replicas')} replicas, not 1", ""))
    if wrong:
        words = [
            ("--set" if setting.endswith("=null") else "--set-string") + f" {setting}"
            for _, setting in wrong
            if setting
        ]
        settings = " ".join(words)
        raise BadInput(
            f"Deployment {where.release}-{name} is not what {experiment.name} asks for: "
            + "; ".join(text for text, _ in wrong),
            f"helm upgrade {where.release} helm -n {where.namespace} --reuse-values {settings}",
        )


def _refuse_different(deployments: Mapping[str, Json]) -> None:
    """BadInput when the variants differ in more than what makes them variants: image, JVM flags, environment."""
    seen: dict[str, Json] = {}
    for name, deployment in deployments.items():
        app = _app(deployment)
        env = {key: value for key, value in job.environment_of(app).items() if key not in variant.environment(name)}
        seen[name] = {"image": app.get("image"), **env}
    (first, one), *others = seen.items()
    for name, other in others:
        differing = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        if differing:
            said = "; ".join(f"{key} is {one.get(key, 'absent')} and {other.get(key, 'absent')}" for key in differing)
            raise BadInput(
                f"{first} and {name} differ in more than their threads: {said}",
                "it would not show which difference makes the difference: give both the same in the chart's values",
            )


def _running(pod: Json) -> bool:
    return bool(pod["status"].get("phase") == "Running")


def _app(deployment: Json) -> Json:
    containers: list[Json] = deployment["spec"]["template"]["spec"]["containers"]
    return next((each for each in containers if each["name"] == "app"), containers[0])


def _template(cluster: Cluster, experiment: Experiment) -> Json:
    release = cluster.where.release
    selector = f"app.kubernetes.io/instance={release},app.kubernetes.io/component=k6"
    found = job.template(cluster.cron_jobs(selector), experiment.name)
    if found is None:
        raise PrerequisiteMissing(
            f"the release {release} has no CronJob for k6 in namespace {cluster.where.namespace}",
            f"helm upgrade {release} helm -n {cluster.where.namespace} --reuse-values",
        )
    return found


def _host() -> str:
    """This machine's name, as a label may hold it."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", os.uname().nodename).strip("-.")[:30] or "unknown"
