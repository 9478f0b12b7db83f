"""This machine as the target of a run: JVMs in control groups, k6 and Prometheus beside them."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from vtlab import __version__, results
from vtlab.catalogue import rules
from vtlab.errors import BlockFault, LabError, PrerequisiteMissing
from vtlab.host import machine, processes, tools
from vtlab.host.processes import Ledger, Process
from vtlab.host.tools import Java
from vtlab.model.experiment import Experiment
from vtlab.model.records import Instance, K6Document, Trial
from vtlab.model.run import BlockSeries
from vtlab.services import companions, jvm
from vtlab.services.companions import Beside
from vtlab.services.jvm import Jvm
from vtlab.targets import k6
from vtlab.targets.local.prometheus_server import PrometheusServer
from vtlab.targets.prometheus import Prometheus, fill_in_flight_before

#: Where below a run's folder its Prometheus stores.
KEPT = "prometheus"
#: Below this many free bytes a fault is the disk's.
_LITTLE = 8 * 1024**2


class LocalTarget:
    """Runs blocks on this machine. A context manager: at its end nothing that it started is left.

    Folders below the run's: ``logs`` (stays), ``prometheus`` (stays where it was given a port, so that one can look at
    it), ``database`` and ``k6`` (removed at the end).
    """

    def __init__(
        self,
        folder: Path,
        root: Path,
        repository: Path,
        no_cpu_limit: bool = False,
        java: str | None = None,
        k6_prefix: Sequence[str] = (),
        prometheus_port: int | None = None,
        run_id: str | None = None,
    ) -> None:
        """PrerequisiteMissing for the first tool that this machine lacks.

        ``run_id`` tells the run's samples of k6 from others'; the folder's name if not given.
        """
        self._folder = folder.absolute()
        self._root = root.absolute()
        self._repository = repository.absolute()
        self._cpu_limited = not no_cpu_limit
        self._k6_prefix = list(k6_prefix)
        self._prometheus_port = prometheus_port
        self._run_id = run_id or folder.name
        self._java = tools.find_java(java)
        self._k6 = tools.find_k6(self._repository)
        self._prometheus = tools.find_prometheus(self._repository)
        self._app = tools.find_app(self._repository)
        #: What an earlier vtlab had left running, ended on entry.
        self.orphans: list[str] = []
        self._ledger: Ledger | None = None
        self._beside: Beside | None = None
        self._server: PrometheusServer | None = None
        self._client: Prometheus | None = None
        self._jvms: list[Jvm] = []
        self._ports: dict[str, tuple[int, int]] = {}
        self._instances: list[Instance] = []
        #: As they were when their part in the block was over.
        self._retired: dict[str, Instance] = {}
        #: The last phase in the block of each variant that still runs.
        self._before: dict[str, Trial] = {}
        self._block = (0, 0)
        self._loads = 0

    def __enter__(self) -> LocalTarget:
        try:
            with self._disk():
                self.orphans = processes.end_orphans(self._root)
                self._ledger = processes.claim(self._root)
                self._beside = Beside(self._repository, self._folder, self._java, self._app, self._ledger)
                self._server = PrometheusServer(
                    self._prometheus,
                    self._folder / KEPT,
                    self._ledger,
                    self._folder / "logs" / "prometheus.log",
                    self._prometheus_port,
                    self._repository / rules.FILE,
                )
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops everything; idempotent."""
        with processes.uninterrupted():
            if self._client:
                self._client.close()
                self._client = None
            if self._ledger:
                self._ledger.close()
                self._ledger = None
                removed = ["k6", companions.DATABASE, *([] if self._prometheus_port else [KEPT])]
                for name in removed:
                    shutil.rmtree(self._folder / name, ignore_errors=True)
            self._beside = None
            self._server = None
            self._jvms.clear()

    def start(self, experiment: Experiment, block: int, attempt: int) -> list[Instance]:
        """Fresh JVMs of all variants, ready, limits verified, scraped at least once; what they need runs beside them.

        BlockFault when one does not start; PrerequisiteMissing when a limit does not hold, or a need cannot be met.
        """
        with self._disk():
            self._stop_jvms()
            self._block, self._loads = (block, attempt), 0
            self._instances, self._retired, self._before = [], {}, {}
            launch = jvm.Launch(
                {name: self._java_of(experiment, name) for name in experiment.variants},
                self._app,
                experiment,
                self._held(),
                self._folder / "logs",
                f"{block}-{attempt}",
                self._cpu_limited,
                # It takes Prometheus some seconds to pick up new targets. Those of the block before it scrapes at once.
                self._ports,
                self._running_beside().start(experiment.needs),
            )
            jvm.spawn(launch, self._jvms)
            server = self._prometheus_server()
            targets = self._addresses()
            server.scrape(targets)
            self._instances = jvm.verified(self._jvms)
            if self._addresses() != targets:
                server.scrape(self._addresses())
            self._ports = {each.variant: (each.port, each.management) for each in self._jvms}
            if self._client is None or self._client.url != server.url:
                if self._client:
                    self._client.close()
                self._client = Prometheus(server.url)
            now = round(time.time() * 1000)
            for each in self._jvms:
                self._client.await_scrape(each.variant, now, within=30)
            return list(self._instances)

    def _java_of(self, experiment: Experiment, variant: str) -> Java:
        major = experiment.properties_of(variant).java
        return self._java if major is None else tools.find_java(str(major))

    def load(self, *, order: Sequence[str], warmup_cycles: int, single: str | None) -> K6Document:
        """Runs k6 once. BlockFault when k6 fails, or, stopping k6 at once, when a JVM, what they need or
        Prometheus dies.

        Fills ``server`` and ``machine`` of every record.
        """
        return self._load(order, warmup_cycles, single)

    def last_trial(self, variant: str, position: int) -> K6Document:
        """Runs k6 once; it gives up what is unanswered when the window ends, and the JVM ends with it."""
        document = self._load([variant], 0, None, position, wait_for_answers=False)
        instance = next(each for each in self._instances if each.variant == variant)
        self._retired[variant] = self._checked(instance)
        self._jvm(variant).process.stop(0)
        self._prometheus_client().await_gone(variant, within=30)
        del self._before[variant]
        return document

    def _load(
        self,
        order: Sequence[str],
        warmup_cycles: int,
        single: str | None,
        position: int = 1,
        wait_for_answers: bool = True,
    ) -> K6Document:
        with self._disk():
            server, client = self._prometheus_server(), self._prometheus_client()
            self._loads += 1
            block, attempt = self._block
            name = f"{block}-{attempt}-{self._loads}"
            place = self._folder / "k6"
            place.mkdir(parents=True, exist_ok=True)
            call = k6.Call(
                script=self._repository / "k6" / "block.ts",
                experiment=self._folder / results.PLAN,
                targets={each.variant: each.url for each in self._jvms},
                order=order,
                warmup_cycles=warmup_cycles,
                single=single,
                run_id=self._run_id,
                block=block,
                document=place / f"{name}.json",
                position=position,
                wait_for_answers=wait_for_answers,
            )
            call.document.unlink(missing_ok=True)
            process = self._held().start(
                [*self._k6_prefix, *k6.command(self._k6.path, call)],
                role="k6",
                log=self._folder / "logs" / f"{name}-k6.log",
                environment=tools.clean_environment(**k6.environment(server.remote_write, place)),
                folder=place,
            )
            with machine.Sampler(process.pid, server.process.pid) as sampler:
                try:
                    self._watch(process, server)
                finally:
                    process.stop(1)
            if process.returncode() not in k6.DONE:
                raise BlockFault(f"k6 ended with {process.ended()}: {process.last_lines() or 'it said nothing'}")
            document = k6.read_document(call.document, process.last_lines())
            for trial in (*document.warmup, *document.single, *document.trials):
                trial.server = client.window(trial.variant, trial.start, trial.end)
                trial.pinned = client.pinned(trial.variant, trial.start, trial.end)
                trial.machine = sampler.window(trial.start, trial.end)
            fill_in_flight_before(document, client, self._before)
            return document

    def finish(self) -> list[Instance]:
        """Whether the JVMs are those that started. They stay until the next start or the end: a block that is measured
        is stored first."""
        checked = [self._retired.get(each.variant) or self._checked(each) for each in self._instances]
        self._instances = []
        return checked

    def _checked(self, instance: Instance) -> Instance:
        each = self._jvm(instance.variant)
        same = each.ended() is None and str(each.process.identity) == instance.identity
        update = {"alive": same and each.process.identity.alive(), "oom_kills": each.oom_kills()}
        return instance.model_copy(update=update)

    def _jvm(self, variant: str) -> Jvm:
        return next(each for each in self._jvms if each.variant == variant)

    def series(self, begin_ms: int, end_ms: int) -> BlockSeries:
        """The charts' samples of all variants, every second."""
        client = self._prometheus_client()
        return {each.variant: client.charted(each.variant, begin_ms, end_ms) for each in self._jvms}

    def versions(self) -> dict[str, str]:
        """The versions of everything that runs."""
        return {
            "vtlab": __version__,
            "java": self._java.named,
            "k6": self._k6.version,
            "prometheus": self._prometheus.version,
            "app": self._app.version,
        }

    def describe(self) -> dict[str, str]:
        """The machine, for the manifest."""
        return machine.describe()

    def _watch(self, process: Process, server: PrometheusServer) -> None:
        """Returns when k6 has ended; BlockFault as soon as something that it needs has."""
        while process.ended() is None:
            for each in self._jvms:
                how = None if each.variant in self._retired else each.ended()
                if how is not None:
                    said = each.process.last_lines(3)
                    raise BlockFault(
                        f"{each.variant}: the JVM ended with {how} while k6 loaded it" + (f" ({said})" if said else "")
                    )
            gone = self._running_beside().ended()
            if gone is not None:
                raise BlockFault(f"{gone} while k6 loaded the variants")
            how = server.ended()
            if how is not None:
                raise BlockFault(f"Prometheus ended with {how} while k6 loaded the variants")
            time.sleep(0.1)

    def _stop_jvms(self) -> None:
        with processes.uninterrupted():
            for each in self._jvms:
                each.process.ask_to_end()
            end = time.monotonic() + 3
            for each in self._jvms:
                each.process.stop(max(0.0, end - time.monotonic()))
            for each in self._jvms:
                if each.cgroup:
                    each.cgroup.remove()
            self._jvms.clear()

    @contextlib.contextmanager
    def _disk(self) -> Iterator[None]:
        """Names a full disk as what it is."""
        try:
            yield
        except OSError as error:
            if not processes.no_space(error):
                raise
            raise self._full() from error
        except BlockFault as fault:
            if shutil.disk_usage(self._root).free < _LITTLE:
                raise self._full() from fault
            raise

    def _full(self) -> LabError:
        return PrerequisiteMissing(f"no space left on the disk of {self._root}", "make room there")

    def _addresses(self) -> dict[str, str]:
        return {each.variant: each.address for each in self._jvms}

    def _held(self) -> Ledger:
        if self._ledger is None:
            raise RuntimeError("a LocalTarget works only inside its 'with'")
        return self._ledger

    def _running_beside(self) -> Beside:
        if self._beside is None:
            raise RuntimeError("a LocalTarget works only inside its 'with'")
        return self._beside

    def _prometheus_server(self) -> PrometheusServer:
        if self._server is None:
            raise RuntimeError("a LocalTarget works only inside its 'with'")
        return self._server

    def _prometheus_client(self) -> Prometheus:
        if self._client is None:
            raise RuntimeError("start comes first")
        return self._client
