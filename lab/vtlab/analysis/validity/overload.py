"""Overload: a variant that does not keep up with open load.

Such a variant has more requests in flight at the end of its window than at the beginning, by more than chance, or its
users are all busy and arrivals are dropped; and it completes less than arrives in both halves of the window. A queue of
a few long requests does so, too, though the variant keeps up, and then it is chance in which block of which variant. So
it is overloaded only where one of its bounds says so, or where it lags in every half of all windows of several blocks,
while another variant keeps up or its users are all busy. With a healthy load generator it is overloaded: its trial
counts, and its latency has no bound. Its time-outs are the same finding and do not fail it; any other error does.
Failures outside the window have no recorded reason and are not judged in an overloaded trial. With a saturated load
generator dropped arrivals reject, because the checks of the load generator do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from vtlab.analysis.laws.bounds import bounds
from vtlab.analysis.laws.phases import Measured, measured_variant
from vtlab.analysis.validity.generator import GENERATOR
from vtlab.catalogue.resources import RESOURCES
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial, typical_trials

#: Share of arrivals that may be dropped before the variant counts as overloaded.
MOST_DROPPED = 0.001
#: Requests in flight that may be added within a window, as a share of its arrivals, and in standard deviations of the
#: difference of two counts by chance.
MOST_ADDED = 0.01
ADDED_BY_CHANCE = 3.0
#: Blocks from which on it shows an overload that less was completed than arrived in every half of all windows, by the
#: number of signs: another variant keeps up with the same arrivals, and arrivals were dropped in each window, as all
#: users were busy. Of two variants that are alike and keep up, one is called overloaded at some look in less than 1 %
#: of runs at nine tenths of what they serve; by three blocks beside another it was 2 % (``simulated_queues``).
BLOCKS_THAT_LAG = {1: 4, 2: 3}


def growths_of_overloaded(blocks: Sequence[Block], experiment: Experiment, variant: str) -> list[float]:
    """Computes the growth of each trial of a variant that is overloaded; none for a variant that keeps up, or of which
    nothing says that it does not."""
    measured = measured_variant(blocks, experiment, variant)
    found = growths_over_trials(measured.trials, experiment)
    return found if found and _is_no_chance(blocks, measured) else []


def is_growing(measured: Measured) -> bool:
    """Tells whether a variant falls behind the arrivals of its trials: an overload, or a queue that is not steady."""
    return bool(growths_over_trials(measured.trials, measured.experiment))


def blocks_at_typical_load(blocks: Sequence[Block], experiment: Experiment, variant: str) -> int:
    """Counts the blocks at whose typical load a variant is overloaded."""
    grown = sum(any(overloaded(t, experiment) for t in _at_rate([b], experiment, variant)) for b in blocks)
    return grown if grown and _is_no_chance(blocks, measured_variant(blocks, experiment, variant)) else 0


def _at_rate(blocks: Sequence[Block], experiment: Experiment, variant: str) -> list[Trial]:
    """Selects a variant's windows of open load."""
    return [t for block in blocks for t in typical_trials(block, experiment) if t.variant == variant]


def _is_no_chance(blocks: Sequence[Block], measured: Measured) -> bool:
    """Tells whether the rate is too much for the variant by a bound or by what full load shows, or less was completed
    than arrived in every half of all windows of enough blocks, with a sign that this is no queue of long requests."""
    experiment, variant = measured.experiment, measured.variant
    if _is_too_much(blocks, measured):
        return True
    windows = _at_rate(blocks, experiment, variant)
    are_busy = all(dropped_share(t) > MOST_DROPPED for t in windows)
    enough = BLOCKS_THAT_LAG.get(are_busy + _another_keeps_up(blocks, experiment, variant))
    if enough is None or len(blocks) < enough:
        return False
    return all(t.answers is not None and all(_lags(t)) for t in windows)


def _is_too_much(blocks: Sequence[Block], measured: Measured) -> bool:
    """Tells whether a variant can serve no more than the rate: by what full load shows, else by a bound."""
    experiment = measured.experiment
    rate = max((t.rate or 0.0 for t in _at_rate(blocks, experiment, measured.variant)), default=0.0)
    if experiment.typical_beside is not None:
        most = [measured.throughput] if measured.throughput else []
    else:
        most = [b.bound for b in bounds(measured) if RESOURCES[b.resource].demand != "load"]
    return min(most, default=math.inf) <= rate


