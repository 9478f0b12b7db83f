"""The resources that can limit a variant: the rows of ``resources.toml``, and the PromQL that follows from them.

U = X D / m [Denning and Buzen 1978]: utilisation is throughput x demand / capacity.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

from vtlab.catalogue.promql import QueryError
from vtlab.model.metric_names import MetricName

#: What there is of each resource.
Series = Literal["utilization", "capacity", "demand"]
#: How the demand is measured.
Demand = Literal["cpu", "request", "round", "hold", "pinned", "load"]
FILE = Path(__file__).with_name("resources.toml")

#: Share of a bound from which on a measurement "reaches" it. Where something is exhausted, measurements
#: came to 98 to 100 % of the bound with windows that fit the load and to 94 % with loose ones (a CPU limit
#: loses a little in each throttled period); what is 10 % below its bound has time to spare.
REACHED = 0.9
#: Share of a bound beyond which a measurement refutes it: that demand was not what it took under load.
EXCEEDED = 1.1

#: Seconds that a request holds one unit of the resource, when the user is alone.
_HELD_FOR: Mapping[str, str] = {"request": "$shortest", "round": "$round"}
#: Demands of what is in use while it waits for other resources.
_IN_USE: tuple[Demand, ...] = ("hold", "pinned")


@dataclass(frozen=True)
class Resource:
    """One row: ``resources.toml`` says what its keys mean."""

    name: str
    words: str
    colour: str
    capacity: str
    demand: Demand
    utilization: str
    holds: tuple[str, ...] = ()
    with_amount: str = ""
    unit: str = ""

    @property
    def title(self) -> str:
        """Text for the first column of a table: ``Tomcat threads``, ``CPU (cores)``."""
        text = without_article(self.words)
        return f"{text[0].upper()}{text[1:]}" + (f" ({self.unit})" if self.unit else "")

    def metric(self, series: Series) -> MetricName:
        """Returns the name of the metric of this resource."""
        return cast(MetricName, f"{series}_{self.name}")

    @property
    def hold(self) -> MetricName:
        """The metric of a pool that says how long a request holds its units."""
        return cast(MetricName, f"hold_{self.name.replace('-', '_')}")

    @property
    def hold_error(self) -> MetricName | None:
        """Metric of the error of the hold; None where the hold is exact."""
        name = f"{self.hold}_error"
        return cast(MetricName, name) if name in get_args(MetricName) else None

    def described(self, amount: float, load_unit: str) -> str:
        """Describes the resource in words, with how much of it there is. ``load_unit`` is what the load is counted
        in."""
        plural = "" if amount == 1 else "s"
        return self.with_amount.format(amount=amount, s=plural, load_unit=load_unit) or self.words

    def is_sampled(self, series: Series) -> bool:
        """Tells whether a run's figure is made of samples: what is held is counted by the client, in whole windows, and
        the load is known."""
        if series == "demand" or self.demand == "load":
            return False
        return series == "capacity" or self.demand not in _HELD_FOR


def resource_of_row(name: str, row: Mapping[str, Any]) -> Resource:
    """Makes the resource that a row describes. Raises QueryError."""
    unknown = row.keys() - {field.name for field in fields(Resource) if field.name != "name"}
    missing = {"words", "colour", "capacity"} - row.keys()
    if unknown or missing:
        problem = f"the key {min(unknown)} is unknown" if unknown else f"the key {min(missing)} is missing"
        raise QueryError(f"{FILE.name}: {name}: {problem}")
    demand = str(row.get("demand"))
    if demand not in get_args(Demand):
        raise QueryError(f"{FILE.name}: {name}: `demand` {demand!r} is not one of {', '.join(get_args(Demand))}")
    if ("utilization" in row) == (demand in _HELD_FOR) or bool(row.get("holds")) != (demand in _IN_USE):
        raise QueryError(f"{FILE.name}: {name}: 'utilization' or 'holds' does not go with `demand` {demand!r}")
    held = f"sum by ($variant) ($ok_of_run * {_HELD_FOR.get(demand)}) / ${{capacity_{name}}}"
    return Resource(name=name, **{"utilization": held, **row, "holds": tuple(row.get("holds", ()))})


_TOML = tomllib.loads(FILE.read_text(encoding="utf-8"))


def _rows() -> dict[str, Resource]:
    rows = {name: resource_of_row(name, row) for name, row in _TOML["resources"].items()}
    for row in rows.values():
        unknown = set(row.holds) - rows.keys()
        if unknown:
            raise QueryError(f"{FILE.name}: {row.name}: holds {min(unknown)}, which is not a resource")
    return rows


#: Every resource by its name.
RESOURCES: Mapping[str, Resource] = _rows()
#: The resources used while each of these is in use.
HOLDS: Mapping[str, tuple[str, ...]] = {row.name: row.holds for row in RESOURCES.values() if row.holds}
#: What a bottleneck may be called, in words: the resources, and what has no bound of its own.
WORDS: Mapping[str, str] = {name: row["words"] for part in _TOML.values() for name, row in part.items()}


def bottleneck_words(name: str) -> str:
    """Returns what a report calls a bottleneck; a place in the code, and ``unknown``, by its name."""
    return WORDS.get(name, name)


def without_article(text: str) -> str:
    """Removes the article: ``Tomcat threads`` for ``its Tomcat threads``."""
    return text.removeprefix("its ").removeprefix("the ")


# --- queries, as of ``vtlab.catalogue.promql`` -------------------------------


def demand(resource: Resource) -> str:
    """Queries the seconds of the resource that an OK request takes: D = U m / X."""
    used, amount = resource.metric("utilization"), resource.metric("capacity")
    return f"(${{{used}}}) * ${{{amount}}} / ($throughput > 0)"


def in_open_window(metric: MetricName) -> str:
    """Queries a metric of a resource over the last two seconds, while a trial is being measured, by the labels of a
    block."""
    short = f"${{{metric}: window=$short; pinned_window=10s}}"
    return f"({short}) * on ($variant) group_right () max by ($block) (0 * $open_window + 1)"


def shown(utilization: str) -> str:
    """Limits a utilisation for people, at most 1: a bound that is measured with a single user may be a little too low,
    and what comes out above it is at its limit. What comes out far above it has no such bound, and none is shown."""
    return f"clamp_max(({utilization}) <= {EXCEEDED}, 1)"


def utilization_now() -> str:
    """Queries the utilisation of every resource over ``$window``, while trials are measured: the bounds are those of
    the experiment's request and users, which warm-ups do not have."""
    parts = _by_resource({row.name: f"${{{row.metric('utilization')}}}" for row in RESOURCES.values()})
    return f"{shown(parts)} and on ($variant) ($window_begins <= $now and $window_ends >= $now)"


