"""The experiment: a workload, a load, limits and variants."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vtlab.model import units, variant
from vtlab.model.load import ClosedLoad, Duration, Load, rounds, service_times
from vtlab.model.service import Need, Service
from vtlab.model.workload import ENVIRONMENT, METHODS, Request, Workload, WrittenRequest

#: Share of the answers that may be errors, by default.
MAX_ERRORS = 0.001


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Windows(_Strict):
    """How long things take within a block."""

    warmup_users: Annotated[int, Field(gt=0, description="in the first cycles of the warm-up")] = 50
    warmup_query: Annotated[
        dict[str, str] | None,
        Field(description="replaces the request's query in the warm-up: cheaper requests, so that the JIT sees many"),
    ] = None
    warmup_load: Annotated[Duration, Field(description="of one cycle of the warm-up")] = "2s"
    warmup_cycles: Annotated[
        int,
        Field(
            ge=0,
            description="with warmup_users and warmup_query. After these come up to three with the trials' own users"
            " and request, which are judged. Two are enough after cycles with more CPU, one where it shows the load to"
            " be the bound. Where wait_for_answers is false these have warmup_users, too",
        ),
    ] = 2
    warmup_requests: Annotated[
        int | None,
        Field(
            gt=0,
            description="of all users together in each of these cycles, which ends with the last answer, and after"
            " three times warmup_load, or ten seconds, at the latest; of closed load. They get more CPU than the"
            " limit, where the machine has it. None: a cycle lasts for warmup_load",
        ),
    ] = None
    max_cycles: Annotated[
        int, Field(ge=0, le=60, description="cycles with the trials' own load at most beyond those that judge it")
    ] = 8
    single_user_phase: Annotated[
        Duration,
        Field(description="for which one user alone gives the shortest response, in three parts; 0s for none"),
    ] = "9s"
    ramp_up: Annotated[
        Duration, Field(description="over which the users start, at least, where load.round does not say it")
    ] = "1s"
    measure: Annotated[Duration, Field(description="of a measured window")] = "5s"
    measure_by_variant: Annotated[
        dict[str, Duration], Field(description="windows of variants that need others, as one that answers rarely")
    ] = {}
    trials: Annotated[
        Literal[1, 2, 4],
        Field(
            description="of each variant in a block; 1, where nothing drifts or they take minutes, is not mirrored; 4"
            " short trials, where drift is most of what blocks differ by"
        ),
    ] = 2
    wait_for_answers: Annotated[
        bool,
        Field(description="false: what is unanswered when a trial's window ends is given up; needs one trial of each"),
    ] = True


class Limits(_Strict):
    """What each variant may use, the same on every target."""

    cpu: Annotated[float, Field(ge=units.LEAST_CORES, description="cores")] = 1
    memory: Annotated[str, Field(pattern=r"^\d+(Ki|Mi|Gi)$", description="of the whole process")] = "768Mi"
    heap: Annotated[
        str | None, Field(pattern=r"^\d+[kmg]$", description="as for -Xmx; null: what the JVM, or its flags, choose")
    ] = "384m"


class Properties(_Strict):
    """What makes a variant, where its name alone does not say so."""

    threads: Annotated[variant.Threads, Field(description="what handles a request")]
    java: Annotated[int | None, Field(ge=21, description="major version of the JDK; the newest that is there")] = None
    jar: Annotated[
        str | None,
        Field(description="another build of the service, on one machine; a relative path starts at its directory"),
    ] = None
    settings: Annotated[dict[str, str], Field(description="environment of this variant alone")] = {}
    jvm_flags: Annotated[list[str], Field(description="of this variant alone")] = []


class Experiment(_Strict):
    """One experiment. Unknown keys are errors."""

    schema_: Annotated[str | None, Field(alias="$schema", description="this schema, for editors")] = None
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$", description="that of the file, without .json")]
    description: Annotated[str, Field(min_length=1, description="what it shows, for lists and reports")]
    service: Annotated[
        str | Service | None,
        Field(description="the service, or a JSON file that describes it; none: the lab's sample application"),
    ] = None
    request: Annotated[
        WrittenRequest | None, Field(description="the only one: short for a workload of one request")
    ] = None
    workload_: Annotated[Workload | None, Field(alias="workload", description="what users do, in place of request")] = (
        None
    )
    load: Load
    primary: Annotated[
        Literal["throughput", "latency_p99"],
        Field(description="the metric that gets the verdict; latency_p99 under open load only"),
    ] = "throughput"
    windows: Windows = Windows()
    max_response: Annotated[Duration, Field(description="after which a request is given up, as an error")] = "30s"
    max_errors: Annotated[
        float, Field(ge=0, lt=1, description="share of the answers that may be errors; with more the variant fails")
    ] = MAX_ERRORS
    limits: Limits = Limits()
    variants: Annotated[
        list[str], Field(min_length=2, max_length=8, description="all others are compared with the first of them")
    ]
    properties: Annotated[
        dict[str, Properties], Field(description="of the variants that are not just platform, virtual or reactive")
    ] = {}
    settings: Annotated[dict[str, str], Field(description="environment for every variant")] = {}
    needs: list[Need] = []
    between: Annotated[
        str | None,
        Field(
            min_length=1,
            description="before each trial, on one machine: a request as a line, POST /test/reset, or a command with"
            " its arguments. {base} is the address of the variant, {variant} its name. In a request {env.NAME} is a"
            " variable of vtlab's environment. A command reads it there itself",
        ),
    ] = None
    expected: Annotated[
        dict[str, float],
        Field(description="requests per second by the operational laws, per variant; for reports alone"),
    ] = {}

    @field_validator("between")
    @classmethod
    def _keeps_secrets(cls, text: str | None) -> str | None:
        if text and f"{{{ENVIRONMENT}" in text and text.partition(" ")[0] not in METHODS:
            raise ValueError(
                "every user of the machine sees a command's arguments; let it read the variable from its own"
                " environment, which is vtlab's"
            )
        return text

    @field_validator("variants")
    @classmethod
    def _distinct(cls, names: list[str]) -> list[str]:
        for name in names:
            if not re.fullmatch(r"[a-z][a-z0-9-]{0,30}", name):
                raise ValueError(f"'{name}' must be lower case letters, digits and dashes, at most 31")
        if len(set(names)) != len(names):
            raise ValueError("the variants must differ")
        return names

    @model_validator(mode="after")
    def _consistent(self) -> Experiment:
        if self.primary == "latency_p99" and self.load.model == "closed":
            raise ValueError("latency needs open load: closed load hides it when the service slows down")
        if not self.windows.wait_for_answers and (self.windows.trials > 1 or self.load.model == "open"):
            raise ValueError("windows.wait_for_answers: false needs windows.trials: 1 and closed load")
        for name in self.variants:
            if name not in self.properties and variant.kind(name) not in variant.ENVIRONMENT:
                raise ValueError(
                    f"unknown variant '{name}': known are {', '.join(variant.ENVIRONMENT)}; say in properties what"
                    " another one is"
                )
        for name in self.properties:
            if name in variant.ENVIRONMENT and name != self.properties[name].threads:
                raise ValueError(f"properties.{name}.threads must be '{name}', or another name is needed")
        return self

    @model_validator(mode="after")
    def _has_a_workload(self) -> Experiment:
        if (self.request is None) == (self.workload_ is None):
            raise ValueError("one of request and workload is needed")
        if self.windows.warmup_query is not None and self.only_request is None:
            raise ValueError("windows.warmup_query goes with a workload of one request")
        if self.workload.k6 and not self.windows.wait_for_answers:
            raise ValueError("windows.wait_for_answers: false goes with requests: a script's iteration is not given up")
        if self.workload.k6 and isinstance(self.load, ClosedLoad) and self.load.think_time != "0s":
            raise ValueError("load.think_time goes with requests: a script has its own sleep")
        return self

    @model_validator(mode="after")
    def _names_its_variants(self) -> Experiment:
        by_variant: dict[str, Iterable[str]] = {
            "properties": self.properties,
            "expected": self.expected,
            "windows.measure_by_variant": self.windows.measure_by_variant,
            "load.round": rounds(self.load),
            "load.service_time": service_times(self.load),
        }
        for key, names in by_variant.items():
            for name in names:
                if name not in self.variants:
                    raise ValueError(f"{key} names '{name}', which is not among the variants")
        return self

    @model_validator(mode="after")
    def _takes_time(self) -> Experiment:
        windows = self.windows
        durations = {
            "windows.warmup_load": windows.warmup_load,
            "windows.ramp_up": windows.ramp_up,
            "windows.measure": windows.measure,
            **{f"windows.measure_by_variant.{name}": text for name, text in windows.measure_by_variant.items()},
            **{f"load.round.{name}": text for name, text in rounds(self.load).items()},
            **{f"load.service_time.{name}": text for name, text in service_times(self.load).items()},
            "max_response": self.max_response,
        }
        for key, text in durations.items():
            if units.milliseconds(text) <= 0:
                raise ValueError(f"{key} must be above 0")
        for name, rate in self.expected.items():
            if rate <= 0:
                raise ValueError(f"expected.{name} must be above 0")
        return self

    def document(self) -> dict[str, Any]:
        """Writes this experiment as JSON, complete: what has a default is written out."""
        document = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        # Of all that may be null only this has another default.
        document["limits"]["heap"] = self.limits.heap
        return document

    @property
    def workload(self) -> Workload:
        """Workload of the users, from whichever form the file has."""
        requests = [self.request] if self.request else []
        return self.workload_ or Workload.model_construct(requests=requests)

    @property
    def only_request(self) -> Request | None:
        """The request of a workload that has one; None of any other."""
        requests = self.workload.requests
        return requests[0] if len(requests) == 1 else None

    @property
    def is_paced(self) -> bool:
        """Tells whether it says of every variant how long a round of its users takes, and so what the load allows
        it."""
        return isinstance(self.load, ClosedLoad) and self.load.round.keys() >= set(self.variants)

    def window_of(self, name: str) -> str:
        """Returns the length of this variant's windows."""
        return self.windows.measure_by_variant.get(name, self.windows.measure)

    def properties_of(self, name: str) -> Properties:
        """Returns what makes this variant. KeyError for one that is not of this experiment."""
        kind = variant.kind(name)
        if kind in self.properties:
            return self.properties[kind]
        return Properties.model_validate({"threads": kind}) if name in self.variants else self.properties[name]

    def environment_of(self, name: str) -> dict[str, str]:
        """Returns the environment that makes this variant, without what is the same for all (``settings``)."""
        properties = self.properties_of(name)
        return {**variant.ENVIRONMENT[properties.threads], **properties.settings}

    @property
    def better(self) -> Literal["higher", "lower"]:
        """Direction of the primary metric that is good."""
        return "higher" if self.primary == "throughput" else "lower"
