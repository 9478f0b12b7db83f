"""The service that is measured: how it starts, where it answers, and what it tells of itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from vtlab.errors import BadInput
from vtlab.model.experiment import Need
from vtlab.model.variant import Threads

#: Groups of meters. Of a service without one of them vtlab measures what it can itself.
Meters = Literal["jvm", "process", "cgroup", "tomcat"]
_Path = Annotated[str, Field(pattern=r"^/")]


class Service(BaseModel):
    """One service. It listens on the port that ``SERVER_PORT`` names. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_: Annotated[str | None, Field(alias="$schema", description="this schema, for editors")] = None
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    jar: Annotated[str | None, Field(description="an executable jar; a relative path starts at directory")] = None
    image: Annotated[str | None, Field(description="a container image, for a cluster")] = None
    command: Annotated[
        list[str] | None, Field(min_length=1, description="a program and its arguments, started in directory")
    ] = None
    directory: Annotated[str, Field(description="relative to this file")] = "."
    jvm_flags: Annotated[list[str], Field(description="of a jar, beside the heap of the experiment")] = []
    port: Annotated[int, Field(gt=0, le=65535, description="in a cluster; elsewhere vtlab chooses one")] = 8080
    management_port: Annotated[
        int | None, Field(gt=0, le=65535, description="of readiness and metrics, where these have another port")
    ] = None
    readiness: Annotated[_Path, Field(description="answers 200 once the service is ready")]
    metrics: Annotated[_Path, Field(description="the page that Prometheus scrapes")]
    environment: Annotated[dict[str, str], Field(description="for every variant")] = {}
    variants: Annotated[
        dict[Threads, dict[str, str]], Field(description="environment by kind of threads, beside Spring's property")
    ] = {}
    meters: Annotated[
        list[Meters], Field(description="which the metrics have; vtlab measures CPU, throttling and memory otherwise")
    ] = []
    companions: Annotated[
        dict[Need, dict[str, str]],
        Field(description="environment that says where a companion is: {url}, {user} and {password} are filled in"),
    ] = {}

    @model_validator(mode="after")
    def _starts(self) -> Service:
        if not (self.jar or self.image or self.command):
            raise ValueError("one of jar, image and command is needed")
        if self.jar and self.command:
            raise ValueError("jar and command exclude each other")
        return self

    @property
    def jar_path(self) -> Path | None:
        """Where the jar is; None for a service without one."""
        return Path(self.directory, self.jar) if self.jar else None

    def companion_environment(self, need: Need, **values: str) -> dict[str, str]:
        """What tells a variant where a companion is. BadInput where the service has no way to be told."""
        if need not in self.companions:
            raise BadInput(
                f"the service {self.name} does not say how a variant is told where its {need} is",
                f"name the variables in companions.{need} of the service, or remove the need",
            )
        return {name: text.format(**values) for name, text in self.companions[need].items()}


def load(path: Path) -> Service:
    """The service in a JSON file, its directory absolute. BadInput names every wrong key."""
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        service = Service.model_validate(data)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadInput(
            f"cannot read the service {path}: {error}", "name a JSON file that describes a service"
        ) from None
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'the file'}: {e['msg']}" for e in error.errors())
        raise BadInput(f"{path}: {wrong}", "correct the file") from None
    return service.model_copy(update={"directory": str((path.parent / service.directory).resolve())})


def schema() -> str:
    """The JSON Schema of a service, as committed in ``lab/service.schema.json``."""
    return json.dumps(Service.model_json_schema(by_alias=True), indent=2) + "\n"