def run_utilization(names: Iterable[str] = RESOURCES) -> str:
    """Queries the utilisation of these resources over all measured windows of a run, told apart by the label
    ``resource``."""
    rows = [row for row in RESOURCES.values() if row.name in set(names)]
    sampled = [row.name for row in rows if row.is_sampled("utilization")]
    held = {row.name: _run_held(row) for row in rows if not row.is_sampled("utilization")}
    parts = [_run_sampled(sampled)] if sampled else []
    parts += [f"({_by_resource(held)}) / on ($variant) group_left () $seconds_of_variant"] if held else []
    return " or ".join(parts)


def run_capacity() -> str:
    """Queries the capacity of each resource in a run; the label ``resource`` distinguishes them."""
    loads = {row.name: f"${{{row.metric('capacity')}}}" for row in RESOURCES.values() if row.demand == "load"}
    sampled = [row.name for row in RESOURCES.values() if row.is_sampled("capacity")]
    return f"{_run_capacity(sampled)} or {_by_resource(loads)}"


def _run_held(resource: Resource) -> str:
    """Queries the seconds that a run's requests held the resource, over its capacity: with the OK requests of all
    windows in place of their rate."""
    if resource.demand == "load":
        return f"${{{resource.metric('utilization')}: ok_of_run=$ok_in_variant_run}}"
    held = f"sum by ($variant) ($ok_in_variant_run * {_HELD_FOR[resource.demand]})"
    return f"{held} / sum by ($variant) ({_run_capacity([resource.name])})"


def _run_sampled(names: Iterable[str]) -> str:
    """Queries a ratio of sums: one block may have lasted longer than another."""
    series = _recorded("utilization:ratio", names)
    total, samples = (
        f"sum by ($variant, resource) ({aggregation}_over_time({series}))" for aggregation in ("sum", "count")
    )
    return f"{total} / {samples}"


def _run_capacity(names: Iterable[str]) -> str:
    return f"max by ($variant, resource) (max_over_time({_recorded('capacity:count', names)}))"


def _recorded(metric: str, names: Iterable[str]) -> str:
    return f'vtlab:window_{metric}{{$client,resource=~"{"|".join(names)}"}}[$range]'


def _by_resource(queries: Mapping[str, str]) -> str:
    return " or ".join(f'label_replace({query}, "resource", "{name}", "", "")' for name, query in queries.items())
