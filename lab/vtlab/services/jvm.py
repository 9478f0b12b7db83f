"""One variant as a JVM on this machine: started inside its limits, which are read back before it counts."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from vtlab.errors import BlockFault, PrerequisiteMissing
from vtlab.host import cgroup, ports
from vtlab.host.cgroup import Cgroup
from vtlab.host.processes import Ledger, Process
from vtlab.host.tools import Java, Tool, clean_environment, find_aot_cache
from vtlab.model import units, variant
from vtlab.model.experiment import Experiment
from vtlab.model.records import Instance

#: The same for every variant; ``flags`` adds the heap.
JVM_FLAGS = ["-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"]
#: Seconds until a JVM must be ready.
READY_WITHIN = 90.0
#: A quota is rounded to microseconds per period, memory to pages.
_TOLERANCE = 0.01

_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)", re.M)


def flags(experiment: Experiment, cache: Path | None) -> list[str]:
    """The JVM's command line flags; ``cache`` is the ahead-of-time cache, the same one for every variant."""
    aot = [f"-XX:AOTCache={cache}"] if cache else []
    return [*JVM_FLAGS, f"-Xms{experiment.limits.heap}", f"-Xmx{experiment.limits.heap}", *aot]


@dataclass(frozen=True)
class Launch:
    """What the JVMs of a block have in common."""

    #: By variant.
    javas: Mapping[str, Java]
    app: Tool
    experiment: Experiment
    ledger: Ledger
    #: Folder of the logs, and what tells this block's from others'.
    logs: Path
    label: str
    cpu_limited: bool
    #: variant -> ports of the app and of its management to try first.
    ports: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    #: Environment for every variant: where that is what they need. It may hold a password.
    beside: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def cache(self) -> Path | None:
        """The ahead-of-time cache: the same one for every variant, or none."""
        caches = {find_aot_cache(self.app, java) for java in self.javas.values()}
        return caches.pop() if len(caches) == 1 else None


@dataclass
class Jvm:
    """One started JVM."""

    variant: str
    launch: Launch
    cgroup: Cgroup | None
    attempts: int = 0
    port: int = 0
    management: int = 0
    process: Process = field(init=False)
    begun: float = 0.0

    @property
    def url(self) -> str:
        """Where k6 sends its requests."""
        return f"http://{ports.HOST}:{self.port}"

    @property
    def address(self) -> str:
        """Host and port that Prometheus scrapes."""
        return f"{ports.HOST}:{self.management}"

    def spawn(self) -> None:
        """Starts the process, on the ports of the launch the first time, else on new ones."""
        launch = self.launch
        first = launch.ports.get(self.variant) if self.attempts == 0 else None
        self.port, self.management = first or ports.free(2)
        self.attempts += 1
        name = f"{launch.label}-{self.variant}"
        self.begun = time.monotonic()
        self.process = launch.ledger.start(
            [
                str(launch.javas[self.variant].path),
                *flags(launch.experiment, launch.cache),
                *launch.experiment.properties_of(self.variant).jvm_flags,
                "-jar",
                str(launch.app.path),
            ],
            role=f"jvm {self.variant}",
            log=launch.logs / f"{name}.log",
            environment=environment(launch.experiment, self.variant, self.port, self.management, launch.beside),
            cgroup=self.cgroup,
        )

    def ended(self) -> str | None:
        """How it ended, with the likely reason; None while it runs."""
        how = self.process.ended()
        if how is None:
            return None
        if self.oom_kills() > 0:
            return f"{how}: the kernel killed it at its memory limit of {self.launch.experiment.limits.memory}"
        if self.process.returncode() == 3:
            return f"{how}: out of heap memory ({self.launch.experiment.limits.heap})"
        return how

    def oom_kills(self) -> int:
        """Kernel OOM kills in its control group."""
        return self.cgroup.oom_kills() if self.cgroup else 0


