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
from vtlab.report.words.phrases import load_words

#: At this share of a bound or above the modelled throughput says no more than the bound, and is left out.
_NEAR = 0.95
#: Share of the time in pauses of the garbage collector that is worth a remark.
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
    """Says what limits the variant, beside its throughput: bound or model, whether more of it helps, what is next."""
    result = analysis.verdict.variants[variant]
    if not result.throughput:
        if result.failed_blocks:
            return f"failed {in_blocks(result.failed_blocks, analysis.verdict.n)}: {failures(result)}."
        return "no block counts, so its limit is unknown."
    overloaded = "overloaded; " if result.growth is not None else ""
    return overloaded + _limit(analysis, variant, result) + _next(analysis, variant) + "."


def line(analysis: Analysis, variant: str) -> str:
    """Names the variant, its throughput and what limits it: ``platform: 48.8/s, limited by its 10 Tomcat threads …``"""
    throughput = analysis.verdict.variants[variant].throughput
    measured = f"{figures.rate(throughput)}, " if throughput else ""
    return f"{variant}: {measured}{sentence(analysis, variant)}"


def growing(growth: float) -> str:
    """Says how fast the queue of an overloaded variant grows."""
    return f"the queue grows by {figures.significant(growth, 2)} requests per second"


def limiting(result: VariantResult, experiment: Experiment) -> str | None:
    """Names what limits a variant: ``its 10 database connections``; None where that is the load alone, or unknown."""
    limit = result.bottleneck
    if limit.resource == "unknown" or limit.is_load_alone:
        return None
    # A pool is full because of what is behind it.
    held = f", inside {resource_words(limit.inside.pool)}" if limit.inside else ""
    return figures.listed([described(result, name, experiment) for name in limit.resources]) + held


def failures(result: VariantResult) -> str:
    """Says how a variant failed, with every moment: ``out of heap memory (trial 1, trial 2)``."""
    moments: dict[str, list[str]] = {}
    for failure in result.failures:
        moments.setdefault(failure.reason, []).append(failure.moment)
    return "; ".join(f"{reason} ({', '.join(when)})" for reason, when in moments.items()) or "the reason is not known"


def resource_names(limit: Bottleneck) -> str:
    """Names the resources for a table: ``cpu``, ``cpu and load``."""
    return figures.listed(limit.resources)


def bound_of(result: VariantResult, resource: str) -> Bound | None:
    """Returns the bound of that resource, where it has one."""
    return next((bound for bound in result.bounds if bound.resource == resource), None)


def serves(bound: Bound) -> str:
    """Writes a bound with its interval: ``about 47.1/s (38.7–57.3)``."""
    return f"about {figures.rate(bound.bound)}{figures.ends(bound.low, bound.high, figures.rate)}"


def _limit(analysis: Analysis, variant: str, result: VariantResult) -> str:
    limit, experiment = result.bottleneck, analysis.run.experiment
    if limit.inside is not None:
        return _inside(result, limit.inside)
    if limit.resource == "unknown":
        return f"limit unknown: nothing measured explains this throughput{_model(result)}"
    pauses = collecting(analysis, variant, "; ") if "cpu" in limit.resources else ""
    if limit.together:
        return _together(result, experiment) + pauses
    if limit.resource == "memory":
        heap = resource_words(limit.resource)
        heap += f" (heap {experiment.limits.heap})" if experiment.limits.heap else ""
        return f"limited by {heap}{collecting(analysis, variant, ': ')}"
    if limit.place is not None:
        return f"limited by {resource_words(limit.resource)}, as thread dumps show: requests wait at {limit.place}"
    if limit.resource not in RESOURCES:
        return f"limited by {described(result, limit.resource, experiment)}, as thread dumps show"
    text = f"limited by {described(result, limit.resource, experiment)}"
    is_arrivals = limit.resource == "load" and not isinstance(experiment.load, ClosedLoad)
    queued = analysis.over_windows(variant, "virtual_queued") if limit.resource == "carriers" else None
    if limit.bound is None and queued:
        return f"{text}: {figures.count(queued)} virtual threads at a time are ready and wait for one"
    if limit.bound is None or limit.utilisation is None or is_arrivals:
        return text
    bound = bound_of(result, limit.resource)
    if bound and bound.has_interval:
        text += f", at most {serves(bound)}" if limit.resource == "load" else f", which can serve {serves(bound)}"
    return text + (_model(result) if limit.utilisation < _NEAR else "") + pauses


