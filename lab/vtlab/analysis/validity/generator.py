"""The checks of the load generator: it had the cores that it needed, and sent what was due in time."""

from __future__ import annotations

import math
import operator

from vtlab.analysis.statistics import percentiles
from vtlab.analysis.validity.check import NOT_MEASURED, TYPICAL, Check, Value, machine_windows, moment_of
from vtlab.model.experiment import Experiment
from vtlab.model.records import Block, Trial
from vtlab.model.units import percent

#: Share of the machine's cores that must be idle.
LEAST_IDLE = 0.05
#: Seconds that a ready thread of k6 waited for a core, on average over its time slices. 60 to 75 µs is usual, on an
#: idle machine too; 0.7 ms when k6 is squeezed into a tenth of a core (docs/explanation/method/validity.md). Its delay
#: over its own CPU time does not show it: a k6 with little to do wakes thousands of times a second, each for
#: microseconds, and waits as long as it runs.
MOST_WAIT = 0.0005
#: Share of k6's quota periods in which it was throttled.
MOST_THROTTLED = 0.05
#: Longest lateness of the generator under open load, as a share of the window, and the share of the arrivals that all
#: its stalls together may make late. A stall of that length makes as large a share of the arrivals late. Latency
#: counts from when an arrival was due: no speed-up is faked; up to 1 % late arrivals the p99 is not yet one of them,
#: beyond it the stall would be measured instead.
MOST_LATE = 0.01
#: Share of a percentile by which lateness may change it whatever share of the arrivals is late: half the margin of
#: ``tail``. A variant that falls behind takes the cores that k6 needs, too, and answers in seconds what k6 sends
#: some ms late. To reject its block would keep from the verdict what the variant does.
NEGLIGIBLE = 0.10
#: Share of the answers beyond a percentile that late arrivals must be to change it.
LEAST_OF_BEYOND = 0.2
#: Share of the answers beyond p99 up to which late arrivals leave it an outcome: of exponential latencies half makes it
#: 1.15 times as long (log 200 / log 100), less than the margin of ``tail``.
MOST_OF_BEYOND = 0.5
_SATURATED = "the load generator was saturated"


def limits_reached(block: Block, experiment: Experiment) -> list[str]:
    """Describes the limits of the load generator or its machine that were reached in a block's windows."""
    return [f"{check.name} {value.text}" for check in GENERATOR for value in check.beyond(block, experiment)]


def late_typical_load(block: Block, experiment: Experiment) -> str | None:
    """Says how the load generator sent the arrivals of a window at typical load too late; None where it did not."""
    beyond = (value for check in ON_TIME for value in check.beyond(block, experiment))
    return next((f"{value.variant}: {value.reason}" for value in beyond if value.moment == TYPICAL), None)


def blurs_p99(trial: Trial) -> bool:
    """Tells whether late arrivals may be most of what lies beyond the p99 of an accepted window: ``MOST_LATE`` of all
    arrivals pass, which is as much. In a script the first answer of an iteration alone is late with it."""
    latency = trial.user_latency
    if trial.rate is None or not trial.started or latency.p99 is None:
        return False
    late = trial.late_arrivals / trial.started * trial.latency.count / latency.count
    return late > (1 - percentiles.SHARES["p99"]) * MOST_OF_BEYOND and trial.late_max > NEGLIGIBLE * latency.p99


def _idle_cores(trial: Trial, _: Experiment) -> Value:
    idle, machine = trial.machine.get("idle_cores"), trial.machine
    # Without a quota nothing can be throttled; some kernels do not count the wait (schedstat).
    if idle is None or (machine.get("generator_wait") is None and machine.get("generator_throttled") is None):
        reason = f"{NOT_MEASURED} of the load generator, so it is unknown whether it kept up"
        return Value(None, NOT_MEASURED, reason, trial.variant, moment_of(trial))
    share = percent(idle, 1)
    reason = f"{share} of the cores were idle, at least {percent(LEAST_IDLE)} needed: {_SATURATED}"
    return Value(idle, share, reason, trial.variant, moment_of(trial))


