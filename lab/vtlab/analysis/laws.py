"""Why a variant is as fast as it is: the bounds of the operational laws, and the throughput that they together allow.

Sources
    [1] P. Denning, J. Buzen: The Operational Analysis of Queueing Network Models. ACM Computing Surveys
        10 (1978).
        (utilisation law U = X·D/m, Little's law N = X·(R+Z))
    [2] E. Lazowska et al.: Quantitative System Performance, 1984, chapter 5. (asymptotic bounds)

Throughputs are OK requests per second, demands resource-seconds per OK request.

A demand must not contain time spent waiting for another resource, or everything that waits would look busy: with a
CPU-bound service all 200 Tomcat threads are "busy", but what they wait for is the CPU. So what is *held* is measured
when nobody else is there, in the single-user phases: threads, connections, the pools by their own timers. CPU seconds
are consumed, never waited for: their demand is that under load (with what load adds: garbage collection, switching)
where the CPU was used to half at least, less what the JVM uses when it is idle. With less load the fixed costs would
count as the requests': then it is the slope over an idle phase and light load.

Carriers are held for the CPU's time and while a thread is pinned. Both are time integrals. Without pinning they are
short only where the CPU is, and no resource of their own.

Bounds alone explain nothing at the knee, where two resources share the blame: a measurement is explained where it lies
between the throughput of a network of all of them (``vtlab.analysis.mva``) and the smallest bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from vtlab.analysis import places
from vtlab.analysis.mva import Network, Station
from vtlab.analysis.statistics import CONFIDENCE
from vtlab.catalogue.resources import EXCEEDED, HOLDS, REACHED, RESOURCES, Resource
from vtlab.model.experiment import ClosedLoad, Experiment
from vtlab.model.records import (
    Activity,
    Block,
    Bottleneck,
    Bound,
    Diagnosis,
    Inside,
    Instance,
    ServerFigure,
    Trial,
)

#: Half of the width, over its middle, that the interval of a demand may have for its bound to be relied on.
NARROW = 0.2
#: Phases of light load that a slope needs.
LEAST_PHASES = 5
#: As a share of it, how far above what a request takes alone its interval may reach before light load is asked, too.
WIDE = 0.1
#: The same, from which on nothing is known of it that could explain a measurement.
TOO_WIDE = 0.5
#: Phases of light load tell how long a request takes by their latency where they began so many times that long before
#: their window; and with so many requests in flight at any of their rates.
SETTLED = 4.0
MANY = 10.0
#: Share of its limit from which on the CPU's demand is measured under load.
BUSY = 0.5
#: A bound of a single value has no interval. It may be as small as this share of it: some were twice too large.
UNSURE = 0.5
#: Capacities grow by this share in the model, a pool of fewer than ten by one. Gains that differ by less are alike.
STEP = 0.1
#: Share of the CPU's demand from which on pinned seconds make carriers a resource of their own.
PINNED = 0.1
#: Share of the time in collections from which on memory is short, not the CPU: all other threads stand still in them.
COLLECTING = 0.1
#: Share of the heap in use after a full collection that leaves no room.
FULL_HEAP = 0.9
#: What stands behind a pool and is named so, not by the line of code that waits for it.
_BEHIND: tuple[Activity, ...] = ("database", "downstream")
#: What is named by the line of code that does it. The rest are waits for a pool.
_IN_CODE: tuple[Activity, ...] = ("lock", "wait", "computation")

UNKNOWN = Bottleneck(resource="unknown", utilisation=None, bound=None)


@dataclass(frozen=True)
class Phases:
    """What one block has of a variant."""

    trials: list[Trial]
    single: list[Trial]
    light: list[Trial]
    instances: list[Instance]
    diagnosis: Diagnosis | None = None


@dataclass(frozen=True)
class Measured:
    """One variant over blocks."""

    experiment: Experiment
    variant: str
    blocks: list[Phases]

    @property
    def trials(self) -> list[Trial]:
        return [t for block in self.blocks for t in block.trials]

    @property
    def single(self) -> list[Trial]:
        return [t for block in self.blocks for t in block.single]

    @property
    def light(self) -> list[Trial]:
        return [t for block in self.blocks for t in block.light]

    @property
    def instances(self) -> list[Instance]:
        return [i for block in self.blocks for i in block.instances]

    @property
    def diagnosis(self) -> Diagnosis | None:
        return next((block.diagnosis for block in self.blocks if block.diagnosis), None)

    @property
    def throughput(self) -> float | None:
        """OK requests per second over all windows; None without any window."""
        return ratio((t.ok, t.window) for t in self.trials)


@dataclass(frozen=True)
class Demand:
    """Resource-seconds per OK request, with their interval; None where single values give none."""

    seconds: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Explanation:
    """What bounds a variant, what would next, every bound there is, the smallest first, and the modelled throughput."""

    bottleneck: Bottleneck
    next: Bottleneck | None
    bounds: list[Bound]
    modelled: float | None = None


def measured(blocks: Sequence[Block], experiment: Experiment, variant: str) -> Measured:
    """What those blocks have of one variant."""

    def of_variant(trials: Sequence[Trial]) -> list[Trial]:
        return [t for t in trials if t.variant == variant]

    return Measured(
        experiment,
        variant,
        [
            Phases(
                of_variant(b.trials),
                of_variant(b.single),
                of_variant(b.light),
                [i for i in b.instances if i.variant == variant],
                b.diagnosis.get(variant),
            )
            for b in blocks
        ],
    )


# --- figures of several phases -----------------------------------------------


def ratio(parts: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Ratio of sums of (numerator, denominator) pairs; None where these sum to 0 or a value is None."""
    numerators, denominators = [], []
    for numerator, denominator in parts:
        if numerator is None or denominator is None:
            return None
        numerators.append(numerator)
        denominators.append(denominator)
    total = math.fsum(denominators)
    return math.fsum(numerators) / total if total > 0 else None


