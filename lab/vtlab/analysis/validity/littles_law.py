"""Little's law: the answers of a closed trial account for its users, N = X·(R+Z)."""

from __future__ import annotations

import math

from vtlab.analysis.validity.check import Check, Value, all_trials, moment_of
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.load import ClosedLoad
from vtlab.model.records import Trial
from vtlab.model.units import percent

#: Users that Little's law may leave unaccounted for, as a share, beside those that a window's edges cut off.
MOST_MISSING = 0.10
#: Answers are alike where so many are not longer than that many times the median: then users keep their places.
ALIKE = 1.2


def missing_users(trial: Trial, experiment: Experiment) -> float | None:
    """Counts the users that the answers of a closed trial do not account for; None where they account for all within 10
    % and what the window's edges cut off, or under open load. Below 0 where they account for more users than there are.

    Little's law: N = X·(R+Z). A user whose answer is an error waits for it as others do, one that times out waits for
    ``max_response``. In place of X·Z stand those who wait for no answer, where they were counted: with answers of a
    millisecond the load generator's own time is a tenth of a round and more.
    """
    load = experiment.load
    if not isinstance(load, ClosedLoad) or trial.rate is not None or trial.window <= 0 or _is_unsettled(trial):
        return None
    longest = units.seconds(experiment.max_response)
    timeouts = trial.failed.get("timeout", 0)
    answers = trial.ok + sum(trial.failed.values()) - timeouts
    waiting = (answers * (trial.latency.mean or 0.0) + timeouts * longest) / trial.window
    thinking = (answers + timeouts) * load.mean_think_time / trial.window
    missing = trial.users - waiting - (thinking if trial.between is None else trial.between)
    return missing if abs(missing) > (MOST_MISSING + _cut_off(trial, load)) * trial.users else None


def _is_unsettled(trial: Trial) -> bool:
    """Tells whether throughput was steady in the window and latency was not, which is then not recorded."""
    return trial.ok > 0 and not trial.latency.count


def _cut_off(trial: Trial, load: ClosedLoad) -> float:
    """Returns the share of the users that a healthy window may count too few or too many, because it cuts rounds at its
    edges.

    The answers in it account for what users waited before it, and not for what they wait at its end. These differ by a
    round of each user at most where all begin together, as without a known round. Where rounds differ they do by
    chance: a user has waited for one round on average with as much standard deviation, at either edge. Users who are
    spread over a round and keep their places wait as long at both, but for the share by which that round was another.
    """
    latency = trial.latency
    seconds = (latency.mean or 0.0) + load.mean_think_time
    alike = latency.p50 is not None and latency.p90 is not None and latency.p90 <= ALIKE * latency.p50
    by_chance = 0.0 if alike and not load.is_think_time_exponential else 3 * math.sqrt(2 / trial.users)
    together = 0.0 if trial.variant in load.round else 1.0
    if trial.round is not None and seconds:
        together = min(together, abs(trial.round / seconds - 1))
    return seconds / trial.window * max(by_chance, together)


def _little(trial: Trial, experiment: Experiment) -> Value | None:
    if not isinstance(experiment.load, ClosedLoad) or _is_unsettled(trial):
        return None
    missing = missing_users(trial, experiment)
    if missing is None:
        return Value(0, "all users", "", trial.variant, moment_of(trial))
    off = abs(missing) / trial.users
    text = f"{abs(missing):,.0f} users {'missing' if missing > 0 else 'too many'}"
    reason = f"the answers account for {trial.users - missing:,.0f} of {trial.users:,} users"
    return Value(off, text, reason, trial.variant, moment_of(trial))


LITTLES_LAW = Check(
    "Little's law",
    "mark",
    f"throughput x latency, plus users between two requests, within {percent(MOST_MISSING)} of all users, except cut"
    " rounds",
    all_trials,
    _little,
    MOST_MISSING,
)
