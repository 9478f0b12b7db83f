"""One variant of a service as a process on this machine, started inside its limits."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from vtlab.errors import BlockFault
from vtlab.host import agent, archives, ports, server, tools, usage
from vtlab.host.cgroup import Cgroup
from vtlab.host.cgroup_hierarchies import Limit
from vtlab.host.process_ledger import Command, Ledger
from vtlab.host.processes import Process
from vtlab.host.server import Server
from vtlab.host.tools import Java, clean_environment
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.service import Service
from vtlab.model.variant import flags_in
from vtlab.services import probe, processors
from vtlab.services.environment import variant_environment

#: Seconds until a variant must be ready; a service of the reader's own may load much first.
READY_WITHIN, OWN_READY_WITHIN = 90.0, 180.0
#: Seconds for which a service may listen on another port only: its own may come later.
ELSEWHERE_WITHIN = 20.0
#: A JVM's exit code under -XX:+ExitOnOutOfMemoryError.
OUT_OF_HEAP = 3


def jvm_flags(service: Service, heap: str | None, cache: Path | None, cpu: float | None = None) -> list[str]:
    """Returns the command line flags of a service's JVM; ``cache`` is its ahead-of-time cache, ``cpu`` its CPU limit,
    ``heap`` None what the JVM or the service's flags choose."""
    sizes = [f"-Xms{heap}", f"-Xmx{heap}"] if heap else []
    counted = processors.fixing(service.jvm_flags, cpu) if cpu else []
    aot = [f"-XX:AOTCache={cache}"] if cache else []
    return [*service.jvm_flags, *sizes, *counted, *aot]


def java_of(experiment: Experiment, variant: str, default: Java) -> Java:
    """Finds the JDK of a variant: by the major version that it names, else the run's. PrerequisiteMissing where it is
    not here."""
    major = experiment.properties_of(variant).java
    # The run's own may be the only one of that version, in a directory that nobody else knows (--java).
    return default if major is None else tools.find_java(str(major), [default.home, *tools.java_homes()])


def common_jvm_flags(
    service: Service, experiment: Experiment, javas: Mapping[str, Java], cpu_limited: bool
) -> list[str]:
    """Returns the flags that a run's manifest names; none where the service is no jar. ``javas``: by variant."""
    if not service.jar:
        return []
    limits = experiment.limits
    cache = common_cache(service, experiment, javas)
    return jvm_flags(service, limits.heap, cache, limits.cpu if cpu_limited else None)


def common_cache(service: Service, experiment: Experiment, javas: Mapping[str, Java]) -> Path | None:
    """Finds the ahead-of-time cache from which every variant can start; None where there is none: with several builds
    or JDKs no variant has one, as those that had would be ready sooner."""
    builds = {name: jar_of(service, experiment, name) for name in javas}
    caches = {archives.find(jar, javas[name]) for name, jar in builds.items() if jar}
    return caches.pop() if len(caches) == 1 else None


def jar_of(service: Service, experiment: Experiment, variant: str) -> Path | None:
    """Returns the jar that a variant runs from: the service's, or another build; None for a service without one."""
    other = experiment.properties_of(variant).jar
    return Path(service.directory, other) if other and service.jar else service.jar_path


def listen_environment(port: int, management: int) -> dict[str, str]:
    """Returns the environment that tells a service where to listen, on the loopback interface."""
    environment = {"SERVER_ADDRESS": ports.HOST, "SERVER_PORT": str(port)}
    if management != port:
        # Spring refuses an address for its management where that is on the same port.
        environment |= {"MANAGEMENT_SERVER_ADDRESS": ports.HOST, "MANAGEMENT_SERVER_PORT": str(management)}
    return environment