def demand_per_ok(trials: Sequence[Trial], name: ServerFigure) -> float | None:
    """Resource-seconds per OK request of a level (cores, threads): sum of level x window over sum of ok."""
    return ratio((_times(t.server.get(name), t.window), t.ok) for t in trials)


def mean_level(trials: Sequence[Trial], name: ServerFigure) -> float | None:
    """A level (cores, a share) over several windows."""
    return ratio((_times(t.server.get(name), t.window), t.window) for t in trials)


def _per_request(trials: Sequence[Trial], name: ServerFigure) -> float | None:
    """A mean per request over those windows that have it: a short one may lie between two scrapes."""
    known = [(value, t.ok) for t in trials if (value := t.server.get(name)) is not None and value >= 0]
    return ratio((value * ok, ok) for value, ok in known)


def _times(level: float | None, weight: float) -> float | None:
    return None if level is None or level < 0 else level * weight


def _estimate(
    m: Measured, of_block: Callable[[Phases], list[Trial]], value: Callable[[Sequence[Trial]], float | None]
) -> Demand | None:
    """A demand over all phases, with the t interval of the blocks' values on the logarithmic scale; of the phases'
    values where only one block has any."""
    by_block = [of_block(block) for block in m.blocks if of_block(block)]
    phases = [t for trials in by_block for t in trials]
    seconds = value(phases)
    if not seconds or seconds <= 0:
        return None
    groups = by_block if len(by_block) > 1 else [[t] for t in phases]
    values = [v for group in groups if (v := value(group)) is not None and v > 0]
    if len(values) < 2:
        return Demand(seconds)
    logs = np.log(values)
    half = _quantile(len(values) - 1) * float(logs.std(ddof=1)) / math.sqrt(len(values))
    return Demand(seconds, seconds * math.exp(-half), seconds * math.exp(half))


def _quantile(degrees: int) -> float:
    """Of Student's t, two-sided."""
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, degrees))


# --- capacities --------------------------------------------------------------


def cpu_capacity(instance: Instance) -> float:
    """Cores that the instance may use: its CPU limit, else the processors that its JVM sees."""
    return instance.cpu_limit if instance.cpu_limit is not None else float(instance.processors)


def capacity(m: Measured, resource: Resource) -> float | None:
    """How much of the resource there was; None where that was not measured, or the variant has none."""
    if resource.demand == "cpu":
        return min((cpu_capacity(i) for i in m.instances), default=None)
    if resource.demand == "load":
        load = m.experiment.load
        return float(load.users) if isinstance(load, ClosedLoad) else load.rate
    levels = [t.server.get(resource.metric("capacity")) for t in m.trials]
    known = [level for level in levels if level is not None and level > 0]
    return min(known) if known and len(known) == len(levels) else None


# --- demands -----------------------------------------------------------------


