"""Windows of open load: how long they are, and which overload they show."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support import recorded
from vtlab.analysis.validity import overload
from vtlab.model import units
from vtlab.model.experiment import Experiment
from vtlab.model.load import OpenLoad
from vtlab.model.records import InFlight, Trial
from vtlab.planning import open_windows, round_pacing
from vtlab.planning.load_call import CallPacing

OPEN = recorded.arrivals(max_response="20s")


def cycle(mean: float | None, longest: float | None, added: int = 0) -> Trial:
    in_flight = InFlight(start=150, end=150 + added)
    trial = recorded.trial(phase="warmup", rate=150.0, in_flight=in_flight)
    latency = trial.latency.model_copy(update={"mean": mean, "max": longest})
    return trial.model_copy(update={"latency": latency})


def test_a_warm_up_without_answers_changes_nothing() -> None:
    assert round_pacing.pacing(OPEN, 7) == CallPacing(7)
    assert round_pacing.pacing(OPEN, 7, [cycle(None, None)]) == CallPacing(7)


def with_windows(measure: str, gaps: str = "exponential", rate: float = 150) -> Experiment:
    windows = {**OPEN.document()["windows"], "measure": measure}
    return recorded.arrivals(load={"typical": {"rate": rate, "users": 4500, "gaps": gaps}}, windows=windows)


def test_a_window_is_long_enough_to_show_an_overload_of_5_percent() -> None:
    slow, fast = cycle(4.0, 4.5), cycle(1.0, 1.5)
    pacing = round_pacing.pacing(OPEN, 7, [fast, slow])
    assert pacing == round_pacing.pacing(OPEN, 7, [slow]), "of the slower variant"
    assert pacing.settle == 4500, "as long as the longest answer"
    assert pacing.measure is not None
    window = pacing.measure / 1000
    before = 4.5 + units.seconds(OPEN.windows.ramp_up)
    # Exceeded by 1.96 standard deviations of the arrivals; R is what it is half way through.
    limit = 0.01 * 150 * window + 3 * math.sqrt(2 * 150 * (4.0 + 0.05 * (before + window / 2)))
    assert 0.05 * 150 * window - limit == pytest.approx(1.96 * math.sqrt(150 * window), rel=0.001)
    assert round_pacing.pacing(with_windows("55s"), 7, [slow]).measure is None, "the experiment's are enough"


def test_the_window_is_never_shorter_than_the_issues_formula() -> None:
    even = round_pacing.pacing(with_windows("5s", "even", rate=2000), 7, [cycle(4.0, 4.5)])
    assert even.measure is not None
    assert even.measure / 1000 >= 150 * math.sqrt(2 * 4.0 / 2000)


def test_even_gaps_need_no_time_for_the_chance_of_arrivals() -> None:
    even, drawn = (
        round_pacing.pacing(with_windows("5s", gaps), 7, [cycle(0.2, 0.3)]).measure for gaps in ("even", "exponential")
    )
    assert even is not None
    assert drawn is not None
    assert even < 0.6 * drawn


def test_a_window_lasts_a_minute_at_most_and_says_what_it_then_shows() -> None:
    rare = with_windows("5s", rate=20)
    pacing = round_pacing.pacing(rare, 7, [cycle(1.0, 1.5)])
    assert pacing.measure == 60_000
    assert pacing.shown_overload is not None
    assert 0.05 < pacing.shown_overload < 0.12
    assert open_windows.Arriving(20, 1.0, 1.5 + units.seconds(rare.windows.ramp_up)).window(
        pacing.shown_overload
    ) == pytest.approx(60)
    planned = round_pacing.pacing(with_windows("90s", rate=20), 7, [cycle(1.0, 1.5)])
    assert planned.measure is None, "never less than the experiment's own"
    assert planned.shown_overload is not None
    assert 0.05 < planned.shown_overload < pacing.shown_overload
    assert round_pacing.pacing(OPEN, 7, [cycle(1.0, 1.5)]).shown_overload is None, "5 % is what was asked for"


def test_of_a_variant_that_is_far_overloaded_the_queue_is_no_response() -> None:
    """Its mean latency of many seconds would make windows of minutes. It is seen in any."""
    healthy = cycle(1.0, 1.5)
    falling = cycle(15.0, 20.0, added=2000)
    before = (falling.start - falling.begin) / 1000
    window = round_pacing.pacing(OPEN, 7, [healthy, falling]).measure
    assert window is not None
    assert window <= (round_pacing.pacing(OPEN, 7, [healthy, cycle(max(1.0, before), 20.0)]).measure or 0)
    assert window < (round_pacing.pacing(OPEN, 7, [healthy, cycle(15.0, 20.0)]).measure or 0)


#: Arrivals per second, servers that each take as long as their number over 95 % of these.
PLANTED = [(150.0, 142), (150.0, 1), (400.0, 80), (1000.0, 19)]


@pytest.mark.parametrize(("rate", "servers"), PLANTED)
def test_a_single_trial_shows_5_percent_too_much_load(rate: float, servers: int) -> None:
    simulated = Simulated(rate, servers, utilisation=1 / 0.95)
    shown = [overload.growth_of_trial(trial, simulated.experiment) is not None for trial in simulated.trials(400)]
    assert sum(shown) / len(shown) >= 0.95


@pytest.mark.parametrize(("rate", "servers"), PLANTED)
def test_a_variant_that_is_used_to_90_percent_is_not_overloaded(rate: float, servers: int) -> None:
    simulated = Simulated(rate, servers, utilisation=0.9)
    trials = simulated.trials(1200)
    runs = [trials[i : i + 6] for i in range(0, len(trials), 6)]
    shown = [bool(overload.growths_over_trials(run, simulated.experiment)) for run in runs]
    assert sum(shown) / len(shown) <= 0.01


class Simulated:
    """Trials of a service that answers in turn: so many servers, each request keeps one for the same time."""

    def __init__(self, rate: float, servers: int, utilisation: float) -> None:
        self.experiment = with_windows("5s", rate=rate)
        self._servers = servers
        self._service = servers * utilisation / rate
        pacing = round_pacing.pacing(self.experiment, 7, [cycle(self._service, 1.1 * self._service)])
        assert pacing.shown_overload is None
        self._start = (pacing.settle / 1000) + units.seconds(self.experiment.windows.ramp_up)
        self._end = self._start + (pacing.measure or 5000) / 1000

    def trials(self, count: int) -> list[Trial]:
        draw = np.random.default_rng(16)
        planted = recorded.trial(window=self._end - self._start)
        return [self._trial(planted, draw) for _ in range(count)]

    def _trial(self, planted: Trial, draw: np.random.Generator) -> Trial:
        rate = self.experiment.load.rate if isinstance(self.experiment.load, OpenLoad) else 0.0
        due = np.cumsum(draw.exponential(1 / rate, round(1.5 * rate * self._end)))
        due = due[due < self._end]
        answered = np.empty(len(due))
        for server in range(self._servers):
            # A server takes every n-th request: it begins when that is due and the one before is done.
            of_server = due[server :: self._servers]
            turns = np.arange(len(of_server)) * self._service
            answered[server :: self._servers] = np.maximum.accumulate(of_server - turns) + turns + self._service
        within = (answered >= self._start) & (answered < self._end)
        in_flight = InFlight(
            start=int(((due < self._start) & (answered >= self._start)).sum()), end=int((answered >= self._end).sum())
        )
        latency = planted.latency.model_copy(update={"mean": float((answered - due)[within].mean())})
        return planted.model_copy(update={"rate": rate, "in_flight": in_flight, "latency": latency})


def test_load_settles_no_longer_than_an_answer_may_take() -> None:
    assert round_pacing.pacing(OPEN, 7, [cycle(1.0, 60.0)]).settle == 20_000


def test_the_longest_window_of_the_variants_is_compared() -> None:
    windows = {**OPEN.document()["windows"], "measure": "10s", "measure_by_variant": {"virtual": "60s"}}
    exp = recorded.arrivals(windows=windows)
    assert round_pacing.pacing(exp, 7, [cycle(8.0, 9.5)]).measure is None