@dataclass(frozen=True, kw_only=True)
class Launch:
    """The common part of a block's variants."""

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
    #: By variant, the environment that says where its own database is.
    databases: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    #: The agent's jar; None for a service that has metrics of its own.
    agent: Path | None = None

    def command(self, variant: str) -> list[str]:
        """Returns the command line of a variant."""
        jar = self._jars.get(variant)
        if jar is None:
            return list(self.service.command or ())
        flags = self.jvm_flags(variant)
        if self.agent and not archives.named(self.all_flags(variant)):
            flags.append(agent.flag(self.agent))
        return [str(self.javas[variant].path), *flags, "-jar", str(jar)]

    @property
    def _jars(self) -> dict[str, Path | None]:
        return {name: jar_of(self.service, self.experiment, name) for name in self.javas}

    def jvm_flags(self, variant: str) -> list[str]:
        """Returns the flags of a variant's JVM, without the agent's; none of a service that is no jar."""
        if self._jars.get(variant) is None:
            return []
        cache = common_cache(self.service, self.experiment, self.javas)
        limits = self.experiment.limits
        return [
            *jvm_flags(self.service, limits.heap, cache, limits.cpu if self.cpu_limited else None),
            *self.experiment.properties_of(variant).jvm_flags,
        ]

    def attached(self, variant: str) -> Path | None:
        """Returns the agent's jar, where a variant's JVM gets it once it runs: one that has the agent from its start
        refuses an archive of classes that was made without it."""
        return self.agent if self.service.jar and archives.named(self.all_flags(variant)) else None

    def processors(self, variant: str) -> int:
        """Returns the processors that a variant's JVM must count: by its flags, or its CPU limit in whole cores."""
        flags = self.all_flags(variant) if self.service.jar else []
        return processors.counted(flags, self.experiment.limits.cpu)

    def all_flags(self, variant: str) -> list[str]:
        """Returns the flags of a variant's JVM by its command line and by its environment, without the agent's."""
        environment = variant_environment(self.service, self.experiment, variant)
        return [*flags_in(environment), *self.jvm_flags(variant)]

    def environment(self, variant: str, port: int, management: int) -> dict[str, str]:
        """Returns the whole environment of a variant: nothing of the caller's that the service would read. No setting
        of the experiment overrides where companions and ports are."""
        environment = {
            **variant_environment(self.service, self.experiment, variant),
            **self.companions,
            **self.databases.get(variant, {}),
        }
        if self.agent is None:
            return clean_environment(**environment | listen_environment(port, management))
        # Its management stays on the port of its requests: two copies would fight for one of its own choice.
        environment |= listen_environment(port, port) | {"MANAGEMENT_SERVER_PORT": str(port)}
        jar = None if self.service.jar else self.agent
        return clean_environment(**{**environment, **agent.environment(management, jar, environment)})

    def folder(self, variant: str) -> Path | None:
        """Returns the folder in which a variant starts: a command in its own folder, a service with the agent in an
        empty one, as two copies must not share the files of an embedded database."""
        if self.service.command:
            return Path(self.service.directory)
        if self.agent is None:
            return None
        folder = self.logs.parent / "work" / f"{self.label}-{variant}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder


