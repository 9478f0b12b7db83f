"""The load of an experiment: full load, of users who saturate a variant, and typical load, at one rate of arrivals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from vtlab.model import units

#: Users that one k6 sends for, at most.
MOST_USERS = 20_000
#: Arrivals per second that a file may name.
MOST_RATE = 1_000_000
#: In a file: no such load.
NONE = "none"
#: Rate of the typical load, where no file names one: a share of what the first variant serves under full load.
TYPICAL_SHARE = 0.6
_NoLoad = Literal["none"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)


#: Patterns of texts.
DURATION = r"^\d{1,9}(\.\d+)?(ms|s|m|h)$"
THINK_TIME = r"^(\d{1,9}(\.\d+)?(ms|s|m|h)|exp\(\d{1,9}(\.\d+)?(ms|s|m|h)\))$"
Duration = Annotated[str, Field(pattern=DURATION, description="50ms, 5s, 1m")]
ThinkTime = Annotated[
    str,
    Field(
        pattern=THINK_TIME,
        description="between an answer and the next request: 200ms, or exp(200ms) for times drawn from an exponential"
        " distribution with that mean",
    ),
]


class ClosedLoad(_Strict):
    """A fixed number of users, each sending its next request when the one before is answered."""

    users: Annotated[int, Field(gt=0, le=MOST_USERS, description="number of users, who send requests at the same time")]
    think_time: ThinkTime = "0s"
    round: Annotated[
        dict[str, Duration],
        Field(
            description="by variant, the length of one round of a user (response and think time) with this number of"
            " users; it paces the ramp-up and the start of the window. A variant without an entry takes the round of"
            " its warm-up, or the shortest round of the others where its windows hold ten rounds"
        ),
    ] = {}
    service_time: Annotated[
        dict[str, Duration],
        Field(
            description="by variant, the length of a request without its wait for a thread or a connection, where this"
            " number of users queues for them. Throughput is steady as soon as all of them are in use, so the window"
            " starts then. Latency is not steady yet and is not recorded. In the warm-up no more users come than are"
            " served at a time"
        ),
    ] = {}

    @property
    def is_think_time_exponential(self) -> bool:
        """Tells whether think times are drawn, or all the same."""
        return self.think_time.startswith("exp(")

    @property
    def mean_think_time(self) -> float:
        """Mean think time in seconds."""
        return units.seconds(self.think_time.removeprefix("exp(").removesuffix(")"))


class SearchedLoad(_Strict):
    """Closed load for which vtlab searches the number of users that saturates a variant."""

    users: Literal["auto"] = "auto"
    think_time: ThinkTime = "0s"


def _per_second(value: Any) -> Any:
    """Accepts ``120/s`` for 120."""
    if not isinstance(value, str):
        return value
    try:
        return float(value.strip().removesuffix("/s"))
    except ValueError:
        raise ValueError("not a rate: write it as 120 or 120/s") from None


class RateLoad(_Strict):
    """Arrivals at a fixed rate, whether or not the service keeps up, dealt to the users in turn."""

    rate: Annotated[
        float,
        Field(gt=0, le=MOST_RATE, description="arrivals per second, 120 or 120/s"),
        BeforeValidator(
            _per_second, json_schema_input_type=float | Annotated[str, Field(pattern=r"^\d+(\.\d+)?(/s)?$")]
        ),
    ]
    users: Annotated[
        int | None,
        Field(
            gt=0,
            le=MOST_USERS,
            description="users who send the arrivals in turn, where load.full is none; an arrival whose user is still"
            " busy is dropped. The default is the least number: rate x max_response + 4 x sqrt(rate x max_response)",
        ),
    ] = None
    gaps: Annotated[
        Literal["exponential", "even"],
        Field(
            description="times between two arrivals: exponential, as many independent users cause, or even, which cause"
            " no queue below a utilisation of 100 %"
        ),
    ] = "exponential"

    @property
    def mean_think_time(self) -> float:
        """Seconds: an arrival waits for no answer."""
        return 0.0

    def least_users(self, max_response: str) -> int:
        """Returns the number of users with which an answer of ``max_response`` seldom costs its user the next arrival:
        the users in flight, and four times their standard deviation (of a Poisson count, its square root)."""
        in_flight = self.rate * units.seconds(max_response)
        return math.ceil(in_flight + 4 * math.sqrt(in_flight))


class OpenLoad(RateLoad):
    """Arrivals at a fixed rate, with the number of users known."""

    users: Annotated[int, Field(gt=0, le=MOST_USERS)]


class ShareLoad(_Strict):
    """Arrivals at a share of the throughput that full load shows."""

    share: Annotated[
        float,
        Field(
            gt=0, le=1, description="share of what the first variant serves under full load, fixed by the first block"
        ),
    ] = TYPICAL_SHARE


def _words(choices: str, *words: str) -> Callable[[Any], Any]:
    """Returns a validator that refuses texts other than ``words``."""

    def refuse_others(value: Any) -> Any:
        if not isinstance(value, Mapping | BaseModel) and not (isinstance(value, str) and value in words):
            raise ValueError(f"not a load: write {choices}")
        return value

    return refuse_others


def _full_from_word(value: Any) -> Any:
    return {"users": "auto"} if value == "auto" else _words("auto, none or {users: 200}", NONE)(value)


def _full_kind(value: Any) -> str:
    if isinstance(value, str):
        return "(none)"
    users = value.get("users", "auto") if isinstance(value, Mapping) else getattr(value, "users", None)
    return "(searched)" if users == "auto" else "(users)"


def _typical_kind(value: Any) -> str:
    if isinstance(value, str):
        return "(none)"
    is_share = "share" in value if isinstance(value, Mapping) else isinstance(value, ShareLoad)
    return "(share)" if is_share else "(rate)"


FullLoad = Annotated[
    Annotated[ClosedLoad, Tag("(users)")]
    | Annotated[SearchedLoad, Tag("(searched)")]
    | Annotated[_NoLoad, Tag("(none)")],
    Discriminator(_full_kind),
    BeforeValidator(_full_from_word, json_schema_input_type=Literal["auto", "none"] | ClosedLoad | SearchedLoad),
]
TypicalLoad = Annotated[
    Annotated[RateLoad, Tag("(rate)")] | Annotated[ShareLoad, Tag("(share)")] | Annotated[_NoLoad, Tag("(none)")],
    Discriminator(_typical_kind),
    BeforeValidator(
        _words("none, {rate: 120/s} or {share: 0.6}", NONE), json_schema_input_type=_NoLoad | RateLoad | ShareLoad
    ),
]


class Load(_Strict):
    """Loads under which the variants are compared."""

    full: Annotated[
        FullLoad,
        Field(
            description="users who saturate at least one variant: auto, so that vtlab searches their number; none; or"
            " the keys below. The default is none where typical has a rate",
        ),
    ] = Field(default="auto", validate_default=True)
    typical: Annotated[
        TypicalLoad,
        Field(
            description="arrivals at one rate for all variants, beside full load or alone: none, or the keys below."
            " The default is six tenths of full load, and none where windows.wait_for_answers is false"
        ),
    ] = ShareLoad()

    @model_validator(mode="before")
    @classmethod
    def _is_one_alone(cls, value: Any) -> Any:
        """Leaves full load out of a file with a typical rate alone, and typical load out of one without full load."""
        if isinstance(value, Mapping) and "full" not in value:
            typical = value.get("typical")
            if isinstance(typical, RateLoad) or (isinstance(typical, Mapping) and "rate" in typical):
                return {**value, "full": NONE}
        if isinstance(value, Mapping) and value.get("full") == NONE and "typical" not in value:
            return {**value, "typical": NONE}
        return value

    @model_validator(mode="after")
    def _is_something(self) -> Load:
        if self.full == NONE and self.typical == NONE:
            raise ValueError("full and typical are both none: nothing to measure")
        if self.full == NONE and isinstance(self.typical, ShareLoad):
            raise ValueError("typical.share is a share of what full load shows, and full is none")
        return self

    @property
    def rounds(self) -> dict[str, str]:
        """Rounds that the full load declares, by variant."""
        return self.full.round if isinstance(self.full, ClosedLoad) else {}

    @property
    def service_times(self) -> dict[str, str]:
        """Service times that the full load declares, by variant."""
        return self.full.service_time if isinstance(self.full, ClosedLoad) else {}