def environment(
    experiment: Experiment, name: str, port: int, management: int, beside: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of one variant: nothing of the caller's that the JVM or Spring would read, plus
    ``beside``, which settings of the experiment do not override."""
    where = {
        "SERVER_ADDRESS": ports.HOST,
        "SERVER_PORT": str(port),
        "MANAGEMENT_SERVER_ADDRESS": ports.HOST,
        "MANAGEMENT_SERVER_PORT": str(management),
    }
    return clean_environment(**{**experiment.settings, **experiment.environment_of(name), **beside, **where})


def spawn(launch: Launch, running: list[Jvm]) -> None:
    """Starts every variant of the experiment at once, without waiting for it.

    Appends to ``running`` as it goes, so that the caller can stop what started if this fails. PrerequisiteMissing
    when nothing here can limit the CPU.
    """
    for name in launch.experiment.variants:
        limits = launch.experiment.limits
        group = (
            launch.ledger.cgroup(f"{os.getpid()}-{launch.label}-{name}", limits.cpu, units.size(limits.memory))
            if launch.cpu_limited
            else None
        )
        jvm = Jvm(name, launch, group)
        jvm.spawn()
        running.append(jvm)


def verified(running: Sequence[Jvm]) -> list[Instance]:
    """Waits until all are ready, and returns what they say of themselves. Their ports may change on the way.

    BlockFault when one ends or is not ready in time; PrerequisiteMissing when a limit does not hold.
    """
    with httpx.Client(trust_env=False, timeout=5) as client:
        ready = await_ready(client, running)
        return [_verified(client, jvm, ready[jvm.variant]) for jvm in running]


def await_ready(client: httpx.Client, jvms: Sequence[Jvm]) -> dict[str, float]:
    """Waits until all answer; returns the seconds that each took. BlockFault when one ends or takes too long."""
    ready: dict[str, float] = {}
    while len(ready) < len(jvms):
        for jvm in jvms:
            if jvm.variant in ready:
                continue
            how = jvm.ended()
            if how is not None:
                if ports.taken(jvm.process.last_lines(40)) and jvm.attempts < ports.ATTEMPTS:
                    jvm.spawn()
                    continue
                raise BlockFault(
                    f"{jvm.variant}: the JVM ended with {how} while it started: "
                    f"{jvm.process.last_lines() or 'it said nothing'}"
                )
            if _is_ready(client, jvm):
                ready[jvm.variant] = time.monotonic() - jvm.begun
            elif time.monotonic() - jvm.begun > READY_WITHIN:
                raise BlockFault(
                    f"{jvm.variant}: the JVM was not ready after {READY_WITHIN:.0f} s: "
                    f"{jvm.process.last_lines() or 'it said nothing'}"
                )
        time.sleep(0.05)
    return ready


def _is_ready(client: httpx.Client, jvm: Jvm) -> bool:
    try:
        answer = client.get(f"http://{jvm.address}/actuator/health/readiness")
    except httpx.TransportError:
        return False
    # Whoever won a race for the port may answer, too.
    return answer.status_code == 200 and ports.holder(jvm.management) == jvm.process.pid


def _verified(client: httpx.Client, jvm: Jvm, started_in: float) -> Instance:
    """What the JVM says of itself; PrerequisiteMissing where that is not the limit that it was given."""
    try:
        text = client.get(f"http://{jvm.address}/actuator/prometheus").raise_for_status().text
        held = cgroup.limit_of(jvm.process.pid)
    except (httpx.HTTPError, OSError) as error:
        raise BlockFault(f"{jvm.variant}: the JVM does not answer for its metrics: {error}") from error
    metrics = samples(text)
    processors = _value(metrics, "system_cpu_count")
    if jvm.launch.cpu_limited:
        _check_limit(jvm, held, processors, _value(metrics, "cgroup_cpu_limit_cores"))
    threads = jvm.launch.experiment.properties_of(jvm.variant).threads
    variant.refuse_other_threads(jvm.variant, threads, _value(metrics, "tomcat_threads_config_max_threads"))
    info = _labels(metrics, "jvm_info")
    return Instance(
        variant=jvm.variant,
        identity=str(jvm.process.identity),
        java=" ".join(filter(None, (info.get("version", "unknown"), info.get("vendor")))),
        gc=_labels(metrics, "jvm_gc_info").get("name", "unknown"),
        processors=int(processors or 0),
        cpu_limit=held.cpu,
        started_in=round(started_in, 3),
    )


def _check_limit(jvm: Jvm, held: cgroup.Limit, processors: float | None, seen: float | None) -> None:
    limits = jvm.launch.experiment.limits
    memory = units.size(limits.memory)
    wrong = None
    if not _close(held.cpu, limits.cpu):
        wrong = f"its control group allows {_cores(held.cpu)}"
    elif not _close(held.memory, memory):
        wrong = f"its control group allows {held.memory or 'unlimited'} bytes of memory, not {limits.memory}"
    elif not _close(seen, limits.cpu):
        wrong = f"the JVM itself reads {_cores(seen)}"
    elif processors != math.ceil(limits.cpu):
        counted = "no" if processors is None else f"{processors:g}"
        wrong = f"the JVM counts {counted} processors, not {math.ceil(limits.cpu)}"
    if wrong:
        raise PrerequisiteMissing(
            f"{jvm.variant}: the CPU limit of {limits.cpu:g} does not hold: {wrong}", cgroup.NO_LIMIT
        )


def _close(value: float | None, wanted: float) -> bool:
    return value is not None and abs(value - wanted) <= _TOLERANCE * wanted


def _cores(value: float | None) -> str:
    return "no limit" if value is None else f"{value:g} cores"


Samples = dict[str, list[tuple[dict[str, str], float]]]


def samples(text: str) -> Samples:
    """The samples of a page in the text exposition format, by name."""
    found: Samples = {}
    for name, labels, value in _SAMPLE.findall(text):
        pairs = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
        found.setdefault(name, []).append((pairs, float(value)))
    return found


def _value(found: Samples, name: str) -> float | None:
    values = [value for _, value in found.get(name, []) if not math.isnan(value)]
    return values[0] if values else None


def _labels(found: Samples, name: str) -> dict[str, str]:
    return found[name][0][0] if name in found else {}
