"""The load of an experiment: closed, with a number of users, or open, with a rate of arrivals."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from vtlab.model import units


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


Duration = Annotated[str, Field(pattern=r"^\d+(\.\d+)?(ms|s|m|h)$", description="50ms, 5s, 1m")]
ThinkTime = Annotated[
    str,
    Field(
        pattern=r"^(\d+(\.\d+)?(ms|s|m|h)|exp\(\d+(\.\d+)?(ms|s|m|h)\))$",
        description="of that length, 200ms, or drawn from an exponential distribution with that mean, exp(200ms)",
    ),
]


class ClosedLoad(_Strict):
    """A fixed number of users, each sending its next request when the one before is answered."""

    model: Literal["closed"]
    users: Annotated[int, Field(gt=0, le=20000, description="how many send requests at the same time")]
    think_time: ThinkTime = "0s"
    round: Annotated[
        dict[str, Duration],
        Field(
            description="how long one round of a user (response and think time) takes a variant with so many users;"
            " this paces the ramp-up and the beginning of the window. For a variant without it that of its warm-up"
            " counts, or the shortest of the others where its windows hold ten rounds"
        ),
    ] = {}
    service_time: Annotated[
        dict[str, Duration],
        Field(
            description="how long a request takes a variant once a thread or a connection has it, where so many users"
            " queue for these. Throughput is steady as soon as all are taken, so the window begins then, and not after"
            " a round; the latency, which is not steady before, is not recorded. In the warm-up no more users come than"
            " are served at a time, and their number over it is what the load allows them"
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


class OpenLoad(_Strict):
    """Arrivals at a fixed rate, whether or not the service keeps up, dealt to the users in turn."""

    model: Literal["open"]
    rate: Annotated[float, Field(gt=0, description="arrivals per second")]
    users: Annotated[
        int,
        Field(
            gt=0,
            le=20000,
            description="an arrival whose user is still busy is dropped; at least rate x max_response"
            " + 4 x sqrt(rate x max_response)",
        ),
    ]
    gaps: Annotated[
        Literal["exponential", "even"],
        Field(
            description="between two arrivals: exponential, as of many users who know nothing of each other, or all the"
            " same, where no queue stands below a utilisation of 100 %"
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


Load = Annotated[ClosedLoad | OpenLoad, Field(discriminator="model")]


def rounds(load: ClosedLoad | OpenLoad) -> dict[str, str]:
    return load.round if isinstance(load, ClosedLoad) else {}


def service_times(load: ClosedLoad | OpenLoad) -> dict[str, str]:
    return load.service_time if isinstance(load, ClosedLoad) else {}
