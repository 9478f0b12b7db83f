"""One variant of a service as a process on this machine, started inside its limits."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vtlab.host import ports, server, usage
from vtlab.host.cgroup import Cgroup, Limit
from vtlab.host.processes import Ledger, Process
from vtlab.host.server import Server
from vtlab.host.tools import Java, clean_environment, find_aot_cache
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.service import Service

#: Seconds until a variant must be ready.
READY_WITHIN = 90.0
#: A JVM's exit code under -XX:+ExitOnOutOfMemoryError.
_OUT_OF_HEAP = 3


def jvm_flags(service: Service, heap: str, cache: Path | None, cpu: float | None = None) -> list[str]:
    """The command line flags of a service's JVM; ``cache`` is its ahead-of-time cache, ``cpu`` its CPU limit.

    The JVM counts as many processors as it would by the limit itself: carriers, garbage collector and compiler threads
    are those of the limit also while the warm-up has more CPU.
    """
    processors = [f"-XX:ActiveProcessorCount={math.ceil(cpu)}"] if cpu else []
    aot = [f"-XX:AOTCache={cache}"] if cache else []
    return [*service.jvm_flags, f"-Xms{heap}", f"-Xmx{heap}", *processors, *aot]


def jvm_flags_of(service: Service, experiment: Experiment, java: Java, cpu_limited: bool) -> list[str]:
    """The flags that a run's manifest names; none where the service is no jar."""
    jar, limits = service.jar_path, experiment.limits
    cpu = limits.cpu if cpu_limited else None
    return jvm_flags(service, limits.heap, find_aot_cache(jar, java), cpu) if jar else []


def where(port: int, management: int) -> dict[str, str]:
    """The environment that tells a service where to listen, on the loopback interface."""
    environment = {"SERVER_ADDRESS": ports.HOST, "SERVER_PORT": str(port)}
    if management != port:
        # Spring refuses an address for its management where that is on the same port.
        environment |= {"MANAGEMENT_SERVER_ADDRESS": ports.HOST, "MANAGEMENT_SERVER_PORT": str(management)}
    return environment


@dataclass(frozen=True)
class Launch:
    """What the variants of a block have in common."""

    service: Service
    experiment: Experiment
    #: By variant.
    javas: Mapping[str, Java]
    ledger: Ledger
    #: Folder of the logs, and what tells this block's from others'.
    logs: Path
    label: str
    cpu_limited: bool
    #: variant -> ports to try first.
    ports: Mapping[str, Sequence[int]] = field(default_factory=dict)
    #: Environment that says where the companions are. It may hold a password.
    companions: Mapping[str, str] = field(default_factory=dict, repr=False)

    def command(self, variant: str) -> list[str]:
        """The command line of a variant."""
        jar = self.service.jar_path
        if jar is None:
            return list(self.service.command or ())
        limits = self.experiment.limits
        caches = {find_aot_cache(jar, java) for java in self.javas.values()}
        # The same one for every variant, or none.
        cache = caches.pop() if len(caches) == 1 else None
        return [
            str(self.javas[variant].path),
            *jvm_flags(self.service, limits.heap, cache, limits.cpu if self.cpu_limited else None),
            *self.experiment.properties_of(variant).jvm_flags,
            "-jar",
            str(jar),
        ]

    def environment(self, variant: str, port: int, management: int) -> dict[str, str]:
        """The whole environment of a variant: nothing of the caller's that the service would read. No setting of the
        experiment overrides where companions and ports are."""
        service, experiment = self.service, self.experiment
        threads = experiment.properties_of(variant).threads
        return clean_environment(
            **{
                **service.environment,
                **service.variants.get(threads, {}),
                **experiment.settings,
                **experiment.environment_of(variant),
                **self.companions,
                **where(port, management),
            }
        )


class VariantProcess:
    """One started variant."""

    def __init__(self, variant: str, launch: Launch, cgroup: Cgroup | None) -> None:
        """``cgroup`` is its control group; None where nothing limits it."""
        service = launch.service
        self.variant = variant
        self.launch = launch
        self.cgroup = cgroup
        self.server = Server(
            f"{variant}: the {'JVM' if service.jar else 'service'}",
            self._spawn,
            lambda chosen: server.answers_ok(chosen[-1], service.readiness),
            READY_WITHIN,
            count=1 if service.management_port is None else 2,
            ports=launch.ports.get(variant, ()),
            reason=self._reason,
        )

    @property
    def process(self) -> Process:
        """The process that runs, or that ended last."""
        return self.server.process

    @property
    def url(self) -> str:
        """Where k6 sends its requests."""
        return f"http://{ports.HOST}:{self.server.port}"

    @property
    def metrics_address(self) -> str:
        """Host and port that Prometheus scrapes."""
        return f"{ports.HOST}:{self.server.ports[-1]}"

    def end(self) -> str | None:
        """How it ended, in words that complete "it fails: …"; None while it runs."""
        how = self.process.exit_description()
        return None if how is None else self._reason(self.process) or f"it ended with {how}"

    @property
    def pins(self) -> bool:
        """Whether its JVM, of before Java 24, pins virtual threads that wait in ``synchronized``."""
        java = self.launch.javas.get(self.variant)
        return java is not None and java.major < 24

    def oom_kills(self) -> int:
        """Kernel OOM kills in its control group."""
        return self.cgroup.oom_kills() if self.cgroup else 0

    def usage(self) -> usage.Reader:
        """Reads what it uses, as the kernel counts it."""
        return usage.Reader(self.process.pid, self.cgroup, self.limits().cpu)

    def limits(self) -> Limit:
        """The limits that it was given."""
        limits = self.launch.experiment.limits
        return Limit(limits.cpu, units.size(limits.memory)) if self.cgroup else Limit(None, None)

    def _spawn(self, chosen: Sequence[int]) -> Process:
        launch, service = self.launch, self.launch.service
        return launch.ledger.start(
            launch.command(self.variant),
            role=f"{'jvm' if service.jar else 'service'} {self.variant}",
            log=launch.logs / f"{launch.label}-{self.variant}.log",
            environment=launch.environment(self.variant, chosen[0], chosen[-1]),
            folder=Path(service.directory) if service.command else None,
            cgroup=self.cgroup,
        )

    def _reason(self, process: Process) -> str | None:
        limits = self.launch.experiment.limits
        if self.oom_kills() > 0:
            return f"the kernel killed it at its memory limit of {limits.memory}"
        if self.launch.service.jar and process.returncode() == _OUT_OF_HEAP:
            return f"out of heap memory ({limits.heap})"
        return None


def spawn(launch: Launch, running: list[VariantProcess]) -> None:
    """Starts every variant of the experiment at once, without waiting for it.

    Appends to ``running`` as it goes, so that the caller can stop what started if this fails. PrerequisiteMissing
    when nothing here can limit the CPU.
    """
    limits = launch.experiment.limits
    for name in launch.experiment.variants:
        group = (
            launch.ledger.cgroup(f"{os.getpid()}-{launch.label}-{name}", limits.cpu, units.size(limits.memory))
            if launch.cpu_limited
            else None
        )
        variant = VariantProcess(name, launch, group)
        variant.server.begin()
        running.append(variant)
