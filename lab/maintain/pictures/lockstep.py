"""Eight requests on one carrier and on platform threads: a drawing by the laws of both schedulers, no measurement.

Eight users send requests back to back. Each request waits, then computes: ``wait-and-compute`` among the experiments.
A carrier takes ready threads in turn and is not preempted, also by a request that has only to start its wait. The
operating system gives platform threads both cores in turn.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from maintain.pictures.page import document
from vtlab.report.charts.axes import vertical_grid
from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import element, rect, text

PICTURE = "docs/images/lockstep.svg"
USERS, WAIT, COMPUTE, CORES = 8, 150.0, 15.0, 2
#: Milliseconds that are drawn: a second whose loss is near the measured 28 %; others lose 10 to 46 %. Then, when the
#: users begin: not quite evenly.
_BEGIN, _END = 3000.0, 4000.0
_STARTS = (0.0, 19.0, 45.0, 60.0, 83.0, 110.0, 121.0, 147.0)

Kind = Literal["queued", "waits", "ready", "computes"]
_CAPTIONS: Mapping[Kind, str] = {
    "waits": "waits for 150 ms",
    "ready": "could compute, has no carrier",
    "computes": "computes for 15 ms",
    "queued": "could start its wait, has no carrier",
}
_WIDTH, _LEFT, _RIGHT, _ROW = 860.0, 66.0, 830.0, 17.0
_STYLE = """.waits{fill:var(--same);opacity:.3}.computes{fill:var(--good)}.ready{fill:var(--open);opacity:.75}
.queued{fill:var(--bad)}"""


@dataclass(frozen=True)
class Span:
    """Milliseconds in which the request of a user does one thing."""

    user: int
    kind: Kind
    start: float
    end: float


def on_one_carrier() -> list[Span]:
    """Follows the requests on one carrier: it takes the thread that has been ready for longest, and keeps it until it
    waits or ends."""
    spans: list[Span] = []
    #: When a thread is ready, in order of arrival, and whether it has waited yet.
    events = [(start, number, user, False) for number, (user, start) in enumerate(enumerate(_STARTS))]
    heapq.heapify(events)
    free, number = 0.0, len(events)
    while events and events[0][0] < _END:
        ready, _, user, has_waited = heapq.heappop(events)
        begin = max(ready, free)
        number += 1
        if has_waited:
            free = begin + COMPUTE
            spans += [Span(user, "ready", ready, begin), Span(user, "computes", begin, free)]
            heapq.heappush(events, (free, number, user, False))
        else:
            spans += [Span(user, "queued", ready, begin), Span(user, "waits", begin, begin + WAIT)]
            heapq.heappush(events, (begin + WAIT, number, user, True))
    return [span for span in spans if span.end > span.start]


def on_platform_threads() -> list[Span]:
    """Follows the requests on threads of the operating system: those that compute share the cores evenly."""
    spans: list[Span] = []
    now = 0.0
    begins: dict[int, float] = {}
    left: dict[int, float] = {}
    due = {user: start + WAIT for user, start in enumerate(_STARTS)}
    spans += [Span(user, "waits", start, start + WAIT) for user, start in enumerate(_STARTS)]
    while now < _END:
        speed = min(1.0, CORES / len(left)) if left else 1.0
        done = min((now + work / speed for work in left.values()), default=float("inf"))
        then = min(done, min(due.values(), default=float("inf")))
        left = {user: work - (then - now) * speed for user, work in left.items()}
        now = then
        for user in [user for user, at in due.items() if at <= now]:
            del due[user]
            begins[user], left[user] = now, COMPUTE
        for user in [user for user, work in left.items() if work < 1e-6]:
            del left[user]
            spans += [Span(user, "computes", begins[user], now), Span(user, "waits", now, now + WAIT)]
            due[user] = now + WAIT
    return spans


def answered(spans: Sequence[Span]) -> int:
    """Counts the requests that end in the milliseconds that are drawn."""
    return sum(span.kind == "computes" and _BEGIN < span.end <= _END for span in spans)


def picture() -> str:
    """Draws both, one above the other."""
    carrier, threads = on_one_carrier(), on_platform_threads()
    title = "Eight requests that wait 150 ms and compute 15 ms, on threads and on one carrier"
    description = (
        f"Computed by the laws of both schedulers, not measured. On platform threads {answered(threads)} requests end "
        f"in a second: they overlap freely. On one carrier {answered(carrier)} do: while one request computes no other "
        "can start its wait, so after some rounds all wait together, and then compute one after the other."
    )
    below = 40 + USERS * _ROW + 62
    parts = [
        *_panel(threads, 40, f"Platform threads: {answered(threads)} answers in this second"),
        *_panel(carrier, below, f"Virtual threads, one carrier: {answered(carrier)} answers in this second"),
        *_key(below + USERS * _ROW + 34),
    ]
    return document((_WIDTH, below + USERS * _ROW + 62), title, description, *parts, style=_STYLE)


def _panel(spans: Sequence[Span], top: float, head: str) -> Iterator[Markup]:
    """Draws a row for each user, and the time below."""
    across = Scale(_BEGIN, _END, _LEFT, _RIGHT)
    bottom = top + USERS * _ROW
    yield text(_LEFT, top - 14, head, class_="head")
    labels = {_BEGIN + at: f"{at} ms" for at in (0, 200, 400, 600, 800, 1000)}
    yield from vertical_grid((top - 4, bottom), across, labels)
    for user in range(USERS):
        yield text(_LEFT - 8, top + _ROW * (user + 0.5) + 4, f"user {user + 1}", "end", "tick")
    for span in spans:
        if span.start >= _END or span.end <= _BEGIN:
            continue
        y = top + _ROW * span.user + 2
        x = across(span.start)
        yield rect(x, y, across(span.end) - x, _ROW - 4, span.kind)


def _key(y: float) -> Iterator[Markup]:
    x = _LEFT
    for kind, caption in _CAPTIONS.items():
        yield rect(x, y + 4, 14, 12, kind)
        yield element("text", caption, x=x + 20, y=y + 14)
        x += 44 + 6.3 * len(caption)
