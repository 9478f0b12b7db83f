"""Figures that vtlab fills in where a service has no meters."""

from __future__ import annotations

import pytest

from tests.support import recorded
from vtlab.catalogue.metrics import WINDOW_METRICS
from vtlab.host.cgroup_hierarchies import Limit
from vtlab.model.records import Trial
from vtlab.model.service import Meters
from vtlab.prometheus.annotate import fill_gaps, fill_series_gaps

LIMITS = Limit(0.5, 1000)
THREADS = {"jit_cpu": 0.02, "core_wait": 0.001}
USAGE = {"cpu_cores": 0.4, "resident": 250.0, "throttled_periods": 0.1, "throttled_seconds": 0.05, **THREADS}


def unmeasured() -> Trial:
    trial = next(trial for trial in recorded.run(blocks=1).blocks[0].trials if trial.ok)
    return trial.model_copy(update={"server": dict.fromkeys(WINDOW_METRICS)})


def test_a_service_without_meters_has_the_figures_of_the_harness() -> None:
    trial = unmeasured()
    fill_gaps(trial, USAGE, LIMITS, ["jvm", "tomcat"])
    demand = 0.4 * trial.window / trial.ok
    assert {name: value for name, value in trial.server.items() if value is not None} == pytest.approx(
        {
            **USAGE,
            "cpu_limit": 0.5,
            "memory_limit": 1000,
            "resident_share": 0.25,
            "cpu_per_request": demand,
            "demand_cpu": demand,
            "capacity_cpu": 0.5,
            "utilization_cpu": 0.8,
        }
    )
    assert set(trial.server) == {*WINDOW_METRICS, *THREADS}, "no name that nothing reads"


def test_without_limits_there_are_no_shares_of_them() -> None:
    trial = unmeasured()
    fill_gaps(trial, {**USAGE, "throttled_periods": None, "throttled_seconds": None}, Limit(None, None), [])
    assert trial.server["cpu_cores"] == 0.4
    assert trial.server["utilization_cpu"] is trial.server["resident_share"] is trial.server["cpu_limit"] is None


def test_of_a_window_that_was_not_scraped_there_is_what_the_kernel_counts() -> None:
    """A JVM whose full heap is collected again and again does not answer Prometheus."""
    meters: list[Meters] = ["jvm", "process", "cgroup", "tomcat"]
    trial = unmeasured()
    fill_gaps(trial, USAGE, LIMITS, meters)
    assert not trial.is_scraped
    assert {name: trial.server[name] for name in USAGE} == USAGE
    assert trial.server["cpu_limit"] == 0.5
    assert trial.server["gc_share"] is None
    scraped = unmeasured()
    scraped.server["cpu_cores"] = 0.3
    fill_gaps(scraped, USAGE, LIMITS, meters)
    assert scraped.is_scraped
    assert scraped.server["cpu_cores"] == 0.3
    assert scraped.server["resident"] is None


def test_a_short_window_may_lie_between_two_scrapes() -> None:
    trial = unmeasured()
    short = trial.model_copy(update={"end": trial.start + 1500})
    fill_gaps(short, USAGE, LIMITS, ["jvm", "process", "cgroup", "tomcat"])
    assert short.is_scraped
    assert {name: value for name, value in short.server.items() if value is not None} == THREADS


def test_meters_of_the_process_alone_get_the_limits_of_the_harness() -> None:
    trial = unmeasured()
    trial.server["cpu_cores"] = 0.3
    fill_gaps(trial, USAGE, LIMITS, ["process"])
    assert trial.server["cpu_cores"] == 0.3
    assert trial.server["resident"] is None
    assert trial.server["utilization_cpu"] == pytest.approx(0.6)
    assert trial.server["throttled_periods"] == 0.1


def test_the_charts_of_a_service_without_meters_have_samples_of_each_second() -> None:
    def usage(start_ms: int, end_ms: int) -> dict[str, float | None]:
        assert end_ms - start_ms == 1000
        return {"cpu_cores": end_ms / 1000, "resident": None if end_ms > 2000 else 5.0}

    series: dict[str, list[list[float]]] = {"cpu_cores": [], "resident": [], "threads": [[1000, 7]]}
    fill_series_gaps(series, usage, 1000, 3000, ["jvm"])
    assert series == {
        "cpu_cores": [[1000, 1], [2000, 2], [3000, 3]],
        "resident": [[1000, 5], [2000, 5]],
        "threads": [[1000, 7]],
    }
    before = {name: list(samples) for name, samples in series.items()}
    fill_series_gaps(series, usage, 1000, 1000, ["process", "cgroup"])
    assert series == before, "a service with meters"