def _generator_wait(trial: Trial, _: Experiment) -> Value | None:
    wait = trial.machine.get("generator_wait")
    if wait is None:
        return None
    text = f"{1000 * wait:.2f} ms"
    reason = (
        f"the load generator waited {text} for a core each time, at most {1000 * MOST_WAIT:g} ms allowed: {_SATURATED}"
    )
    return Value(wait, text, reason, trial.variant, moment_of(trial))


def _generator_throttled(trial: Trial, _: Experiment) -> Value | None:
    throttled = trial.machine.get("generator_throttled")
    if throttled is None:
        return None
    share = percent(throttled, 1)
    reason = (
        f"the load generator was throttled in {share} of its periods, at most {percent(MOST_THROTTLED)} allowed:"
        f" {_SATURATED}"
    )
    return Value(throttled, share, reason, trial.variant, moment_of(trial))


def _late(trial: Trial, _: Experiment) -> Value | None:
    if trial.rate is None or trial.window <= 0:
        return None
    text = f"{trial.late_max:.3g} s"
    reason = (
        f"the load generator stalled for {text}, at most {MOST_LATE * trial.window:.3g} s allowed"
        f" ({percent(MOST_LATE, 1)} of the window)"
    )
    share = trial.late_max / trial.window
    return Value(share, text, reason, trial.variant, moment_of(trial), _most_late(trial, share))


def _late_arrivals(trial: Trial, _: Experiment) -> Value | None:
    if trial.rate is None or not trial.started:
        return None
    share = trial.late_arrivals / trial.started
    reason = (
        f"the load generator sent {percent(share, 1)} of the arrivals late, at most {percent(MOST_LATE, 1)} allowed:"
        f" {_SATURATED}"
    )
    return Value(share, percent(share, 1), reason, trial.variant, moment_of(trial), _most_late(trial, share))


def _most_late(trial: Trial, share: float) -> float:
    """Returns the share of a window's arrivals that may be late: any where no percentile can have changed by much.

    Late arrivals are beyond a percentile, or would be without the lateness. They cannot have changed one of which they
    are a fifth of what lies beyond it, or ``MOST_LATE`` of all.
    """
    values = {rank: getattr(trial.user_latency, name) for name, rank in percentiles.SHARES.items()}
    touched = [
        value
        for rank, value in values.items()
        if value is not None and share > max(MOST_LATE, (1 - rank) * LEAST_OF_BEYOND)
    ]
    is_negligible = bool(touched) and trial.late_max <= NEGLIGIBLE * min(touched)
    return math.inf if is_negligible else MOST_LATE


#: Whether arrivals were sent when they were due.
ON_TIME: tuple[Check[Trial], ...] = (
    Check(
        "generator on time",
        "machine",
        f"<= {percent(MOST_LATE, 1)} of the window late, or {percent(NEGLIGIBLE)} of each percentile beyond",
        machine_windows,
        _late,
        MOST_LATE,
    ),
    Check(
        "arrivals on time",
        "machine",
        f"<= {percent(MOST_LATE, 1)} of them 20 ms late, or by {percent(NEGLIGIBLE)} of each percentile beyond",
        machine_windows,
        _late_arrivals,
        MOST_LATE,
    ),
)
GENERATOR: tuple[Check[Trial], ...] = (
    Check("idle cores", "machine", f">= {percent(LEAST_IDLE)}", machine_windows, _idle_cores, LEAST_IDLE, operator.lt),
    Check(
        "generator's wait for a core",
        "machine",
        f"<= {1000 * MOST_WAIT:g} ms each time",
        machine_windows,
        _generator_wait,
        MOST_WAIT,
    ),
    Check(
        "generator throttled",
        "machine",
        f"<= {percent(MOST_THROTTLED)} of periods",
        machine_windows,
        _generator_throttled,
        MOST_THROTTLED,
    ),
    *ON_TIME,
)