def _another_keeps_up(blocks: Sequence[Block], experiment: Experiment, variant: str) -> bool:
    others = {t.variant for block in blocks for t in typical_trials(block, experiment)} - {variant}
    return any(not growths_over_trials(_at_rate(blocks, experiment, other), experiment) for other in others)


def _lags(trial: Trial) -> list[bool]:
    """Tells of each half of a window whether less was completed in it than arrived; empty where that is not known."""
    if trial.answers is None:
        return []
    halves = trial.answers.halves
    return [completed < arrived for arrived, completed in zip(halves.arrived, halves.completed, strict=True)]


def growths_over_trials(trials: Sequence[Trial], experiment: Experiment) -> list[float]:
    """Computes the growth of each of a variant's trials in which it fell behind; none where chance explains them.

    A queue that comes and goes, as of a CPU that is used to nine tenths, adds more to some windows than the limit of
    one trial and takes as much away in others. Without dropped arrivals a variant falls behind only where all its
    trials together add more than their limit. The two trials of a block have the same arrivals.

    Where they do, that it falls behind is no chance, and each trial counts that added more than its share of arrivals:
    with 5 % too much load hardly one does not. (Of four that fall behind alike one often stays below its own limit. A
    single trial that added a lot makes the others count only if they grew, too.)
    """
    allowed = [(t, limits) for t in trials if (limits := _most_added(t, experiment))]
    added = sum(_added(t) for t, _ in allowed)
    alike = min(experiment.windows.trials, len(trials))
    by_chance = math.sqrt(alike * math.fsum(chance**2 for _, (_, chance) in allowed))
    is_growing = added > math.fsum(share for _, (share, _) in allowed) + by_chance
    grown = [_growth(t, experiment, share if is_growing else math.inf) for t, (share, _) in allowed]
    return [g for g in grown if g is not None]


def growth_of_trial(trial: Trial, experiment: Experiment) -> float | None:
    """Computes the requests per second by which a variant falls behind an open load: those in flight that its window
    added, or, where arrivals were dropped, those that were due and not completed. None where it keeps up, and where the
    generator did not.

    It falls behind where the window added more than 1 % of its arrivals and three standard deviations of what chance
    adds (the number in flight varies by √(rate·R), the difference of two by √2 of that), or arrivals were dropped.
    """
    limits = _most_added(trial, experiment)
    return None if limits is None else _growth(trial, experiment, sum(limits))


def has_added_too_much(trial: Trial, experiment: Experiment) -> bool:
    """Tells whether an open trial added more than its limit, or dropped arrivals, whatever the reason."""
    limits = _most_added(trial, experiment)
    return limits is not None and (_added(trial) > sum(limits) or dropped_share(trial) > MOST_DROPPED)


def _growth(trial: Trial, experiment: Experiment, most: float) -> float | None:
    has_dropped = dropped_share(trial) > MOST_DROPPED
    if (_added(trial) <= most and not has_dropped) or not all(_lags(trial)):
        return None
    values = [(check, check.value(trial, experiment)) for check in GENERATOR]
    if any(value is not None and not check.passes(value) for check, value in values):
        return None
    if not has_dropped:
        return _added(trial) / trial.window
    # Arrivals are dropped before the window, too: how many in it is not counted.
    completed = trial.ok + sum(trial.failed.values())
    return max(0.0, (trial.rate or 0.0) - completed / trial.window)


def most_added(rate: float, window: float, response: float) -> tuple[float, float]:
    """Computes how many requests a window of an open load may add to those in flight: a share of its arrivals, and by
    chance.

    ``rate``: arrivals per second. ``window`` and ``response``, the mean time that a request takes: seconds.
    """
    return MOST_ADDED * rate * window, ADDED_BY_CHANCE * math.sqrt(2 * rate * response)


def _most_added(trial: Trial, experiment: Experiment) -> tuple[float, float] | None:
    """Applies ``most_added`` to this trial; None under closed load."""
    if trial.rate is None or trial.window <= 0:
        return None
    response = units.seconds(experiment.max_response) if trial.latency.mean is None else trial.latency.mean
    return most_added(trial.rate, trial.window, response)


def _added(trial: Trial) -> int:
    return trial.in_flight.end - trial.in_flight.start


def overloaded(trial: Trial, experiment: Experiment) -> bool:
    """Tells whether the variant, not the generator, failed to keep up with open load in this trial."""
    return growth_of_trial(trial, experiment) is not None


def dropped_share(trial: Trial) -> float:
    """Computes the share of the scheduled arrivals that were dropped, over the whole trial."""
    scheduled = trial.started + trial.dropped
    return trial.dropped / scheduled if scheduled else 0.0
