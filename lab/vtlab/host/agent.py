"""The agent (``agent/README.md``) in a JVM on this machine: what loads it, what it needs there, and its page."""

from __future__ import annotations

import http.client
import math
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from vtlab import shipped
from vtlab.errors import LabError, PrerequisiteMissing
from vtlab.host import jcmd, ports
from vtlab.host.tools import SETUP

JAR = Path("agent", "target", "vtlab-agent.jar")
PAGE = "/metrics"
#: CPU time of the agent's threads, in seconds, and of the whole process, in nanoseconds.
OWN_CPU, PROCESS_CPU = "vtlab_agent_cpu_seconds_total", "process_cpu_time_ns_total"
#: Tells the agent its port.
PORT = "VTLAB_AGENT_PORT"
#: Its thread that samples, and seconds for that to end.
_SAMPLER, _STOPPING = "vtlab-agent-sampler", 5.0
_OPTIONS = "JAVA_TOOL_OPTIONS"
#: Seconds for a page: the first one waits for Flight Recorder to start, in a JVM that others may starve.
_PATIENCE = 60
#: Tomcat and HikariCP have MBeans on request only.
_TOMCAT = {"SERVER_TOMCAT_MBEANREGISTRY_ENABLED": "true"}
_HIKARI = {"SPRING_DATASOURCE_HIKARI_REGISTERMBEANS": "true"}
#: Such a variable (CONNECTION_TIMEOUT for CONNECTIONTIMEOUT) is one of the property ``connection`` to Spring, which has
#: the pool opened for it. No property can be set after that: a service that starts with it would not with ours.
_OPENS_POOL = "SPRING_DATASOURCE_HIKARI_CONNECTION_"


def find() -> Path:
    """The agent's jar, absolute; PrerequisiteMissing where it is not built."""
    jar = (shipped.ROOT / JAR).absolute()
    if not jar.is_file():
        raise PrerequisiteMissing(f"the agent is not built: {jar} does not exist", SETUP)
    return jar


def flag(jar: Path) -> str:
    """What loads the agent at the JVM's start."""
    return f"-javaagent:{jar}"


def environment(port: int, jar: Path | None, given: Mapping[str, str]) -> dict[str, str]:
    """What tells the agent its port, and switches the MBeans on; with ``jar``, for a command that starts a JVM itself,
    what loads the agent, after the options that are ``given``. HikariCP has no MBean where one of those given opens its
    pool (``opening_pool``)."""
    mbeans = _TOMCAT if opening_pool(given) else _TOMCAT | _HIKARI
    options = {_OPTIONS: " ".join(filter(None, (given.get(_OPTIONS), f'"{flag(jar)}"')))} if jar else {}
    return {PORT: str(port), **mbeans, **options}


def opening_pool(given: Iterable[str]) -> list[str]:
    """Names of variables for which Spring opens HikariCP's pool before it is set up."""
    return [name for name in given if name.startswith(_OPENS_POOL)]


def attach(pid: int, jar: Path, port: int) -> None:
    """Has a running JVM serve its page on a port of the loopback interface. A JVM that is started without the agent can
    use an ahead-of-time cache that was made without it. Raises LabError where the JVM does not take the agent."""
    _load(pid, jar, f"port={port}")
    page(port)


def rest(pid: int, jar: Path) -> None:
    """Has an attached agent read and record nothing until its next page. Raises LabError as ``attach`` does, and where
    the agent does not stop."""
    _load(pid, jar, "rest=1")
    until = time.monotonic() + _STOPPING
    while _SAMPLER in (jcmd.order(pid, ["Thread.print"]) or _SAMPLER):
        if time.monotonic() > until:
            raise LabError(f"the agent in process {pid} did not stop", "build it anew: make setup")
        time.sleep(0.1)


def _load(pid: int, jar: Path, options: str) -> None:
    answer = jcmd.order(pid, ["JVMTI.agent_load", str(jar), f'"{options}"'])
    if answer is None or "return code: 0" not in answer:
        raise LabError(
            f"the JVM of process {pid} did not take the agent: {' '.join((answer or 'no answer to jcmd').split())}",
            "see what it says on stderr; it must be a JDK 21 or newer with jcmd, of the same user",
        )


def page(port: int) -> str:
    """What the agent on a port of the loopback interface serves; LabError where there is none."""
    connection = http.client.HTTPConnection(ports.HOST, port, timeout=_PATIENCE)
    try:
        connection.request("GET", PAGE)
        return connection.getresponse().read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise LabError(
            f"the agent does not answer on port {port}: {error}", "see what the service's JVM says on stderr"
        ) from None
    finally:
        connection.close()


def total(text: str, name: str) -> float:
    """The sum of all samples of that name on a page; 0 where there is none."""
    return sum(float(value) for value in re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.M))


def costs(before: str, after: str) -> dict[str, float]:
    """By thread of the agent, Flight Recorder's included: the share of a service's CPU time between two pages that it
    took. The cost of Flight Recorder's events in other threads is not in it. NaN where the service used no CPU time."""
    process = (total(after, PROCESS_CPU) - total(before, PROCESS_CPU)) / 1e9
    first, last = _by_thread(before), _by_thread(after)
    return {
        name: (seconds - first.get(name, 0.0)) / process if process > 0 else math.nan for name, seconds in last.items()
    }


def _by_thread(text: str) -> dict[str, float]:
    samples = re.findall(rf'^{OWN_CPU}\{{thread="(.*)"\}} (\S+)$', text, re.M)
    return {name: float(seconds) for name, seconds in samples}
