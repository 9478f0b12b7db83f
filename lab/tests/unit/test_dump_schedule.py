"""How many thread dumps fit into a trial."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import recorded
from vtlab.model.records import Trial
from vtlab.planning import dump_schedule
from vtlab.planning.load_call import AS_PLANNED, CallPacing


def trial(in_flight: float, window: float = 5.0) -> Trial:
    """A trial with so many requests in flight, each for a second."""
    shown = recorded.trial()
    latency = shown.latency.model_copy(update={"mean": 1.0})
    end = shown.start + round(1000 * window)
    return shown.model_copy(update={"throughput": in_flight, "latency": latency, "end": end})


def window(in_flight: float, cpu: float = 1.0, planned: CallPacing = AS_PLANNED) -> float:
    exp = recorded.experiment(windows={"measure": "5s"}, limits={"cpu": cpu, "memory": "512Mi", "heap": "256m"})
    return dump_schedule.window_seconds(dump_schedule.pace_for_dumps(planned, exp, [trial(in_flight)]), exp, "virtual")


@pytest.mark.parametrize(
    ("in_flight", "cpu", "seconds"),
    [
        (16, 1.0, 5.0),
        (200, 1.0, 5.0),
        # Ten dumps of 0.2 s in a tenth of a CPU.
        (1000, 1.0, 20.0),
        (1000, 2.0, 10.0),
        (1000, 4.0, 5.0),
        (20_000, 1.0, dump_schedule.LONGEST_WINDOW),
    ],
)
def test_a_window_has_room_for_ten_dumps(in_flight: float, cpu: float, seconds: float) -> None:
    assert window(in_flight, cpu) == pytest.approx(seconds)


def test_windows_are_never_shorter_than_those_of_the_trials() -> None:
    longer = trial(1000, window=60.0)
    as_long = CallPacing(seed=7, measure=60_000)
    assert dump_schedule.pace_for_dumps(as_long, recorded.experiment(), [longer]) == as_long
    assert dump_schedule.pace_for_dumps(as_long, recorded.experiment(), []) == as_long


@given(st.floats(0.0001, 10), st.floats(0.05, 64), st.floats(1, 100))
def test_dumps_take_a_tenth_of_the_cpu_at_most(cpu_seconds: float, cores: float, window: float) -> None:
    between = dump_schedule.seconds_between_dumps(cpu_seconds, cores)
    # One every so many seconds, but for the last one.
    assert (window / between) * cpu_seconds == pytest.approx(dump_schedule.SHARE * cores * window)