def demand(m: Measured, resource: Resource) -> Demand | None:
    """Resource-seconds per OK request, measured as the resource's row says; None where that was not measured."""
    match resource.demand:
        case "cpu":
            return cpu_demand(m)
        case "request":
            return _alone(m, service_alone)
        case "round":
            return _round(m)
        case "hold":
            return _hold(m, resource)
        case "pinned":
            return _on_carrier(m)
        case "load":
            # Closed: N users bound X to N/(R_min+Z) [2]. Open: X is at most the arrival rate.
            return _round(m) if isinstance(m.experiment.load, ClosedLoad) else Demand(1.0)


def response_alone(trials: Sequence[Trial]) -> float | None:
    """Mean client latency of single-user phases, seconds."""
    return ratio((_times(t.latency.mean, t.latency.count), t.latency.count) for t in trials if t.latency.count)


def shortest_response(m: Measured) -> float | None:
    """R_min: mean client latency of the single-user phases, seconds."""
    return response_alone(m.single)


def service_alone(trials: Sequence[Trial]) -> float | None:
    """Seconds that a request holds its thread when alone: the server's mean, without samples the client's."""
    service = _per_request(trials, "service_time")
    return response_alone(trials) if service is None else service


def round_alone(trials: Sequence[Trial]) -> float | None:
    """Seconds from one request of a lone user to the next: its response and what the user takes to send another.

    That is the inverse of the throughput. Of long requests a window holds few, and the one at its edge would count as a
    fifth more or less: there the throughput only says how short a round is at least not.
    """
    response = response_alone(trials)
    between = ratio((t.window, t.ok + 1) for t in trials)
    return None if response is None or between is None else max(response, between)


def _alone(m: Measured, value: Callable[[Sequence[Trial]], float | None]) -> Demand | None:
    """What a request, or a round of its user, takes alone: by the single-user phases, and where their answers are too
    few for how much these differ, as of waits that are drawn, by light load, too; each phase counts as its answers do.

    Light load is a sixth and a half of the throughput, with a quarter of the CPU at most. At the half there is a queue
    at what has few servers: one busy for half of the time adds a quarter to evenly spaced requests, two less than a
    tenth, and of many none waits. So that rate counts only where ``MANY`` requests are in flight: what has few servers
    then takes a small part of each.
    """
    alone, response = _estimate(m, lambda block: block.single, value), response_alone(m.single)
    if alone is None or alone.high is None or alone.high <= (1 + WIDE) * alone.seconds or not response:
        return alone
    lit = [t for t in m.light if t.rate and t.ok and not t.failed]
    smallest = min((t.rate or 0.0 for t in lit), default=0.0)
    lit = [t for t in lit if t.rate == smallest or (t.rate or 0.0) * response >= MANY]
    phases = [(t.latency.mean, t.ok) for t in m.single] + [(_response_lit(t), t.ok) for t in lit]
    known = [(seconds, ok) for seconds, ok in phases if seconds and ok]
    if len(known) <= len(m.single):
        return alone
    seconds, answers = (np.array(column, dtype=float) for column in zip(*known, strict=True))
    weights = answers / answers.sum()
    mean = float(weights @ seconds)
    variance = float(weights @ np.log(seconds / mean) ** 2) / (len(known) - 1)
    spread = math.exp(_quantile(len(known) - 1) * math.sqrt(variance))
    # What the thread, or the user's round, takes of the response, or beyond it, is known of the same requests.
    middle = mean * alone.seconds / response
    return Demand(middle, middle / spread, middle * spread)


def _response_lit(trial: Trial) -> float | None:
    """Seconds of a request under light load; None where that is not known.

    Who began shortly before the window has answers in it only where these were short. There Little's law tells it: the
    requests in flight, of which the window's edges are two samples, over the throughput.
    """
    mean, settled = trial.latency.mean, (trial.start - trial.begin) / 1000
    if mean is None or settled >= SETTLED * mean:
        return mean
    in_flight = (trial.in_flight.start + trial.in_flight.end) / 2
    return in_flight * trial.window / trial.ok if in_flight >= MANY else None


def _uncertainty(m: Measured) -> float:
    """How many times longer a request may take alone than its estimate; 1 where that is known within ``WIDE``, or so
    badly that it explains nothing."""
    alone = _alone(m, round_alone)
    if alone is None or alone.high is None:
        return 1.0
    beyond = alone.high / alone.seconds - 1
    return 1 + beyond if WIDE < beyond <= TOO_WIDE else 1.0


