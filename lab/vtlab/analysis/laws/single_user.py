"""Time that a request takes alone, and a round of its user.

A service demand must not contain time spent waiting for another resource, or everything that waits would look busy:
with a CPU-bound service all 200 Tomcat threads are "busy", but what they wait for is the CPU. So what is held is
measured when nobody else is there, in the single-user phases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from vtlab.analysis.laws.estimates import NORMAL, Demand, estimate, quantile
from vtlab.analysis.laws.phases import Measured, per_ok, ratio, weighted
from vtlab.model.records import Trial

Array = NDArray[np.float64]

#: As a share of it, how far above what a request takes alone its interval may reach before light load is asked, too.
WIDE = 0.1
#: Phases of light load tell how long a request takes by their latency where they began so many times that long before
#: their window; and with so many requests in flight at any of their rates.
SETTLED = 4.0
MANY = 10.0
#: Answers of each kind of a mix that single users need: the mean of fewer is chance, and a kind that is rare and slow
#: may be most of the whole.
ANSWERS_OF_KIND = 5


def response_alone(trials: Sequence[Trial]) -> float | None:
    """Computes the mean client latency of single-user phases, seconds; of a mix the means of its kinds, by their
    shares, and None where a kind has no answer."""
    kinds = _kinds(trials)
    if not kinds:
        return _mean_response(trials)
    return ratio((seconds, share) for share, _, seconds in kinds.values())


def _kinds(trials: Sequence[Trial]) -> dict[str, tuple[float, int, float | None]]:
    """Computes share, answers and the mean weighted with the share of each kind; empty where there is one kind."""
    kinds: dict[str, tuple[float, int, float | None]] = {}
    for name, share in {kind.name: kind.share for t in trials for kind in t.kinds if kind.share > 0}.items():
        answered = [kind for t in trials for kind in t.kinds if kind.name == name and kind.ok and kind.mean is not None]
        mean = ratio((kind.mean and kind.mean * kind.ok, kind.ok) for kind in answered)
        kinds[name] = (share, sum(kind.ok for kind in answered), weighted(mean, share))
    return kinds


def lacks_kinds(trials: Sequence[Trial]) -> bool:
    """Tells whether single users had too few answers of a kind of the mix for a figure of the whole."""
    return any(answers < ANSWERS_OF_KIND for _, answers, _ in _kinds(trials).values())


def factor_of_few(parts: Array, answers: Array) -> Array:
    """Computes the factor within which the mean of a mix is known at most, over the last axis (kinds): 1.4 where half
    of it is a kind with nine answers.

    ``parts``: the mean of each kind, times its share. ``answers``: how many each has. The times of a kind count as if
    they were drawn from an exponential distribution: three phases that are alike by chance say nothing else.
    """
    error = np.sqrt((parts**2 / answers).sum(axis=-1)) / parts.sum(axis=-1)
    factor: Array = np.exp(NORMAL * error)
    return factor


def estimate_single(measured: Measured, value: Callable[[Sequence[Trial]], float | None]) -> Demand | None:
    """Estimates a demand by the single-user phases: of a mix no better than its kinds have answers."""
    alone = estimate(measured, lambda block: block.single, value)
    return alone.within(_factor(measured, 0)) if alone else None


def _factor(measured: Measured, beside: int) -> float:
    """Computes the factor within which a mix is known at most; 1 where there is one kind. ``beside``: answers of all
    kinds of other phases, by their shares."""
    kinds = [(part, answers + share * beside) for share, answers, part in _kinds(measured.single).values() if part]
    if len(kinds) < 2:
        return 1.0
    parts, answers = (np.array(column, dtype=np.float64) for column in zip(*kinds, strict=True))
    return float(factor_of_few(parts, answers))


def _mean_response(trials: Sequence[Trial]) -> float | None:
    return ratio((weighted(t.latency.mean, t.latency.count), t.latency.count) for t in trials if t.latency.count)


def shortest_response(measured: Measured) -> float | None:
    """Computes R_min: the mean client latency of the single-user phases, seconds."""
    return response_alone(measured.single)


def service_alone(trials: Sequence[Trial]) -> float | None:
    """Computes the seconds that an iteration holds threads when alone: the server's mean of its requests, without
    samples the client's."""
    service, response, mean = per_ok(trials, "service_time"), response_alone(trials), _mean_response(trials)
    if service is None or response is None or not mean:
        return response if service is None else service
    # The server does not tell kinds apart: its mean is of those that were sent. Tomcat's counter has milliseconds: of
    # requests that take less it says half of one, which is no longer than the client waits.
    return min(service, mean) * response / mean


