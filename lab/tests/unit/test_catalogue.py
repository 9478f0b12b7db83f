"""The rows of the catalogue: each is complete, and one that is wrong is refused."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from tests.support import recorded
from vtlab.analysis.laws import bounds, explanation, phases
from vtlab.catalogue import metrics, resources
from vtlab.catalogue.metrics import METRICS, WINDOW_METRICS
from vtlab.catalogue.promql import QueryError
from vtlab.catalogue.resources import RESOURCES
from vtlab.model.records import MachineFigure, ServerFigure, Trial


@pytest.mark.parametrize("name", METRICS)
def test_every_query_of_a_metric_can_be_put_together(name: str) -> None:
    values = dict.fromkeys(("server", "client", "window", "range"), "")
    for scope in METRICS[name].queries:
        assert "$" not in metrics.metric(name, scope, **values)


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"windw": "up"}, "metrics.toml: m: the key windw is unknown"),
        ({}, "metrics.toml: m: a query, the unit or the help is missing"),
        ({"rule": "up"}, "metrics.toml: m: 'rule' needs 'record', and 'window' excludes 'now'"),
        ({"window": "up", "now": "up"}, "metrics.toml: m: 'rule' needs 'record', and 'window' excludes 'now'"),
    ],
)
def test_a_wrong_metric_is_refused(row: dict[str, Any], error: str) -> None:
    with pytest.raises(QueryError) as refused:
        metrics.metric_of_row("m", {"unit": "ratio", "help": "h", **row})
    assert str(refused.value) == error


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"demnd": "cpu"}, "resources.toml: r: the key demnd is unknown"),
        (
            {"demand": "cup"},
            "resources.toml: r: `demand` 'cup' is not one of cpu, request, round, hold, pinned, load",
        ),
        ({"demand": "hold"}, "resources.toml: r: 'utilization' or 'holds' does not go with `demand` 'hold'"),
        (
            {"demand": "request", "utilization": "up"},
            "resources.toml: r: 'utilization' or 'holds' does not go with `demand` 'request'",
        ),
    ],
)
def test_a_wrong_resource_is_refused(row: dict[str, Any], error: str) -> None:
    with pytest.raises(QueryError) as refused:
        resources.resource_of_row("r", {"words": "w", "colour": "#000000", "capacity": "1", **row})
    assert str(refused.value) == error


def test_a_metric_or_a_scope_that_there_is_not_is_refused() -> None:
    with pytest.raises(QueryError, match=r"^no metric is called thoughput: metrics\.toml has them$"):
        metrics.metric("thoughput", "window")
    with pytest.raises(QueryError, match=r"^the metric arrivals has no query for the scope run: now$"):
        metrics.metric("arrivals", "run")


def test_a_figure_that_no_metric_is_called_never_passes_for_a_value() -> None:
    """For mypy, too: the keys are literals."""
    of_harness = {"in_flight_before", "core_wait"}
    assert {*WINDOW_METRICS, *of_harness} == {name for part in get_args(ServerFigure) for name in names(part)}
    for figures in ({"server": {"cpu_coers": 1.0}}, {"machine": {"idle": 1.0}}):
        with pytest.raises(ValueError, match="literal_error"):
            Trial.model_validate(recorded.trial().model_dump() | figures)
    assert set(recorded.trial().machine) <= set(get_args(MachineFigure))


def names(part: Any) -> tuple[str, ...]:
    """Of a literal its values; of one value itself."""
    return get_args(part) or (part,)


def test_every_resource_has_its_metrics_and_words() -> None:
    for resource in RESOURCES.values():
        assert {resource.metric(series) for series in get_args(resources.Series)} <= WINDOW_METRICS.keys()
        assert resource.words in resource.described(2, "users") or resource.with_amount
    assert RESOURCES["cpu"].described(1, "users") == "the CPU (1 core)"
    assert RESOURCES["cpu"].described(0.5, "users") == "the CPU (0.5 cores)"
    assert RESOURCES["tomcat-threads"].described(200, "users") == "its 200 Tomcat threads"
    assert RESOURCES["load"].described(1000, "arrivals per second") == "the load (1,000 arrivals per second)"
    assert RESOURCES["db-pool"].described(10, "users") == "its 10 database connections"
    assert RESOURCES["executor"].described(1, "users") == "its 1 executor thread"
    assert RESOURCES["carriers"].described(2, "users") == "carriers"
    assert resources.bottleneck_words("unknown") == "unknown"


def test_what_limits_a_variant_has_words() -> None:
    assert resources.WORDS.keys() == {*RESOURCES, "memory", "database", "downstream"}
    assert resources.bottleneck_words("database") == "the database"
    assert resources.bottleneck_words("db-pool") == "its database connections"
    assert resources.bottleneck_words("Semaphore at OrderService:42") == "Semaphore at OrderService:42"


def test_a_new_resource_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its metrics, and a bound in the analysis by its timer, follow from the row alone."""
    row = {"words": "its locks", "colour": "#000000", "capacity": "1", "demand": "hold", "holds": ["cpu"]}
    locks = resources.resource_of_row("locks", {**row, "utilization": "$cpu_cores / 2"})
    assert [metric.name for metric in metrics.resource_metrics([locks])] == [
        "utilization_locks",
        "capacity_locks",
        "demand_locks",
    ]
    monkeypatch.setitem(RESOURCES, "locks", locks)
    exp = recorded.experiment(load={"full": {"users": 100}}, expected=None)
    trial = recorded.trial(users=100, window=30.0, ok=570)
    trial.server |= {"capacity_locks": 2.0}  # type: ignore[dict-item]
    lone = recorded.trial(phase="single")
    lone.server |= {"hold_locks": 0.1}  # type: ignore[dict-item]
    m = phases.Measured(exp, "platform", [phases.Phases([trial], [lone], [], [recorded.instance()])])
    (bound,) = (b for b in bounds.bounds(m) if b.resource == "locks")
    assert (bound.bound, bound.utilisation) == (pytest.approx(20), pytest.approx(0.95))
    assert explanation.explain(m).bottleneck.resource == "locks"
