"""Architecture in one picture: what starts what, and where figures go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from maintain.pictures.page import document
from vtlab.report.charts.svg import element, text

PICTURE = "docs/images/architecture.svg"
_WIDTH, _HEIGHT = 860.0, 402.0
_STYLE = """.box{fill:var(--wash);stroke:var(--soft)}.limit{fill:none;stroke:var(--open);stroke-dasharray:5 4}
.way{fill:none;stroke:var(--soft);stroke-width:1.6;marker-end:url(#tip)}.tip{fill:var(--soft)}.strong{font-weight:600}
.warm{fill:var(--open)}"""


@dataclass(frozen=True)
class _Box:
    """A part: place, name, and lines that say what it does."""

    x: float
    y: float
    width: float
    name: str
    lines: Sequence[str]

    @property
    def height(self) -> float:
        """Height of the box."""
        return 30 + 16.0 * len(self.lines)

    def drawn(self) -> Iterator[Markup]:
        """Draws the box."""
        yield element("rect", x=self.x, y=self.y, width=self.width, height=self.height, rx=7.0, class_="box")
        yield text(self.x + 12, self.y + 21, self.name, class_="strong")
        for number, words in enumerate(self.lines):
            yield text(self.x + 12, self.y + 39 + 16 * number, words, class_="tick")


_BOXES = (
    _Box(16, 130, 166, "vtlab", ("plans blocks, starts JVMs,", "ends when it is settled")),
    _Box(240, 28, 166, "k6", ("warm-up, trials, probes;", "latency as users see it")),
    _Box(510, 28, 200, "platform", ("your jar, threads.virtual=false;", "the agent in its JVM")),
    _Box(510, 120, 200, "virtual", ("your jar, threads.virtual=true;", "the agent in its JVM")),
    _Box(570, 274, 230, "database and other services", ("yours, or a throwaway database",)),
    _Box(240, 226, 166, "Prometheus", ("CPU, throttling, pools,", "carriers, memory")),
    _Box(16, 324, 166, "results", ("verdict, report, JUnit,", "the figures of each block")),
    _Box(240, 324, 178, "Grafana, in a cluster", ("dashboards: Verdict, Why",)),
)
_LIMIT = (496.0, 12.0, 228.0, 186.0)
#: Ways between boxes, each with its words and their place.
_WAYS = (
    ("M182 148L208 148L208 59L233 59", "plan", 180, 118),
    ("M406 46L503 46", "the same load", 416, 38),
    ("M406 74L440 74L440 140L503 140", "", 0, 0),
    ("M560 198L560 256L413 256", "scraped each second", 424, 248),
    ("M660 198L660 267", "queries", 668, 238),
    ("M240 260L160 260L160 199", "figures of the same windows", 168, 216),
    ("M60 192L60 317", "", 0, 0),
    ("M323 288L323 317", "", 0, 0),
)


def picture() -> str:
    """Draws the parts and the ways between them."""
    title = "How Virtual Threads Lab measures"
    description = (
        "vtlab starts the same jar twice under a limit for CPU and memory, with platform and with virtual threads, and "
        "an agent in each JVM. k6 sends both the same load and measures what users feel. Prometheus scrapes the "
        "agents. vtlab joins both over the same windows and writes the verdict, the report and JUnit. In a cluster "
        "Grafana has dashboards."
    )
    x, y, width, height = _LIMIT
    marker = element(
        "marker",
        element("path", d="M0 0L8 4L0 8Z", class_="tip"),
        id="tip",
        viewBox="0 0 8 8",
        refX="7",
        refY="4",
        markerWidth="7",
        markerHeight="7",
        orient="auto",
    )
    parts = [
        element("defs", marker),
        element("rect", x=x, y=y, width=width, height=height, rx=9.0, class_="limit"),
        text(x + width + 8, y + 16, "a limit for each", class_="tick warm"),
        *(part for box in _BOXES for part in box.drawn()),
    ]
    for d, words, at_x, at_y in _WAYS:
        parts.append(element("path", d=d, class_="way"))
        if words:
            parts.append(text(at_x, at_y, words, class_="tick"))
    return document((_WIDTH, _HEIGHT), title, description, *parts, style=_STYLE)
