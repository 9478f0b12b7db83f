"""Known problems under virtual threads: the rows of ``findings.json``.

A static row is a published problem in versions and settings that a jar shows. A measured row is what a run may show
(``vtlab.analysis.findings``). A row has a test with a case inside and one outside of each range, or it is left out.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vtlab.model import maven
from vtlab.model.finding import Kind
from vtlab.model.inspection import Packaging, Server

FILE = Path(__file__).with_name("findings.json")
#: Connections: twice as many as HikariCP has by itself.
LARGER_POOL = 20
_Text = Annotated[str, Field(min_length=1)]
_Range = Annotated[str, Field(description="in Maven's notation: [42.7.8,42.7.9)")]


class Row(BaseModel):
    """One row. All conditions that a static row has must hold; a measured row has those that its figures leave open."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    title: _Text
    kind: Kind
    libraries: Annotated[
        dict[str, _Range | None],
        Field(description="any of these, by group:artifact, in this range of versions; null for every version"),
    ] = {}
    boot: Annotated[_Range | None, Field(description="versions of Spring Boot")] = None
    jdk: Annotated[_Range | None, Field(description="versions of the JDK that runs the service")] = None
    packaging: list[Packaging] = []
    servers: list[Server] = []
    settings: Annotated[
        list[str], Field(description="any of these is set; a name that ends with a dot is a prefix")
    ] = []
    settings_below: Annotated[float | None, Field(description="and is a number below this")] = None
    jvm_flags: Annotated[list[str], Field(description="any JVM flag begins with one of these")] = []
    jvm_flags_with: Annotated[
        list[str], Field(description="and for each of these there is a JVM flag that contains it")
    ] = []
    symptom: _Text
    cause: _Text
    source: Annotated[str, Field(pattern=r"^https://")]
    cure: _Text
    command: Annotated[
        str,
        Field(
            pattern=r"vtlab try \S*\{jar\}",
            description="tries the cure as a third variant; {jar} is the service, {pool} a larger pool of connections,"
            " {cores} the whole cores of the CPU limit",
        ),
    ]

    @field_validator("libraries", "boot", "jdk")
    @classmethod
    def _ranges(cls, value: Any) -> Any:
        for text in value.values() if isinstance(value, dict) else [value]:
            if text is not None:
                maven.parse_range(text)
        return value

    @model_validator(mode="after")
    def _is_static_by_a_condition(self) -> Row:
        if self.kind == "static" and self.is_of_jdk and not self.jdk:
            raise ValueError("a static row needs libraries, boot, settings, jvm_flags or jdk")
        return self

    @property
    def is_of_jdk(self) -> bool:
        """Tells whether it is of a JDK, whatever the service is."""
        return not (self.libraries or self.boot or self.packaging or self.servers or self.settings or self.jvm_flags)

    def cure_for(self, jar: str) -> str:
        """Fills the service's jar into the cure."""
        return self.cure.replace("{jar}", jar)

    def command_for(self, jar: str, pool: int = LARGER_POOL, cores: int = 1) -> str:
        """Fills the service's jar, and what a run knows of it, into the command."""
        return self.command.replace("{jar}", jar).replace("{pool}", str(pool)).replace("{cores}", str(cores))


class _File(BaseModel):
    """What is known to break under virtual threads; ``vtlab check app.jar`` and reports show it."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_: Annotated[str | None, Field(alias="$schema", description="this schema, for editors")] = None
    findings: list[Row]

    @model_validator(mode="after")
    def _ids_differ(self) -> _File:
        ids = [row.id for row in self.findings]
        if len(ids) != len(set(ids)):
            raise ValueError("two rows have the same id")
        return self


@functools.cache
def rows() -> tuple[Row, ...]:
    """Returns all rows, in the order of the file."""
    return tuple(_File.model_validate_json(FILE.read_bytes()).findings)


def row(identifier: str) -> Row:
    """Returns the row of that id; KeyError without one."""
    return {row.id: row for row in rows()}[identifier]


def schema() -> str:
    """Writes the JSON Schema of ``findings.json``, as committed beside it."""
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **_File.model_json_schema(by_alias=True)}
    return json.dumps(document, indent=2) + "\n"
