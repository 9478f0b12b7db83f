"""This machine as the target of a run: variants in control groups, k6 and Prometheus beside them."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vtlab import shipped
from vtlab.catalogue import rules
from vtlab.errors import BlockFault, PrerequisiteMissing, VariantFailed
from vtlab.host import agent, cgroup, cgroup_hierarchies, idle_cores, ports, process_ledger, processes, tools
from vtlab.host.tools import Java
from vtlab.model.experiment import Experiment
from vtlab.model.records import Failure, Instance
from vtlab.prometheus.queries import NotScraped, Prometheus
from vtlab.services.companions import companion_services
from vtlab.services.companions.companion_services import CompanionServices
from vtlab.services.process import Launch, VariantProcess, WrongPort, java_of, ready_within, spawn
from vtlab.services.resolve import resolve_service
from vtlab.targets import verification
from vtlab.targets.local import dumps
from vtlab.targets.local.block import LocalBlock, LocalStart
from vtlab.targets.local.disk import named_when_full
from vtlab.targets.local.prometheus_server import PrometheusFiles, PrometheusServer
from vtlab.targets.local.site import LocalSite
from vtlab.targets.verification import StartedVariant

#: Where below a run's folder its Prometheus stores.
KEPT = "prometheus"
#: Seconds until a variant that is ready must have been scraped.
_SCRAPED_WITHIN = 30.0
#: Seconds between two lines that say that a variant is not ready.
_SAID_EVERY = 30.0
#: Characters of the end of a log in the reason of a failure.
_LOG_SHOWN = 400


@dataclass(frozen=True)
class LocalOptions:
    """Choices for a run on this machine."""

    no_cpu_limit: bool = False
    #: The JDK, as of ``tools.find_java``.
    java: str | None = None
    #: Put before k6's command.
    k6_prefix: Sequence[str] = ()
    #: A fixed port for Prometheus, whose data then stay.
    prometheus_port: int | None = None
    #: The folder's name if not given.
    run_id: str | None = None


@dataclass
class LocalTarget:
    """Runs blocks on this machine. Made by ``local_target``, which also ends what it started."""

    site: LocalSite
    java: Java
    cpu_limited: bool
    #: What an earlier vtlab had left running, ended by now.
    orphans: list[str]
    #: The variants of the block that was started last.
    _running: list[VariantProcess] = field(default_factory=list)
    #: variant -> its ports in the block before: Prometheus goes on with these, and begins with new ones a second later.
    _ports: dict[str, Sequence[int]] = field(default_factory=dict)

    def start(self, experiment: Experiment, block: int, attempt: int) -> LocalBlock:
        """Starts fresh processes of all variants: ready, limits verified, scraped at least once; what they need runs
        beside them. Variants that do not start are among the block's failures.

        BlockFault when something else does not start; PrerequisiteMissing when a limit does not hold, or a need cannot
        be met.
        """
        with named_when_full(self.site.root):
            self._stop_variants()
            spawn(self._launch(experiment, f"{block}-{attempt}"), self._running)
            failures = self._await_scraped(resolve_service(experiment).metrics)
            instances = self._verify_ready(failures)
            verification.refuse_other_jvms(experiment, instances)
            preflight = self.site.preflight
            if not experiment.is_sample and not preflight.is_over and not instances:
                # Nothing was measured before: there is no service to compare.
                raise _not_started(failures, self.site.folder)
            started = LocalStart(experiment, block, attempt, list(self._running), instances, failures)
            local_block = LocalBlock(self.site, started)
            if not experiment.is_sample:
                preflight.check(local_block)
            return local_block

    def _launch(self, experiment: Experiment, label: str) -> Launch:
        """Starts what the variants need, and tells how they are started."""
        service, companions_ = resolve_service(experiment), self.site.companions
        return Launch(
            service=service,
            experiment=experiment,
            javas={name: java_of(experiment, name, self.java) for name in experiment.variants} if service.jar else {},
            ledger=self.site.ledger,
            logs=self.site.folder / "logs",
            label=label,
            cpu_limited=self.cpu_limited,
            ports=self._ports,
            companions=companions_.start(experiment.needs, service),
            databases=companions_.databases(experiment.needs, service, experiment.variants),
            agent=agent.find() if service.agent else None,
        )

    def _await_scraped(self, path: str) -> list[Failure]:
        """Waits until every variant is ready, and scraped at ``path``, or has failed to start; returns the failures."""
        addresses = self._addresses()
        self.site.prometheus.scrape(addresses, path)
        failures = self._await_ready()
        if self._addresses() != addresses:
            self.site.prometheus.scrape(self._addresses(), path)
        self._ports = {variant.variant: variant.server.ports for variant in self._running}
        return failures

    def _verify_ready(self, failures: list[Failure]) -> list[Instance]:
        """Returns the variants that are ready and verified. One that has ended meanwhile is added to the failures, and
        so is one that Prometheus cannot scrape while it scrapes another. NotScraped where it can scrape none."""
        instances: list[Instance] = []
        silent: list[tuple[VariantProcess, NotScraped]] = []
        failed = {failure.variant for failure in failures}
        with Prometheus(self.site.prometheus.url) as client:
            for variant in [variant for variant in self._running if variant.variant not in failed]:
                try:
                    instances.append(self._verified(client, variant))
                except VariantFailed as failure:
                    failures.append(_at_start(failure.variant, failure.reason))
                except NotScraped as fault:
                    silent.append((variant, fault))
        for variant, unread in silent:
            if not instances:
                raise unread
            failures.append(_at_start(variant.variant, f"its metrics did not come within {_SCRAPED_WITHIN:.0f} s"))
            variant.process.stop(1)
        return instances

    def _await_ready(self) -> list[Failure]:
        """Waits until every variant is ready or has failed to start; returns the failures. BlockFault for one that
        found no free port."""
        waiting, failures = list(self._running), []
        began, due = time.monotonic(), _SAID_EVERY
        while waiting:
            if time.monotonic() - began > due:
                self.site.say(f"{' and '.join(v.variant for v in waiting)}: not ready after {due:.0f} s, waiting")
                due += _SAID_EVERY
            self.site.bound_logs()
            for variant in list(waiting):
                try:
                    if variant.server.ready():
                        waiting.remove(variant)
                except BlockFault as fault:
                    if ports.taken(variant.process.last_lines(40)):
                        raise
                    waiting.remove(variant)
                    failures.append(_failed_to_start(variant, fault))
                    variant.process.stop(1)
            if waiting:
                time.sleep(0.05)
        return failures

    def _addresses(self) -> dict[str, str]:
        return {variant.variant: variant.metrics_address for variant in self._running}

    def _verified(self, client: Prometheus, variant: VariantProcess) -> Instance:
        """Verifies a variant that is ready, and returns what is known of it. PrerequisiteMissing where a limit is not
        the one that it was given, VariantFailed where it has ended meanwhile."""
        name, launch = variant.variant, variant.launch
        try:
            scraped_at = client.await_scrape(name, round(time.time() * 1000), within=_SCRAPED_WITHIN)
            enforced = cgroup_hierarchies.limit_of(variant.process.pid)
        except (BlockFault, OSError) as error:
            exit_reason = variant.end()
            if exit_reason is not None:
                raise VariantFailed(name, exit_reason, log=variant.process.last_lines(3)) from error
            raise error if isinstance(error, BlockFault) else BlockFault(f"{name}: {error}") from error
        figures = verification.read(client, name, scraped_at)
        started = StartedVariant(
            name, launch.experiment, launch.service.meters, figures, enforced, launch.processors(name)
        )
        if self.cpu_limited:
            verification.refuse_other_limits(started, cgroup.NO_LIMIT)
        verification.refuse_other_threads(started)
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
    folder: Path, root: Path, options: LocalOptions = LocalOptions(), say: Callable[[str], None] = print
) -> Iterator[LocalTarget]:
    """Prepares this machine for the run in ``folder``. At its end nothing that it started is left.

    Folders below the run's: ``logs`` (stays), ``prometheus`` (stays where it was given a port, so that one can look at
    it), ``database``, ``dumps`` and ``k6`` (removed at the end). ``say`` tells the user what a pre-flight shows.
    PrerequisiteMissing for the first tool that this machine lacks.
    """
    folder, root = folder.absolute(), root.absolute()
    jdk, k6, prometheus = tools.find_java(options.java), tools.find_k6(), tools.find_prometheus()
    end = contextlib.ExitStack()
    try:
        end.enter_context(idle_cores.kept_awake())
        with named_when_full(root):
            orphans = process_ledger.end_orphans(root)
            ledger = process_ledger.open_exclusive(root)
        for name in ("k6", companion_services.DATABASE, dumps.FOLDER, *([] if options.prometheus_port else [KEPT])):
            end.callback(shutil.rmtree, folder / name, ignore_errors=True)
        companions = CompanionServices(folder, jdk, ledger)
        end.callback(companions.close)
        end.enter_context(ledger)
        files = PrometheusFiles(folder / KEPT, folder / "logs" / "prometheus.log", shipped.ROOT / rules.FILE)
        site = LocalSite(
            folder=folder,
            root=root,
            ledger=ledger,
            k6=k6,
            k6_prefix=options.k6_prefix,
            prometheus=PrometheusServer(prometheus, files, ledger, options.prometheus_port),
            companions=companions,
            run_id=options.run_id or folder.name,
            say=say,
        )
        yield LocalTarget(site, jdk, not options.no_cpu_limit, orphans)
    finally:
        with processes.uninterrupted():
            end.close()


def _failed_to_start(variant: VariantProcess, fault: BlockFault) -> Failure:
    """Describes how a variant failed to start, with the end of its log."""
    late = (
        str(fault)
        if isinstance(fault, WrongPort)
        else f"it was not ready after {ready_within(variant.launch.service):.0f} s"
    )
    reason = variant.end() or late
    log = variant.process.last_lines()[-_LOG_SHOWN:]
    return _at_start(variant.variant, f"{reason}: {log}" if log else reason)


def _at_start(variant: str, reason: str) -> Failure:
    return Failure(variant=variant, reason=reason, moment="while it started")


def _not_started(failures: Sequence[Failure], folder: Path) -> PrerequisiteMissing:
    variant_by_reason = {failure.reason: failure.variant for failure in reversed(failures)}
    reasons = "; ".join(f"{variant}: {reason}" for reason, variant in variant_by_reason.items())
    return PrerequisiteMissing(
        f"no variant of the service starts: {reasons}",
        f"start it by hand with the same environment; its whole log is in {folder / 'logs'}",
    )
