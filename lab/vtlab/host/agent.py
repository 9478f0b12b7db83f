"""The agent (``agent/README.md``) in a JVM on this machine: how it is loaded and set up, and its metrics page."""

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
from vtlab.host.tools import REINSTALL, SETUP, in_checkout

JAR = Path("agent", "target", "vtlab-agent.jar")
PAGE = "/metrics"
#: CPU time of the agent's threads, in seconds, and of the whole process, in nanoseconds.
OWN_CPU, PROCESS_CPU = "vtlab_agent_cpu_seconds_total", "process_cpu_time_ns_total"
#: The variable with the agent's port.
PORT = "VTLAB_AGENT_PORT"
#: The agent's sampling thread, and seconds until it must have ended.
_SAMPLER, _STOPPING = "vtlab-agent-sampler", 60.0
#: The variable with flags for a JVM, before those of its command line.
OPTIONS = "JAVA_TOOL_OPTIONS"
#: Seconds for a page: the first one waits for Flight Recorder to start, in a JVM that others may starve.
_PATIENCE = 60
#: Tomcat and HikariCP have MBeans on request only.
_TOMCAT = {"SERVER_TOMCAT_MBEANREGISTRY_ENABLED": "true"}
_HIKARI = {"SPRING_DATASOURCE_HIKARI_REGISTERMBEANS": "true"}
#: Such a variable (CONNECTION_TIMEOUT for CONNECTIONTIMEOUT) is one of the property ``connection`` to Spring, which has
#: the pool opened for it. No property can be set after that: a service that starts with it would not with ours.
_OPENS_POOL = "SPRING_DATASOURCE_HIKARI_CONNECTION_"


def find() -> Path:
    """Returns the absolute path of the agent's jar. PrerequisiteMissing where it is not built."""
    jar = (shipped.ROOT / JAR).absolute()
    if not jar.is_file():
        raise PrerequisiteMissing(f"the agent is not built: {jar} does not exist", in_checkout(SETUP) or REINSTALL)
    return jar


def flag(jar: Path) -> str:
    """Returns the JVM flag that loads the agent at the start."""
    return f"-javaagent:{jar}"


def environment(port: int, jar: Path | None, present: Mapping[str, str]) -> dict[str, str]:
    """Returns variables that tell the agent its port and switch the MBeans on.

    With ``jar``, for a command that starts a JVM itself, they also load the agent, after the options in the ``present``
    environment. HikariCP gets no MBean where a present variable opens its pool (``opening_pool``).
    """
    mbeans = _TOMCAT if opening_pool(present) else _TOMCAT | _HIKARI
    options = {OPTIONS: " ".join(filter(None, (present.get(OPTIONS), f'"{flag(jar)}"')))} if jar else {}
    return {PORT: str(port), **mbeans, **options}


def opening_pool(names: Iterable[str]) -> list[str]:
    """Selects the variables for which Spring opens HikariCP's pool before it is configured."""
    return [name for name in names if name.startswith(_OPENS_POOL)]


def attach(pid: int, jar: Path, port: int) -> None:
    """Loads the agent into a running JVM; it serves its page on a port of the loopback interface. A JVM that starts
    without the agent can use an ahead-of-time cache trained without it. LabError where the JVM refuses the agent."""
    _load(pid, jar, f"port={port}")
    page(port)


def rest(pid: int, jar: Path) -> None:
    """Pauses an attached agent until its next page. LabError as in ``attach``, and where the agent does not stop."""
    _load(pid, jar, "rest=1")
    until = time.monotonic() + _STOPPING
    while _SAMPLER in (jcmd.order(pid, ["Thread.print"]) or _SAMPLER):
        if time.monotonic() > until:
            again = in_checkout(f"build it again: {SETUP}") or REINSTALL
            raise LabError(f"the agent in process {pid} did not stop", again)
        time.sleep(0.1)


def _load(pid: int, jar: Path, options: str) -> None:
    answer = jcmd.order(pid, ["JVMTI.agent_load", str(jar), f'"{options}"'])
    if answer is None or "return code: 0" not in answer:
        raise LabError(
            f"the JVM of process {pid} did not load the agent: {' '.join((answer or 'no answer to jcmd').split())}",
            "see its stderr; it must be a JDK 21 or newer with jcmd, run by the same user",
        )


def page(port: int) -> str:
    """Returns the page of the agent on a port of the loopback interface. LabError where it does not answer."""
    connection = http.client.HTTPConnection(ports.HOST, port, timeout=_PATIENCE)
    try:
        connection.request("GET", PAGE)
        return connection.getresponse().read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise LabError(
            f"the agent does not answer on port {port}: {error}", "see the stderr of the service's JVM"
        ) from None
    finally:
        connection.close()


def total(text: str, name: str) -> float:
    """Sums all samples of that name on a page; 0 without one."""
    return sum(float(value) for value in re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.M))


def costs(before: str, after: str) -> dict[str, float]:
    """Returns each agent thread's share of a service's CPU time between two pages, with Flight Recorder's threads, but
    without the cost of its events in other threads. NaN where the service used no CPU time."""
    process = (total(after, PROCESS_CPU) - total(before, PROCESS_CPU)) / 1e9
    first, last = _by_thread(before), _by_thread(after)
    return {
        name: (seconds - first.get(name, 0.0)) / process if process > 0 else math.nan for name, seconds in last.items()
    }


def _by_thread(text: str) -> dict[str, float]:
    samples = re.findall(rf'^{OWN_CPU}\{{thread="(.*)"\}} (\S+)$', text, re.M)
    return {name: float(seconds) for name, seconds in samples}
