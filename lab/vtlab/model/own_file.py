"""The small file of ``vtlab try``: the reader's own service, what users ask of it, and under which load.

Everything but the service and one request has a default. What vtlab chooses besides is written into the results as a
complete experiment.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vtlab.errors import BadInput
from vtlab.model import documents, units, validation
from vtlab.model.experiment import MAX_ERRORS
from vtlab.model.load import ThinkTime
from vtlab.model.service import ServiceDependency
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


class OwnLimits(_Strict):
    """What each variant may use."""

    cpu: Annotated[float, Field(ge=units.LEAST_CORES, description="cores")] = 1
    memory: Annotated[str, Field(pattern=r"^\d+(Ki|Mi|Gi)$", description="of the whole process")] = "1Gi"


class OwnFile(Workload):
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
    limits: OwnLimits = OwnLimits()
    max_errors: Annotated[float, Field(ge=0, lt=1, description="share of the answers that may be errors")] = MAX_ERRORS
    jvm: Annotated[list[str], Field(description="flags of production, as -Xmx512m", default_factory=list)]
    java: Annotated[
        int | str | None,
        Field(description="a JDK: its major version, or its directory; JAVA_HOME, else the newest from 21 on, if none"),
    ] = None
    with_: Annotated[
        list[str], Field(alias="with", description="more variants, as of vtlab try --with", default_factory=list)
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
    def workload(self) -> dict[str, Any]:
        """What users do, as the document of a workload."""
        return {name: getattr(self, name) for name in Workload.model_fields}


def read(path: Path) -> OwnFile:
    """The file at that path. BadInput names every wrong key, never a value, which may be secret."""
    document = documents.read(path)
    try:
        own = OwnFile.model_validate(document)
        if isinstance(own.load, Rate):
            _ = own.load.per_second
    except ValidationError as error:
        wrong = validation.wrong_keys(error, "the file", validation.plain_words, _is_key)
        raise BadInput(f"{path}: {wrong}", f"{SCHEMA} has the keys; vtlab init app.jar writes such a file") from None
    except ValueError as error:
        raise BadInput(f"{path}: {error}", "write load: {rate: 300}") from None
    if isinstance(own.env, dict) and own.env_file:
        raise BadInput(f"{path}: values in env and env_file", "write the values into one of them, and names into env")
    return own


def _is_key(part: int | str) -> bool:
    return part not in ("Users", "Rate") and not str(part).startswith(("function-", "list[", "dict["))


def schema() -> str:
    """The JSON Schema of such a file, as committed in ``lab/try.schema.json``."""
    return json.dumps(OwnFile.model_json_schema(by_alias=True), indent=2) + "\n"