def round_alone(trials: Sequence[Trial]) -> float | None:
    """Computes the seconds from one request of a lone user to the next: its response and what the user takes to send
    another.

    That is the inverse of the throughput. Of long requests a window holds few, and the one at its edge would count as a
    fifth more or less: there the throughput only says how short a round is at least not.
    """
    response, mean = response_alone(trials), _mean_response(trials)
    between = ratio((t.window, t.ok + 1) for t in trials)
    if response is None or mean is None or between is None:
        return None
    return response + max(0.0, between - mean)


def estimate_alone(measured: Measured, value: Callable[[Sequence[Trial]], float | None]) -> Demand | None:
    """Estimates what a request, or a round of its user, takes alone: by the single-user phases, and where their answers
    are too few for how much these differ, as of waits that are drawn, by light load, too; each phase counts as its
    answers do.

    Light load is a sixth and a half of the throughput, with a quarter of the CPU at most. At the half there is a queue
    at what has few servers: one busy for half of the time adds a quarter to evenly spaced requests, two less than a
    tenth, and of many none waits. So that rate counts only where ``MANY`` requests are in flight: what has few servers
    then takes a small part of each. None where a kind of a mix has too few answers.
    """
    if lacks_kinds(measured.single):
        return None
    alone, response = estimate_single(measured, value), response_alone(measured.single)
    if alone is None or alone.high is None or alone.high <= (1 + WIDE) * alone.seconds or not response:
        return alone
    light_phases = [t for t in measured.light if t.rate and t.ok and not t.failed]
    smallest = min((t.rate or 0.0 for t in light_phases), default=0.0)
    light_phases = [t for t in light_phases if t.rate == smallest or (t.rate or 0.0) * response >= MANY]
    phases = [(t.latency.mean, t.ok) for t in measured.single]
    phases += [(_response_under_light_load(t), t.ok) for t in light_phases]
    seconds_and_requests = [(seconds, ok) for seconds, ok in phases if seconds and ok]
    if len(seconds_and_requests) <= len(measured.single):
        return alone
    seconds, answers = (np.array(column, dtype=float) for column in zip(*seconds_and_requests, strict=True))
    weights = answers / answers.sum()
    mean = float(weights @ seconds)
    variance = float(weights @ np.log(seconds / mean) ** 2) / (len(seconds_and_requests) - 1)
    spread = math.exp(quantile(len(seconds_and_requests) - 1) * math.sqrt(variance))
    # What the thread, or the user's round, takes of the response, or beyond it, is known of the same requests.
    middle = mean * alone.seconds / response
    beside = sum(t.ok for t in light_phases)
    return Demand(middle, middle / spread, middle * spread).within(_factor(measured, beside))


def _response_under_light_load(trial: Trial) -> float | None:
    """Computes the seconds of a request under light load; None where that is not known.

    Who began shortly before the window has answers in it only where these were short. There Little's law tells it: the
    requests in flight, of which the window's edges are two samples, over the throughput.
    """
    mean, settled = trial.latency.mean, (trial.start - trial.begin) / 1000
    if mean is None or settled >= SETTLED * mean:
        return mean
    in_flight = (trial.in_flight.start + trial.in_flight.end) / 2
    return in_flight * trial.window / trial.ok if in_flight >= MANY else None


def uncertainty(measured: Measured) -> float:
    """Estimates the factor by which a request alone may take longer than its estimate; 1 where it is known within
    ``WIDE``, or where there is no model (``network_of``)."""
    alone = estimate_alone(measured, round_alone)
    if alone is None or alone.high is None:
        return 1.0
    beyond = alone.high / alone.seconds - 1
    return 1 + beyond if beyond > WIDE else 1.0


def demand_of_round(measured: Measured) -> Demand | None:
    alone, think = estimate_alone(measured, round_alone), measured.experiment.load.mean_think_time
    if alone is None:
        return None
    return Demand(
        alone.seconds + think,
        None if alone.low is None else alone.low + think,
        None if alone.high is None else alone.high + think,
    )
