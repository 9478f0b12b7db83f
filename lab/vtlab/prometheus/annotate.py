"""Annotation of k6's records with the figures of the server and the machine over their windows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from vtlab.host.cgroup_hierarchies import Limit
from vtlab.model.k6_documents import K6Document
from vtlab.model.records import MachineFigure, ServerFigure, Trial
from vtlab.model.service import Meters
from vtlab.prometheus.in_flight import fill_in_flight_before
from vtlab.prometheus.queries import Prometheus

#: Figures of the machine and the load generator between two times (epoch ms).
Window = Callable[[int, int], dict[MachineFigure, float | None]]
#: A service's usage between two times (epoch ms), as measured from outside.
Usage = Callable[[int, int], Mapping[ServerFigure, float | None]]

#: Figures of threads, which vtlab measures itself, of any service: the agent's JIT time is for pods.
_THREAD_FIGURES: tuple[ServerFigure, ...] = ("jit_cpu", "core_wait")
#: Figures that vtlab measures where the service lacks these meters.
_FIGURES: dict[Meters, tuple[ServerFigure, ...]] = {
    "process": ("cpu_cores", "resident"),
    "cgroup": ("throttled_periods", "throttled_seconds"),
}
#: Seconds of a window from which on it has two scrapes: a shorter one may lie between them.
_SCRAPED = 2.0


def fill_gaps(
    trial: Trial, usage: Mapping[ServerFigure, float | None], limits: Limit, meters: Collection[Meters]
) -> None:
    """Fills in the figures for which no service, or not this one, has meters: ``usage`` as measured from outside,
    ``limits`` as enforced.

    Of a service that has meters but was not scraped the kernel has counted these figures, too; ``is_scraped`` shows
    that all others are missing.
    """
    server = trial.server
    server.update({name: usage.get(name) for name in _THREAD_FIGURES})
    is_missed = "process" in meters and server.get("cpu_cores") is None and trial.window >= _SCRAPED
    trial.is_scraped = not is_missed
    missing = [group for group in _FIGURES if is_missed or group not in meters]
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
    """Fills the same gaps in the samples of the report's charts, every second."""
    for name in (name for group, names in _FIGURES.items() if group not in meters for name in names):
        if name in series:
            values = ((at, usage(at - 1000, at).get(name)) for at in range(begin_ms, end_ms + 1, 1000))
            series[name] = [[at, value] for at, value in values if value is not None]


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def annotate(
    document: K6Document, client: Prometheus, machine: Window, before: dict[str, Trial], longest_ms: float = 0
) -> None:
    """Fills ``server``, ``pinned`` and ``machine`` of every record. ``before`` and ``longest_ms`` as in
    ``fill_in_flight_before``."""
    for trial in document.phases:
        trial.server = client.window(trial.variant, trial.start, trial.end)
        trial.pinned = client.pinned(trial.variant, trial.start, trial.end)
        trial.machine = machine(trial.start, trial.end)
    fill_in_flight_before(document, client, before, longest_ms)
