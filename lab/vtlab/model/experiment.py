"""The experiment, as its file describes it: a service, a workload, a load, limits and variants."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from vtlab.errors import BadInput
from vtlab.model import documents, units, variant
from vtlab.model.load import (
    MOST_USERS,
    NONE,
    ClosedLoad,
    Duration,
    Load,
    OpenLoad,
    RateLoad,
    SearchedLoad,
    ShareLoad,
)
from vtlab.model.service import DATABASES, NAME, Need, Service
from vtlab.model.short_variants import KINDS
from vtlab.model.validation import FilePath, WrongKey
from vtlab.model.workload import (
    ENVIRONMENT,
    METHODS,
    DataFile,
    Origin,
    Request,
    Requests,
    Script,
    Workload,
    WrittenLogin,
)

#: Share of the answers that may be errors, by default.
MAX_ERRORS = 0.001
#: Patterns of limits.
MEMORY = r"^\d{1,9}(Ki|Mi|Gi)$"
HEAP = r"^\d{1,9}[kmg]$"
#: In place of a service: the lab's sample application.
SAMPLE = "sample"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)


class Windows(_Strict):
    """How long things take within a block."""

    warmup_users: Annotated[int, Field(gt=0, description="users in the first cycles of the warm-up")] = 50
    warmup_query: Annotated[
        dict[str, str] | None,
        Field(
            description="query of the request in the first cycles: cheaper requests, so that the JIT compiler sees many"
        ),
    ] = None
    # Cycles that judge the steady state scatter by as much as they may gain in 2 s, and a further one takes three times
    # what a longer one adds.
    warmup_load: Annotated[Duration, Field(description="length of a warm-up cycle")] = "3s"
    warmup_cycles: Annotated[
        int,
        Field(
            ge=0,
            description="number of cycles with warmup_users and warmup_query. Up to three cycles with the users and"
            " the request of the trials follow, and are judged: two after cycles with more CPU, one if it shows that"
            " the load is the bottleneck. Where wait_for_answers is false, these have warmup_users, too",
        ),
    ] = 1
    warmup_requests: Annotated[
        int,
        Field(
            ge=0,
            description="requests of all users together in each of these cycles of closed load. A cycle ends with the"
            " last answer, but after three times warmup_load, or ten seconds, at the latest. It gets more CPU than the"
            " limit, where the machine has more. 0: a cycle lasts for warmup_load",
        ),
    ] = 3000
    max_cycles: Annotated[
        int,
        Field(
            ge=0,
            le=60,
            description="most further cycles with the load of the trials, for a variant that is not steady yet; at most"
            " 8 for one that fails in them",
        ),
    ] = 16
    single_user_phase: Annotated[
        Duration,
        Field(
            description="length of the phase in which a single user shows the shortest response, in three parts; 0s"
            " for none"
        ),
    ] = "9s"
    ramp_up: Annotated[
        Duration, Field(description="shortest time in which the users start, where load.full.round does not give it")
    ] = "1s"
    measure: Annotated[Duration, Field(description="length of a measured window")] = "5s"
    measure_by_variant: Annotated[
        dict[str, Duration],
        Field(description="length of the windows of variants that need another, such as a variant that answers rarely"),
    ] = {}
    trials: Annotated[
        Literal[1, 2, 4],
        Field(
            description="trials of each variant in a block, in mirrored order: 1 where nothing drifts or trials take"
            " minutes, 4 short trials where blocks differ mostly by drift"
        ),
    ] = 2
    wait_for_answers: Annotated[
        bool,
        Field(
            description="false: a trial gives up unanswered requests when its window ends; needs trials: 1 and"
            " load.typical: none"
        ),
    ] = True


class Limits(_Strict):
    """What each variant may use, the same on every target."""

    cpu: Annotated[float, Field(ge=units.LEAST_CORES, description="cores")] = 1
    memory: Annotated[str, Field(pattern=MEMORY, description="of the whole process: 512Mi, 1Gi")] = "1Gi"
    heap: Annotated[
        str | None,
        Field(pattern=HEAP, description="as for -Xms and -Xmx: 384m; null: the JVM, or its flags, choose it"),
    ] = None


class Properties(_Strict):
    """What makes a variant, where its name alone does not say so."""

    threads: Annotated[variant.Threads, Field(description="what handles a request")]
    java: Annotated[
        int | None, Field(ge=21, description="major version of the JDK; by default that of the service")
    ] = None
    jar: Annotated[
        FilePath | None,
        Field(
            description="another build of the service, on one machine; a relative path starts at the service's"
            " directory"
        ),
    ] = None
    settings: Annotated[dict[str, str], Field(description="environment of this variant alone")] = {}
    jvm_flags: Annotated[list[str], Field(description="of this variant alone")] = []


def _from_jar(value: Any) -> Any:
    """Expands the path of a jar into a service."""
    if isinstance(value, str) and value.endswith(documents.SUFFIXES):
        raise ValueError(f"{value} is not a jar: write the keys of that file under service")
    return {"jar": value} if isinstance(value, str) and value != SAMPLE else value


def _service_kind(value: Any) -> str:
    return "(sample)" if isinstance(value, str) else "(keys)"


WrittenService = Annotated[
    Annotated[Literal["sample"], Tag("(sample)")] | Annotated[Service, Tag("(keys)")],
    Discriminator(_service_kind),
    BeforeValidator(_from_jar, json_schema_input_type=str | Service),
]


class Experiment(_Strict):
    """One experiment, by its file. Unknown keys are errors; relative paths start at the folder of the file."""

    schema_: Annotated[str | None, Field(alias="$schema", description="this schema, for editors")] = None
    name: Annotated[str, Field(pattern=NAME, description="for results and reports; the service's by default")] = ""
    description: Annotated[
        str,
        Field(
            min_length=1,
            description="what the experiment shows, for lists and reports; service and requests by default",
        ),
    ] = ""
    service: Annotated[
        WrittenService,
        Field(description="the path of an executable jar; or sample, the lab's sample application; or the keys below"),
    ]
    requests: Requests = []
    data: DataFile = None
    login: WrittenLogin = None
    k6: Script = None
    origin: Origin = None
    load_: Annotated[Load, Field(alias="load", description="the loads of a block: full and typical load")] = Load()
    limits: Annotated[Limits, Field(description="CPU and memory of each variant")] = Limits()
    variants: Annotated[
        list[str],
        Field(
            min_length=2,
            max_length=8,
            description="names of the variants; vtlab compares all others with the first. The short forms"
            " platform-1000, jar=PATH, java=21, pool=50 and env:NAME=VALUE stand for a name and its properties",
        ),
    ] = ["platform", "virtual"]
    properties: Annotated[
        dict[str, Properties], Field(description="what makes a variant other than platform, virtual and reactive")
    ] = {}
    settings: Annotated[
        dict[str, str],
        Field(description="environment of every variant; results and reports show it, so write no secrets here"),
    ] = {}
    needs: Annotated[
        list[Need],
        Field(
            description="what vtlab starts beside the variants (database: MariaDB, postgres: PostgreSQL, downstream),"
            " and jdk21: a JDK 21 must be here"
        ),
    ] = []
    reset: Annotated[
        str | None,
        Field(
            min_length=1,
            description="runs before each trial, on one machine: a request, POST /test/reset, or a command. {base} is"
            " the address of the variant, {variant} its name. In a request {env.NAME} is a variable of vtlab's"
            " environment; a command reads it there itself",
        ),
    ] = None
    max_response: Annotated[Duration, Field(description="time after which a request counts as an error")] = "30s"
    max_errors: Annotated[
        float, Field(ge=0, lt=1, description="share of the answers that may be errors; a variant with more fails")
    ] = MAX_ERRORS
    windows: Windows = Windows()
    expected: Annotated[
        dict[str, float],
        Field(description="requests per second that the operational laws predict, by variant; shown in reports only"),
    ] = {}

    @field_validator("reset")
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

    @field_validator("needs")
    @classmethod
    def _once(cls, needs: list[Need]) -> list[Need]:
        if set(DATABASES) <= set(needs):
            raise ValueError(f"{' and '.join(DATABASES)} exclude each other: a service has one database")
        return list(dict.fromkeys(needs))

    @model_validator(mode="after")
    def _fits_the_load(self) -> Experiment:
        typical = self.load_.typical
        if not self.windows.wait_for_answers and (self.windows.trials > 1 or not self.has_full_load):
            raise ValueError("windows.wait_for_answers: false needs windows.trials: 1 and load.full")
        if self.has_full_load and isinstance(typical, RateLoad) and typical.users is not None:
            raise WrongKey(
                "load.typical.users goes with load.full: none: beside full load vtlab chooses the users of the rate",
                "load.typical.users",
            )
        return self

    @model_validator(mode="after")
    def _ends_with_its_trial(self) -> Experiment:
        """Leaves typical load out, or refuses it, where a variant ends with its trial."""
        if self.windows.wait_for_answers or self.typical_beside is None:
            return self
        if "typical" in self.load_.model_fields_set:
            raise WrongKey(
                "windows.wait_for_answers: false beside load.typical: a variant ends with its trial: write typical:"
                " none",
                "windows.wait_for_answers",
                "load.typical",
            )
        object.__setattr__(self, "load_", self.load_.model_copy(update={"typical": NONE}))
        return self

    @model_validator(mode="after")
    def _knows_its_variants(self) -> Experiment:
        for position, name in enumerate(self.variants):
            if name not in self.properties and variant.kind(name) not in variant.ENVIRONMENT:
                raise WrongKey(
                    f"unknown variant '{name}': known are {', '.join(variant.ENVIRONMENT)} and {KINDS}; describe any"
                    " other in properties",
                    f"variants.{position}",
                )
        for name in self.properties:
            if name in variant.ENVIRONMENT and name != self.properties[name].threads:
                raise ValueError(f"properties.{name}.threads must be '{name}', or another name is needed")
        return self

    @model_validator(mode="after")
    def _asks_one_way(self) -> Experiment:
        self.workload.refuse_contradictions()
        if self.windows.warmup_query is not None and self.only_request is None:
            raise ValueError("windows.warmup_query goes with a workload of one request")
        if self.k6 and not self.windows.wait_for_answers:
            raise ValueError("windows.wait_for_answers: false goes with requests: a script's iteration is not given up")
        full = self.load_.full
        if self.k6 and isinstance(full, ClosedLoad | SearchedLoad) and full.think_time != "0s":
            raise WrongKey(
                "load.full.think_time goes with requests: a script has its own sleep", "load.full.think_time", "k6"
            )
        return self

    @model_validator(mode="after")
    def _names_its_variants(self) -> Experiment:
        by_variant: dict[str, Iterable[str]] = {
            "properties": self.properties,
            "expected": self.expected,
            "windows.measure_by_variant": self.windows.measure_by_variant,
            "load.full.round": self.load_.rounds,
            "load.full.service_time": self.load_.service_times,
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
            **{f"load.full.round.{name}": text for name, text in self.load_.rounds.items()},
            **{f"load.full.service_time.{name}": text for name, text in self.load_.service_times.items()},
            "max_response": self.max_response,
        }
        for key, text in durations.items():
            if units.milliseconds(text) <= 0:
                raise ValueError(f"{key} must be above 0")
        for name, rate in self.expected.items():
            if rate <= 0:
                raise ValueError(f"expected.{name} must be above 0")
        return self

    @model_validator(mode="after")
    def _fill_in_defaults(self) -> Experiment:
        """Fills in the defaults that other keys give."""
        service = None if isinstance(self.service, str) else self.service
        if not self.name:
            object.__setattr__(self, "name", service.name if service else SAMPLE)
        if not self.description and not self.workload.is_empty:
            subject = service.jar_path.name if service and service.jar_path else self.name
            object.__setattr__(self, "description", f"{subject}: {self.workload.title}")
        typical = self.load_.typical
        if not self.has_full_load and isinstance(typical, RateLoad) and not isinstance(typical, OpenLoad):
            users = typical.users or typical.least_users(self.max_response)
            if users > MOST_USERS:
                raise WrongKey(
                    f"load.typical.rate {typical.rate:g}/s needs {users:,} users where an answer may take"
                    f" {self.max_response}; vtlab has at most {MOST_USERS:,}: lower the rate, or max_response",
                    "load.typical.rate",
                )
            is_open = OpenLoad(rate=typical.rate, users=users, gaps=typical.gaps)
            object.__setattr__(self, "load_", self.load_.model_copy(update={"typical": is_open}))
        return self

    def document(self) -> dict[str, Any]:
        """Writes this experiment as JSON, complete: what has a default is written out."""
        document = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        # Until something is asked of the service.
        return document if self.description else {k: v for k, v in document.items() if k != "description"}

    @property
    def is_sample(self) -> bool:
        """Tells whether its service is the lab's sample application."""
        return self.service == SAMPLE

    @property
    def needs_cluster(self) -> bool:
        """Tells whether only a cluster can start its service."""
        return isinstance(self.service, Service) and self.service.needs_cluster

    @property
    def java_home(self) -> str | None:
        """Directory of the JDK that the service names; None where it names none."""
        return self.service.java_home if isinstance(self.service, Service) else None

    @property
    def workload(self) -> Workload:
        """Workload of the users."""
        return Workload.model_construct(
            requests=self.requests, data=self.data, login=self.login, k6=self.k6, origin=self.origin
        )

    @property
    def only_request(self) -> Request | None:
        """The request of a workload that has one; None of any other."""
        return self.requests[0] if len(self.requests) == 1 else None

    @property
    def is_searched(self) -> bool:
        """Tells whether vtlab must search the load."""
        return isinstance(self.load_.full, SearchedLoad)

    @property
    def load(self) -> ClosedLoad | OpenLoad:
        """Load of the trials: full load, or typical load where there is no full one. Where vtlab must search it, that
        of the first warm-up cycles."""
        full, typical = self.load_.full, self.load_.typical
        if isinstance(full, SearchedLoad):
            return ClosedLoad(users=self.windows.warmup_users, think_time=full.think_time)
        if isinstance(full, ClosedLoad):
            return full
        # Without full load the typical one has a rate (Load) and users (_fill_in_defaults).
        assert isinstance(typical, OpenLoad)
        return typical

    @property
    def has_full_load(self) -> bool:
        """Tells whether the trials have full load; else typical load is their only one."""
        return self.load_.full != NONE

    @property
    def typical_beside(self) -> RateLoad | ShareLoad | None:
        """Typical load that is measured beside the load of the trials; None where it is that load, or none."""
        typical = self.load_.typical
        return typical if self.has_full_load and not isinstance(typical, str) else None

    def with_load(self, load: ClosedLoad | OpenLoad) -> Experiment:
        """Returns the experiment with that load of the trials; closed load keeps the typical one beside it."""
        if isinstance(load, ClosedLoad):
            return self.model_copy(update={"load_": Load(full=load, typical=self.load_.typical)})
        return self.model_copy(update={"load_": Load(full=NONE, typical=load)})

    def with_typical_rate(self, rate: float) -> Experiment:
        """Returns the experiment with the rate that vtlab chose for the typical load beside full load."""
        typical = RateLoad(rate=rate, gaps=self.typical_gaps)
        return self.model_copy(update={"load_": self.load_.model_copy(update={"typical": typical})})

    @property
    def typical_gaps(self) -> Literal["exponential", "even"]:
        """Gaps between the arrivals of the typical load."""
        typical = self.load_.typical
        return typical.gaps if isinstance(typical, RateLoad) else "exponential"

    def refuse_unmeasurable(self) -> None:
        """Raises BadInput where nothing is asked of the service."""
        if self.workload.is_empty:
            raise BadInput(
                f"{self.name}: no request given", "write requests: [GET /orders/17] into the file, or k6: load.ts"
            )

    @property
    def is_paced(self) -> bool:
        """Tells whether it says of every variant how long a round of its users takes, and so what the load allows
        it."""
        return self.load_.rounds.keys() >= set(self.variants)

    def window_of(self, name: str) -> str:
        """Returns the length of this variant's windows."""
        return self.windows.measure_by_variant.get(name, self.windows.measure)

    def properties_of(self, name: str) -> Properties:
        """Returns what makes this variant. KeyError for one that is not of this experiment."""
        kind = variant.kind(name)
        if kind in self.properties:
            properties = self.properties[kind]
        elif name in self.variants:
            properties = Properties.model_validate({"threads": kind})
        else:
            properties = self.properties[name]
        version = self.service.java_version if isinstance(self.service, Service) else None
        return properties if properties.java or not version else properties.model_copy(update={"java": version})

    def environment_of(self, name: str) -> dict[str, str]:
        """Returns the environment that makes this variant, without what is the same for all (``settings``)."""
        properties = self.properties_of(name)
        return {**variant.ENVIRONMENT[properties.threads], **properties.settings}
