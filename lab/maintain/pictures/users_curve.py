"""Throughput over users: the search of a recorded call, one window a level."""

from __future__ import annotations

import textwrap
from pathlib import Path

from maintain.pictures.page import document
from vtlab.model.curve import Curve, Point
from vtlab.report.charts import scales
from vtlab.report.charts.axes import horizontal_grid
from vtlab.report.charts.scales import Scale
from vtlab.report.charts.svg import line, mark, path, text
from vtlab.report.words import curve_sentences, figures
from vtlab.runs import store

PICTURE = "docs/images/throughput-over-users.svg"
#: Results of a call whose variants part within the search.
RESULTS = "lab/tests/unit/recorded/ten-threads"
_TITLE = "Throughput over users: a request that waits 200 ms, ten Tomcat threads"
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760.0, 404.0, 64.0, 640.0, 50.0, 312.0
_COLUMNS = 104


def picture(results: Path) -> str:
    """Draws the curve of both variants."""
    run = store.read(results)
    curve = run.manifest.curve
    if curve is None:
        raise ValueError(f"{results} has no search")
    variants = list(run.experiment.variants)
    levels = [point.users for point in curve.points]
    rates = [point.throughput for point in curve.points if point.throughput > 0]
    ticks = scales.log_ticks(min(rates) / 1.1, max(rates) * 1.1)
    across = Scale(min(levels), max(*levels, curve.chosen), _LEFT, _RIGHT - 40, log=True)
    up = Scale(ticks[0], ticks[-1], _BOTTOM, _TOP, log=True)
    parts = [text(8, 24, _TITLE, class_="head")]
    parts += horizontal_grid((_LEFT, _RIGHT), up, {tick: f"{tick:,g}" for tick in ticks})
    parts += [text(across(users), _BOTTOM + 18, f"{users:,}", "middle", "tick") for users in curve.users]
    parts.append(text((_LEFT + _RIGHT) / 2, _BOTTOM + 40, "users, each with one request at a time", "middle", "tick"))
    parts.append(text(8, 42, "requests per second", class_="tick"))
    parts.append(line(across(curve.chosen), _TOP, across(curve.chosen), _BOTTOM, "one"))
    parts.append(text(across(curve.chosen) + 5, _BOTTOM - 8, f"{curve.chosen:,} users in the blocks", class_="tick"))
    for slot, variant in enumerate(variants):
        points = [(p, (across(p.users), up(p.throughput))) for p in _served(curve, variant)]
        parts.append(path([at for _, at in points], f"line v{slot}"))
        parts += [mark(slot, at, 4.5, "solid", _tip(point)) for point, at in points]
        parts.append(text(_RIGHT + 4, _TOP + 20 + 24 * slot, variant, class_="label"))
        parts.append(mark(slot, (_RIGHT + 84, _TOP + 16 + 24 * slot), 4.5, "solid", ""))
    sentences = curve_sentences.sentences(curve, variants)
    lines = textwrap.wrap(sentences[0], _COLUMNS)
    parts += [text(8, _BOTTOM + 64 + 18 * number, words) for number, words in enumerate(lines)]
    return document((_WIDTH, _HEIGHT), _TITLE, " ".join(sentences), *parts)


def _served(curve: Curve, variant: str) -> list[Point]:
    return [point for point in curve.points_of(variant) if point.throughput > 0]


def _tip(point: Point) -> str:
    return f"{point.variant}, {point.users:,} users: {figures.rate(point.throughput)}"