def think_time(experiment: Experiment) -> float:
    """Mean seconds that a user thinks between two requests; 0 under open load."""
    load = experiment.load
    return load.mean_think_time if isinstance(load, ClosedLoad) else 0.0


def _round(m: Measured) -> Demand | None:
    alone, think = _alone(m, round_alone), think_time(m.experiment)
    if alone is None:
        return None
    return Demand(
        alone.seconds + think,
        None if alone.low is None else alone.low + think,
        None if alone.high is None else alone.high + think,
    )


def idle_cores(m: Measured) -> float:
    """Cores that the JVM uses without any request; 0 where no phase was idle."""
    return mean_level([t for t in m.light if not t.rate], "cpu_cores") or 0.0


def cpu_demand(m: Measured) -> Demand | None:
    """CPU seconds per OK request beyond what the idle JVM uses; None where too little is known of it for a bound."""
    limit = capacity(m, RESOURCES["cpu"])
    used = mean_level(m.trials, "cpu_cores")
    if used is not None and limit is not None and used >= BUSY * limit:
        return _estimate(m, lambda block: block.trials, lambda trials: _cpu_consumed(trials, idle_cores(m)))
    light = [(t, t.server.get("cpu_cores")) for t in m.light if t.window > 0]
    return slope([(t.ok / t.window, cores) for t, cores in light if cores is not None])


def _cpu_consumed(trials: Sequence[Trial], idle: float) -> float | None:
    cores = [t.server.get("cpu_cores") for t in trials]
    return ratio(
        (None if level is None else max(0.0, level - idle) * t.window, t.ok)
        for t, level in zip(trials, cores, strict=True)
    )


def _cpu_at_most(m: Measured) -> float | None:
    """CPU seconds per OK request; where too little is known for a bound, with the JVM's fixed costs in it."""
    known = cpu_demand(m)
    return known.seconds if known else _cpu_consumed(m.trials, idle_cores(m))


def slope(points: Sequence[tuple[float, float]]) -> Demand | None:
    """Of cores over requests per second, by least squares; None where its t interval is wider than ``NARROW``.

    The interval of an accepted slope is as wide as that, not its own. Five points leave three degrees of freedom: what
    passes has often been made narrow by chance, and its own interval would hold the true slope in 82 % of the cases
    where levels scatter by 10 % of the highest. It is also one JVM's, and JVMs differ. Fewer points say too little to
    select by.
    """
    rates, cores = np.array([rate for rate, _ in points]), np.array([level for _, level in points])
    if len(points) < LEAST_PHASES or rates.max() <= rates.min():
        return None
    fitted = stats.linregress(rates, cores)
    half = _quantile(len(points) - 2) * float(fitted.stderr)
    seconds = float(fitted.slope)
    if seconds <= 0 or half > NARROW * seconds:
        return None
    return Demand(seconds, (1 - NARROW) * seconds, (1 + NARROW) * seconds)


def _hold(m: Measured, resource: Resource) -> Demand | None:
    """Seconds that a request holds a pool's units when nobody waits for them, by the pool's own timer."""
    timed = any(t.server.get(resource.hold) is not None for t in m.single)

    def alone(block: Phases) -> list[Trial]:
        """Light load, where no phase of a single user was long enough."""
        return block.single if timed else block.light

    held = _estimate(m, alone, lambda trials: _per_request(trials, resource.hold))
    error = resource.hold_error
    off_by = _per_request([t for block in m.blocks for t in alone(block)], error) if error else None
    if held is None or held.low is None or held.high is None or not off_by:
        return held
    return Demand(held.seconds, max(0.0, held.low - off_by), held.high + off_by)


def _pinned(m: Measured) -> Demand | None:
    """Seconds per OK request that its thread keeps a carrier and waits.

    Under load, or under light load where the shortest pins are counted, too. Not longer than the request takes alone: a
    pin that lasts longer waits for something else.
    """

    def pinned(trials: Sequence[Trial]) -> float | None:
        return demand_per_ok(trials, "pinned_seconds")

    estimates = [_estimate(m, lambda block: block.trials, pinned), _estimate(m, lambda block: block.light, pinned)]
    longest = max((e for e in estimates if e), key=lambda e: e.seconds, default=None)
    alone = service_alone(m.single)
    if longest is None or alone is None or longest.seconds <= alone:
        return longest
    return _estimate(m, lambda block: block.single, service_alone)


