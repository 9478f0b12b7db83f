"""The service that is measured: how it starts, where it answers, and what it tells of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from vtlab.errors import BadInput
from vtlab.model.validation import FilePath
from vtlab.model.variant import Threads

#: What runs beside the variants.
Need = Literal["database", "postgres", "downstream", "jdk21"]
#: The databases of these, MariaDB first: a service has one at most.
DATABASES: tuple[Need, ...] = ("database", "postgres")
#: Groups of meters. Of a service without one of them vtlab measures what it can itself.
Meters = Literal["jvm", "process", "cgroup", "tomcat", "jetty"]
#: In the environment of a companion: a database that a variant has alone.
OWN_DATABASE = "{address}"
#: Pattern of the name of a Deployment.
DEPLOYMENT = r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
#: Pattern of the name of an environment variable.
VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
#: Pattern of the name of a service or an experiment.
NAME = r"^[a-z][a-z0-9-]*$"
#: Pattern of a path of the service.
PATH = r"^/"
_Path = Annotated[str, Field(pattern=PATH)]


def database_among(needs: Sequence[str]) -> Need | None:
    """Returns the database among the needs of an experiment; None where it needs none."""
    return next((need for need in DATABASES if need in needs), None)


class ServiceDependency(BaseModel):
    """Command that vtlab starts before the service and ends after it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Annotated[str, Field(min_length=1, description="a program and its arguments, as docker compose up db")]
    port: Annotated[
        int | None,
        Field(gt=0, le=65535, description="port on this machine; the service starts once it accepts connections"),
    ] = None


#: The keys of a service that say what is started; its name comes from the first of them that it has.
STARTS = ("jar", "deployment", "image", "command")


def name_of(path: Path) -> str:
    """Names a service after its jar or program: ``shop`` for ``shop-1.4.jar``."""
    return _as_name(re.sub(r"-\d.*$", "", path.stem.lower()))


def _as_name(text: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return name if re.match("[a-z]", name) else f"service-{name}".strip("-")


def _default_name(keys: Mapping[str, Any]) -> str:
    """Names a service that has no name after what is started."""
    key, start = next(((key, keys[key]) for key in STARTS if keys.get(key)), ("", None))
    if key == "command" and isinstance(start, list):
        return name_of(Path(str(start[0])))
    if key == "image":
        return _as_name(re.split("[:@]", str(start).rpartition("/")[2])[0])
    return name_of(Path(str(start))) if key == "jar" else _as_name(str(start or ""))


def _java(value: Any) -> Any:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | str)):
        raise ValueError("not a JDK: write its major version, 21, or its directory")
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 5 else value


def _names_only(value: Any) -> Any:
    """Refuses values: ``experiment_files`` leaves them in the file that has them."""
    if isinstance(value, Mapping):
        raise ValueError("values of variables belong into the file of an experiment only")
    names = value if isinstance(value, list) else []
    if any(isinstance(name, str) and not re.fullmatch(VARIABLE, name) for name in names):
        raise ValueError('not names alone: write [NAME], or {NAME: "value"} to give values')
    return value


def values_of_variables(values: Mapping[Any, Any]) -> dict[str, str]:
    """Returns variables with their values, as ``service.env`` has them. BadInput, without the value, for any other."""
    for name, value in values.items():
        if not isinstance(name, str) or not re.fullmatch(VARIABLE, name) or not isinstance(value, str):
            raise BadInput(f"service.env.{name}: not a variable with a text", 'write NAME: "value"')
    return dict(values)


_Variable = Annotated[str, Field(pattern=f"^{VARIABLE}$")]


