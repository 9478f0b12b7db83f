"""Windows of open load that are long enough to show an overload."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from vtlab.analysis.validity.overload import has_added_too_much, most_added
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.load import OpenLoad
from vtlab.model.records import Trial
from vtlab.planning.load_call import CallPacing

#: The share of arrivals beyond what a variant serves that a trial of an open load is to show, if the window may be as
#: long as that takes.
OVERLOAD = 0.05
#: The share of cases in which it shows that.
_SHOWN = 0.975
#: The longest window that is planned to show it, unless the experiment's is longer. Seconds.
LONGEST_WINDOW = 60.0
#: The shortest window by the response alone is 150 sqrt(2 R / rate) seconds, so that 5 % of the arrivals are two and a
#: half times what the counts at the edges differ by chance, 3 sqrt(2 rate R).
_SHORTEST_WINDOW_FACTOR = 150.0


@dataclass(frozen=True)
class Arriving:
    """Arrivals of an open load, and how long a window has to be to show that a variant is overloaded.

    With the share o of the arrivals beyond what the variant serves, a window of W seconds adds o·rate·W requests in
    flight on average. An overloaded variant is always busy and completes the same in each window, so what is added
    varies as the arrivals do: by √(rate·W) with exponential gaps, not at all with even ones. ``most_added`` allows
    0.01·rate·W + 3·√(2·rate·R'). R' is the mean response in that window, in which the queue counts, too: half way
    through it adds o·(before + W/2) to R. That is exceeded in 97.5 % of cases where

        o·rate·W >= 0.01·rate·W + 3·√(2·rate·R') + z·√(rate·W),

    z = 1.96, the normal distribution's 97.5th percentile (there are hundreds of arrivals).
    """

    #: Arrivals per second.
    rate: float
    #: Seconds that a request takes where the variant keeps up, and that pass from the first arrival to the window.
    response: float
    before: float
    is_random: bool = True

    def window(self, overload: float = OVERLOAD) -> float:
        """Returns the shortest window that shows this overload, in seconds."""
        shortest = _SHORTEST_WINDOW_FACTOR * math.sqrt(2 * self.response / self.rate)
        return max(shortest, _root(lambda window: self._beyond(overload, window), 1e6))

    def overload(self, window: float) -> float:
        """Returns the smallest overload that a window of this length shows, as a share of the arrivals; at most 1."""
        return _root(lambda overload: self._beyond(overload, window), 1.0)

    def _beyond(self, overload: float, window: float) -> float:
        """Returns the requests that the overload adds beyond the limit and what chance takes away."""
        response = self.response + overload * (self.before + window / 2)
        limit = sum(most_added(self.rate, window, response))
        by_chance = NormalDist().inv_cdf(_SHOWN) * math.sqrt(self.rate * window) if self.is_random else 0.0
        return overload * self.rate * window - limit - by_chance


def window_pacing(experiment: Experiment, load: OpenLoad, warmed: Sequence[Trial], settle: float) -> CallPacing:
    """Returns the length of an open load's windows, which show an overload of 5 %, and what they show if that is more.

    ``warmed``: the last warm-up cycles. ``settle``: seconds from the ramp-up to the window. R is that of the slowest
    variant. Of one that fell behind in its last warm-up cycle it is no longer than the time before that window: what is
    longer may be its queue, and an overload that large is seen in any window.
    """
    responses = [
        cycle.latency.mean
        if not has_added_too_much(cycle, experiment)
        else min(cycle.latency.mean, (cycle.start - cycle.begin) / 1000)
        for cycle in warmed
        if cycle.latency.mean is not None
    ]
    arriving = Arriving(
        load.rate,
        max(responses, default=0.0),
        units.seconds(experiment.windows.ramp_up) + settle,
        load.gaps == "exponential",
    )
    planned = max(units.seconds(experiment.window_of(variant)) for variant in experiment.variants)
    window = max(planned, min(LONGEST_WINDOW, arriving.window()))
    overload = arriving.overload(window) if window < arriving.window() else None
    return CallPacing(measure=math.ceil(1000 * window) if window > planned else None, shown_overload=overload)


def _root(function: Callable[[float], float], most: float) -> float:
    """Finds by bisection the zero of a function that begins below 0; returns ``most`` where the zero is later."""
    low, high = 0.0, most
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return high