def _on_carrier(m: Measured) -> Demand | None:
    pinned, cpu = _pinned(m), _cpu_at_most(m) or 0.0
    if pinned is None or pinned.seconds < PINNED * cpu:
        return None
    ends = (None if end is None else end + cpu for end in (pinned.low, pinned.high))
    return Demand(pinned.seconds + cpu, *ends)


def is_single_user(experiment: Experiment) -> bool:
    """Whether the load is a single user, who sends one request after the other."""
    return isinstance(experiment.load, ClosedLoad) and experiment.load.users == 1


# --- bounds ------------------------------------------------------------------


def bounds(m: Measured) -> list[Bound]:
    """Every bound that the measurements give, the smallest first: X <= m_k / D_k [2]. Of equal bounds the one whose row
    comes first. What the idle JVM uses of the CPU is no request's."""
    throughput = m.throughput
    smallest_first = []
    for resource in RESOURCES.values():
        amount, needed = capacity(m, resource), demand(m, resource)
        if throughput is None or amount is None or needed is None:
            continue
        free = amount - idle_cores(m) if resource.demand == "cpu" else amount
        if free <= 0:
            continue
        bound = free / needed.seconds
        smallest_first.append(
            Bound(
                resource=resource.name,
                bound=bound,
                low=free / needed.high if needed.high else None,
                high=free / needed.low if needed.low else None,
                utilisation=throughput / bound,
                capacity=amount,
                service_demand=needed.seconds,
            )
        )
    return sorted(smallest_first, key=lambda b: b.bound)


def _is_narrow(m: Measured, bound: Bound) -> bool:
    if RESOURCES[bound.resource].demand == "load" and not isinstance(m.experiment.load, ClosedLoad):
        return True  # What arrives is asked for, not estimated.
    if bound.low is None or bound.high is None:
        return False
    # The demand is the reciprocal. Rounded, as that of the CPU may be as wide as is allowed.
    below, above = 1 - bound.bound / bound.high, bound.bound / bound.low - 1
    return round(max(below, above), 9) <= NARROW


def _is_refuted(m: Measured, bound: Bound) -> bool:
    """Whether more was measured than this bound allows; by the end of its interval where it hangs on how long a request
    takes alone, and that is not known well."""
    row = RESOURCES[bound.resource]
    is_of_rounds = row.demand in ("request", "round") or (row.demand == "load" and bound.low is not None)
    return bound.utilisation > EXCEEDED * (_uncertainty(m) if is_of_rounds else 1.0)


def _next(m: Measured, possible: Sequence[Bound], limiting: Sequence[str]) -> Bottleneck | None:
    """What would limit the variant, were there more of what does: the smallest bound that remains. None where that
    cannot be relied on: its interval is wide, or another that is wide, or the CPU's, may be smaller."""
    remaining = [b for b in possible if b.resource not in limiting]
    if not remaining or not _is_narrow(m, remaining[0]):
        return None
    smallest, *others = remaining
    least = [UNSURE * b.bound if b.low is None else b.low for b in others if not _is_narrow(m, b)]
    cpu, limit = _cpu_at_most(m), capacity(m, RESOURCES["cpu"])
    if cpu and limit and "cpu" not in {b.resource for b in possible}:
        least.append((limit - idle_cores(m)) / cpu)
    return _named(smallest) if all(low >= smallest.bound for low in least) else None


def _named(bound: Bound) -> Bottleneck:
    return Bottleneck(resource=bound.resource, utilisation=bound.utilisation, bound=bound.bound)


# --- the model ---------------------------------------------------------------


def _network(m: Measured, possible: Mapping[str, Bound], with_cpu: bool, longer: float = 1.0) -> Network | None:
    """The variant as a network of what is known of it alone, with these capacities, and the CPU where it has no bound,
    too; None where it is not known how long a request takes alone. It takes so many times longer."""
    alone, held, load = _alone(m, round_alone), _alone(m, service_alone), m.experiment.load
    if alone is None or (isinstance(load, ClosedLoad) and "load" not in possible):
        return None
    response = longer * alone.seconds
    service = min(longer * held.seconds if held else response, response)
    inner, outer, parts = {}, {"load": load.users}, {}
    cpu, limit = _cpu_at_most(m), capacity(m, RESOURCES["cpu"])
    if cpu and limit and with_cpu:
        parts["cpu"] = Station(cpu, (limit - idle_cores(m)) / cpu)
    for name, bound in possible.items():
        match RESOURCES[name].demand:
            case "request":
                inner[name] = round(bound.capacity)
            case "round":
                outer[name] = round(bound.capacity)
            case "hold":
                parts[name] = Station(bound.service_demand, bound.bound)
            case "pinned":
                parts[name] = Station(max(0.0, bound.service_demand - (cpu or 0.0)), bound.bound)
    stations = _fitted(parts, service)
    return Network(
        outside=response - service + think_time(m.experiment),
        inside=max(0.0, service - math.fsum(station.alone for station in stations.values())),
        stations=stations,
        inner_limits=inner,
        outer_limits=outer,
    )


