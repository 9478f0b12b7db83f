"""The service that is measured: how it starts, where it answers, and what it tells of itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vtlab.errors import BadInput
from vtlab.model import documents, validation
from vtlab.model.variant import Threads

#: What runs beside the variants.
Need = Literal["database", "downstream", "jdk21"]
#: Groups of meters. Of a service without one of them vtlab measures what it can itself.
Meters = Literal["jvm", "process", "cgroup", "tomcat", "jetty"]
#: In the environment of a companion: a database that a variant has alone.
OWN_DATABASE = "{address}"
#: Pattern of the name of an environment variable.
VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_Path = Annotated[str, Field(pattern=r"^/")]


class ServiceDependency(BaseModel):
    """What a service needs and vtlab starts before it: a command, which runs until vtlab ends it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Annotated[str, Field(min_length=1, description="a program and its arguments, as docker compose up db")]
    port: Annotated[
        int | None, Field(gt=0, le=65535, description="of this machine; the service starts once it takes connections")
    ] = None


#: The keys of a service that say what is started.
STARTS = ("jar", "command", "image", "deployment")


class Service(BaseModel):
    """One service. It listens on the port that ``SERVER_PORT`` names. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_: Annotated[str | None, Field(alias="$schema", description="this schema, for editors")] = None
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    jar: Annotated[str | None, Field(description="an executable jar; a relative path starts at directory")] = None
    image: Annotated[str | None, Field(description="a container image, for a cluster")] = None
    deployment: Annotated[
        str | None,
        Field(
            pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
            description="a Deployment in a cluster, of whose pod template every variant is a copy",
        ),
    ] = None
    command: Annotated[
        list[str] | None, Field(min_length=1, description="a program and its arguments, started in directory")
    ] = None
    directory: Annotated[str, Field(description="relative to this file")] = "."
    jvm_flags: Annotated[list[str], Field(description="of a jar, beside the heap of the experiment")] = []
    port: Annotated[
        int,
        Field(
            gt=0, le=65535, description="in a cluster, where a Deployment does not name it; elsewhere vtlab chooses one"
        ),
    ] = 8080
    management_port: Annotated[
        int | None, Field(gt=0, le=65535, description="of readiness and metrics, where these have another port")
    ] = None
    agent: Annotated[
        bool,
        Field(description="vtlab's agent runs in the JVM and serves the metrics, on a further port; on this machine"),
    ] = False
    readiness: Annotated[
        _Path,
        Field(
            description="answers 200 once the service is ready; with the agent anything but a server's error. In a"
            " cluster / stands for a port that is open, and a Deployment's probe goes before"
        ),
    ] = "/"
    metrics: Annotated[_Path, Field(description="the page that Prometheus scrapes")] = "/metrics"
    environment: Annotated[dict[str, str], Field(description="for every variant")] = {}
    environment_from: Annotated[
        list[Annotated[str, Field(pattern=f"^{VARIABLE}$")]],
        Field(description="variables of vtlab's own environment that every variant gets: values that no file may hold"),
    ] = []
    environment_file: Annotated[
        str | None,
        Field(
            description="lines NAME=VALUE for every variant, or a YAML or JSON file with env; read at each start;"
            " relative to directory"
        ),
    ] = None
    variants: Annotated[
        dict[Threads, dict[str, str]], Field(description="environment by kind of threads, beside Spring's property")
    ] = {}
    meters: Annotated[
        list[Meters], Field(description="which the metrics have; vtlab measures CPU, throttling and memory otherwise")
    ] = []
    companions: Annotated[
        dict[Need, dict[str, str]],
        Field(
            description="environment that says where a companion is: {url}, {user} and {password} are filled in. Of a"
            " database {address} is //HOST:PORT/NAME of one that each variant has alone, and that is new for each block"
        ),
    ] = {}
    started_before: Annotated[ServiceDependency | None, Field(description="what the service needs")] = None

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

    def with_absolute_directory(self, file: Path) -> Service:
        """Returns the service as a file describes it, its directory absolute."""
        return self.model_copy(update={"directory": str((file.parent / self.directory).resolve())})

    def companion_environment(self, need: Need, **values: str) -> dict[str, str]:
        """Returns what tells a variant where a companion is. BadInput where the service has no way to be told."""
        if need not in self.companions:
            raise BadInput(
                f"the service {self.name} does not say how a variant is told where its {need} is",
                f"name the variables in companions.{need} of the service, or remove the need",
            )
        return {name: text.format(**values) for name, text in self.companions[need].items()}

    @property
    def has_own_databases(self) -> bool:
        """Tells whether each variant has its separate database."""
        return any(OWN_DATABASE in text for text in self.companions.get("database", {}).values())


def load(path: Path) -> Service:
    """Loads the service from a JSON or YAML file, its directory absolute. BadInput names every wrong key."""
    try:
        service = Service.model_validate(documents.read(path))
    except ValidationError as error:
        raise BadInput(f"{path}: {validation.wrong_keys(error, 'the file')}", "correct the file") from None
    return service.with_absolute_directory(path)


def schema() -> str:
    """Writes the JSON Schema of a service, as committed in ``lab/service.schema.json``."""
    return json.dumps(Service.model_json_schema(by_alias=True), indent=2) + "\n"
