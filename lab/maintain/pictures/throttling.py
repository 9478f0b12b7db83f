"""Throttling within periods of 100 ms under a limit of 1 CPU: a drawing by the rule of Linux's CFS, no measurement.

The quota of a period is 100 ms of CPU. Platform threads that are ready on two cores use it up in 50 ms, and all wait
for the next period. One carrier uses one core; only the JVM's own threads beside it can use the quota up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from maintain.pictures.page import document
from vtlab.report.charts.axes import vertical_grid
from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import element, line, rect, text

PICTURE = "docs/images/throttling.svg"
PERIOD, QUOTA, PERIODS, CORES = 100.0, 100.0, 4, 2
_WIDTH, _LEFT, _RIGHT, _ROW = 860.0, 84.0, 830.0, 22.0
_STYLE = """.runs{fill:var(--good)}.throttled{fill:var(--bad);opacity:.8}.idle{fill:var(--same);opacity:.22}
.period{stroke:var(--ink);stroke-dasharray:4 3}"""
_CAPTIONS = {"runs": "runs", "throttled": "throttled until the next period", "idle": "not used by the service"}

#: Kind and ends, in milliseconds of a period.
Spans = Sequence[tuple[str, float, float]]


def period(threads: int) -> list[Spans]:
    """Computes what each core does in a period with so many threads that always have work."""
    busy = min(threads, CORES)
    used_up = min(PERIOD, QUOTA / busy)
    runs: Spans = [("runs", 0.0, used_up), ("throttled", used_up, PERIOD)]
    return [runs if core < busy else [("idle", 0.0, PERIOD)] for core in range(CORES)]


def picture() -> str:
    """Draws both kinds of threads, one above the other."""
    title = "Throttling under a limit of 1 CPU on two cores"
    description = (
        "Computed by the rule of the CPU quota, not measured. Platform threads run on both cores, use the 100 ms of "
        "CPU of a period up in 50 ms, and are throttled for the other 50 ms. One carrier runs on one core, so that "
        "the same CPU lasts for the whole period. The garbage collector and the compilers come on top."
    )
    below = 40 + CORES * _ROW + 66
    parts = [
        *_panel(period(8), 40, "Platform threads: 100 ms of CPU are used up after 50 ms"),
        *_panel(period(1), below, "One carrier: 100 ms of CPU last for the whole period"),
        *_key(below + CORES * _ROW + 36),
    ]
    return document((_WIDTH, below + CORES * _ROW + 62), title, description, *parts, style=_STYLE)


def _panel(cores: Sequence[Spans], top: float, head: str) -> Iterator[Markup]:
    across = Scale(0, PERIOD * PERIODS, _LEFT, _RIGHT)
    bottom = top + CORES * _ROW
    yield text(_LEFT, top - 14, head, class_="head")
    labels = {PERIOD * n: f"{PERIOD * n:.0f} ms" for n in range(PERIODS + 1)}
    yield from vertical_grid((top - 4, bottom), across, labels)
    for core, spans in enumerate(cores):
        y = top + _ROW * core + 2
        yield text(_LEFT - 8, y + 13, f"core {core + 1}", "end", "tick")
        for n in range(PERIODS):
            for kind, start, end in spans:
                x = across(PERIOD * n + start)
                if end > start:
                    yield rect(x, y, across(PERIOD * n + end) - x, _ROW - 4, kind)
    yield from (line(x, top - 4, x, bottom + 2, "period") for x in (across(PERIOD * n) for n in range(1, PERIODS)))


def _key(y: float) -> Iterator[Markup]:
    x = _LEFT
    for kind, caption in _CAPTIONS.items():
        yield rect(x, y + 4, 14, 12, kind)
        yield element("text", caption, x=x + 20, y=y + 14)
        x += 50 + 6.6 * len(caption)
