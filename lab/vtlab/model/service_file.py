"""A user's service, its workload and its load, as the small file and the options of ``vtlab try`` describe them.

Everything but the service and one request has a default. What vtlab chooses besides is written into the results as a
complete experiment.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vtlab.errors import BadInput
from vtlab.model import documents, units, validation
from vtlab.model import service as service_model
from vtlab.model.experiment import MAX_ERRORS
from vtlab.model.load import ThinkTime
from vtlab.model.service import Service, ServiceDependency
from vtlab.model.workload import Workload

SCHEMA = "lab/try.schema.json"
_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Users(_Strict):
    """Closed load: so many users, or as many as vtlab finds to show what limits the variants."""

    users: Annotated[int, Field(gt=0, le=20000)] | Literal["auto"] = "auto"
    think: Annotated[ThinkTime, Field(description="between two requests of a user")] = "0s"


class Rate(_Strict):
    """Open load: arrivals per second, whether or not the service keeps up."""

    rate: Annotated[str | float, Field(description="300, or 300/s")]

    @property
    def per_second(self) -> float:
        """Arrivals per second. ValueError where the text is no rate."""
        value = float(str(self.rate).removesuffix("/s"))
        if not value > 0:
            raise ValueError(f"load.rate {self.rate} is not above 0")
        return value


class ServiceLimits(_Strict):
    """What each variant may use."""

    cpu: Annotated[float, Field(ge=units.LEAST_CORES, description="cores")] = 1
    memory: Annotated[str, Field(pattern=r"^\d+(Ki|Mi|Gi)$", description="of the whole process")] = "1Gi"


class ServiceFile(Workload):
    """One file. Unknown keys are errors; relative paths start at its folder."""

    schema_: Annotated[str | None, Field(alias="$schema", description="this schema, for editors")] = None
    service: Annotated[
        str, Field(description="an executable Spring Boot jar, or a JSON file that describes another service")
    ]
    load: Users | Rate = Users()
    env: Annotated[
        list[_Variable] | dict[_Variable, str],
        Field(
            description="variables for the service: names of vtlab's environment, or names and values",
            default_factory=list,
        ),
    ]
    env_file: Annotated[str | None, Field(description="lines NAME=VALUE for the service")] = None
    limits: ServiceLimits = ServiceLimits()
    max_errors: Annotated[float, Field(ge=0, lt=1, description="share of the answers that may be errors")] = MAX_ERRORS
    jvm: Annotated[list[str], Field(description="flags of production, as -Xmx512m", default_factory=list)]
    java: Annotated[
        int | str | None,
        Field(description="a JDK: its major version, or its directory; JAVA_HOME, else the newest from 21 on, if none"),
    ] = None
    with_: Annotated[
        list[str], Field(alias="with", description="more variants, as of vtlab try --variant", default_factory=list)
    ]
    between: Annotated[
        str | None, Field(min_length=1, description="before each trial: POST /test/reset, or a command")
    ] = None
    database: Annotated[
        Literal["mariadb"] | None, Field(description="vtlab starts one, with a database for each variant")
    ] = None
    service_needs: Annotated[
        ServiceDependency | None, Field(description="a command that starts what the service needs")
    ] = None

    @property
    def workload(self) -> Workload:
        """Workload of the users, without the rest of the file."""
        return Workload.model_validate({name: getattr(self, name) for name in Workload.model_fields})

    def options(self, path: Path) -> TryOptions:
        """Returns the settings that an option of the call may override. ``path``: where the file is."""
        load, folder = self.load, path.absolute().parent
        has_values = isinstance(self.env, dict) and bool(self.env)
        lines = folder / self.env_file if self.env_file else None
        return TryOptions(
            users=None if isinstance(load, Rate) or load.users == "auto" else load.users,
            rate=load.per_second if isinstance(load, Rate) else None,
            think_time=None if isinstance(load, Rate) else load.think,
            cpu=self.limits.cpu,
            memory=self.limits.memory,
            jvm_flags=self.jvm,
            java=None if self.java is None else str(self.java),
            environment_from=[] if isinstance(self.env, dict) else self.env,
            environment_file=path.absolute() if has_values else lines,
            variants=self.with_,
            between=self.between,
            database=self.database is not None,
        )


@dataclass(frozen=True)
class TryOptions:
    """Settings that the file and the command line share. Where one of them is silent a field is None, a list empty."""

    #: Closed load with so many users, or open load with so many arrivals a second; neither: vtlab searches.
    users: int | None = None
    rate: float | None = None
    think_time: str | None = None
    cpu: float | None = None
    memory: str | None = None
    jvm_flags: Sequence[str] = ()
    java: str | None = None
    environment_from: Sequence[str] = ()
    environment_file: Path | None = None
    #: Further variants, as ``--variant`` has them.
    variants: Sequence[str] = ()
    between: str | None = None
    database: bool | None = None

    @property
    def java_home(self) -> str | None:
        """The JDK that is named by its directory; one named by its major version is a property of the variants."""
        return None if self.java is None or self.java.isdigit() else self.java

    def overridden_by(self, call: TryOptions) -> TryOptions:
        """Returns these settings with those of the call in their place; lists have the entries of both."""
        lists = {name: [*getattr(self, name), *getattr(call, name)] for name in _LISTS}
        named = {option.name: value for option in fields(call) if (value := getattr(call, option.name)) is not None}
        return replace(self, **{**named, **lists})


#: Fields to which the call adds.
_LISTS = ("jvm_flags", "environment_from", "variants")


@dataclass(frozen=True)
class RequestLines:
    """A workload by the arguments of a call: request lines, or a k6 script; ``data`` fills their names."""

    requests: Sequence[str] = ()
    script: Path | None = None
    data: Path | None = None

    @property
    def asks_nothing(self) -> bool:
        """Tells whether the file has neither a request nor a script."""
        return not self.requests and self.script is None

    def document(self) -> dict[str, list[str] | str | None]:
        """Returns the document of the workload."""
        return {
            "requests": list(self.requests),
            "data": str(self.data) if self.data else None,
            "k6": str(self.script) if self.script else None,
        }


@dataclass(frozen=True)
class TryInput:
    """The input of ``vtlab try``, from a file, the command line or both."""

    #: A jar, a file that describes a service (``vtlab.model.service``), or the service.
    service: Path | Service
    workload: Workload | RequestLines = field(repr=False)
    options: TryOptions = TryOptions()
    #: Paths in the workload are relative to this file.
    source: Path = Path("vtlab-try")
    max_errors: float = MAX_ERRORS
    started_before: ServiceDependency | None = None

    @property
    def is_searched(self) -> bool:
        """Tells whether vtlab must find the load."""
        return self.options.users is None and self.options.rate is None


def of_call(service: Path | Service, lines: RequestLines, options: TryOptions) -> TryInput:
    """Returns the input of a call. ``service``: a service, a jar, a service's file, or the small file, whose settings
    the options override."""
    if isinstance(service, Service) or service.suffix not in documents.SUFFIXES or _describes_a_service(service):
        return TryInput(service, lines, options)
    if lines.requests or lines.script or lines.data:
        raise BadInput(
            f"{service} says what is asked of the service", "write requests, data and k6 into that file only"
        )
    file = read(service)
    return TryInput(
        service=service.absolute().parent / file.service,
        workload=file.workload,
        options=file.options(service).overridden_by(options),
        source=service,
        max_errors=file.max_errors,
        started_before=file.service_needs,
    )


def _describes_a_service(path: Path) -> bool:
    """Tells a file of a service from the small file of ``vtlab try``."""
    document = documents.read(path)
    return isinstance(document, dict) and not document.keys().isdisjoint(service_model.STARTS)


def read(path: Path) -> ServiceFile:
    """Reads the small file. BadInput names every wrong key, never a value, which may be secret."""
    document = documents.read(path)
    try:
        file = ServiceFile.model_validate(document)
        if isinstance(file.load, Rate):
            _ = file.load.per_second
    except ValidationError as error:
        wrong = validation.wrong_keys(error, "the file", validation.plain_words, _is_key)
        raise BadInput(f"{path}: {wrong}", f"{SCHEMA} has the keys; vtlab init app.jar writes such a file") from None
    except ValueError as error:
        raise BadInput(f"{path}: {error}", "write load: {rate: 300}") from None
    if isinstance(file.env, dict) and file.env_file:
        raise BadInput(f"{path}: values in env and env_file", "write the values into one of them, and names into env")
    return file


def _is_key(part: int | str) -> bool:
    return part not in ("Users", "Rate") and not str(part).startswith(("function-", "list[", "dict["))


def schema() -> str:
    """Returns the JSON Schema of such a file, as committed in ``lab/try.schema.json``."""
    return json.dumps(ServiceFile.model_json_schema(by_alias=True), indent=2) + "\n"
