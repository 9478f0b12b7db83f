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

from vtlab import services, shipped
from vtlab.catalogue import rules
from vtlab.errors import BlockFault, PrerequisiteMissing, VariantFailed
from vtlab.host import agent, cgroup, cgroup_hierarchies, logs, ports, process_ledger, processes, tools
from vtlab.host.process_ledger import Ledger
from vtlab.host.tools import Java, Tool
from vtlab.model.experiment import Experiment
from vtlab.model.records import Failure, Instance
from vtlab.prometheus.queries import Prometheus
from vtlab.services import companions
from vtlab.services.companions import CompanionServices
from vtlab.services.process import Elsewhere, Launch, VariantProcess, java_of, ready_within, spawn
from vtlab.targets import verification
from vtlab.targets.local import dumps
from vtlab.targets.local.block import LocalBlock
from vtlab.targets.local.disk import named_when_full
from vtlab.targets.local.prometheus_server import PrometheusServer
from vtlab.targets.preflight import Preflight

#: Where below a run's folder its Prometheus stores.
KEPT = "prometheus"
#: Seconds until a variant that is ready must have been scraped.
_SCRAPED_WITHIN = 30.0
#: Seconds between two lines that say that a variant is not ready.
_SAID_EVERY = 30.0
#: Characters of the end of a log in the reason of a failure.
_LOG_SHOWN = 400


@dataclass
class LocalTarget:
    """Runs blocks on this machine. Made by ``local_target``, which also ends what it started."""

    folder: Path
    root: Path
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
    preflight: Preflight = field(default_factory=Preflight)

    def start(self, experiment: Experiment, block: int, attempt: int) -> LocalBlock:
        """Fresh processes of all variants, ready, limits verified, scraped at least once; what they need runs beside
        them. Those that do not start are among the block's failures.

        BlockFault when something else does not start; PrerequisiteMissing when a limit does not hold, or a need cannot
        be met.
        """
        with named_when_full(self.root):
            self._stop_variants()
            service = services.of(experiment)
            launch = Launch(
                service,
                experiment,
                {name: java_of(experiment, name, self.java) for name in experiment.variants} if service.jar else {},
                self.ledger,
                self.folder / "logs",
                f"{block}-{attempt}",
                self.cpu_limited,
                self._ports,
                self.companions.start(experiment.needs, service),
                self.companions.databases(experiment.needs, service, experiment.variants),
                agent.find() if service.agent else None,
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
            if experiment.workload_ and not self.preflight.is_over and not instances:
                # Nothing was measured before: there is no service to compare.
                raise _not_started(failures, self.folder)
            started = LocalBlock(self, experiment, block, attempt, list(self._running), instances, failures)
            if experiment.workload_:
                self.preflight.check(started)
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

    def _addresses(self) -> dict[str, str]:
        return {variant.variant: variant.metrics_address for variant in self._running}

    def _verified(self, client: Prometheus, variant: VariantProcess) -> Instance:
        """What is known of a variant that is ready; PrerequisiteMissing where that is not the limit that it was
        given, VariantFailed where it has ended meanwhile."""
        name, experiment, meters = variant.variant, variant.launch.experiment, variant.launch.service.meters
        try:
            scraped_at = client.await_scrape(name, round(time.time() * 1000), within=_SCRAPED_WITHIN)
            enforced = cgroup_hierarchies.limit_of(variant.process.pid)
        except (BlockFault, OSError) as error:
            how = variant.end()
            if how is not None:
                raise VariantFailed(name, how, log=variant.process.last_lines(3)) from error
            raise error if isinstance(error, BlockFault) else BlockFault(f"{name}: {error}") from error
        figures = verification.read(client, name, scraped_at)
        if self.cpu_limited:
            counted = variant.launch.processors(name)
            verification.refuse_other_limits(name, experiment, meters, figures, cgroup.NO_LIMIT, enforced, counted)
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
    folder, root = folder.absolute(), root.absolute()
    jdk, k6_tool, prometheus_tool = tools.find_java(java), tools.find_k6(), tools.find_prometheus()
    end = contextlib.ExitStack()
    try:
        with named_when_full(root):
            orphans = process_ledger.end_orphans(root)
            ledger = process_ledger.open_exclusive(root)
        for name in ("k6", companions.DATABASE, dumps.FOLDER, *([] if prometheus_port else [KEPT])):
            end.callback(shutil.rmtree, folder / name, ignore_errors=True)
        end.enter_context(ledger)
        yield LocalTarget(
            folder=folder,
            root=root,
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
                shipped.ROOT / rules.FILE,
            ),
            companions=CompanionServices(folder, jdk, ledger),
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


def _not_started(failures: Sequence[Failure], folder: Path) -> PrerequisiteMissing:
    how = {failure.reason: failure.variant for failure in reversed(failures)}
    reasons = "; ".join(f"{variant}: {reason}" for reason, variant in how.items())
    return PrerequisiteMissing(
        f"no variant of the service starts: {reasons}",
        f"start it by hand with the same environment; its whole log is in {folder / 'logs'}",
    )
