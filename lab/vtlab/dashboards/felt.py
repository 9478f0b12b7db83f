"""What users feel, in the dashboard *Why*: latency at both loads, and the probes beside them."""

from __future__ import annotations

from grafana_foundation_sdk.builders import timeseries

from vtlab.dashboards import queries
from vtlab.dashboards.over_time import OverTime
from vtlab.dashboards.parts import Line

TITLE = "What users feel"
_NO_PROBE = "no data because no probe of this run was answered in this time range"


def panels() -> list[timeseries.Panel]:
    """Lists the panels of the row."""
    return [
        _latency("p50", "Median latency", "Half of the OK requests take longer."),
        _latency("p95", "Latency, 95th percentile", "One OK request in twenty takes longer."),
        _probes(
            "probe_longest",
            "Longest probe",
            "s",
            "The longest answer to a probe in each trial so far, at full load and at typical load (dashed). A kubelet"
            " waits 1 s by default, vtlab 15 s.",
        ),
        _probes(
            "probe_slow_ratio",
            "Probes that took over 1 s",
            "percentunit",
            "Share of the probes of each trial so far that took over 1 s or had no answer, at full load and at typical"
            " load (dashed). If nearly all do for long, a kubelet restarts the pod.",
        ),
    ]


def _latency(percentile: str, title: str, words: str) -> timeseries.Panel:
    return OverTime(
        title,
        f"{words} At full load, and at typical load (dashed), which has one rate of arrivals for all variants. A closed"
        " load with unsettled latency has no line.",
        "s",
        [
            Line(queries.settled_in_windows(f"latency_{percentile}"), "{{variant}} full load"),
            Line(queries.in_typical_windows(f"latency_typical_{percentile}"), "{{variant}} typical load", dashed=True),
        ],
    ).panel()


def _probes(metric: str, title: str, unit: str, words: str) -> timeseries.Panel:
    return OverTime(
        title,
        words,
        unit,
        [
            Line(queries.of_phase(metric, "measure"), "{{variant}} full load"),
            Line(queries.of_phase(metric, "typical"), "{{variant}} typical load", dashed=True),
        ],
        maximum=1,
        line_at=1 if unit == "s" else None,
        no_value=_NO_PROBE,
    ).panel()
