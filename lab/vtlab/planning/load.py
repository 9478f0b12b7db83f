"""What a call of k6 is told beside its phases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vtlab.analysis import laws
from vtlab.model import units
from vtlab.model.experiment import Experiment, OpenLoad
from vtlab.model.records import Trial

#: Seconds of light load of all variants together, at most; answers that a phase ends with are waited for besides.
LIGHT_SECONDS = 30.0
#: Between two phases, about, with up to 100 users; and the shortest window that is worth it.
BETWEEN, LEAST_WINDOW = 0.3, 0.5
#: Without any rate: the phases' settle, and their window at most.
_IDLE_SETTLE, _IDLE_WINDOW = 0.5, 1.5
#: Of the throughput under load, the larger light rate. It takes no more than a quarter of the CPU limit, as there is
#: none where the CPU was used to half.
OF_THROUGHPUT = 0.5
#: Arrivals, over the square root of R / rate, that show 5 % too much load: a window's length in seconds is
#: 150 sqrt(2 R / rate), so that 5 % of its arrivals are more than the counts at its edges differ by chance,
#: 3 sqrt(2 rate R), by a factor of two and a half.
_ENOUGH = 150.0


@dataclass(frozen=True)
class Pace:
    """The same for every call of one block. Milliseconds."""

    #: What k6 draws depends on it and on the block's number; None: on the run's id.
    seed: int | None = None
    #: Open load: from the ramp-up to a trial's window.
    settle: int = 0
    #: Length of the trials' windows; None: the experiment's.
    measure: int | None = None


AS_PLANNED = Pace()


@dataclass(frozen=True)
class LightLoad:
    """Phases of light load, with arrivals at even gaps."""

    #: By variant: arrivals per second of its phases, in their order; 0 for an idle one.
    rates: Mapping[str, Sequence[float]]
    #: Milliseconds of each: with arrivals before the window, as long as an answer may take; the window.
    settle: int = 1000
    measure: int = 2000


def pace(experiment: Experiment, seed: int, warmed: Sequence[Trial] = ()) -> Pace:
    """How the calls of k6 of one block are paced. ``warmed``: the last warm-up cycles, one of each variant, by which
    open load settles before a window, and by which its window is long enough to show an overload of 5 %."""
    load = experiment.load
    answered = [t.latency for t in warmed if t.latency.mean is not None and t.latency.max is not None]
    if not isinstance(load, OpenLoad) or not answered:
        return Pace(seed)
    longest = max(latency.max or 0.0 for latency in answered)
    mean = max(latency.mean or 0.0 for latency in answered)
    enough = round(1000 * _ENOUGH * math.sqrt(2 * mean / load.rate))
    planned = max(units.milliseconds(experiment.window_of(variant)) for variant in experiment.variants)
    settle = min(round(1000 * longest), round(units.milliseconds(experiment.max_response)))
    return Pace(seed, settle, enough if enough > planned else None)


def light(responses: Mapping[str, float], throughputs: Mapping[str, float], cpu: Mapping[str, float]) -> LightLoad:
    """Light load for the CPU demand of each variant: idle phases and two rates, in mirrored order.

    ``responses``: seconds of a request alone. ``throughputs``: requests per second under load. ``cpu``: the share of
    the CPU limit that was used for them. Only idle phases where the CPU was used to half, as its demand is known under
    load then, where nothing was answered, and where requests take so long that all would exceed ``LIGHT_SECONDS``.
    """
    settle = max([0.2, *(1.2 * response + 0.1 for response in responses.values())])
    seconds = LIGHT_SECONDS / max(1, len(throughputs))
    idle = (0.0, 0.0)
    window = seconds / 6 - settle - BETWEEN
    if window < LEAST_WINDOW:
        window = min(_IDLE_WINDOW, seconds / len(idle) - _IDLE_SETTLE - BETWEEN)
        return LightLoad(dict.fromkeys(throughputs, idle), _milliseconds(_IDLE_SETTLE), _milliseconds(window))
    rates: dict[str, Sequence[float]] = {}
    for name, throughput in throughputs.items():
        rate = OF_THROUGHPUT * throughput
        is_known = cpu[name] >= laws.BUSY
        rates[name] = idle if is_known or not rate else (0.0, rate / 3, rate, rate, rate / 3, 0.0)
    return LightLoad(rates, _milliseconds(settle), _milliseconds(window))


def _milliseconds(seconds: float) -> int:
    return math.floor(1000 * seconds)
