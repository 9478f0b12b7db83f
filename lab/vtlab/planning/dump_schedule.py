"""Schedule of a trial's thread dumps: how many it gets, and how long its window is for them.

A dump costs the JVM CPU time, more with more threads. So the dumps of a window are fewer where they would take more
than a tenth of the CPU that the variant's limit allows in it; the users stay as many as in the trials, for with fewer
the queues would be others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.records import Trial
from vtlab.planning.load_call import CallPacing

#: Dumps that a window is to have, and fewer of which make it longer.
WANTED, LEAST = 20, 10
#: The most that dumps may take of the CPU that a variant may use.
SHARE = 0.1
#: CPU seconds of a dump for each request in flight: 0.05 to 0.2 ms were measured.
SECONDS_PER_REQUEST = 0.0002
#: Seconds of a window that is longer for its dumps.
LONGEST_WINDOW = 30.0


def seconds_between_dumps(cpu_seconds: float, cores: float) -> float:
    """Computes the seconds from one dump to the next, so that dumps of that cost take no more than their share."""
    return cpu_seconds / (SHARE * cores)


def pace_for_dumps(pace: CallPacing, experiment: Experiment, trials: Sequence[Trial]) -> CallPacing:
    """Adapts the pace of one more trial, with dumps, of the variant whose ``trials`` these are: its window has room for
    ``LEAST`` dumps, if that takes ``LONGEST_WINDOW`` at most."""
    window = max((trial.window for trial in trials), default=0.0)
    # Little's law: in flight = throughput x response.
    in_flight = max((trial.throughput * (trial.latency.mean or 0.0) for trial in trials), default=0.0)
    needed = LEAST * seconds_between_dumps(in_flight * SECONDS_PER_REQUEST, experiment.limits.cpu)
    return replace(pace, measure=round(1000 * min(needed, LONGEST_WINDOW))) if needed > window else pace


def window_seconds(pace: CallPacing, experiment: Experiment, variant: str) -> float:
    """Computes the seconds of that trial's window."""
    return units.seconds(experiment.window_of(variant)) if pace.measure is None else pace.measure / 1000
