"""Demands of a user's script, whose iterations send several requests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import recorded
from tests.support.phases import bound_of, measured, users
from vtlab.analysis.laws.explanation import explain
from vtlab.analysis.laws.phases import Measured
from vtlab.model.records import Block, Counts, Trial
from vtlab.report.pages import html, markdown
from vtlab.report.parts import performance, time_split

#: Requests of an iteration.
SENT = 5


def of_script(trial: Trial, is_counted: bool = True) -> None:
    """Makes a trial's iterations send five requests each; ``is_counted``: the server counts them."""
    trial.requests = Counts(passed=SENT * trial.ok, failed=0)
    trial.server["server_throughput"] = SENT * trial.ok / trial.window if is_counted else None


def script(*trials: tuple[int, float, dict[str, Any]], is_counted: bool = True, **figures: Any) -> Measured:
    """Returns the figures of a script of five requests."""
    made = measured("platform", *trials, **figures)
    for trial in [*made.single, *made.trials]:
        of_script(trial, is_counted)
    return made


@pytest.mark.parametrize("is_counted", [True, False])
def test_five_queries_hold_a_pool_five_times_as_long(is_counted: bool) -> None:
    # Each query holds one of ten connections for 50 ms: 200 requests or 40 iterations a second.
    pool = {"capacity_db-pool": 10.0, "utilization_db-pool": 1.0, "cpu_cores": 0.02}
    figures: dict[str, Any] = {"exp": users(24), "alone": 0.26, "held": {"hold_db_pool": 0.05}}
    m = script((1185, 30, pool), is_counted=is_counted, **figures)
    assert bound_of(m, "db-pool").bound == pytest.approx(40, rel=0.01)
    explained = explain(m)
    assert (explained.bottleneck.resource, explained.bottleneck.inside) == ("db-pool", None)


def test_five_requests_hold_a_thread_five_times_as_long() -> None:
    # Ten threads, 50 ms a request: 40 iterations a second.
    m = script((1185, 30, {"capacity_tomcat-threads": 10.0, "cpu_cores": 0.02}), exp=users(24), alone=0.26)
    for trial in m.single:
        trial.server["service_time"] = 0.05
    assert bound_of(m, "tomcat-threads").bound == pytest.approx(40, rel=0.01)
    assert explain(m).bottleneck.resource == "tomcat-threads"


def test_the_cpu_of_an_iteration_is_that_of_its_requests() -> None:
    # 4 ms of CPU a request: 50 iterations a second on one core, however many requests each has.
    m = script((1470, 30, {"cpu_cores": 0.98}), exp=users(24), alone=0.02)
    assert bound_of(m, "cpu").bound == pytest.approx(50, rel=0.01)


def test_users_who_sleep_between_requests_are_not_in_flight() -> None:
    # Of an iteration of 1.2 s its requests take 0.3 s, 0.25 s alone: of the one request more 0.9 waits for a carrier.
    m = measured("virtual", (600, 30, {"cpu_cores": 0.1, "service_time": 0.06, "virtual_queued": 0.9}), exp=users(24))
    for trial in m.single:
        trial.server["service_time"] = 0.05
    for trial in [*m.single, *m.trials]:
        of_script(trial)
    for trial in m.trials:
        trial.latency = recorded.latency(trial.ok, 1.2)
    assert explain(m).bottleneck.resource == "carriers"


def test_a_script_has_no_queue_time() -> None:
    # Four of five requests are no wait for a thread, though the client's mean is of all five.
    def five_requests(_: Block, trial: Trial) -> Trial:
        return trial.model_copy(update={"requests": Counts(passed=SENT * trial.ok, failed=0)})

    analysis = recorded.analysed(recorded.with_trials(recorded.run(blocks=3), five_requests))
    results = analysis.verdict.variants
    assert [result.queue_time for result in results.values()] == [None, None]
    assert all(result.has_latency and result.service_time for result in results.values())
    assert [row[8] for row in performance.latency_table(analysis).rows] == ["–", "–"]
    assert time_split.time_panels(analysis) == [], "a bar without a queue would say that none waits"
    assert "waits for a thread" not in html.render([analysis])
    assert "queue time" in markdown.render([analysis])