def _fitted(stations: Mapping[str, Station], service: float) -> dict[str, Station]:
    """The same stations, with shorter times where the parts of a request take longer than the whole: they overlap. Who
    holds a connection computes, a task of an executor holds a connection, and eight tasks run at once. What each
    station allows at most stays, but for those that a request alone uses up at the same time."""
    stations = _counted_once(stations, service)
    least = math.fsum(1 / station.most for station in stations.values())
    whole = math.fsum(station.alone for station in stations.values())
    if whole <= service:
        return dict(stations)
    share = max(0.0, service - least) / (whole - least) if whole > least else 0.0

    def shorter(station: Station) -> Station:
        least_of_it = 1 / station.most
        if station.time <= least_of_it:
            return station
        return Station(least_of_it + share * (station.time - least_of_it), station.most)

    return {name: shorter(station) for name, station in stations.items()}


def _counted_once(stations: Mapping[str, Station], service: float) -> dict[str, Station]:
    """Without the time that a request alone keeps two stations at their limits at once: eight tasks that compute fill
    the CPU and hold an executor's eight threads. It counts for the CPU where the request fills that from its beginning
    to its end, since the holders wait for it; else for the station that allows less."""
    twice = math.fsum(1 / station.most for station in stations.values()) - service
    counted = dict(stations)

    def rank(name: str) -> tuple[bool, float]:
        fills = name == "cpu" and 1 / stations[name].most >= REACHED * service
        return not fills, stations[name].most

    for name in sorted(stations, key=rank, reverse=True)[:-1]:
        least = 1 / stations[name].most
        if twice >= least:
            del counted[name]
        elif twice > 0:
            counted[name] = replace(stations[name], most=1 / (least - twice))
        twice -= min(max(0.0, twice), least)
    return counted


def _limiting(network: Network, possible: Mapping[str, Bound]) -> list[str]:
    """The resources whose capacity, were there more of it, would raise the modelled throughput most, by per cent, and
    those that differ from it by less than a tenth; the load last.

    Where more of a single one hardly helps, as of one thread that computes all the time on one core, those count of
    which less would harm most.
    """
    throughput = network.throughput()

    def effect(name: str, sign: int) -> float:
        amount = possible[name].capacity
        step = sign * (STEP if RESOURCES[name].demand == "cpu" else max(1, round(STEP * amount)) / amount)
        # Beyond nine digits there is only what the arithmetic lost.
        return round((network.scaled(name, 1 + step).throughput() / throughput - 1) / step, 9)

    names = [name for name in RESOURCES if name in possible]
    effects = {name: effect(name, +1) for name in names}
    if max(effects.values(), default=0.0) < STEP:
        effects = {name: effect(name, -1) for name in names}
    most = max(effects.values(), default=0.0)
    limiting = [name for name in names if most > 0 and effects[name] >= (1 - STEP) * most]
    return sorted(limiting, key=lambda name: (RESOURCES[name].demand == "load", -effects[name]))


# --- the explanation ---------------------------------------------------------