class VariantProcess:
    """One started variant."""

    def __init__(self, variant: str, launch: Launch, cgroup: Cgroup | None) -> None:
        """``cgroup``: control group of the process; None where nothing limits it."""
        service = launch.service
        self.variant = variant
        self.launch = launch
        self.cgroup = cgroup
        #: Whether it answers by HTTPS.
        self.is_tls = False
        self._elsewhere_since: float | None = None
        self.server = Server(
            f"{variant}: the {'JVM' if service.jar else 'service'}",
            self._spawn,
            self._answers,
            ready_within(service),
            count=2 if service.agent or service.management_port is not None else 1,
            ports=launch.ports.get(variant, ()),
            reason=self._reason,
        )

    @property
    def process(self) -> Process:
        """The process that runs, or that ended last."""
        return self.server.process

    @property
    def url(self) -> str:
        """Address to which k6 sends its requests."""
        return f"{'https' if self.is_tls else 'http'}://{ports.HOST}:{self.server.port}"

    @property
    def metrics_address(self) -> str:
        """Host and port that Prometheus scrapes."""
        return f"{ports.HOST}:{self.server.ports[-1]}"

    @property
    def probe_url(self) -> str:
        """Address that the probe asks."""
        service, experiment = self.launch.service, self.launch.experiment
        # The last port of a service with the agent is the agent's: its management is on the port of its requests.
        has_management = service.management_port is not None and not service.agent
        management = f"http://{self.metrics_address}" if has_management else None
        settings = service.settings | experiment.settings | experiment.environment_of(self.variant)
        return probe.url(service, self.url, management, settings)

    def end(self) -> str | None:
        """Describes how it ended, in words that complete "it fails: …"; None while it runs."""
        exit_reason = self.process.exit_description()
        return None if exit_reason is None else self._reason(self.process) or f"it ended with {exit_reason}"

    @property
    def pins(self) -> bool:
        """Tells whether the JVM is older than Java 24: it pins virtual threads that wait in ``synchronized``."""
        java = self.launch.javas.get(self.variant)
        return java is not None and java.major < 24

    def oom_kills(self) -> int:
        """Counts the kernel's OOM kills in its control group."""
        return self.cgroup.oom_kills() if self.cgroup else 0

    def usage(self) -> usage.Reader:
        """Returns a reader of its resource use, as the kernel counts it."""
        return usage.Reader(self.process.pid, self.cgroup, self.limits().cpu)

    def class_archives(self) -> dict[str, bool]:
        """Tells, for each archive of classes that its JVM's flags name, whether the JVM uses it."""
        return archives.used(self.process.pid, archives.named(self.launch.all_flags(self.variant)))

    def limits(self) -> Limit:
        """Returns the limits under which it runs."""
        limits = self.launch.experiment.limits
        return Limit(limits.cpu, units.size(limits.memory)) if self.cgroup else Limit(None, None)

    def _spawn(self, chosen: Sequence[int]) -> Process:
        launch, service = self.launch, self.launch.service
        return launch.ledger.start(
            Command(
                launch.command(self.variant),
                role=f"{'jvm' if service.jar else 'service'} {self.variant}",
                log=launch.logs / f"{launch.label}-{self.variant}.log",
                environment=launch.environment(self.variant, chosen[0], chosen[-1]),
                folder=launch.folder(self.variant),
            ),
            self.cgroup,
        )

    def _answers(self, chosen: Sequence[int]) -> bool:
        service = self.launch.service
        if service.agent:
            status = self._status(chosen[0])
            is_ready = status is not None and status < HTTPStatus.INTERNAL_SERVER_ERROR
        else:
            is_ready = server.answers_ok(chosen[-1], service.readiness)
            if is_ready and service.management_port is not None:
                self._status(chosen[0])
        if not is_ready:
            self._refuse_elsewhere(chosen)
            return False
        if (jar := self.launch.attached(self.variant)) and ports.listening_pid(chosen[-1]) is None:
            agent.attach(self.process.pid, jar, chosen[-1])
        return True

    def _status(self, port: int) -> int | None:
        """Returns the status of the readiness path on the port, by whichever of HTTP and HTTPS it speaks."""
        path = self.launch.service.readiness
        status = server.status(port, path)
        # To a plain request Tomcat says 400 where it expects TLS, others nothing.
        if status in (None, HTTPStatus.BAD_REQUEST):
            by_tls = server.status(port, path, is_tls=True)
            self.is_tls = by_tls is not None
            return by_tls or status
        self.is_tls = False
        return status

    def _refuse_elsewhere(self, chosen: Sequence[int]) -> None:
        """Raises BlockFault where the service has listened on other ports than its own for a while."""
        listening = ports.of_process(self.process.pid)
        others = [port for port in listening if port not in chosen]
        if not others or chosen[0] in listening:
            self._elsewhere_since = None
            return
        self._elsewhere_since = self._elsewhere_since or time.monotonic()
        if time.monotonic() - self._elsewhere_since > ELSEWHERE_WITHIN:
            raise WrongPort(
                f"it listens on port {' and '.join(map(str, others))}, not on {chosen[0]} from SERVER_PORT: let it"
                " take server.port from there, without a port in its code or on its command line"
            )

    def _reason(self, process: Process) -> str | None:
        limits = self.launch.experiment.limits
        if self.oom_kills() > 0:
            return f"the kernel killed it at its memory limit of {limits.memory}"
        if self.launch.service.jar and process.returncode() == OUT_OF_HEAP:
            return f"out of heap memory ({limits.heap})" if limits.heap else "out of heap memory"
        return None


class WrongPort(BlockFault):
    """Fault: a service listens on another port than the one it was given."""


def ready_within(service: Service) -> float:
    """Returns the seconds until a variant of the service must be ready."""
    return OWN_READY_WITHIN if service.agent else READY_WITHIN


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
