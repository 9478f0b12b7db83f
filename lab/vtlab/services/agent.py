"""What loads vtlab's agent into the JVM of a service, and what it needs to see Tomcat and HikariCP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

#: Tells the agent its port.
PORT = "VTLAB_AGENT_PORT"
_OPTIONS = "JAVA_TOOL_OPTIONS"
#: Tomcat and HikariCP have MBeans on request only.
_MBEANS = {"SERVER_TOMCAT_MBEANREGISTRY_ENABLED": "true", "SPRING_DATASOURCE_HIKARI_REGISTERMBEANS": "true"}
#: Flags that name an archive of classes. A JVM refuses one that was made without the agent, if that is on its command
#: line.
_ARCHIVES = ("-XX:AOTCache=", "-XX:SharedArchiveFile=")


def has_archive(flags: Sequence[str]) -> bool:
    """Whether a JVM with these flags takes its classes from an archive: the agent is attached to it once it runs."""
    return any(flag.startswith(_ARCHIVES) for flag in flags)


def flag(jar: Path) -> str:
    """What loads the agent at the JVM's start."""
    return f"-javaagent:{jar}"


def environment(port: int, jar: Path | None, given: Mapping[str, str]) -> dict[str, str]:
    """What tells the agent its port, and switches the MBeans on; with ``jar``, for a command that starts a JVM itself,
    what loads the agent, after the options that are ``given``."""
    options = {_OPTIONS: " ".join(filter(None, (given.get(_OPTIONS), f'"{flag(jar)}"')))} if jar else {}
    return {PORT: str(port), **_MBEANS, **options}