def explain(m: Measured, overloaded: bool = False) -> Explanation:
    """The bottleneck, where the measurement is explained: it lies between 0.9 of the modelled throughput and 1.1 of the
    smallest bound, and both ends allow for what is not known of a request alone (``_uncertainty``). A bound that the
    measurement refutes is listed, but neither bottleneck nor next, nor in the model.

    Below, a pool that is full far below its bound is named with what its holders do; else ``memory`` where that is
    short, since a core idles while another collects and all threads stand still; else the place where requests wait by
    thread dumps, or ``unknown``. Open load that the variant keeps up with (``overloaded`` false) is the bottleneck.
    Without a model, for want of single-user phases, the smallest bound is, where it is reached.
    """
    all_bounds, throughput = bounds(m), m.throughput
    not_refuted = [b for b in all_bounds if not _is_refuted(m, b)]
    possible = {b.resource: b for b in not_refuted}
    if not throughput:
        return Explanation(UNKNOWN, None, all_bounds)
    if not isinstance(m.experiment.load, ClosedLoad):
        (arrivals,) = (b for b in all_bounds if RESOURCES[b.resource].demand == "load")
        if not overloaded:
            most = min(b.bound for b in (arrivals, *not_refuted))
            return Explanation(_named(arrivals), _next(m, not_refuted, [arrivals.resource]), all_bounds, most)
        possible.pop(arrivals.resource, None)
    refuted = {b.resource for b in all_bounds} - {b.resource for b in not_refuted}
    with_cpu = "cpu" not in refuted
    limiting, modelled = _by_model(m, throughput, possible, with_cpu)
    if not limiting and (pool := _by_holders(m, throughput, possible, with_cpu)):
        limiting, modelled = pool
    if limiting:
        bottleneck = _named(possible[limiting[0]]).model_copy(update={"together": limiting[1:]})
        if "cpu" in limiting and _memory_is_short(m):
            first, *others = ["memory" if name == "cpu" else name for name in limiting]
            bottleneck = bottleneck.model_copy(update={"resource": first, "together": others})
    else:
        memory = UNKNOWN.model_copy(update={"resource": "memory"}) if _memory_is_short(m) else None
        bottleneck = _inside(m, possible) or memory or _at_place(m) or UNKNOWN
        limiting = [bottleneck.inside.pool] if bottleneck.inside else []
    # With more memory collections take less of the CPU: its bound is another then.
    following = None if bottleneck.resource == "memory" else _next(m, not_refuted, limiting)
    return Explanation(bottleneck, following, all_bounds, modelled)


def cpu_share(m: Measured) -> float | None:
    """Share of its CPU limit that the variant used in its trials."""
    limit, cores = capacity(m, RESOURCES["cpu"]), mean_level(m.trials, "cpu_cores")
    return cores / limit if limit and cores is not None else None


def _by_model(
    m: Measured, throughput: float, possible: Mapping[str, Bound], with_cpu: bool
) -> tuple[list[str], float | None]:
    """What limits the variant, nothing where that is not explained; and the modelled throughput, where it is known."""
    network = _network(m, possible, with_cpu)
    if network is None:
        smallest = list(possible.values())[:1]
        return [b.resource for b in smallest if b.utilisation >= REACHED], None
    modelled, longer = network.throughput(), _uncertainty(m)
    slower = _network(m, possible, with_cpu, longer) if longer > 1 else None
    least = slower.throughput() if slower else modelled
    return _limiting(network, possible) if throughput >= REACHED * least else [], modelled


def _memory_is_short(m: Measured) -> bool:
    collecting = mean_level(m.trials, "gc_share")
    live = [share for t in m.trials if (share := t.server.get("live_heap_share")) is not None]
    return (collecting or 0.0) >= COLLECTING or max(live, default=0.0) >= FULL_HEAP


def _full_pools(m: Measured, possible: Mapping[str, Bound]) -> dict[str, float]:
    """The share in use of each innermost pool that is full and has a bound."""
    full = {
        name: share
        for name, row in RESOURCES.items()
        if row.demand == "hold" and (share := mean_level(m.trials, row.metric("utilization"))) and share >= REACHED
    }
    return {name: share for name, share in full.items() if name in possible and full.keys().isdisjoint(HOLDS[name])}


def _by_holders(
    m: Measured, throughput: float, possible: Mapping[str, Bound], with_cpu: bool
) -> tuple[list[str], float] | None:
    """A full pool whose holders wait for each other's CPU time, where that explains the measurement: the pool, with the
    CPU where more of it would help as much, and the modelled throughput.

    The model of the whole has the CPU beside the pools. Here all of a request's CPU time falls into its hold.
    """
    cpu, limit = _cpu_at_most(m), capacity(m, RESOURCES["cpu"])
    if not cpu or not limit or not with_cpu:
        return None
    for name in _full_pools(m, possible):
        bound = possible[name]
        stations = _fitted({"cpu": Station(cpu, (limit - idle_cores(m)) / cpu)}, bound.service_demand)
        waiting = max(0.0, bound.service_demand - stations["cpu"].alone)
        holders = Network(0.0, waiting, stations, {}, {name: round(bound.capacity)})
        modelled = holders.throughput()
        if throughput >= REACHED * modelled:
            return _limiting(holders, {key: possible[key] for key in (name, "cpu") if key in possible}), modelled
    return None


