"""What the jar of a service says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vtlab.errors import BadInput
from vtlab.host import agent
from vtlab.host.tools import Java
from vtlab.model.inspection import Inspection
from vtlab.model.service import OWN_DATABASE, Meters, Need, Service, database_among
from vtlab.services import inspection

#: Answers without a database that is down, too; and where there is none of it, the server has started as well.
_HEALTH = "/health/liveness"
#: Before Spring Boot 4 it is there on Kubernetes only, unless this is set.
_HAS_HEALTH = {"MANAGEMENT_ENDPOINT_HEALTH_PROBES_ENABLED": "true"}
#: By database, the scheme of a JDBC driver's addresses by its library.
_SCHEMES: Mapping[Need, Mapping[str, str]] = {
    "database": {"mariadb-java-client": "jdbc:mariadb:", "mysql-connector-j": "jdbc:mysql:"},
    "postgres": {"postgresql": "jdbc:postgresql:"},
}
#: Its name, and the option that starts it.
_TITLES: Mapping[Need, str] = {"database": "MariaDB", "postgres": "PostgreSQL"}
_OPTIONS: Mapping[Need, str] = {"database": "--database mariadb", "postgres": "--database postgres"}
_ON_OUT_OF_MEMORY = "-XX:+ExitOnOutOfMemoryError"


def is_looked_into(service: Service) -> bool:
    """Tells whether a service's jar says what its keys do not: any but a jar that is described by hand."""
    is_by_hand = service.management_port is not None or ("agent" in service.model_fields_set and not service.agent)
    return service.jar_path is not None and not is_by_hand


def completed(service: Service, needs: Sequence[Need], java: Java | None) -> Service:
    """Returns the service with every key that its jar tells and it does not have; vtlab's agent is in its JVM. BadInput
    where vtlab cannot measure it.

    A JVM that is out of memory ends, unless a flag says what it is to do: else its requests would fail one by one, and
    nothing would say why.
    """
    jar = service.jar_path
    assert jar is not None
    inspected = inspection.inspect(jar, java)
    found: dict[str, Any] = {
        "agent": True,
        "readiness": _readiness(inspected),
        "metrics": agent.PAGE,
        "meters": meters(inspected),
    }
    if inspected.actuator:
        found["liveness"] = actuator_path(inspected) + _HEALTH
    found = {key: value for key, value in found.items() if key not in service.model_fields_set}
    found["jvm_flags"] = [*service.jvm_flags, *out_of_memory_flags(service.jvm_flags)]
    if inspected.actuator and found.keys() & {"readiness", "liveness"}:
        found["settings"] = {**_HAS_HEALTH, **service.settings}
    need = database_among(needs)
    if need and need not in service.companions:
        found["companions"] = {**service.companions, need: database_environment(jar, need)}
    return service.model_copy(update=found)


def out_of_memory_flags(jvm_flags: Sequence[str]) -> list[str]:
    """Returns the flag that ends a JVM out of memory; none where the JVM's own flags say what it does then."""
    return [] if any("OnOutOfMemoryError" in flag for flag in jvm_flags) else [_ON_OUT_OF_MEMORY]


def _readiness(inspected: Inspection) -> str:
    if not inspected.actuator:
        return "/"
    return actuator_path(inspected) + _HEALTH


def actuator_path(inspected: Inspection) -> str:
    """Returns the path of its actuator, whether it has one or not."""
    return context_path(inspected) + path_setting(inspected, "management.endpoints.web.base-path", "/actuator")


def context_path(inspected: Inspection) -> str:
    """Returns the beginning of every path of the service."""
    return path_setting(inspected, "server.servlet.context-path", "")


def path_setting(inspected: Inspection, name: str, default: str) -> str:
    """Returns a path of the service's URLs by its setting, without a slash at its end."""
    value = inspected.setting(name) or default
    # A placeholder is filled in by Spring Boot alone.
    return (value if value.startswith("/") else default).rstrip("/")


def database_environment(jar: Path, need: Need) -> dict[str, str]:
    """Returns the environment that points a service to the database of its variant. BadInput without a driver for
    it."""
    libraries = {library.artifact for library in inspection.inspect(jar).libraries}
    scheme = next((scheme for library, scheme in _SCHEMES[need].items() if library in libraries), None)
    if scheme is None:
        other = next((known for known in _SCHEMES if libraries & _SCHEMES[known].keys()), None)
        raise BadInput(
            f"{jar} has no driver for {_TITLES[need]}: no {' and no '.join(_SCHEMES[need])} among its libraries",
            f"its driver is for {_TITLES[other]}: {_OPTIONS[other]}"
            if other
            else "start its own database: service: {started_before: {command: docker compose up db, port: 5432}}",
        )
    return {
        "SPRING_DATASOURCE_URL": f"{scheme}{OWN_DATABASE}",
        "SPRING_DATASOURCE_USERNAME": "{user}",
        "SPRING_DATASOURCE_PASSWORD": "{password}",
    }


def meters(inspected: Inspection) -> list[Meters]:
    """Returns the groups of meters that the agent serves for it."""
    return ["jvm", "process", "cgroup", inspected.server]


def environment_remarks(variables: Iterable[str]) -> list[str]:
    """Warns, in sentences, of variables that do not set what a user means."""
    return [
        f"Spring reads {name} as a property of a connection, and opens the pool for it before it is set up: it has"
        f" another effect than you mean, and vtlab has no meters of the pool. Write {_joined(name)}"
        for name in agent.opening_pool(variables)
    ]


def _joined(name: str) -> str:
    """Spells a variable of HikariCP by Spring's rule: the words of a property have nothing between them."""
    prefix, hikari, words = name.partition("HIKARI_")
    return prefix + hikari + words.replace("_", "")
