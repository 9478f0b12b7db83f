"""Adds to the records of a call of k6 what the server side and the machine say of their windows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from vtlab.host.cgroup import Limit
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import MachineFigure, ServerFigure, Trial
from vtlab.model.service import Meters
from vtlab.prometheus.in_flight import fill_in_flight_before
from vtlab.prometheus.queries import Prometheus

#: The machine and the load generator between two times (epoch ms).
Window = Callable[[int, int], dict[MachineFigure, float | None]]
#: What a service used between two times (epoch ms), as measured from outside.
Usage = Callable[[int, int], Mapping[ServerFigure, float | None]]


#: What the harness alone measures.
_OF_THREADS: tuple[ServerFigure, ...] = ("jit_cpu", "core_wait")
#: What it measures, too, by the meters that would tell it otherwise.
_FIGURES: dict[Meters, tuple[ServerFigure, ...]] = {
    "process": ("cpu_cores", "resident"),
    "cgroup": ("throttled_periods", "throttled_seconds"),
}


def fill_gaps(
    trial: Trial, usage: Mapping[ServerFigure, float | None], limits: Limit, meters: Collection[Meters]
) -> None:
    """Fills in what no service has meters for, and what this one has none for: ``usage`` as measured from outside,
    ``limits`` as enforced.

    A service that has meters but was not scraped keeps its gap: the checks must see it.
    """
    server = trial.server
    server.update({name: usage.get(name) for name in _OF_THREADS})
    missing = [group for group in _FIGURES if group not in meters]
    if not missing:
        return
    server.update({name: usage.get(name) for group in missing for name in _FIGURES[group]})
    if "cgroup" in missing:
        server.update({"cpu_limit": limits.cpu, "memory_limit": limits.memory})
    used = server.get("cpu_cores")
    per_request = None if used is None or not trial.ok else used * trial.window / trial.ok
    server.update(
        {
            "cpu_per_request": per_request,
            "resident_share": _share(server.get("resident"), server.get("memory_limit")),
            "utilization_cpu": _share(used, server.get("cpu_limit")),
            "capacity_cpu": server.get("cpu_limit"),
            "demand_cpu": per_request,
        }
    )


def fill_series_gaps(
    series: dict[str, list[list[float]]], usage: Usage, begin_ms: int, end_ms: int, meters: Collection[Meters]
) -> None:
    """The same for the samples of the report's charts, every second."""
    for name in (name for group, names in _FIGURES.items() if group not in meters for name in names):
        if name in series:
            values = ((at, usage(at - 1000, at).get(name)) for at in range(begin_ms, end_ms + 1, 1000))
            series[name] = [[at, value] for at, value in values if value is not None]


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def annotate(
    document: K6Document, client: Prometheus, machine: Window, before: dict[str, Trial], longest_ms: float = 0
) -> None:
    """Fills ``server``, ``pinned`` and ``machine`` of every record. ``before`` and ``longest_ms`` as of
    ``fill_in_flight_before``."""
    for trial in document.phases:
        trial.server = client.window(trial.variant, trial.start, trial.end)
        trial.pinned = client.pinned(trial.variant, trial.start, trial.end)
        trial.machine = machine(trial.start, trial.end)
    fill_in_flight_before(document, client, before, longest_ms)