def _running(m: Measured) -> float:
    """Share of the time, at least, in which the threads could run: no collection stopped them, and no period of the CPU
    quota in which it ran out."""
    collecting, throttled = (mean_level(m.trials, name) or 0.0 for name in ("gc_share", "throttled_periods"))
    return max(0.0, 1 - collecting) * max(0.0, 1 - throttled)


def _inside(m: Measured, possible: Mapping[str, Bound]) -> Bottleneck | None:
    """What is slow inside a full pool: the innermost that is full although its bound is not reached, whatever the
    interval of its hold alone, the pauses of collections and the CPU quota allow. None where there is no such pool, or
    the CPU or the carriers are short: they lengthen every hold."""
    limit, cores = capacity(m, RESOURCES["cpu"]), mean_level(m.trials, "cpu_cores")
    if limit and cores is not None and cores >= REACHED * limit:
        return None
    carriers, pinned = capacity(m, RESOURCES["carriers"]), mean_level(m.trials, "pinned_seconds")
    if carriers and pinned and pinned + (cores or 0.0) >= REACHED * carriers:
        return None
    running = _running(m)
    full = _full_pools(m, possible)
    innermost = []
    for name, share in full.items():
        bound = possible[name]
        if bound.low is not None and bound.utilisation * bound.bound < REACHED * bound.low * running:
            loaded = share * bound.service_demand / bound.utilisation
            innermost.append(Inside(pool=name, alone=bound.service_demand, loaded=loaded))
    if not innermost:
        return None
    inside = max(innermost, key=lambda pool: pool.loaded / pool.alone)
    bound = possible[inside.pool]
    held = full[inside.pool] * bound.capacity
    alone = bound.service_demand * (_diagnosed_throughput(m) or 0.0)
    cause = places.cause(m.diagnosis, inside.pool, held=held, alone=alone) if m.diagnosis else None
    if cause:
        place = None if cause.activity in _BEHIND else cause.place
        inside = inside.model_copy(update={"activity": cause.activity, "place": place})
    return UNKNOWN.model_copy(update={"resource": _name(cause), "inside": inside})


def _at_place(m: Measured) -> Bottleneck | None:
    """The place where requests spend what they take longer than alone, by thread dumps; None where no place has most of
    it, or they wait for a pool whose meters say otherwise. Of a pool without meters it is the pool itself, where all
    else takes no longer than alone: then more connections help. Else it is what is behind the pool, where the holders
    wait for that for longer than requests take alone."""
    running, service = _running(m), _alone(m, service_alone)
    if not service or not running:
        return None
    # The longest that one may take alone. A thread whose wait has ended still shows it in a dump until it can run.
    alone = (service.high or service.seconds) * (_diagnosed_throughput(m) or 0.0) / running
    # With no more requests than if each took as long as alone, nothing inside the service keeps them.
    if not m.diagnosis or not alone or m.diagnosis.threads <= EXCEEDED * alone:
        return None
    cause = places.cause(m.diagnosis, alone=alone)
    if cause and cause.activity in places.OF_HOLDERS and capacity(m, RESOURCES[cause.activity]) is None:
        return UNKNOWN.model_copy(update={"resource": _of_pool(m.diagnosis, cause.activity, alone)})
    return UNKNOWN.model_copy(update={"resource": _name(cause)})


def _of_pool(diagnosis: Diagnosis, pool: str, alone: float) -> str:
    """What limits requests that wait for a pool without meters. ``alone``: how many there would be at a time if each
    took as long as alone."""
    threads = dict.fromkeys((pool, places.OF_HOLDERS[pool]), 0.0)
    for place in diagnosis.places:
        if place.activity in threads:
            threads[place.activity] += place.threads
    if diagnosis.threads - threads[pool] <= EXCEEDED * alone:
        return pool
    behind = places.OF_HOLDERS[pool]
    return behind if threads[behind] > EXCEEDED * alone else UNKNOWN.resource


def _diagnosed_throughput(m: Measured) -> float | None:
    """OK requests per second while the dumps were taken: where something had disturbed the trials that count, more than
    in these."""
    known = m.diagnosis.throughput if m.diagnosis else None
    return m.throughput if known is None else known


def _name(cause: places.Cause | None) -> str:
    """What a bottleneck is called that thread dumps show."""
    if cause and cause.activity in _BEHIND:
        return cause.activity
    return cause.place if cause and cause.place and cause.activity in _IN_CODE else UNKNOWN.resource
