"""The bottleneck of a variant in one sentence that a reader can act on; the same for terminal, Markdown and HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vtlab.catalogue.resources import RESOURCES
from vtlab.catalogue.resources import bottleneck_words as resource_words
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Activity
from vtlab.model.run import Analysis
from vtlab.model.units import in_blocks
from vtlab.model.verdict import Bottleneck, Bound, Inside, VariantResult
from vtlab.report.words import figures

#: At this share of a bound or above the modelled throughput says no more than the bound, and is left out.
_NEAR = 0.95
#: Share of the time in pauses of the garbage collector that explains by itself why memory is short.
_LONG_PAUSES = 0.1
#: If a unit is held this many times as long as alone, a larger pool gives longer holds instead of more throughput. A
#: smaller factor may be the CPU of other requests, or a wait that grows slowly: there a larger pool may help.
_SLOW = 2.0
#: One unit of a pool.
_UNITS = {"db-pool": "a connection", "client-pool": "a connection", "executor": "a thread"}
#: The holder of a unit, where it is not what is behind the pool.
_HOLDERS: dict[Activity, str] = {
    "db-pool": "a wait for a database connection",
    "client-pool": "a wait for a connection to the service downstream",
    "executor": "a wait for the executor",
    "lock": "a lock",
    "wait": "a wait",
    "computation": "a computation",
}


def sentence(analysis: Analysis, variant: str) -> str:
    """Says what limits the variant: measured beside bound or model, whether more of it helps, and what is next."""
    result = analysis.verdict.variants[variant]
    if not result.throughput:
        if result.failed_blocks:
            return f"failed {in_blocks(result.failed_blocks, analysis.verdict.n)}: {failures(result)}."
        return "no block counts, so nothing is known."
    text = _limit(analysis, variant, result)
    if result.growth is not None:
        text = f"{growing(result.growth)}; {text}"
    return text + _next(result) + "."


def growing(growth: float) -> str:
    """Says how fast the queue of an overloaded variant grows."""
    return f"overloaded, growing by {figures.significant(growth, 2)} requests a second"


def failures(result: VariantResult) -> str:
    """Says how a variant failed, with every moment: ``out of heap memory (trial 1, trial 2)``."""
    moments: dict[str, list[str]] = {}
    for failure in result.failures:
        moments.setdefault(failure.reason, []).append(failure.moment)
    return "; ".join(f"{reason} ({', '.join(when)})" for reason, when in moments.items()) or "the reason is not known"


def resource_names(limit: Bottleneck) -> str:
    """Names the resources for a table: ``cpu``, ``cpu and load``."""
    return figures.listed([limit.resource, *limit.together])


def bound_of(result: VariantResult, resource: str) -> Bound | None:
    """Returns the bound of that resource, where it has one."""
    return next((bound for bound in result.bounds if bound.resource == resource), None)


def bound_interval(bound: Bound | None) -> str:
    """Writes the interval of a bound, in brackets, where it is known."""
    if bound is None or bound.low is None or bound.high is None:
        return ""
    ends = figures.interval(bound.low, bound.high, figures.rate)
    # Ends that print alike are the bound itself, which stands before them.
    return "" if ends == figures.rate(bound.low) else f" ({ends})"


def _limit(analysis: Analysis, variant: str, result: VariantResult) -> str:
    limit, experiment, measured = result.bottleneck, analysis.run.experiment, figures.rate(result.throughput)
    if limit.inside is not None:
        return _inside(result, limit.inside)
    if limit.resource == "unknown":
        model_remark = f"; modelled {figures.rate(result.modelled)}" if result.modelled else ""
        return f"nothing measured explains its {measured}{model_remark}"
    if limit.together:
        return _together(result, experiment)
    if limit.resource == "memory":
        heap = resource_words(limit.resource)
        heap += f" (heap {experiment.limits.heap})" if experiment.limits.heap else ""
        return f"limited by {heap}: {measured}; {_memory(analysis.over_windows(variant, 'gc_share'))}"
    if limit.resource not in RESOURCES:
        return f"limited by {described(result, limit.resource, experiment)}, as thread dumps show: {measured}"
    text = f"limited by {described(result, limit.resource, experiment)}: {measured}"
    is_arrivals = limit.resource == "load" and not isinstance(experiment.load, ClosedLoad)
    queued = analysis.over_windows(variant, "virtual_queued") if limit.resource == "carriers" else None
    if limit.bound is None and queued:
        return f"{text}; virtual threads that are ready and wait for one: {figures.count(queued)} at a time"
    if limit.bound is None or limit.utilisation is None or is_arrivals:
        return text
    text += f"; the law allows {figures.rate(limit.bound)}{bound_interval(bound_of(result, limit.resource))}"
    if result.modelled and limit.utilisation < _NEAR:
        text += f", modelled {figures.rate(result.modelled)}"
    return text


def _together(result: VariantResult, experiment: Experiment) -> str:
    limit = result.bottleneck
    shared = [limit.resource, *limit.together]
    limits = figures.listed([described(result, resource, experiment) for resource in shared])
    text = f"limited by {limits} together: {figures.rate(result.throughput)}"
    if result.modelled:
        text += f", modelled {figures.rate(result.modelled)}"
    separate = [
        f"{resource_words(resource)} {figures.rate(bound.bound)}{bound_interval(bound)}"
        for resource in shared
        if (bound := bound_of(result, resource))
    ]
    return text + (f"; alone would allow: {figures.listed(separate)}" if len(separate) == len(shared) else "")


def _inside(result: VariantResult, inside: Inside) -> str:
    """Describes a pool that is full of holders for which something inside it takes longer than alone."""
    one = _UNITS.get(inside.pool, "one")
    text = (
        f"{figures.rate(result.throughput)}, {_in_use(result, inside)} in use, but {one} is held"
        f" {figures.duration(inside.loaded)} under load, {figures.duration(inside.alone)} alone: "
    )
    is_slow = inside.loaded >= _SLOW * inside.alone
    text += "enlarging the pool does not help" if is_slow else "what is inside it has become slower"
    if inside.activity is not None:
        text += f"; what holds it: {activity_words(inside.activity)}" + (f", {inside.place}" if inside.place else "")
    return text


def activity_words(activity: Activity) -> str:
    """Names what a thread does: ``a lock``, ``the database``."""
    return _HOLDERS.get(activity) or resource_words(activity)


def _in_use(result: VariantResult, inside: Inside) -> str:
    """Says how much of a pool is in use, with the verb: ``all 10 database connections are``, ``its only database
    connection is``."""
    bound = bound_of(result, inside.pool)
    if bound is None:
        return f"all {resource_words(inside.pool).removeprefix('its ')} are"
    units = RESOURCES[inside.pool].described(bound.capacity, "").removeprefix("its ")
    # Little's law: held at a time = throughput x time held.
    held = min(bound.capacity, result.throughput * inside.loaded)
    is_whole = held >= _NEAR * bound.capacity
    if bound.capacity == 1:
        return f"its only {units.removeprefix('1 ')} is" if is_whole else f"{held:,.1f} of {units} is"
    return f"all {units} are" if is_whole else f"{held:,.1f} of {units} are"


def _memory(pauses: float | None) -> str:
    """Says why memory is short: the collector takes the time, or leaves no room."""
    if pauses is not None and pauses >= _LONG_PAUSES:
        return f"collecting garbage pauses it for {figures.share(pauses)} of the time"
    return "a full collection leaves hardly any room in its heap"


def _next(result: VariantResult) -> str:
    """Says what would limit it next; only a bound with an interval does."""
    bound = bound_of(result, result.next.resource) if result.next else None
    if bound is None or bound.low is None or bound.high is None:
        return ""
    kind = "the nearest bound is" if result.bottleneck.resource == "unknown" else "next would be"
    return f"; {kind} {resource_words(bound.resource)} at {figures.rate(bound.bound)}{bound_interval(bound)}"


def described(result: VariantResult, resource: str, experiment: Experiment) -> str:
    """Puts a resource into words, with how much of it there is where that is known: ``its 200 Tomcat threads``."""
    bound = bound_of(result, resource)
    if resource not in RESOURCES or bound is None:
        return resource_words(resource)
    is_closed, plural = isinstance(experiment.load, ClosedLoad), "" if bound.capacity == 1 else "s"
    unit = f"user{plural}" if is_closed else f"arrival{plural} per second"
    return RESOURCES[resource].described(bound.capacity, unit)


def binds_from(result: VariantResult, experiment: Experiment) -> tuple[Bound, float] | None:
    """Finds what would limit a variant first under more load, and from how much load on (users, or arrivals a second).
    Under closed load by N = X·(R+Z). None where the figure is not known to a quarter."""
    load, others = bound_of(result, "load"), other_bounds(result)
    if load is None or not others:
        return None
    first = min(others, key=lambda bound: bound.bound)
    if not isinstance(experiment.load, ClosedLoad):
        return (first, first.bound) if _spread(first) <= _NARROW else None
    narrow = math.hypot(_spread(first), _spread(load)) <= _NARROW
    return (first, first.bound * load.service_demand) if narrow else None


def other_bounds(result: VariantResult) -> Sequence[Bound]:
    """Returns the bounds that are not the load's."""
    return [bound for bound in result.bounds if bound.resource != "load"]


#: Half an interval, as a share of its figure. A demand that is known to 20 % gives a bound to -17 and +25 %, and the
#: users' own is beside it.
_NARROW = 0.25


def _spread(bound: Bound) -> float:
    if bound.low is None or bound.high is None:
        return math.inf
    return (bound.high - bound.low) / 2 / bound.bound