def _model(result: VariantResult) -> str:
    return f"; the model expects {figures.rate(result.modelled)}" if result.modelled else ""


def _together(result: VariantResult, experiment: Experiment) -> str:
    limit = result.bottleneck
    shared = limit.resources
    limits = figures.listed([described(result, resource, experiment) for resource in shared])
    text = f"limited by {limits} together{_model(result)}"
    bounds = [(resource, bound_of(result, resource)) for resource in shared]
    separate = [f"{resource_words(name)} {serves(bound)}" for name, bound in bounds if bound and bound.has_interval]
    return text + (f"; alone they would allow: {figures.listed(separate)}" if len(separate) == len(shared) else "")


def _inside(result: VariantResult, inside: Inside) -> str:
    """Describes a pool that is full of holders for which something inside it takes longer than alone."""
    one = _UNITS.get(inside.pool, "one")
    text = (
        f"{_in_use(result, inside)} in use, but {one} is held for {figures.duration(inside.loaded)} under load and for"
        f" {figures.duration(inside.alone)} alone: "
    )
    text += "a larger pool does not help" if is_slow(inside) else "what a request does with it has become slower"
    if inside.activity is not None:
        text += f"; held by {activity_words(inside.activity)}" + (f", {inside.place}" if inside.place else "")
    return text


def is_slow(inside: Inside) -> bool:
    """Tells whether a unit of a full pool is held so much longer than alone that a larger pool does not help."""
    return inside.loaded >= _SLOW * inside.alone


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


def collecting(analysis: Analysis, variant: str, after: str, named: str = "it") -> str:
    """Says how much of the time the collector takes, where that is much. ``named``: what the sentence calls the
    variant."""
    pauses = long_pauses(analysis, variant)
    return f"{after}garbage collection pauses {named} for {figures.share(pauses)} of the time" if pauses else ""


def long_pauses(analysis: Analysis, variant: str) -> float | None:
    """Returns the share of the time in which collections pause a variant; None where that is little, or not known."""
    pauses = analysis.over_windows(variant, "gc_share")
    return None if pauses is None or pauses < _LONG_PAUSES else pauses


def _next(analysis: Analysis, variant: str) -> str:
    """Says what would limit it next; only a bound with an interval does. What has no meter may come sooner, unless more
    load was tried."""
    result, experiment = analysis.verdict.variants[variant], analysis.run.experiment
    bound = bound_of(result, result.next.resource) if result.next else None
    if bound is None or not bound.has_interval:
        return ""
    kind = "the nearest known" if result.bottleneck.resource == "unknown" else "of what is metered, the next"
    if went_further(analysis, variant, bound):
        kind = "the next"
    is_users = bound.resource == "load" and isinstance(experiment.load, ClosedLoad)
    name = load_words(experiment) if is_users else resource_words(bound.resource)
    return f"; {kind} limit is {name} at {serves(bound)}"


def went_further(analysis: Analysis, variant: str, bound: Bound) -> bool:
    """Tells whether the search for the load had twice the users of the run, and this variant served twice as much then,
    or as much as the bound allows: nothing without a meter limits it before."""
    curve, experiment = analysis.run.manifest.curve, analysis.run.experiment
    if curve is None or not isinstance(experiment.load, ClosedLoad):
        return False
    least = _NEAR * min(2 * analysis.verdict.variants[variant].throughput, bound.low or bound.bound)
    twice = [point for point in curve.points_of(variant) if point.users >= 2 * experiment.load.users]
    return any(point.throughput >= least for point in twice)


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