class Service(BaseModel):
    """Service: how it starts, and what it tells of itself. For a Spring Boot jar vtlab fills in the keys that are not
    given, unless agent is false."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    name: Annotated[
        str, Field(pattern=NAME, description="by default that of the jar, deployment, image or command")
    ] = ""
    jar: Annotated[FilePath | None, Field(description="an executable jar; a relative path starts at directory")] = None
    image: Annotated[str | None, Field(description="a container image, for a cluster")] = None
    deployment: Annotated[
        str | None,
        Field(
            pattern=DEPLOYMENT,
            description="a Deployment in a cluster; every variant is a copy of its pod template",
        ),
    ] = None
    command: Annotated[
        list[str] | None, Field(min_length=1, description="a program and its arguments, started in directory")
    ] = None
    directory: Annotated[FilePath, Field(description="relative to this file")] = "."
    java: Annotated[
        int | FilePath | None,
        BeforeValidator(_java),
        Field(
            description="a JDK: its major version, for variants whose properties name none, or its directory. The"
            " default is JAVA_HOME, or the newest JDK that is 21 or newer"
        ),
    ] = None
    jvm_flags: Annotated[
        list[str], Field(description="flags of a jar's JVM, as in production: -Xmx512m; limits.heap comes on top")
    ] = []
    port: Annotated[
        int,
        Field(
            gt=0,
            le=65535,
            description="port in a cluster, where a Deployment does not name it; elsewhere vtlab chooses a port",
        ),
    ] = 8080
    management_port: Annotated[
        int | None, Field(gt=0, le=65535, description="port of readiness and metrics, where it is another")
    ] = None
    agent: Annotated[
        bool,
        Field(
            description="on one machine, vtlab's agent runs in the JVM and serves the metrics on a further port. True"
            " by default for a Spring Boot jar without management_port"
        ),
    ] = False
    readiness: Annotated[
        _Path,
        Field(
            description="path that answers 200 once the service is ready; with the agent, any status below 500. In a"
            " cluster / stands for an open port, and a Deployment's probe takes precedence"
        ),
    ] = "/"
    liveness: Annotated[
        _Path | None,
        Field(
            description="path that a kubelet asks whether the service lives; the actuator's by default. In a cluster a"
            " Deployment's probe takes precedence"
        ),
    ] = None
    metrics: Annotated[_Path, Field(description="path of the page that Prometheus scrapes")] = "/metrics"
    settings: Annotated[
        dict[str, str],
        Field(description="environment of every variant; results and reports show it, so write no secrets here"),
    ] = {}
    settings_by_threads: Annotated[
        dict[Threads, dict[str, str]],
        Field(description="environment by kind of threads, in addition to Spring's property"),
    ] = {}
    env: Annotated[
        list[_Variable],
        BeforeValidator(_names_only, json_schema_input_type=list[_Variable] | dict[_Variable, str]),
        Field(
            description="variables for every variant: names from vtlab's environment, or names with values; no result"
            " has the values"
        ),
    ] = []
    env_file: Annotated[
        FilePath | None,
        Field(description="file with lines NAME=VALUE for every variant, read at each start; relative to directory"),
    ] = None
    meters: Annotated[
        list[Meters],
        Field(
            description="groups of meters in the metrics; vtlab itself measures CPU, throttling and memory where they"
            " lack"
        ),
    ] = []
    companions: Annotated[
        dict[Need, dict[str, str]],
        Field(
            description="environment that tells the service where a companion is: vtlab fills in {url}, {user} and"
            " {password}. {address} is //HOST:PORT/NAME of a database for each variant alone, empty in each block"
        ),
    ] = {}
    started_before: Annotated[
        ServiceDependency | None, Field(description="a command that starts what the service needs")
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _is_named(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and not value.get("name"):
            return {**value, "name": _default_name(value)}
        return value

    @model_validator(mode="after")
    def _starts(self) -> Service:
        if not any(getattr(self, key) for key in STARTS):
            raise ValueError(f"one of {', '.join(STARTS)} is needed")
        if self.jar and self.command:
            raise ValueError("jar and command exclude each other")
        if self.image and self.deployment:
            raise ValueError("image and deployment exclude each other")
        if self.agent and self.management_port is not None:
            raise ValueError("agent and management_port exclude each other: the agent serves the metrics")
        return self

    @property
    def is_copied(self) -> bool:
        """Tells whether vtlab makes the variants in a cluster itself, and measures no release of the chart."""
        return bool(self.image or self.deployment)

    @property
    def jar_path(self) -> Path | None:
        """Path of the jar; None for a service without one."""
        return Path(self.directory, self.jar) if self.jar else None

    @property
    def needs_cluster(self) -> bool:
        """Tells whether only a cluster can start it."""
        return self.is_copied and not self.jar and not self.command

    @property
    def java_version(self) -> int | None:
        """Major version of the JDK; None where none is named."""
        return self.java if isinstance(self.java, int) else None

    @property
    def java_home(self) -> str | None:
        """Directory of the JDK; None where none is named."""
        return self.java if isinstance(self.java, str) else None

    def with_absolute_paths(self, folder: Path) -> Service:
        """Returns the service as a file in ``folder`` describes it, with absolute paths of its directory and JDK."""
        changes: dict[str, Any] = {"directory": str((folder / self.directory).resolve())}
        if self.java_home:
            changes["java"] = str((folder / self.java_home).absolute())
        return self.model_copy(update=changes)

    def companion_environment(self, need: Need, **values: str) -> dict[str, str]:
        """Returns what tells a variant where a companion is. BadInput where the service has no way to be told."""
        if need not in self.companions:
            raise BadInput(
                f"the service {self.name} has no setting for the address of its {need}",
                f"name the variables in service.companions.{need}, or remove {need} from needs",
            )
        try:
            return {name: text.format(**values) for name, text in self.companions[need].items()}
        except (LookupError, ValueError, AttributeError):
            known = ", ".join(f"{{{name}}}" for name in values)
            raise BadInput(
                f"service.companions.{need}: a text has other braces than {known}", "correct it, or double its braces"
            ) from None

    @property
    def has_own_databases(self) -> bool:
        """Tells whether each variant has its separate database."""
        return any(OWN_DATABASE in text for need in DATABASES for text in self.companions.get(need, {}).values())
