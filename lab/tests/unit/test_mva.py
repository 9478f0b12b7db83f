"""The throughput of closed networks, against exact recursions, bounds and limits that are known otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtlab.analysis.laws.mva import Network, Station, throughputs

stations = st.builds(
    lambda time, servers: Station(time, servers / time),
    st.floats(0.0005, 2),
    st.one_of(st.floats(0.1, 3), st.integers(1, 40).map(float)),
)


@st.composite
def networks(draw: st.DrawFn, most_users: int = 60) -> Network:
    names = [f"s{i}" for i in range(draw(st.integers(0, 3)))]
    return Network(
        outside=draw(st.floats(0, 3)),
        inside=draw(st.floats(0.001, 3)),
        stations={name: draw(stations) for name in names},
        inner_limits=draw(st.dictionaries(st.just("threads"), st.integers(1, most_users), max_size=1)),
        outer_limits={"load": draw(st.integers(1, most_users))},
    )


def mean_value_analysis(users: int, delay: float, demands: Sequence[float]) -> float:
    """Reiser and Lavenberg's recursion for stations with one server: R_k = D_k (1 + Q_k(n - 1))."""
    queues, throughput = [0.0] * len(demands), 0.0
    for n in range(1, users + 1):
        responses = [seconds * (1 + queue) for seconds, queue in zip(demands, queues, strict=True)]
        throughput = n / (delay + math.fsum(responses))
        queues = [throughput * response for response in responses]
    return throughput


def by_all_states(network: Network) -> float:
    """The throughput as the mean rate over all states of a Markov chain: requests outside, at the delay inside, at each
    station, and those that wait for a thread, which are inside for nobody."""
    users = min(network.outer_limits.values())
    limit = min(network.inner_limits.values(), default=users)
    alone = list(network.stations.values())

    def inner(n: int) -> float:
        """Sum of the weights of all states with n requests inside."""
        total = 0.0
        for state in compositions(n, len(alone) + 1):
            weight = network.inside ** state[0] / math.factorial(state[0])
            for count, station in zip(state[1:], alone, strict=True):
                for j in range(1, count + 1):
                    weight /= min(j / station.time, station.most)
            total += weight
        return total

    rates = [inner(n - 1) / inner(n) for n in range(1, limit + 1)]

    def outer(n: int) -> float:
        total = 0.0
        for at_station in range(n + 1):
            weight = network.outside ** (n - at_station) / math.factorial(n - at_station)
            for j in range(1, at_station + 1):
                weight /= rates[min(j, limit) - 1]
            total += weight
        return total

    return outer(users - 1) / outer(users)


def compositions(total: int, parts: int) -> Sequence[tuple[int, ...]]:
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in compositions(total - first, parts - 1)]


@given(
    users=st.integers(1, 80), delay=st.floats(0.001, 5), demands=st.lists(st.floats(0.001, 2), min_size=1, max_size=4)
)
def test_single_servers_are_those_of_exact_mean_value_analysis(users: int, delay: float, demands: list[float]) -> None:
    ours = throughputs(users, delay, [Station(seconds, 1 / seconds) for seconds in demands])
    assert ours[-1] == pytest.approx(mean_value_analysis(users, delay, demands), rel=1e-9)


@given(networks(most_users=7))
@settings(deadline=None)
def test_small_networks_are_those_of_all_their_states(network: Network) -> None:
    assert network.throughput() == pytest.approx(by_all_states(network), rel=1e-9)


@given(networks())
@settings(deadline=None)
def test_no_bound_is_exceeded(network: Network) -> None:
    users, x = min(network.outer_limits.values()), network.throughput()
    inside = network.inside + math.fsum(station.alone for station in network.stations.values())
    most = [users / (network.outside + inside), *(station.most for station in network.stations.values())]
    most += [limit / inside for limit in network.inner_limits.values()]
    assert 0 < x <= min(most) * (1 + 1e-9)


@given(networks(), st.floats(1.05, 3))
@settings(deadline=None)
def test_more_of_anything_never_harms(network: Network, factor: float) -> None:
    x = network.throughput()
    for name in (*network.stations, *network.inner_limits, *network.outer_limits):
        assert network.scaled(name, factor).throughput() >= x * (1 - 1e-9), name


@given(st.floats(0.001, 5), st.lists(stations, max_size=3))
def test_throughput_rises_with_each_user(delay: float, queueing: list[Station]) -> None:
    by_users = throughputs(50, delay, queueing)
    assert all(more >= fewer * (1 - 1e-9) for fewer, more in pairwise(by_users))


@given(users=st.integers(1, 300), response=st.floats(0.001, 10), think=st.floats(0, 10))
def test_without_queueing_it_is_littles_law(users: int, response: float, think: float) -> None:
    network = Network(think, response / 2, {"pool": Station(response / 2, 2 * users / response)}, {}, {"load": users})
    assert network.throughput() == pytest.approx(users / (response + think), rel=1e-9)


@pytest.mark.parametrize(("users", "share"), [(6, 0.867), (7, 0.827), (8, 0.864)])
def test_at_the_knee_a_sixth_is_lost_with_nothing_else_in_the_system(users: int, share: float) -> None:
    # 20 ms of waiting, 3.2 ms of one core.
    smallest = min(1 / 0.0032, users / 0.0232)
    assert throughputs(users, 0.020, [Station(0.0032, 1 / 0.0032)])[-1] / smallest == pytest.approx(share, abs=0.001)


def test_a_part_of_a_core_is_slower_alone_and_no_slower_shared() -> None:
    half = Station(0.010, 0.5 / 0.010)
    assert half.alone == 0.020
    assert list(throughputs(3, 0.0, [half])) == pytest.approx([50, 50, 50])


def test_twenty_thousand_users_neither_overflow_nor_lose_digits() -> None:
    cpu = Station(0.0003, 1 / 0.0003)
    assert throughputs(20_000, 0.0, [cpu])[-1] == pytest.approx(1 / 0.0003, rel=1e-7)
    assert throughputs(20_000, 10.0, [cpu])[-1] == pytest.approx(mean_value_analysis(20_000, 10.0, [0.0003]), rel=1e-7)
    waiting = Network(0.001, 1.0, {"cpu": cpu}, {"threads": 200}, {"load": 20_000})
    assert waiting.throughput() == pytest.approx(200 / 1.0003, rel=1e-4)
    assert np.isfinite(throughputs(20_000, 0.5, [cpu, Station(0.5, 4000), Station(0.1, 300)])).all()


def test_threads_limit_what_is_inside_as_if_the_inside_stood_alone() -> None:
    # Two threads share a core that each needs half of the time: X_in = throughput of two requests alone.
    inside = throughputs(2, 0.010, [Station(0.010, 100)])[-1]
    busy = Network(0.0, 0.010, {"cpu": Station(0.010, 100)}, {"threads": 2}, {"load": 500})
    assert busy.throughput() == pytest.approx(inside)


def test_nobody_is_served_without_capacity() -> None:
    network = Network(0.0, 1.0, {"pool": Station(1.0, 1.0)}, {"threads": 1}, {"load": 1})
    assert [network.scaled(name, 0).throughput() for name in ("pool", "threads", "load")] == [0, 0, 0]
