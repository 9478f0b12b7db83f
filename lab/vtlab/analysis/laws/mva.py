"""Throughput of a closed queueing network, exactly, from what its parts do alone. Pure functions.

Sources
    [1] J. Buzen: Computational Algorithms for Closed Queueing Networks with Exponential Servers. Communications of the
        ACM 16 (1973). (the normalising constants by convolution: X(n) = G(n-1) / G(n))
    [2] K. Chandy, U. Herzog, L. Woo: Parametric Analysis of Queuing Networks. IBM Journal of Research and Development
        19 (1975). (a part of a network as one station that serves as that part alone would)
    [3] E. Lazowska et al.: Quantitative System Performance, 1984, chapters 8 and 9. (flow equivalence; a limit to how
        many requests are inside a part)

Exact for product-form networks: delays and processor sharing have that form whatever the service times' distribution,
queues for several servers where these times are exponential. Constant times queue less: a measurement may lie above.

Of 20,000 users G(n) would overflow: everything here is the logarithm of G.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Station:
    """Serves ``n`` requests at the rate min(n / time, most): processor sharing, or servers of which each holds one
    request. There are ``most * time`` servers, not necessarily a whole number: half of a core is 0.5."""

    #: Seconds that a request takes with the station's whole capacity free.
    time: float
    #: Requests per second that the capacity allows.
    most: float

    @property
    def alone(self) -> float:
        """Seconds that a request takes when it is alone: half of a core needs twice as long."""
        return max(self.time, 1 / self.most)


@dataclass(frozen=True)
class Network:
    """Users who are outside for a while, then inside, where a limited number of requests may be."""

    #: Seconds outside (the time to think), and seconds inside that need no station.
    outside: float
    inside: float
    stations: Mapping[str, Station]
    #: Each of these limits how many requests are inside.
    inner_limits: Mapping[str, int]
    #: Each of these limits how many users there are.
    outer_limits: Mapping[str, int]

    def throughput(self) -> float:
        """Computes the requests per second."""
        users = min(self.outer_limits.values())
        limit = min(self.inner_limits.values(), default=users)
        if min([users, limit, *(station.most for station in self.stations.values())]) <= 0:
            return 0.0
        if limit >= users:
            return float(throughputs(users, self.outside + self.inside, self.stations.values())[-1])
        # Seen from outside, the inside is one station [2]: n requests are served as fast as min(n, limit) alone are.
        rates = throughputs(limit, self.inside, self.stations.values())
        served = np.cumsum(np.concatenate(([0.0], -np.log(rates), np.full(users - limit, -math.log(rates[-1])))))
        delayed = _delay(users, self.outside)

        def log_g(n: int) -> float:
            return float(special.logsumexp(served[: n + 1] + delayed[n::-1]))

        return math.exp(log_g(users - 1) - log_g(users))

    def scaled(self, name: str, factor: float) -> Network:
        """Returns the network with the capacity of a station or a limit scaled by a factor."""

        def limits(these: Mapping[str, int]) -> dict[str, int]:
            return {key: round(value * factor) if key == name else value for key, value in these.items()}

        stations = {
            key: replace(station, most=station.most * factor) if key == name else station
            for key, station in self.stations.items()
        }
        return replace(
            self,
            stations=stations,
            inner_limits=limits(self.inner_limits),
            outer_limits=limits(self.outer_limits),
        )


def throughputs(users: int, delay: float, stations: Iterable[Station]) -> Array:
    """Computes the requests per second of 1, 2, … users, each of whom is delayed and then visits each station once
    [1]."""
    queueing = []
    for station in stations:
        # Where nobody ever waits for a server, a station is a delay.
        if station.most * station.time >= users:
            delay += station.time
        else:
            queueing.append(station)
    log_g = _delay(users, delay)
    for station in queueing:
        log_g = _with_station(log_g, station)
    return np.exp(log_g[:-1] - log_g[1:])


def _delay(users: int, seconds: float) -> Array:
    """Computes the logarithms of seconds^n / n! for 0, 1, … users."""
    n = np.arange(users + 1, dtype=float)
    return special.xlogy(n, seconds) - special.gammaln(n + 1)


def _with_station(log_g: Array, station: Station) -> Array:
    """Computes the logarithms of G with one station more.

    The station's own factors are those of a delay as long as each request has a server, and then fall by ``most`` with
    each request: of this geometric tail the convolution is a running sum.
    """
    users = len(log_g) - 1
    # From one request more on, each is served at the full rate.
    served_at_once = max(0, math.ceil(station.most * station.time) - 1)
    factors = _delay(served_at_once, station.time)
    n = np.arange(users + 1)
    rise = n * math.log(station.most)
    running = np.logaddexp.accumulate(log_g + rise) - rise
    result = np.full(users + 1, -math.inf)
    result[served_at_once:] = factors[served_at_once] + running[: users + 1 - served_at_once]
    for j in range(served_at_once):
        result[j:] = np.logaddexp(result[j:], factors[j] + log_g[: users + 1 - j])
    return result
