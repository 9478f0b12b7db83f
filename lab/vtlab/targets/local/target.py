"""This machine as the target of a run: variants in control groups, k6 and Prometheus beside them."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vtlab import results, services
from vtlab.catalogue import rules
from vtlab.errors import BlockFault, LabError, PrerequisiteMissing, VariantFailed
from vtlab.host import agent, cgroup, logs, machine, ports, processes, tools
from vtlab.host.processes import Ledger, Process
from vtlab.host.tools import Java, Tool
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.records import Diagnosis, Failure, Instance, K6Document, ServerFigure, Trial
from vtlab.model.run import BlockSeries
from vtlab.planning.load import AS_PLANNED, LightLoad, Pace
from vtlab.services import between, companions
from vtlab.services.companions import CompanionServices
from vtlab.services.process import Elsewhere, Launch, VariantProcess, ready_within, spawn
from vtlab.targets import k6, verification
from vtlab.targets.annotation import annotate, fill_gaps, fill_series_gaps
from vtlab.targets.k6 import phase_variables
from vtlab.targets.local import dumps, raised, short_pins, workload
from vtlab.targets.local.prometheus_server import PrometheusServer
from vtlab.targets.prometheus import Prometheus

#: Where below a run's folder its Prometheus stores.
KEPT = "prometheus"
#: Seconds until a variant that is ready must have been scraped.
_SCRAPED_WITHIN = 30.0
#: Seconds between two lines that say that a variant is not ready.
_SAID_EVERY = 30.0
#: Characters of the end of a log in the reason of a failure.
_LOG_SHOWN = 400
#: Below this many free bytes a fault is the disk's.
_LITTLE = 8 * 1024**2


@dataclass
class LocalTarget:
    """Runs blocks on this machine. Made by ``local_target``, which also ends what it started."""

    folder: Path
    root: Path
    repository: Path
    ledger: Ledger
    java: Java
    k6: Tool
    #: Put before k6's command.
    k6_prefix: Sequence[str]
    prometheus: PrometheusServer
    companions: CompanionServices
    cpu_limited: bool
    #: Tells the run's samples of k6 from others'.
    run_id: str
    #: What an earlier vtlab had left running, ended by now.
    orphans: list[str]
    #: Tells the user something.
    say: Callable[[str], None]
    #: The variants of the block that was started last.
    _running: list[VariantProcess] = field(default_factory=list)
    #: variant -> its ports in the block before: Prometheus goes on with these, and begins with new ones a second later.
    _ports: dict[str, Sequence[int]] = field(default_factory=dict)
    #: Whether the workload's pre-flight is over, and the origin in a script that stands for the variant.
    _is_checked: bool = False
    _origin: str | None = None

    def start(self, experiment: Experiment, block: int, attempt: int) -> LocalBlock:
        """Fresh processes of all variants, ready, limits verified, scraped at least once; what they need runs beside
        them. Those that do not start are among the block's failures.

        BlockFault when something else does not start; PrerequisiteMissing when a limit does not hold, or a need cannot
        be met.
        """
        with _disk(self.root):
            self._stop_variants()
            service = services.of(experiment, self.repository)
            launch = Launch(
                service,
                experiment,
                {name: self._java_of(experiment, name) for name in experiment.variants} if service.jar else {},
                self.ledger,
                self.folder / "logs",
                f"{block}-{attempt}",
                self.cpu_limited,
                self._ports,
                self.companions.start(experiment.needs, service),
                self.companions.databases(experiment.needs, service, experiment.variants),
                agent.find(self.repository) if service.agent else None,
            )
            spawn(launch, self._running)
            addresses = self._addresses()
            self.prometheus.scrape(addresses, service.metrics)
            failures = self._await_ready()
            if self._addresses() != addresses:
                self.prometheus.scrape(self._addresses(), service.metrics)
            self._ports = {variant.variant: variant.server.ports for variant in self._running}
            instances = []
            with Prometheus(self.prometheus.url) as client:
                for variant in self._running:
                    if any(failure.variant == variant.variant for failure in failures):
                        continue
                    try:
                        instances.append(self._verified(client, variant))
                    except VariantFailed as failure:
                        failures.append(_at_start(failure.variant, failure.reason))
            verification.refuse_other_jvms(experiment, instances)
            if experiment.workload_ and not self._is_checked and not instances:
                # Nothing was measured before: there is no service to compare.
                raise _not_started(failures, self.folder)
            started = LocalBlock(self, experiment, block, attempt, list(self._running), instances, failures)
            if experiment.workload_ and not self._is_checked:
                self._origin = started.preflight(self.say)
                self._is_checked = True
            return started

    def _await_ready(self) -> list[Failure]:
        """Waits until every variant is ready or has failed to start; how those failed. BlockFault for one that found no
        free port."""
        waiting, failures = list(self._running), []
        began, due = time.monotonic(), _SAID_EVERY
        while waiting:
            if time.monotonic() - began > due:
                self.say(f"{' and '.join(v.variant for v in waiting)}: not ready after {due:.0f} s, waiting")
                due += _SAID_EVERY
            self.bound_logs()
            for variant in list(waiting):
                try:
                    if variant.server.ready():
                        waiting.remove(variant)
                except BlockFault as fault:
                    if ports.taken(variant.process.last_lines(40)):
                        raise
                    waiting.remove(variant)
                    within = ready_within(variant.launch.service)
                    late = str(fault) if isinstance(fault, Elsewhere) else f"it was not ready after {within:.0f} s"
                    how = variant.end() or late
                    log = variant.process.last_lines()[-_LOG_SHOWN:]
                    failures.append(_at_start(variant.variant, f"{how}: {log}" if log else how))
                    variant.process.stop(1)
            if waiting:
                time.sleep(0.05)
        return failures

    def bound_logs(self) -> None:
        """Keeps the logs of all that runs small, and says which were not."""
        for log in self.ledger.bound_logs():
            kept = f"the first and the last {logs.KEPT // 1024**2} MiB"
            self.say(
                f"{log.name} is larger than {logs.MOST // 1024**2} MiB: {kept} stay; what it costs to print counts"
            )

    def _java_of(self, experiment: Experiment, variant: str) -> Java:
        major = experiment.properties_of(variant).java
        return self.java if major is None else tools.find_java(str(major))

    def _addresses(self) -> dict[str, str]:
        return {variant.variant: variant.metrics_address for variant in self._running}

    def _verified(self, client: Prometheus, variant: VariantProcess) -> Instance:
        """What is known of a variant that is ready; PrerequisiteMissing where that is not the limit that it was
        given, VariantFailed where it has ended meanwhile."""
        name, experiment, meters = variant.variant, variant.launch.experiment, variant.launch.service.meters
        try:
            scraped_at = client.await_scrape(name, round(time.time() * 1000), within=_SCRAPED_WITHIN)
            enforced = cgroup.limit_of(variant.process.pid)
        except (BlockFault, OSError) as error:
            how = variant.end()
            if how is not None:
                raise VariantFailed(name, how, log=variant.process.last_lines(3)) from error
            raise error if isinstance(error, BlockFault) else BlockFault(f"{name}: {error}") from error
        figures = verification.read(client, name, scraped_at)
        if self.cpu_limited:
            verification.refuse_other_limits(name, experiment, meters, figures, cgroup.NO_LIMIT, enforced)
        verification.refuse_other_threads(name, experiment, meters, figures)
        return Instance(
            variant=name,
            identity=str(variant.process.identity),
            java=figures.java,
            gc=figures.gc,
            heap=figures.heap,
            processors=math.ceil(figures.processors or enforced.cpu or os.cpu_count() or 1),
            cpu_limit=enforced.cpu,
            started_in=round(variant.server.ready_after, 3),
            class_archives=variant.class_archives(),
        )

    def _stop_variants(self) -> None:
        with processes.uninterrupted():
            for variant in self._running:
                variant.process.terminate()
            end = time.monotonic() + 3
            for variant in self._running:
                variant.process.stop(max(0.0, end - time.monotonic()))
            for variant in self._running:
                if variant.cgroup:
                    variant.cgroup.remove()
            self._running.clear()


@contextlib.contextmanager
def local_target(
    folder: Path,
    root: Path,
    repository: Path,
    no_cpu_limit: bool = False,
    java: str | None = None,
    k6_prefix: Sequence[str] = (),
    prometheus_port: int | None = None,
    run_id: str | None = None,
    say: Callable[[str], None] = print,
) -> Iterator[LocalTarget]:
    """This machine, for the run in ``folder``. At its end nothing that it started is left.

    Folders below the run's: ``logs`` (stays), ``prometheus`` (stays where it was given a port, so that one can look at
    it), ``database``, ``dumps`` and ``k6`` (removed at the end). ``run_id`` is the folder's name if not given,
    ``say`` tells the user what a pre-flight shows.
    PrerequisiteMissing for the first tool that this machine lacks.
    """
    folder, root, repository = folder.absolute(), root.absolute(), repository.absolute()
    jdk, k6_tool, prometheus_tool = tools.find_java(java), tools.find_k6(repository), tools.find_prometheus(repository)
    end = contextlib.ExitStack()
    try:
        with _disk(root):
            orphans = processes.end_orphans(root)
            ledger = processes.open_exclusive_ledger(root)
        for name in ("k6", companions.DATABASE, dumps.FOLDER, *([] if prometheus_port else [KEPT])):
            end.callback(shutil.rmtree, folder / name, ignore_errors=True)
        end.enter_context(ledger)
        yield LocalTarget(
            folder=folder,
            root=root,
            repository=repository,
            ledger=ledger,
            java=jdk,
            k6=k6_tool,
            k6_prefix=k6_prefix,
            prometheus=PrometheusServer(
                prometheus_tool,
                folder / KEPT,
                ledger,
                folder / "logs" / "prometheus.log",
                prometheus_port,
                repository / rules.FILE,
            ),
            companions=CompanionServices(repository, folder, jdk, ledger),
            cpu_limited=not no_cpu_limit,
            run_id=run_id or folder.name,
            orphans=orphans,
            say=say,
        )
    finally:
        with processes.uninterrupted():
            end.close()


def _at_start(variant: str, reason: str) -> Failure:
    return Failure(variant=variant, reason=reason, moment="while it started")


class LocalBlock:
    """One attempt at one block: its variants run, and k6 loads them. They stay until the target's next start, or its
    end: a block that is measured is stored first."""

    def __init__(
        self,
        target: LocalTarget,
        experiment: Experiment,
        number: int,
        attempt: int,
        variants: Sequence[VariantProcess],
        instances: Sequence[Instance],
        failures: Sequence[Failure] = (),
    ) -> None:
        self.experiment = experiment
        self.number = number
        self.attempt = attempt
        self.variants = variants
        self.instances = list(instances)
        self.failures = list(failures)
        self.differences: list[str] = []
        self._target = target
        #: As they were when their part in the block was over; None where they had none.
        self._retired: dict[str, Instance | None] = {failure.variant: None for failure in failures}
        #: The last phase in the block of each variant that still runs.
        self._before: dict[str, Trial] = {}
        #: Of each call of k6.
        self._samplers: list[machine.Sampler] = []
        #: Cores of each variant, while that is more than its limit.
        self._raised: float | None = None

    def renumbered(self, experiment: Experiment, number: int, attempt: int) -> LocalBlock:
        """Another block, with the variants of this one as they run."""
        return LocalBlock(self._target, experiment, number, attempt, self.variants, self.instances, self.failures)

    def raise_cpu(self) -> float | None:
        """Gives the variants more CPU; how many cores each, None where they keep their limit: the machine has hardly
        more, nothing limits them, or their shape is not fixed, as that of a service that is no jar."""
        limit = self.experiment.limits.cpu
        cpu = raised.cores(limit, raised.available())
        running = self._running()
        if cpu is None or not running or not all(v.cgroup and v.launch.service.jar for v in running):
            return None
        try:
            raised.allow(running, cpu)
        except BlockFault:
            # What stands above the groups may allow no more.
            raised.allow(running, limit)
            return None
        self._raised = cpu
        raised.prefer_compilers([variant.process.pid for variant in running], True)
        return cpu

    def restore_cpu(self) -> None:
        """Sets the variants' limit again, once what reads their meters is compiled, too, and their JIT compilers rest.
        BlockFault where it does not hold. Where the experiment says the round of every variant, and so that the load is
        the bound, the meters are not read: what is compiled later takes nothing from the requests."""
        running = [variant for variant in self._running() if variant.end() is None]
        if running and not self.experiment.is_paced:
            raised.read_meters([f"http://{v.metrics_address}{v.launch.service.metrics}" for v in running])
        pids = [variant.process.pid for variant in running]
        raised.await_compilers(pids)
        raised.prefer_compilers(pids, False)
        raised.allow(running, self.experiment.limits.cpu)
        self._raised = None

    def _running(self) -> list[VariantProcess]:
        return [variant for variant in self.variants if variant.variant not in self._retired]

    def load(
        self,
        *,
        order: Sequence[str],
        warmup_cycles: int,
        single: str | None,
        own_cycles: int = 0,
        light: LightLoad | None = None,
        wait_for_answers: bool = True,
        pace: Pace = AS_PLANNED,
    ) -> K6Document:
        """Runs k6 once. BlockFault when k6 fails, or, stopping k6 at once, when what the variants need or Prometheus
        dies; VariantFailed when a variant does.

        Fills ``server`` and ``machine`` of every record. Under light load the shortest pins of JDKs before 24 count,
        too, and CPU is what the kernel counts: a window of a second lies between two scrapes.
        """
        if self.experiment.between and order:
            return self._load_apart(order, warmup_cycles, single, own_cycles, pace)
        variables = phase_variables(
            order,
            warmup_cycles,
            single,
            own_cycles=own_cycles,
            light=light,
            wait_for_answers=wait_for_answers,
            pace=pace,
        )
        if light is None:
            return self._load(variables)
        pinning = [v for name in light.rates if (v := self._process_of(name)).pins]
        with short_pins.counted(pinning):
            document = self._load(variables)
        for phase in document.light:
            phase.server["cpu_cores"] = self._usage(phase.variant, phase.start, phase.end).get("cpu_cores")
        return document

    def _load_apart(
        self, order: Sequence[str], warmup_cycles: int, single: str | None, own_cycles: int, pace: Pace
    ) -> K6Document:
        """The same by one call of k6 for each trial, with what is to come between before it."""
        documents = []
        if warmup_cycles or own_cycles or single:
            documents.append(self._load(phase_variables([], warmup_cycles, single, own_cycles=own_cycles, pace=pace)))
        levels: list[tuple[int, ...]] = [(users,) for users in pace.users] or [()]
        trials = [
            (variant, users)
            for turn, users in enumerate(levels)
            for variant in (order if turn % 2 == 0 else list(reversed(order)))
        ]
        for position, (variant, users) in enumerate(trials, 1):
            self._reset(variant)
            variables = phase_variables([variant], 0, None, position, pace=replace(pace, users=users))
            documents.append(self._load(variables))
        return k6.joined(documents)

    def _reset(self, variant: str) -> None:
        """Does what the experiment wants done before a trial. Errors as of ``between.run``."""
        if self.experiment.between:
            base = self._process_of(variant).url
            log = self._target.folder / "logs" / f"{self.number}-{self.attempt}-between.log"
            between.run(self.experiment.between, variant, base, self._target.ledger, log)

    def trial_without_drain(self, variant: str, position: int, pace: Pace = AS_PLANNED) -> K6Document:
        """Runs k6 once; it gives up what is unanswered when the window ends, and the variant ends with it."""
        self._reset(variant)
        document = self._load(phase_variables([variant], 0, None, position, wait_for_answers=False, pace=pace))
        self.drop(variant)
        with Prometheus(self._target.prometheus.url) as client:
            client.await_gone(variant, within=30)
        return document

    def drop(self, variant: str) -> None:
        """Ends a variant: its part in the block is over."""
        instance = next(instance for instance in self.instances if instance.variant == variant)
        self._retired[variant] = self._checked(instance)
        self._process_of(variant).process.stop(0)
        self._before.pop(variant, None)

    def diagnose(self, paces: Mapping[str, Pace]) -> dict[str, Diagnosis]:
        """Runs one more trial of each of these variants, which does not count, with thread dumps in it. Without a
        variant of which none came, or which has ended."""
        running = [self._process_of(name) for name in paces if name not in self._retired]

        def trial(name: str) -> Trial:
            try:
                variables = phase_variables([name], 0, None, pace=paces[name])
                return self._load(variables, f"{self._target.run_id}-diagnosis").trials[0]
            except VariantFailed as broken:
                # The next one's trial does without it.
                self.drop(broken.variant)
                raise

        return dumps.diagnose(running, self._target.folder, trial, paces)

    def check_instances(self) -> list[Instance]:
        """Whether the processes are those that started."""
        return [self._retired.get(instance.variant) or self._checked(instance) for instance in self.instances]

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        """The charts' samples of all variants, every second."""
        with Prometheus(self._target.prometheus.url) as client:
            series = {variant.variant: client.charted(variant.variant, begin_ms, end_ms) for variant in self.variants}
        for variant in self.variants:
            usage = functools.partial(self._usage, variant.variant)
            fill_series_gaps(series[variant.variant], usage, begin_ms, end_ms, variant.launch.service.meters)
        return series

    def _usage(self, variant: str, start_ms: int, end_ms: int) -> dict[ServerFigure, float | None]:
        """What a variant used between two times, by the call of k6 that ran then."""
        windows = (sampler.service_window(variant, start_ms, end_ms) for sampler in self._samplers)
        return next((window for window in windows if window["cpu_cores"] is not None), {})

    def _load(self, variables: Mapping[str, str], run_id: str | None = None) -> K6Document:
        """``run_id``: another than the run's, for what is not to count among its samples."""
        target = self._target
        with _disk(target.root), Prometheus(target.prometheus.url) as client:
            call = self._call(f"{self.number}-{self.attempt}-{len(self._samplers) + 1}", variables, run_id)
            call.document.unlink(missing_ok=True)
            generator = self._start(call)
            usages = {variant.variant: variant.usage() for variant in self.variants}
            sampler = machine.Sampler(generator.pid, services=usages)
            self._samplers.append(sampler)
            with sampler:
                try:
                    self._watch(generator)
                finally:
                    generator.stop(1)
            log = generator.last_lines()
            if generator.returncode() not in k6.DONE:
                raise BlockFault(f"k6 ended with {generator.exit_description()}: {log or 'its log is empty'}")
            document = k6.read_document(call.document, log)
            longest = units.milliseconds(self.experiment.max_response)
            annotate(document, client, sampler.window, self._before, longest)
            for trial in document.phases:
                variant = self._process_of(trial.variant)
                usage, limits = self._usage(trial.variant, trial.start, trial.end), variant.limits()
                if self._raised is not None:
                    trial.raised_cpu = self._raised
                    limits = replace(limits, cpu=self._raised)
                fill_gaps(trial, usage, limits, variant.launch.service.meters)
            return document

    @functools.cached_property
    def _workload(self) -> workload.Start:
        target = self._target
        self._work.mkdir(parents=True, exist_ok=True)
        return workload.prepare(self.experiment, target.k6.path, target.repository / "k6", self._work)

    @property
    def _work(self) -> Path:
        return self._target.folder / "k6"

    def _call(self, name: str, variables: Mapping[str, str], run_id: str | None = None) -> k6.Call:
        target = self._target
        return k6.Call(
            script=self._workload.script,
            experiment=target.folder / results.PLAN,
            targets={variant.variant: variant.url for variant in self._running()},
            variables=variables,
            run_id=run_id or target.run_id,
            block=self.number,
            document=self._work / f"{name}.json",
            private=self._workload.private,
            origin=target._origin,
        )

    def _start(self, call: k6.Call, push: bool = True) -> Process:
        target = self._target
        return target.ledger.start(
            [*target.k6_prefix, *k6.command(target.k6.path, call, push)],
            role="k6",
            log=target.folder / "logs" / f"{call.document.stem}-k6.log",
            environment=tools.clean_environment(**k6.environment(target.prometheus.remote_write, self._work)),
            folder=self._work,
        )

    def preflight(self, say: Callable[[str], None]) -> str | None:
        """Sends each request, or calls each task of a script, once for each variant, and says what is remarkable of
        that. Returns the origin in a script that stands for the variant. BadInput where the workload does not fit."""
        call = self._call(f"{self.number}-{self.attempt}-preflight", {})

        def run(wanted: k6.Call, variables: Mapping[str, str], seconds: float) -> Process:
            generator = self._start(replace(wanted, variables=variables), push=False)
            try:
                workload.wait(generator, seconds)
            finally:
                generator.stop(1)
            for variant in self.variants:
                how = None if variant.variant in self._retired else variant.end()
                if how is not None:
                    log = variant.process.last_lines(3)
                    raise VariantFailed(variant.variant, f"{how} when it got the first requests", log=log)
            return generator

        if not call.targets:
            return None
        checked = workload.check(self.experiment, call, run)
        remarks, self.differences = checked.remarks, checked.differences
        if any(url.startswith("https://") for url in call.targets.values()):
            remarks = ["the service answers by HTTPS: k6 takes any certificate, and what TLS costs counts", *remarks]
        for remark in [*self._workload.remarks, *remarks, *self.differences]:
            say(f"{self.experiment.name}: {remark}")
        return checked.origin

    def _watch(self, generator: Process) -> None:
        """Returns when k6 has ended; VariantFailed as soon as a variant has, BlockFault for what else it needs."""
        began = round(1000 * time.time())
        while generator.exit_description() is None:
            self._target.bound_logs()
            for variant in self.variants:
                how = None if variant.variant in self._retired else variant.end()
                if how is not None:
                    phase = self._last_phase(variant.variant, began)
                    raise VariantFailed(variant.variant, how, phase, variant.process.last_lines(3))
            how = self._target.companions.exit_description() or self._target.prometheus.exit_description()
            if how is not None:
                raise BlockFault(f"{how} while k6 loaded the variants")
            time.sleep(0.1)

    def _last_phase(self, variant: str, since_ms: int) -> str | None:
        with contextlib.suppress(BlockFault), Prometheus(self._target.prometheus.url) as client:
            return client.last_phase(variant, since_ms)
        return None

    def _checked(self, instance: Instance) -> Instance:
        variant = self._process_of(instance.variant)
        same = str(variant.process.identity) == instance.identity
        update = {"alive": same and variant.process.identity.alive(), "oom_kills": variant.oom_kills()}
        return instance.model_copy(update=update)

    def _process_of(self, name: str) -> VariantProcess:
        return next(variant for variant in self.variants if variant.variant == name)


def _not_started(failures: Sequence[Failure], folder: Path) -> PrerequisiteMissing:
    how = {failure.reason: failure.variant for failure in reversed(failures)}
    reasons = "; ".join(f"{variant}: {reason}" for reason, variant in how.items())
    return PrerequisiteMissing(
        f"no variant of the service starts: {reasons}",
        f"start it by hand with the same environment; its whole log is in {folder / 'logs'}",
    )


@contextlib.contextmanager
def _disk(root: Path) -> Iterator[None]:
    """Names a full disk as what it is."""
    try:
        yield
    except OSError as error:
        if not processes.no_space(error):
            raise
        raise _full(root) from error
    except BlockFault as fault:
        if shutil.disk_usage(root).free < _LITTLE:
            raise _full(root) from fault
        raise


def _full(root: Path) -> LabError:
    return PrerequisiteMissing(f"no space left on the disk of {root}", "make room there")
