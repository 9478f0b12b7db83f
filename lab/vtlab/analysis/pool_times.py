"""Time that a request waits for a unit of each pool, and holds one, by the pools' own meters.

Little's law: the requests that wait at a time over those that are served in a second.
"""

from __future__ import annotations

from collections.abc import Sequence

from vtlab.analysis.laws.demands import capacity
from vtlab.analysis.laws.phases import Measured, per_request, ratio, weighted
from vtlab.catalogue.resources import RESOURCES
from vtlab.model.records import ServerFigure, Trial
from vtlab.model.verdict import PoolTime

#: Levels of each pool: what waits for a unit, and the units in use.
_LEVELS: dict[str, tuple[ServerFigure, ServerFigure]] = {
    "db-pool": ("db_pool_pending", "db_pool_active"),
    "client-pool": ("client_pool_pending", "client_pool_active"),
    "executor": ("executor_queued", "executor_active"),
}
#: Pools whose timer begins with the hold. That of the client's pool begins before the wait for a connection.
_TIMED = ("db-pool", "executor")


def pool_times(measured: Measured) -> list[PoolTime]:
    """Computes the times at each pool that a variant has and its requests use; none where its meters lack a figure."""
    times = []
    for name, (pending, active) in _LEVELS.items():
        if capacity(measured, RESOURCES[name]) is None:
            continue
        waiting, holding = _seconds(measured.trials, pending), _holding(measured.trials, name, active)
        if waiting is not None and holding:
            times.append(PoolTime(name=name, waiting=waiting, holding=holding))
    return times


def _holding(trials: Sequence[Trial], name: str, active: ServerFigure) -> float | None:
    by_timer = per_request(trials, RESOURCES[name].hold) if name in _TIMED else None
    return _seconds(trials, active) if by_timer is None else by_timer


def _seconds(trials: Sequence[Trial], level: ServerFigure) -> float | None:
    """Computes the seconds of a request at a level, over the requests as the server counts them: those of which the
    pool's timer is a mean, too."""
    return ratio((weighted(t.server.get(level), t.window), _requests(t)) for t in trials)


def _requests(trial: Trial) -> float:
    served = trial.server.get("server_throughput")
    return (trial.throughput if served is None else served) * trial.window
