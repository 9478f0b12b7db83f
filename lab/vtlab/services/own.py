"""The reader's own service, described by a look into its jar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from vtlab.host.tools import Java
from vtlab.model.inspection import Inspection
from vtlab.model.service import Meters, Service
from vtlab.services import agent, inspection

#: Answers without a database that is down, too; and where there is none of it, the server has started as well.
_HEALTH = "/actuator/health/liveness"
_ON_OUT_OF_MEMORY = "-XX:+ExitOnOutOfMemoryError"


def of_jar(
    jar: Path,
    java: Java,
    jvm_flags: Sequence[str] = (),
    environment_from: Sequence[str] = (),
    environment_file: Path | None = None,
) -> Service:
    """The service that a jar is, with vtlab's agent in it. BadInput where vtlab cannot measure it.

    ``jvm_flags``: of production; without any the JVM's own choice under the limits is kept. A JVM that is out of memory
    ends, unless a flag says what it is to do: else its requests would fail one by one, and nothing would say why.
    """
    seen = inspection.inspect(jar, java)
    return Service(
        name=name_of(jar),
        jar=jar.name,
        directory=str(jar.parent.absolute()),
        jvm_flags=[*jvm_flags, *ending(jvm_flags)],
        agent=True,
        readiness=_HEALTH if seen.actuator else "/",
        metrics=agent.METRICS,
        environment_from=list(environment_from),
        environment_file=str(environment_file.absolute()) if environment_file else None,
        meters=meters(seen),
    )


def ending(jvm_flags: Sequence[str]) -> list[str]:
    """What ends a JVM that is out of memory, unless its flags say what it is to do then."""
    return [] if any("OnOutOfMemoryError" in flag for flag in jvm_flags) else [_ON_OUT_OF_MEMORY]


def meters(seen: Inspection) -> list[Meters]:
    """What the agent tells of it."""
    of_all: list[Meters] = ["jvm", "process", "cgroup"]
    return [*of_all, "tomcat"] if seen.server == "tomcat" else of_all


def name_of(jar: Path) -> str:
    """A name for the service, of the jar's: ``shop`` of ``shop-1.4.jar``."""
    stem = re.sub(r"-\d.*$", "", jar.stem.lower())
    name = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")
    return name if re.match("[a-z]", name) else f"service-{name}".strip("-")
